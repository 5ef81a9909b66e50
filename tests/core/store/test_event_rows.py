"""Events as rows: which a query lets through at its bounds, which come next, what a batch of an export holds."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.store import events
from core.store.events import new_cursor

ANY: Any = {
    "any_of": (), "levels": (), "sources": (), "components": (), "session": "", "system": "", "success": None,
    "since": 0,
}  # fmt: skip


def event(identifier: str, at: int = 1, **more: Any) -> Any:
    return {
        "id": identifier, "timestamp": at, "sessionId": "s", "systemId": "h", "level": "info", "source": "cli",
        "component": "c", "action": "a", "success": True, "metadata": {}, **more,
    }  # fmt: skip


def put(db: apsw.Connection, *given: Any) -> None:
    for one in given:
        assert events.insert(db, one, f"{one['id']} words")


def found(db: apsw.Connection, limit: int = 9, offset: int = 0, **query: Any) -> list[str]:
    return [one["id"] for one in events.newest(db, {**ANY, **query}, limit, offset)]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({}, ["c", "b", "a"]), ({"since": 2}, ["c", "b"]), ({"since": 3}, ["c"]), ({"since": 4}, []),
        ({"levels": ["warn", "error"]}, ["b"]), ({"sources": ["hook"]}, ["c"]),
        ({"components": ["d", "c"]}, ["c", "b", "a"]),
        ({"components": ["d"]}, ["b"]), ({"session": "t"}, ["c"]), ({"system": "g"}, ["a"]),
        ({"success": True}, ["c", "a"]),
        ({"success": False}, ["b"]),
        ({"any_of": [["words"]]}, ["c", "b", "a"]), ({"any_of": [["b w", "words"]]}, ["b"]),

        ({"any_of": [["b", "nothing"]]}, []), ({"any_of": [["nothing"], ["b w"]]}, ["b"]),
        ({"session": "s", "system": "h"}, ["b"]),
    ],
)  # fmt: skip
def test_a_query_lets_through_what_fits_all_of_it(db: apsw.Connection, query: dict[str, Any], ids: list[str]) -> None:
    put(
        db, event("a", 1, systemId="g"), event("b", 2, level="warn", component="d", success=False),
        event("c", 3, source="hook", sessionId="t"),
    )  # fmt: skip
    assert found(db, **query) == ids


def test_a_cursor_comes_back_as_it_was_written(db: apsw.Connection) -> None:
    assert events.read_cursor(db, "d") is None and events.cursors(db) == []
    new = new_cursor("d", "logs", "http://b")
    assert (new.reached, new.exported, new.rejected, new.failures, new.next_try_at) == (0, 0, 0, 0, 0)
    events.save_cursor(db, new)
    changed = new.changed(
        reached=7,
        exported=6,
        rejected=1,
        totals="{}",
        exported_at=5,
        failures=2,
        error="down",
        failed_at=4,
        next_try_at=9,
    )
    events.save_cursor(db, changed)
    assert events.read_cursor(db, "d") == changed
    others = [new_cursor("e", "traces", "http://a"), new_cursor("f", "logs", "http://a")]
    for other in others:
        events.save_cursor(db, other)
    assert events.cursors(db) == [others[1], changed, others[0]]
