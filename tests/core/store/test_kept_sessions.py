"""What the store keeps of archived sessions, and what forgetting one changes."""

from typing import Any

import apsw
import pytest

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
    assert calls.of_session(db, "a") == [call("a", 1), call("a", 2, tool="", command="", outcome=calls.FORGOTTEN)]
    assert calls.holding_any(db, ["shard_17"], {}) == [] and len(calls.holding_any(db, ["make"], {})) == 1
    assert {row["name"] for row in calls.names(db, "a", every=True)} == {"from", "to"}
    assert sessions.totals(db) == (0, 2)


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
