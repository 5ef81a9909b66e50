"""The states of old sessions expire, with their lock files, and commands do not read all states."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run

from core import files

DAY_MS = 86_400_000
EVENT = {"hook_event_name": "UserPromptSubmit", "prompt": "why are the tide tables read twice", "cwd": "/"}


def at(days: float) -> dict[str, str]:
    """Time frozen so many days after NOW_MS."""
    return {"JOELCLAW_NOW_MS": str(int(NOW_MS + days * DAY_MS))}


@pytest.fixture
def talk(run: Run) -> Run:
    """A session `old` with an event 100 days before the session `new`."""
    run("memory", "write", "the tide tables of Husum are read twice", env=at(0))
    for session, days in (("old", 0), ("new", 100)):
        run("hook", "claude", stdin=json.dumps({**EVENT, "session_id": session}), env=at(days))
    return run


def sessions(home: Path) -> list[str]:
    return sorted(path.stem for path in (home / "sessions").glob("*.json"))


@pytest.mark.parametrize(
    ("days", "remaining"), [(None, ["new"]), ("0", ["new", "old"]), ("101", ["new", "old"]), ("99", ["new"])]
)
def test_states_without_an_event_for_90_days_go(talk: Run, home: Path, days: str | None, remaining: list[str]) -> None:
    if days is not None:
        (home / "config.toml").write_text(f"[retention]\nsessions_days = {days}\n")
    counted = talk("store", "prune", "--dry-run", env=at(100)).result["sessionStates"]
    assert (counted, sessions(home)) == (2 - len(remaining), ["new", "old"])
    assert talk("store", "prune", "--yes", env=at(100)).result["sessionStates"] == counted
    assert sessions(home) == remaining
    assert sorted(path.name for path in (home / "sessions" / ".locks").iterdir()) == remaining
    assert talk("store", "prune", "--yes", env=at(100)).result["sessionStates"] == 0


@pytest.mark.parametrize("fields", [
    {"noteOwed": True},
    {"idleTimer": {"scheduledAt": 1, "dueAt": 2, "ratio": 0.8, "cwd": "/", "transcript": ""}},
    {"lastInjectionAt": NOW_MS + 50 * DAY_MS},
    {"lastCompactionAt": NOW_MS + 50 * DAY_MS},
    {"version": 99},
])  # fmt: skip
def test_a_session_with_something_open_stays(talk: Run, home: Path, fields: dict[str, Any]) -> None:
    path = home / "sessions" / "old.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    assert talk("store", "prune", "--yes", env=at(100)).result["sessionStates"] == 0
    assert sessions(home) == ["new", "old"]


def test_a_session_that_a_process_uses_stays(talk: Run, home: Path) -> None:
    with files.FileLock(str(home / "sessions" / ".locks" / "old")):
        assert talk("store", "prune", "--yes", env=at(100)).result["sessionStates"] == 0


def test_a_session_goes_on_after_its_state_expired(talk: Run, home: Path) -> None:
    talk("store", "prune", "--yes", env=at(100))
    talk("hook", "claude", stdin=json.dumps({**EVENT, "session_id": "old"}), env=at(101))
    assert json.loads((home / "sessions" / "old.json").read_text())["counts"]["userMessages"] == 1


def test_a_lock_that_was_removed_while_another_waits_is_taken_anew(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with files.FileLock(str(path)):
        path.unlink()
        with files.FileLock(str(path), 0), pytest.raises(files.LockTimeout), files.FileLock(str(path), 0):
            pass


READING = ("status", "doctor", "session list", "session show old", "idle list", "checkpoint show old")


@pytest.mark.parametrize("command", READING)
def test_commands_do_not_read_all_states(talk: Run, home: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    state = json.loads((home / "sessions" / "old.json").read_text())
    for number in range(300):
        path = home / "sessions" / f"copy-{number:04}.json"
        path.write_text(json.dumps({**state, "sessionId": path.stem, "updatedAt": NOW_MS - 1 - number}))
        files.os.utime(path, (1, 1))
    read: list[str] = []
    original = files.read_file

    def counting(path: str, most: int = -1) -> bytes:
        read.append(path)
        return original(path, most)

    monkeypatch.setattr(files, "read_file", counting)
    talk(*command.split(), env=at(101))
    assert len([path for path in read if "/copy-" in path]) <= 60
