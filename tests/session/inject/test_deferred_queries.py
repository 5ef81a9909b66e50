"""A hook before a compaction leaves the choice of the signpost's queries to a process that recovery waits for."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import JOELCLAW, PATIENCE_S, Run, clean_environment
from faults import SLOWEST_S, patient
from test_lost_queries import SESSION, STORY, archive, at, brought_back

from core.process import background_process
from session.inject import query_selection


def event(name: str, **more: object) -> str:
    return json.dumps({"hook_event_name": name, "session_id": SESSION, "cwd": "/srv/garden", **more})


def lock_of(home: Path) -> Path:
    return home / "sessions" / ".work" / "queries" / SESSION


def cached(home: Path) -> list[str]:
    state = json.loads((home / "sessions" / f"{SESSION}.json").read_text())
    return [recalled["query"] for recalled in state["recallCache"]]


def worked(run: Run) -> None:
    archive(run)
    for number, (prompt, _) in enumerate(STORY):
        run("checkpoint", "save", "--session", SESSION, "--percent", "10", "-m", prompt, env=at(number))


def test_recovery_has_what_the_hook_left_to_it(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_selection, "_WAIT_S", PATIENCE_S)
    worked(run)
    run("hook", "claude", stdin=event("PreCompact", trigger="auto"), env={**at(10), **patient(home)})
    answer = run("hook", "claude", stdin=event("SessionStart", source="compact"), env=at(11)).json
    signpost = answer["hookSpecificOutput"]["additionalContext"]
    assert signpost.count('recall "') == 3
    assert len(brought_back(run, signpost)) >= 8


def test_the_process_ends_and_frees_its_lock(run: Run, home: Path) -> None:
    worked(run)
    assert cached(home) == []
    run("hook", "claude", stdin=event("PreCompact", trigger="auto"), env={**at(10), **patient(home)})
    assert lock_of(home).stat().st_mode & 0o777 == 0o600
    assert background_process.wait(str(lock_of(home)), PATIENCE_S)
    assert len(cached(home)) == 3


def test_the_command_chooses_them_again(run: Run, home: Path) -> None:
    worked(run)
    result = run("background", "queries", SESSION, env=at(10)).result
    assert len(result["queries"]) == 3
    assert result["queries"] == cached(home)[::-1]
    assert run("background", "queries", SESSION, env=at(10)).result == result


def test_a_session_that_is_not_known(run: Run) -> None:
    done = run("background", "queries", "nobody", ok=False)
    assert done.json["error"]["code"] == "SESSION_NOT_FOUND"


def test_recovery_does_not_wait_for_one_that_hangs(run: Run, home: Path) -> None:
    worked(run)
    run("checkpoint", "flush", "--session", SESSION, env=at(10))
    lock = lock_of(home)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        began = time.monotonic()
        done = run("hook", "claude", stdin=event("SessionStart", source="compact"), env=at(11))
        assert time.monotonic() - began < SLOWEST_S  # which it holds until we give it back
        assert 'recall "' in done.json["hookSpecificOutput"]["additionalContext"]


def test_there_is_one_at_a_time(run: Run, home: Path) -> None:
    worked(run)
    lock = lock_of(home)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        run("hook", "claude", stdin=event("PreCompact", trigger="auto"), env=at(10))
    assert len(cached(home)) < 3  # the one that holds the lock is at it


def test_it_is_stopped_whatever_it_hangs_on(home: Path) -> None:
    (home / "sessions").mkdir(parents=True, mode=0o700)
    os.mkfifo(home / "sessions" / "x.json")
    with subprocess.Popen(
        [JOELCLAW, "background", "queries", "x"],
        env=clean_environment(home, **{background_process.LIMIT: "1"}),
    ) as process:
        assert process.wait(timeout=PATIENCE_S) == -signal.SIGALRM
