"""What retention drops from the store: how old it must be, in which order it goes, what is never dropped."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.store import documents, events
from core.store.sessions import call_rows, forgotten, session_rows
from core.store.upkeep import retention


def event(db: apsw.Connection, identifier: str, at: int, level: str = "info", **more: Any) -> None:
    one: Any = {
        "id": identifier, "timestamp": at, "sessionId": "", "systemId": "", "level": level, "source": "",
        "component": "", "action": "", "success": True, "metadata": {}, **more,
    }  # fmt: skip
    assert events.insert(db, one, "")


def episode(db: apsw.Connection, identifier: str, at: int, **more: Any) -> int:
    one: Any = {**documents.blank(more.pop("collection", "episodes"), identifier, f"said {identifier}", at), **more}
    return documents.insert(db, one, b"", signatures=False)


def ids(db: apsw.Connection) -> list[str]:
    return [one["id"] for one in documents.every(db, forgotten=True)]


@pytest.mark.parametrize(
    ("limit", "since", "surplus"),
    [
        (9_999, 0, []), (4 * 402, 0, []), (4 * 402 - 1, 0, [3]), (3 * 402, 0, [3]), (3 * 402 - 1, 0, [3, 2]),
        (402, 0, [3, 2, 1]), (0, 0, [3, 2, 1, 4]), (402, 2, [3, 1]), (0, 3, [1, 4]), (0, 9, []),
    ],
)  # fmt: skip
def test_of_too_many_events_debug_goes_first_then_the_oldest(
    db: apsw.Connection, limit: int, since: int, surplus: list[int]
) -> None:
    for at, level in ((3, "info"), (1, "warn"), (2, "debug"), (4, "error")):
        event(db, str(at), at, level)
    assert retention.surplus_events(db, limit, since) == surplus


def test_old_turns_go_and_nothing_else(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "EPISODES_AT_ONCE", 2)
    episode(db, "late", 9)
    for identifier, at in (("c", 4), ("a", 2), ("b", 3)):
        episode(db, identifier, at, session_id="s")
    episode(db, "forgotten", 1, forgotten_at=2)
    episode(db, "noted", 1, collection="observations")
    episode(db, "synced", 1, collection="knowledge")
    episode(db, "waits", 1)
    db.execute("INSERT INTO outbox (id, collection, queued_at) VALUES ('waits', 2, 1)")
    assert [retention.count_episodes(db, before) for before in (2, 3, 5, 10)] == [0, 1, 3, 4]
    assert [retention.first_episode(db, before) for before in (2, 3, 10)] == [None, 2, 2]
    assert retention.drop_episodes(db, 5, vectors=False) == 2
    assert ids(db) == ["noted", "late", "c", "forgotten", "waits", "synced"]
    assert [retention.drop_episodes(db, 5, vectors=False) for _ in range(2)] == [1, 0]
    assert ids(db) == ["noted", "late", "forgotten", "waits", "synced"]
    assert db.execute("SELECT count(*) FROM segment_due").get == 0
    assert db.execute("SELECT count(*) FROM outbox_state").get == 0, "what is written is noted again"


def test_sessions_that_did_nothing_are_told_the_oldest_first(db: apsw.Connection) -> None:
    for identifier, at in (("c", 2), ("b", 1), ("a", 2), ("late", 5)):
        session_rows.save_session(db, {
            "id": identifier, "client": "", "project": "", "folder": "", "updated_at": at, "prompts": 0, "calls": 0,
            "plan": [],
        })  # fmt: skip
        for number in (1, 2):
            call_rows.save(db, {
                "session": identifier, "number": number, "key": str(number), "prompt": 0, "at": None, "tool": "",
                "file": "",
                "command": "", "outcome": "ok", "error": "", "passage": "",
            })  # fmt: skip
    forgotten.forget(db, "gone")
    forgotten.forget_call(db, "a", 1)
    assert retention.old_sessions(db, 5) == [(1, "b"), (2, "a"), (2, "c")] and retention.old_sessions(db, 1) == []
    assert [retention.count_calls(db, before) for before in (1, 2, 3, 6)] == [0, 2, 5, 7]
    assert retention.drop_session(db, "b") == 2 and retention.drop_session(db, "b") == 0
    assert retention.old_sessions(db, 5) == [(2, "a"), (2, "c")]
