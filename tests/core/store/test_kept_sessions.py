"""What the store keeps of archived sessions, and what forgetting one changes."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run

from core.store import calls, deletion, kinds, sessions
from core.store.kinds import KINDS


def session(identifier: str, at: int = 1, **more: Any) -> Any:
    return {
        "id": identifier, "client": "claude", "project": "p", "folder": "/p", "updated_at": at, "prompts": 2,
        "calls": 3, "plan": [["1", "mend", "pending"]], **more,
    }  # fmt: skip


def call(session: str, number: int, **more: Any) -> Any:
    return {
        "session": session, "number": number, "key": f"k{number}", "prompt": 1, "at": number, "tool": "Bash",
        "file": "", "command": "make", "outcome": "ok", "error": "", "passage": "", "project": "", "abandoned": 0,
        **more,
    }  # fmt: skip


def name(named: str, **more: Any) -> Any:
    return {"name": named, "first": 1, "last": 1, "calls": 1, "weight": 1.0, "place": "", "written": 0, **more}


def test_every_table_about_a_session_is_a_kind(db: apsw.Connection) -> None:
    without_texts = {"node", "observed", "observed_failure", "observed_range", "segment", "segment_due"}
    tables = db.execute(
        "SELECT sqlite_schema.name FROM sqlite_schema, pragma_table_info(sqlite_schema.name) AS columns"
        " WHERE sqlite_schema.type = 'table' AND columns.name = 'session_id'"
    )
    assert {str(name) for (name,) in tables} - without_texts <= {kind.table for kind in KINDS.values()}


def test_a_compaction_is_completed_by_a_later_report(db: apsw.Connection) -> None:
    sessions.save_compaction(db, "a", 3, 0, "")
    sessions.save_compaction(db, "a", 3, 7, "kept")
    sessions.save_compaction(db, "a", 3, 5, "")
    sessions.save_compaction(db, "a", 9, 6, "second")
    sessions.save_compaction(db, "a", 1, 6, "first")
    assert sessions.compactions(db, "a") == [
        {"call": 1, "at": 6, "summary": "first"}, {"call": 9, "at": 6, "summary": "second"},
        {"call": 3, "at": 7, "summary": "kept"},
    ]  # fmt: skip
    sessions.save_compaction(db, "a", 3, 8, "kept of the later")
    db.execute("UPDATE compaction SET summary = ? WHERE call = 9", (sessions.PURGED_SUMMARY,))
    sessions.save_compaction(db, "a", 9, 6, "second")
    assert [compaction["summary"] for compaction in sessions.compactions(db, "a")] == [
        "first", sessions.PURGED_SUMMARY, "kept of the later",
    ]  # fmt: skip


def test_a_forgotten_call_leaves_its_number_but_no_names(db: apsw.Connection) -> None:
    calls.save(db, call("a", 1))
    calls.save(db, call("a", 2, passage="shard_17"))
    calls.save_names(
        db, "a", [name("own", first=2, last=2), name("from", first=1, last=2), name("to", first=2, last=3)]
    )
    assert calls.forget(db, "a", 2) is True
    assert calls.forget(db, "a", 2) is calls.forget(db, "a", 3) is calls.forget(db, "b", 1) is False
    assert calls.of_session(db, "a") == [
        call("a", 1),
        call("a", 2, tool="", command="", outcome=calls.FORGOTTEN),
    ]
    assert calls.holding_any(db, ["shard_17"], {}) == [] and len(calls.holding_any(db, ["make"], {})) == 1
    assert {row["name"] for row in calls.names(db, "a", every=True)} == {"from", "to"}
    assert sessions.totals(db) == (0, 2)


@pytest.fixture
def forgotten(run: Run, tmp_path: Path) -> Path:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user("mend the gauge")
    transcript.used("c1", "Bash", "harbourGauge is fine", command="make test")
    transcript.write(transcript.entry("user", "We mend the gauge.", isCompactSummary=True))
    run("memory", "archive", str(transcript.path))
    run("memory", "forget", "--session", SESSION)
    transcript.user("go on after it was forgotten")
    run("memory", "archive", str(transcript.path))
    return transcript.path


def test_a_forgotten_session_is_never_chosen(run: Run, home: Path, forgotten: Path) -> None:
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert sessions.is_forgotten(db, SESSION)
    assert db.execute("SELECT 1 FROM document WHERE session_id = ? AND forgotten_at IS NULL", (SESSION,)).get is None
    assert sessions.latest(db, 5) == []
    assert sessions.whole_id(db, SESSION[:8]) == ""
    refused = run("lost", ok=False).json
    assert (refused["error"]["code"], "no session is archived" in refused["error"]["message"]) == (
        "SESSION_NOT_FOUND", True,
    )  # fmt: skip


def test_a_hook_writes_nothing_to_a_forgotten_session(run: Run, home: Path, forgotten: Path) -> None:
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


def test_a_new_kind_is_forgotten_brought_back_renamed_and_purged_by_its_row(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = kinds.Kind(
        "remark", "session_id, text", "text", kinds.DELETE, session="session_id", forgotten_with="session",
        has_project=True,
    )  # fmt: skip
    monkeypatch.setitem(KINDS, "remarks", row)
    db.execute("CREATE TABLE remark (session_id TEXT, text TEXT, project TEXT)")
    db.execute("INSERT INTO remark VALUES ('a', 'well done', 'p'), ('b', 'well said', 'p')")
    for name in "ab":
        sessions.save(db, session(name))

    def remarks() -> list[Any]:
        return db.execute("SELECT text, project FROM remark ORDER BY session_id").fetchall()

    kinds.hide_session(db, "a", (), now=1)
    assert remarks() == [("well said", "p")]
    kinds.bring_back(db, "a")
    kinds.rename_project(db, "p", "q")
    assert remarks() == [("well done", "q"), ("well said", "q")]
    deletion.erase(db, deletion.Criteria(phrases=("well done",)), at=1, embed=lambda *_: b"")
    assert remarks() == [("well said", "q")]
    deletion.erase(db, deletion.Criteria(session="b"), at=1, embed=lambda *_: b"")
    assert remarks() == []
