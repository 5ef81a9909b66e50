"""What a session stores, how safely, and what a fault leaves (`session.session_store`)."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS

from core.config import Config
from core.store import documents, sqlite
from core.store.sessions import name_rows, session_rows
from memory import session_task
from memory.archive import ingest
from otel import log
from session.session_store import SessionStore, move_priorities

FAULT: Any = {"step": "x", "code": "X", "message": "x"}
EVENT: Any = {"id": "e"}


@pytest.fixture
def wrote(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was written, in order: what, how durable, and the rest."""
    found: list[Any] = []

    def noted(name: str, answer: Any = None) -> Any:
        return lambda *given, **more: found.append((name, given[1:], more)) or answer

    def writing(self: Any, *, durable: bool) -> Any:
        found.append(("open", durable))
        return "db", False

    monkeypatch.setattr(SessionStore, "_writing", writing)
    monkeypatch.setattr(sqlite, "transaction", lambda db: nullcontext())
    monkeypatch.setattr(log, "append", noted("events"))
    monkeypatch.setattr(documents, "count_recall", noted("recalled"))
    monkeypatch.setattr(name_rows, "save_compaction", noted("summary"))
    monkeypatch.setattr(session_rows, "session", lambda db, one: {"calls": 7} if one == "s1" else None)
    monkeypatch.setattr(session_rows, "is_forgotten", lambda db, one: one == "forgotten")
    monkeypatch.setattr(ingest, "ingest_items", noted("items"))
    monkeypatch.setattr(ingest, "ingest_file", noted("file", {"items": ["said"]}))
    monkeypatch.setattr(session_task, "write", noted("task", "t1"))
    return found


def store(*faults: Any) -> SessionStore:
    return SessionStore(Config({"otel.debug_limit": 5}), NOW_MS, list(faults))


def test_events_and_what_was_recalled(wrote: list[Any]) -> None:
    assert store().append([EVENT], ["m1"]) is True
    assert wrote == [
        ("open", False), ("events", ([EVENT],), {"debug_limit": 5}), ("recalled", (["m1"], NOW_MS), {}),
    ]  # fmt: skip
    wrote.clear()
    assert store().append([EVENT]) is True
    assert [one[0] for one in wrote] == ["open", "events"]
    wrote.clear()
    assert store().append([]) is store().append([], ["m1"]) is store(FAULT).append([EVENT]) is False
    assert wrote == []


def test_events_that_cannot_be_stored_are_a_fault(wrote: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any, **more: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(log, "append", fail)
    made = store()
    assert made.append([EVENT]) is False
    assert [fault["step"] for fault in made.faults] == ["event"]


def test_the_summary_of_a_compaction(wrote: list[Any]) -> None:
    for session, number in (("s1", 7), ("new", 0)):
        wrote.clear()
        store().keep_summary(session, "what was done")
        assert wrote == [("open", False), ("summary", (session, number, NOW_MS, "what was done"), {})]
    wrote.clear()
    store().keep_summary("forgotten", "what was done")
    assert wrote == [("open", False)]
    store(FAULT).keep_summary("s1", "what was done")
    assert wrote == [("open", False)]


def test_what_was_said(wrote: list[Any], tmp_path: Path) -> None:
    about = {"agent": "pi", "session": "s1", "cwd": "/w"}
    common = {**about, "now": NOW_MS, "vectors": False}
    store().archive_items(["item"], **about)  # type: ignore[list-item]
    assert wrote == [("open", False), ("items", (["item"],), common)]
    wrote.clear()
    path = tmp_path / "t.jsonl"
    assert store().archive(str(path), **about, until=3.0) == store().archive(str(tmp_path), **about, until=3.0) == []
    path.write_text("")
    assert store(FAULT).archive(str(path), **about, until=3.0) == []
    store(FAULT).archive_items(["item"], **about)  # type: ignore[list-item]
    assert wrote == []
    assert store().archive(str(path), **about, until=3.0) == ["said"]
    assert wrote == [("open", False), ("file", (str(path),), {**common, "until": 3.0})]


def test_a_task_is_written_durably(wrote: list[Any]) -> None:
    about: dict[str, Any] = {"source": "interactive", "session": "s1", "project": "p"}
    assert store().write_task("Task: x", **about, known=["t0"]) == "t1"
    opened, (name, given, more) = wrote
    assert (opened, name, given) == (("open", True), "task", ("Task: x",))
    more.pop("config")
    assert more == {
        **about, "category": "ops", "tags": ("compaction-extract", "session-task"), "known": ["t0"], "now": NOW_MS,
        "vectors": False,
    }  # fmt: skip
    wrote.clear()
    assert store(FAULT).write_task("Task: x", **about) is None and wrote == []


def test_the_priorities_of_judged_memories(wrote: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[Any] = []

    def move(db: Any, identifier: str, *, used: bool, at: int) -> float | None:
        moved.append((identifier, used, at))
        return None if identifier == "gone" else 0.5

    monkeypatch.setattr(documents, "move_priority", move)
    verdicts: Any = [("m1", "echo", 4), ("gone", "echo", 3), ("m2", "fizzle", 1)]
    store().move_priorities(verdicts, role="gateway", session="s1")
    assert moved == [("m1", True, NOW_MS), ("gone", True, NOW_MS), ("m2", False, NOW_MS)]
    opened, (_, (events,), more) = wrote
    assert (opened, more) == (("open", False), {"debug_limit": 5})
    assert [(one["action"], one["component"], one["source"], one["metadata"]) for one in events] == [
        ("memory.echo", "memory-feedback", "gateway", {"memoryId": "m1", "termsMatched": 4, "priority": 0.5}),
        ("memory.fizzle", "memory-feedback", "gateway", {"memoryId": "m2", "termsMatched": 1, "priority": 0.5}),
    ]
    db: Any = "db"
    about: dict[str, Any] = {"role": "", "session": "s1", "now": NOW_MS, "debug_limit": 5}
    assert move_priorities(db, verdicts, **about) == 2
    wrote.clear()
    assert (move_priorities(db, [], **about), move_priorities(db, verdicts[1:2], **about)) == (0, 0)
    store(FAULT).move_priorities(verdicts, role="", session="s1")
    assert wrote == []


def test_the_file_is_opened_once_and_vectors_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    db = object()
    monkeypatch.setattr(sqlite, "open_reading", lambda: seen.append("reading") or db)
    monkeypatch.setattr(sqlite, "open_writing", lambda **more: seen.append(("writing", more["durable"])) or db)
    monkeypatch.setattr(sqlite, "be_durable", lambda db, durable, **more: seen.append(("durable", durable)))
    monkeypatch.setattr(sqlite, "load_vectors", lambda db: seen.append("vectors") or True)
    made = store()
    assert made.reading() == made.reading() == (db, True)
    assert seen == ["reading", "vectors"]
    assert made._writing(durable=True) == (db, True)
    assert seen[2:] == [("durable", True)]
    seen.clear()
    made = store()
    assert made._writing(durable=False) == made.reading() == (db, True)
    assert seen == [("writing", False), "vectors"]
    monkeypatch.setattr(sqlite, "open_reading", lambda: None)
    assert store().reading() == (None, False)
