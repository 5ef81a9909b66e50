"""With a model, sessions are observed in the background at a compaction and at their end."""

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import JOELCLAW, PATIENCE_S, ROOT, Run, clean_environment
from faults import patient
from test_memory_observe import EACH, Fake, model, stored, transcript
from test_model_command import FAMILY, pids, runs, script, until

from core import files

pytestmark = pytest.mark.spawned

__all__ = ["model", "transcript"]

PAYLOADS = ROOT / "tests" / "agents" / "payloads"
HOLDS = """\
import os, sys, time
sys.stdin.buffer.read()
told, go = sys.argv[1:]
begun = f"{told}/{os.getpid()}"
open(begun, "x").close()
open(f"{begun}.saw-{len([name for name in os.listdir(told) if name.isdecimal()])}", "x").close()
while not os.path.exists(go): time.sleep(0.01)
os.unlink(begun)
"""
"""A model that works until a file is there, and tells how many work at that time."""


def holder(home: Path) -> int:
    """The process of the run in the background: it has the lock open."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(lock_of(home)):
                return int(link.parts[2])
        except OSError:
            continue
    raise AssertionError("nobody holds the lock")


def children(pid: int) -> list[int]:
    processes = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            processes.append(int(stat.parent.name))
    return processes


def settings(home: Path, command: str, observe: str = "") -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    patience = (
        f"[store]\nbusy_ms = {round(PATIENCE_S * 1000)}\n"  # on a busy machine, a writer may hold the store for long
    )
    config = f"[model]\ncommand = {json.dumps(command)}\n[observe]\n{observe}\n"
    (home / "config.toml").write_text(config + patience)


def payload(name: str, path: Path | None, session: str = SESSION, **more: str) -> str:
    about = {"hook_event_name": name, "session_id": session, "cwd": "/home/u/gateway"}
    return json.dumps({**about, **({"transcript_path": str(path)} if path else {}), **more})


def compaction(run: Run, path: Path) -> None:
    assert run("hook", "claude", stdin=payload("PreCompact", path, trigger="auto")).out == ""


def end(run: Run, path: Path | None, session: str = SESSION) -> None:
    assert run("hook", "claude", stdin=payload("SessionEnd", path, session, reason="other")).out == ""


def at_once(home: Path, payloads: list[str]) -> None:
    """Hooks at the same time."""
    env = clean_environment(home, **patient(home))

    def hook(data: str) -> int:
        command = [JOELCLAW, "hook", "claude"]
        return subprocess.run(command, input=data.encode(), env=env, timeout=PATIENCE_S).returncode

    with ThreadPoolExecutor(len(payloads)) as pool:
        assert set(pool.map(hook, payloads)) == {0}


def waiting(home: Path) -> list[str]:
    folder = home / "sessions" / ".work" / "observe-waiting"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def lock_of(home: Path) -> Path:
    """The lock of a job."""
    return home / "cache" / "observe.lock"


def over(home: Path) -> None:
    """Wait until none waits and no job runs."""
    until(lambda: not waiting(home) and not files.is_locked(str(lock_of(home))))


def events(run: Run, *actions: str) -> list[dict[str, Any]]:
    events = run("otel", "search", "memory.observe", "--component", "observe", "--limit", "200").result["events"][::-1]
    return [event for event in events if event["action"].rpartition(".")[2] in actions]


def test_turns_are_observed_before_a_compaction(run: Run, home: Path, transcript: Transcript, model: Fake) -> None:
    settings(home, model.command)
    compaction(run, transcript.path)
    over(home)
    (event,) = events(run, "completed", "failed", "unchanged")
    about = event["metadata"]
    assert (event["action"], event["sessionId"], event["success"]) == ("memory.observe.completed", SESSION, True)
    assert (about["trigger"], about["turns"], about["rangeCount"]) == ("compaction", 3, 1)
    assert event["duration_ms"] > 0
    assert len(stored(home)) == 4
    assert "250 ms between" in run("recall", "how often does the gateway retry", "--raw").out


@pytest.mark.parametrize("agent", ["pi", "claude", "codex", "gemini", "opencode"])
def test_every_client_reports_compactions_and_ends(run: Run, home: Path, model: Fake, agent: str) -> None:
    settings(home, model.command)
    mine = agent in ("pi", "opencode")
    more: dict[str, Any] = {"transcript_path": str(PAYLOADS / agent / "session.jsonl")}
    if agent == "opencode":
        more = {"entries": [{"id": "1", "role": "user", "text": "Let the gateway retry three times.", "at": 1}]}
    before = {"claude": "PreCompact", "codex": "PreCompact", "gemini": "BeforeAgent"}.get(agent, "before_compaction")
    if agent == "gemini":  # its compaction shows in the fall of the tokens
        run("checkpoint", "save", "--session", "s", "--tokens", "900000", "--window", "1000000")
    for name in (before, "session_end" if mine else "SessionEnd"):
        about = {"session_id": "s", "cwd": "/srv", "prompt": "go on", **more}
        run("hook", agent, name, stdin=json.dumps(about if mine else {**about, "hook_event_name": name}))
        over(home)
    first, second = events(run, "completed", "failed", "unchanged")
    assert (first["action"], first["metadata"]["trigger"]) == ("memory.observe.completed", "compaction")
    assert (second["action"], second["metadata"]["trigger"]) == ("memory.observe.unchanged", "session-end")
    assert {first["sessionId"], second["sessionId"]} == {"s"}


def test_a_second_compaction_starts_no_model_and_the_rest_is_observed_next(
    run: Run, home: Path, transcript: Transcript, tmp_path: Path
) -> None:
    started, go = tmp_path / "told", tmp_path / "go"
    started.mkdir()
    answer = f"print({EACH.replace('NUMBER', 'one')!r})\n"
    settings(home, script(tmp_path / "holds.py", HOLDS + answer) + f" {started} {go}")
    compaction(run, transcript.path)
    until(lambda: any(started.iterdir()))
    transcript.user("The outbox is swept each night.")
    compaction(run, transcript.path)
    assert files.is_locked(str(lock_of(home)))
    go.touch()
    over(home)
    assert sorted(path.suffix for path in started.iterdir()) == [".saw-1", ".saw-1"], "one after the other"
    assert sum(event["metadata"]["turns"] for event in events(run, "completed")) == 4
    assert events(run, "failed") == []


@pytest.mark.parametrize("why", ["no model", "switched off", "by the environment", "within a model"])
def test_without_a_model_nothing_is_started(
    run: Run, home: Path, transcript: Transcript, model: Fake, why: str, tmp_path: Path
) -> None:
    settings(home, "" if why == "no model" else model.command, "auto = false" if why == "switched off" else "")
    variables = {"by the environment": {"JOELCLAW_OBSERVE_AUTO": "0"}, "within a model": {"JOELCLAW_IN_MODEL": "1"}}
    for name in ("PreCompact", "SessionEnd"):
        run("hook", "claude", stdin=payload(name, transcript.path), env=variables.get(why))
    assert waiting(home) == []
    assert not lock_of(home).exists()
    assert model.prompts == [] and events(run, "started", "completed", "failed", "unchanged") == []
    assert run("hook", "claude", stdin=payload("PreCompact", transcript.path), cwd=tmp_path).err == ""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGALRM])
def test_a_killed_job_blocks_nothing(
    run: Run, home: Path, transcript: Transcript, tmp_path: Path, model: Fake, ending: signal.Signals
) -> None:
    pid_file = tmp_path / "pids"
    settings(home, script(tmp_path / "hangs.py", FAMILY + "time.sleep(3600)") + f" {pid_file}")
    compaction(run, transcript.path)
    until(pid_file.exists)
    job = holder(home)
    keeper = children(job)
    os.kill(job, ending)
    until(lambda: not any(map(runs, [job, *keeper, *pids(pid_file)])))
    over(home)
    assert stored(home) == []
    settings(home, model.command)
    end(run, transcript.path)
    over(home)
    assert len(stored(home)) == 4


def test_twenty_sessions_that_end_at_once_are_observed_in_turn(run: Run, home: Path, tmp_path: Path) -> None:
    started, go = tmp_path / "told", tmp_path / "go"
    started.mkdir()
    settings(home, script(tmp_path / "holds.py", HOLDS + "print('<observations></observations>')") + f" {started} {go}")
    names = [f"session-{number:02}" for number in range(20)]
    ends = []
    for name in names:
        transcript = Transcript(tmp_path / f"{name}.jsonl")
        transcript.write({**transcript.entry("user", f"Let gateway {name} retry."), "uuid": name, "sessionId": name})
        ends.append(payload("SessionEnd", transcript.path, name))
    at_once(home, ends)
    until(lambda: any(started.iterdir()))
    assert len(waiting(home)) == len(names) - 1
    go.touch()
    over(home)
    saw = [int(path.suffix.removeprefix(".saw-")) for path in started.iterdir() if path.suffix]
    assert len(saw) == len(names), events(run, "unchanged", "failed")
    assert max(saw) == 1
    completed = sorted(event["sessionId"] for event in events(run, "completed"))
    assert completed == names, events(run, "started", "unchanged", "failed")


def test_a_session_that_ends_during_a_command_is_observed_after_it(
    run: Run, home: Path, transcript: Transcript, model: Fake
) -> None:
    settings(home, model.command)
    with files.FileLock(str(lock_of(home)), 0):
        end(run, transcript.path)
    assert waiting(home) == [SESSION]
    run("memory", "observe", str(transcript.path))
    over(home)
