"""What is told of a session from its rows: its hooks, the texts it was given, its events, its calls by time."""

from __future__ import annotations

from typing import Any

import apsw

from core.store import documents, events, hook_calls, overview


def event(identifier: str, at: int = 1, **more: Any) -> Any:
    return {
        "id": identifier, "timestamp": at, "sessionId": "s", "systemId": "h", "level": "info", "source": "cli",
        "component": "c", "action": "a", "success": True, "metadata": {}, **more,
    }  # fmt: skip


def hook(db: apsw.Connection, identifier: str, at: int = 1, action: str = "hook.completed", **more: Any) -> None:
    about = {"agent": "claude", "event": "Stop", **more.pop("metadata", {})}
    hook_calls.record_hook(db, event(identifier, at, action=action, metadata=about, **more))


def injected(db: apsw.Connection, identifier: str, at: int = 1, text: Any = "said", **more: Any) -> None:
    kind = more.pop("kind", "startup")
    hook_calls.record_injection(db, event(identifier, at, injected={"kind": kind, "text": text}, **more))


OLDER = apsw.Connection(":memory:")
"""A store of a version that had no such tables."""


def test_a_hook_call_is_kept_as_it_was_told(db: apsw.Connection) -> None:
    more = {"kind": "turn", "percent": 12.5, "tokens": 7, "window": 200}
    hook(db, "b", 5, duration_ms=1.5, error="late", metadata={"contentChars": 9}, hook=more)
    hook(db, "b", 6)
    hook(db, "a", 5, "hook.timeout", hook="of another version")
    hook(db, "c", 4, "hook.failed", hook={"kind": 3, "percent": "x", "tokens": 1.5, "window": None})
    hook(db, "d", 4, "hook.started")
    plain = {"session": "s", "client": "claude", "event": "Stop"}
    none: dict[str, Any] = {"ms": None, "error": "", "percent": None, "tokens": None, "window": None, "chars": 0}
    assert hook_calls.of_session(db, "s") == [
        {**plain, **none, "at": 4, "kind": "", "outcome": "failed"},
        {**plain, **none, "at": 5, "kind": "", "outcome": "late"},
        {**plain, "at": 5, "kind": "turn", "ms": 1.5, "outcome": "ok", "error": "late", "percent": 12.5, "tokens": 7,
         "window": 200, "chars": 9},
    ]  # fmt: skip
    assert hook_calls.extent(db, "s") == {"calls": 3, "first": 4, "last": 5, "client": "claude"}
    assert hook_calls.extent(db, "t") is None and hook_calls.of_session(db, "t") == []


def test_what_was_last_called_is_told_of_each_event_of_each_client(db: apsw.Connection) -> None:
    hook(db, "a", 10, "hook.failed", error="old")
    hook(db, "b", 20, "hook.degraded", error="first")
    hook(db, "c", 21, "hook.failed", error="last")
    hook(db, "d", 22, "hook.timeout", error="")
    hook(db, "e", 30)
    hook(db, "f", 19, metadata={"event": "Start"})
    hook(db, "g", 40, metadata={"event": "Later"})
    assert hook_calls.by_event(db, 20) == [
        hook_calls.Called("claude", "Later", 40, 1),
        hook_calls.Called("claude", "Stop", 30, 4, (("degraded", "first"), ("failed", "last"), ("late", ""))),
        hook_calls.Called("claude", "Start", 19, 0),
    ]
    assert hook_calls.by_event(db, 22)[1] == hook_calls.Called("claude", "Stop", 30, 2, (("late", ""),))
    assert hook_calls.by_event(db, 21)[1].errors("failed") == ["last"]


def test_older_hooks_and_texts_go_some_at_once(db: apsw.Connection) -> None:
    for number in range(4):
        hook(db, f"h{number}", 10 + number)
        injected(db, f"i{number}", 10 + number)
    assert [hook_calls.delete_before(db, 13, 2) for _ in range(3)] == [4, 2, 0]
    assert [one["at"] for one in (*hook_calls.of_session(db, "s"), *hook_calls.injections(db, "s"))] == [13, 13]
    hook_calls.forget(db, "t")
    assert len(hook_calls.of_session(db, "s")) == len(hook_calls.injections(db, "s")) == 1
    hook_calls.forget(db, "s")
    assert hook_calls.of_session(db, "s") == hook_calls.injections(db, "s") == []


def test_a_text_is_kept_word_for_word_and_once(db: apsw.Connection) -> None:
    about = {"estimatedTokens": 7, "memoryIds": ["m1", "m2"]}
    injected(db, "b", 5, "x" * 12_001, metadata=about, duration_ms=2.5)
    injected(db, "b", 6, "another")
    injected(db, "a", 5, "plain", metadata={"estimatedTokens": 1.5, "memoryIds": "m1"})
    injected(db, "c", 5, None)
    hook_calls.record_injection(db, event("d"))
    hook_calls.record_injection(db, event("e", injected="text"))
    kept = {"session": "s", "at": 5, "kind": "startup"}
    assert hook_calls.injections(db, "s") == [
        {**kept, "id": "a", "text": "plain", "tokens": 0, "ms": None, "memories": []},
        {**kept, "id": "b", "text": "x" * 12_000, "tokens": 7, "ms": 2.5, "memories": ["m1", "m2"]},
    ]


def put(db: apsw.Connection, *given: Any) -> None:
    for one in given:
        assert events.insert(db, one, "")


def test_the_events_of_a_session_are_told_without_debug(db: apsw.Connection) -> None:
    put(
        db, event("b", 5, level="warn", error="e", duration_ms=1.5, metadata={"n": 1}), event("a", 5),
        event("z", 4, level="debug"), event("y", 3), event("x", 3, sessionId="t"),
    )  # fmt: skip
    plain: dict[str, Any] = {
        "level": "info", "component": "c", "action": "a", "ms": None, "error": "", "metadata": {},
    }  # fmt: skip
    expected = [
        {**plain, "id": "y", "at": 3},
        {**plain, "id": "b", "at": 5, "level": "warn", "ms": 1.5, "error": "e", "metadata": {"n": 1}},
        {**plain, "id": "a", "at": 5},
    ]
    assert overview.session_events(db, "s") == expected


def say(db: apsw.Connection, text: str, at: int, **more: Any) -> None:
    one: Any = documents.blank(more.pop("collection", "episodes"), f"d{db.total_changes()}", text, at)
    one |= {"session_id": "s", "observation_type": "episode", **more}
    documents.insert(db, one, b"", signatures=False)
