"""A session that was forgotten: nothing chooses it, nothing writes to it, and who asks for it is told so."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run

from core.store import calls, sessions


@pytest.fixture
def forgotten(run: Run, tmp_path: Path) -> Path:
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    made.user("mend the gauge")
    made.call("c1", "Bash", command="make test")
    made.outcome("c1", "harbourGauge is fine")
    made.write(made.entry("user", "We mend the gauge.", isCompactSummary=True))
    run("memory", "archive", str(made.path))
    run("memory", "forget", "--session", SESSION)
    made.user("go on after it was forgotten")
    run("memory", "archive", str(made.path))
    return made.path


def test_nothing_chooses_it(run: Run, home: Path, forgotten: Path) -> None:
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert sessions.is_forgotten(db, SESSION)
    assert db.execute("SELECT 1 FROM document WHERE session_id = ? AND forgotten_at IS NULL", (SESSION,)).get is None
    assert sessions.latest(db, 5) == []
    assert sessions.ids_beginning(db, SESSION[:8], 5) == []
    refused = run("lost", ok=False).json
    assert (refused["error"]["code"], "no session is archived" in refused["error"]["message"]) == (
        "SESSION_NOT_FOUND", True,
    )  # fmt: skip


def test_a_hook_writes_nothing_to_it(run: Run, home: Path, forgotten: Path) -> None:
    event = {
        "hook_event_name": "SubagentStop", "session_id": SESSION, "transcript_path": str(forgotten), "cwd": CWD,
        "agent_type": "", "last_assistant_message": "<summary>harbourGauge was mended</summary>",
    }  # fmt: skip
    Transcript(forgotten, first=50).call("c2", "Bash", command="make install")
    run("hook", "claude", stdin=json.dumps(event))
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert sessions.compactions(db, SESSION) == []
    assert calls.of_session(db, SESSION) == []
    assert calls.names(db, SESSION, every=True) == []
