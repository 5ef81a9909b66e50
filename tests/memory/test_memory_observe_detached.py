"""`memory observe --detach` returns at once, runs once per session, stops hard, and leaves no process behind."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

from claude_transcript import SESSION, Transcript
from conftest import JOELCLAW, Run
from test_memory_observe import Fake, made, model, stored
from test_model_command import script, until

from core.process import background

__all__ = ["made", "model"]


def lock_of(home: Path) -> Path:
    return home / "sessions" / ".work" / "observe" / SESSION


def ended(home: Path) -> None:
    """Wait until the run in the background has ended."""
    assert background.wait_for_lock(str(lock_of(home)), 60)


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


def test_what_goes_wrong_in_the_background_is_an_event(run: Run, home: Path, made: Transcript, model: Fake) -> None:
    model.says("I would rather not.")
    run("memory", "observe", str(made.path), "--command", model.command, "--detach")
    ended(home)
    failed = last_event(run, "memory.observe.failed")
    assert "OBSERVE_REPLY_INVALID" in failed["error"]
    assert failed["sessionId"] == SESSION


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
