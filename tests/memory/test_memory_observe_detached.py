"""`memory observe --detach` returns at once, runs once per session, stops hard, and leaves no process behind."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import JOELCLAW, PATIENCE_S, Run, clean_environment
from test_memory_observe import Fake, made, model, stored
from test_memory_observe_faults import children
from test_model_command import FAMILY, pids, runs, script, until

from core.process import background_process

__all__ = ["made", "model"]


def lock_of(home: Path) -> Path:
    return home / "sessions" / ".work" / "observe" / SESSION


def ended(home: Path) -> None:
    """Wait until the run in the background has ended."""
    assert background_process.wait(str(lock_of(home)), 60)


def holder(home: Path) -> int:
    """The process of the run in the background: it has the lock open."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(lock_of(home)):
                return int(link.parts[2])
        except OSError:
            continue
    raise AssertionError("nobody holds the lock")


def last_event(run: Run, action: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def is_there() -> bool:
        found[:] = [e for e in run("otel", "search", "observe").result["events"] if e["action"] == action]
        return bool(found)

    until(is_there)
    return found[0]


def test_it_returns_at_once_and_does_its_work(run: Run, home: Path, made: Transcript, model: Fake) -> None:
    done = run("memory", "observe", str(made.path), "--command", model.command, "--detach")
    assert done.result == {"session": SESSION, "detached": True}
    ended(home)
    assert len(stored(home)) == 4
    assert last_event(run, "memory.observe.completed")["metadata"]["observations"]["added"] == 4
    assert lock_of(home).stat().st_mode & 0o777 == 0o600


def test_it_does_not_wait_for_the_model(run: Run, home: Path, made: Transcript, tmp_path: Path) -> None:
    told = tmp_path / "pids"
    command = script(tmp_path / "model.py", FAMILY + "time.sleep(3600)") + f" {told}"
    began = time.monotonic()
    run("memory", "observe", str(made.path), "--command", command, "--detach")
    assert time.monotonic() - began < 60  # not an hour
    try:
        until(told.exists)
        assert all(map(runs, pids(told)))
    finally:
        os.kill(holder(home), signal.SIGKILL)
        until(lambda: not any(map(runs, pids(told))))


def test_one_at_a_time_of_a_session(run: Run, home: Path, made: Transcript, tmp_path: Path, model: Fake) -> None:
    told, go = tmp_path / "told", tmp_path / "go"
    source = (
        f"import os, sys, time\nopen({str(told)!r}, 'a').write(f'{{os.getpid()}} ')\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\nprint('<observations></observations>')\n"
    )
    command = script(tmp_path / "waits.py", source)
    for _ in range(3):
        run("memory", "observe", str(made.path), "--command", command, "--detach")
    until(told.exists)
    busy = run("memory", "observe", "--session", SESSION, "--command", model.command, ok=False)
    assert busy.json["error"]["code"] == "OBSERVE_BUSY"
    run("memory", "observe", "--session", SESSION, "--command", command, "--detach")
    go.touch()
    ended(home)
    assert len(told.read_text().split()) == 1
    assert model.prompts == []


def test_a_run_in_the_foreground_keeps_one_in_the_background_away(
    run: Run, home: Path, made: Transcript, model: Fake
) -> None:
    lock_of(home).parent.mkdir(parents=True)
    with lock_of(home).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        run("memory", "observe", str(made.path), "--command", model.command, "--detach")
    assert model.prompts == []


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_one_that_is_killed(
    run: Run, home: Path, made: Transcript, tmp_path: Path, model: Fake, ending: signal.Signals
) -> None:
    told = tmp_path / "pids"
    command = script(tmp_path / "model.py", FAMILY + "time.sleep(3600)") + f" {told}"
    run("memory", "observe", str(made.path), "--command", command, "--detach")
    until(told.exists)
    observer = holder(home)
    keeper = children(observer)
    assert len(keeper) == 1
    os.kill(observer, ending)
    until(lambda: not any(map(runs, [observer, *keeper, *pids(told)])))
    ended(home)
    assert stored(home) == []
    result = run("memory", "observe", str(made.path), "--command", model.command).result
    assert result["observations"]["added"] == 4


def test_the_hard_stop_ends_the_model_too(home: Path, made: Transcript, tmp_path: Path) -> None:
    """As the one that starts it sets it: the kernel ends the process, and its keeper all below it."""
    told = tmp_path / "pids"
    command = script(tmp_path / "model.py", FAMILY + "time.sleep(3600)") + f" {told}"
    with subprocess.Popen(
        [JOELCLAW, "memory", "observe", str(made.path), "--command", command],
        env=clean_environment(home, **{background_process.LIMIT: "600"}),
        stdout=subprocess.DEVNULL,
    ) as process:
        until(told.exists)
        process.send_signal(signal.SIGALRM)  # what the kernel sends at the limit: `test_deferred_task` waits for one
        assert process.wait(timeout=PATIENCE_S) == -signal.SIGALRM
    assert len(pids(told)) == 2
    until(lambda: not any(map(runs, pids(told))))


def test_the_budget_of_time_ends_it_by_itself(run: Run, home: Path, made: Transcript, tmp_path: Path) -> None:
    told = tmp_path / "pids"
    command = script(tmp_path / "model.py", FAMILY + "time.sleep(3600)") + f" {told}"
    seconds = {"JOELCLAW_OBSERVE_SECONDS": "10"}
    run("memory", "observe", str(made.path), "--command", command, "--detach", env=seconds)
    ended(home)
    assert not [pid for pid in pids(told) if runs(pid)]
    assert "MODEL_TIMEOUT" in last_event(run, "memory.observe.failed")["error"]


def test_what_goes_wrong_in_the_background_is_an_event(run: Run, home: Path, made: Transcript, model: Fake) -> None:
    model.says("I would rather not.")
    run("memory", "observe", str(made.path), "--command", model.command, "--detach")
    ended(home)
    failed = last_event(run, "memory.observe.failed")
    assert "OBSERVE_REPLY_INVALID" in failed["error"]
    assert failed["sessionId"] == SESSION


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--session", "x"], "MODEL_NOT_CONFIGURED"),
        (["nowhere", "--command", "cat"], "MEMORY_INVALID_ARGS"),
        (["empty", "--command", "cat"], "TRANSCRIPT_UNREADABLE"),
    ],
)
def test_what_can_be_told_at_once_is(run: Run, home: Path, tmp_path: Path, words: list[str], code: str) -> None:
    (tmp_path / "empty").touch()
    done = run("memory", "observe", *words, "--detach", ok=False, cwd=tmp_path)
    assert done.json["error"]["code"] == code
    assert not (home / "sessions").exists()


def test_a_hook_of_the_model_starts_no_other(run: Run, home: Path, made: Transcript, tmp_path: Path) -> None:
    """A model's command that is an agent fires the agent's hooks, and may even call us."""
    out = tmp_path / "inner.json"
    inner = f"{JOELCLAW} memory observe {made.path} --command cat --detach > {out} 2>&1"
    event = json.dumps({"hook_event_name": "Stop", "session_id": "inner"})
    shell = f"{inner}; echo {shlex.quote(event)} | {JOELCLAW} hook claude; echo '<observations></observations>'"
    command = f"sh -c {shlex.quote(shell)}"
    run("memory", "observe", str(made.path), "--command", command)
    assert json.loads(out.read_text())["error"]["code"] == "MODEL_FAILED"
    assert not list((home / "sessions").glob("inner*"))
