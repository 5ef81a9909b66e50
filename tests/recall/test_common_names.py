"""A name in very many calls costs a recall no more than its newest: what is read of it is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from core.store import sqlite
from core.store.sessions import call_rows, session_rows
from recall.by_name import work_cards

if TYPE_CHECKING:
    from core.records import Call, Session

NAME = "store.go"
EACH = 20


@pytest.fixture
def db(home: Path, monkeypatch: pytest.MonkeyPatch) -> apsw.Connection:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    return sqlite.open_writing(busy_ms=1000, durable=False)


def add(db: apsw.Connection, first: int, sessions: int) -> None:
    """Sessions that are near copies of one another, each later than the one before."""
    with sqlite.transaction(db):
        for number in range(first, first + sessions):
            project = "tides" if number % 3 else "harbour"
            session: Session = {
                "id": f"s{number:04}", "client": "claude", "project": project, "folder": "/w",
                "updated_at": number * 1000, "prompts": 1, "calls": EACH, "plan": [],
            }  # fmt: skip
            session_rows.save_session(db, session)
            for at in range(EACH):
                call: Call = {
                    "session": session["id"], "number": at + 1, "key": f"k{at}", "prompt": 1, "at": number * 1000 + at,
                    "tool": "Read", "file": f"pkg/{NAME}", "command": "", "outcome": "ok", "error": "",
                    "passage": f"func open{at}() in {NAME}",
                }  # fmt: skip
                call_rows.save(db, call)


def sessions_at(db: apsw.Connection, name: str = NAME, *, near: str = "", own: str = "") -> list[str]:
    return [one["id"] for one in work_cards._sessions_at(db, [name], "", (), near, own)]


def test_only_the_sessions_that_are_looked_into_are_read(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    add(db, 0, 30)
    looked: list[str] = []
    read = session_rows.session

    def look(db: apsw.Connection, identifier: str) -> Session | None:
        looked.append(identifier)
        return read(db, identifier)

    monkeypatch.setattr(session_rows, "session", look)
    assert sessions_at(db) == [f"s{number:04}" for number in range(29, 9, -1)] == looked
    add(db, 30, 30)
    looked.clear()
    assert sessions_at(db) == [f"s{number:04}" for number in range(59, 39, -1)] == looked


def test_whose_work_goes_first(db: apsw.Connection) -> None:
    add(db, 0, 90)
    found = sessions_at(db, near="harbour", own="s0004")
    assert found == ["s0004", *(f"s{number:04}" for number in range(87, 87 - 19 * 3, -3))]
    assert sessions_at(db, "other.go") == []


def test_of_a_name_in_more_calls_the_newest_are_scored(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_rows, "MOST_SCORED", 100)
    add(db, 0, 10)
    sessions = {call["session"] for call in call_rows.holding_any(db, [NAME], {})}
    assert sessions == {f"s{number:04}" for number in range(5, 10)}
    assert len(call_rows.holding_any(db, [NAME], {"session": "s0001"})) == EACH, "what is asked for alone is found"
    found = call_rows.holding_any(db, [NAME], {"projects": ["harbour"]})
    assert {call["session"] for call in found} == {"s0000", "s0003", "s0006", "s0009"}
    monkeypatch.setattr(call_rows, "MOST_SCORED", 200)
    assert len(call_rows.holding_any(db, [NAME], {})) == 200
