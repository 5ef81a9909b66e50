"""What is told of a session from its rows: its hooks, the texts it was given, its events, its calls by time."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.store import documents, events
from core.store.history import hook_calls, injections, session_log
from core.store.sessions import call_rows, turn_rows


def event(identifier: str, at: int = 1, **more: Any) -> Any:
    return {
        "id": identifier, "timestamp": at, "sessionId": "s", "systemId": "h", "level": "info", "source": "cli",
        "component": "c", "action": "a", "success": True, "metadata": {}, **more,
    }  # fmt: skip


def hook(db: apsw.Connection, identifier: str, at: int = 1, action: str = "hook.completed", **more: Any) -> None:
    about = {"agent": "claude", "event": "Stop", **more.pop("metadata", {})}
    events.record_hook(db, event(identifier, at, action=action, metadata=about, **more))


def injected(db: apsw.Connection, identifier: str, at: int = 1, text: Any = "said", **more: Any) -> None:
    kind = more.pop("kind", "startup")
    injections.record(db, event(identifier, at, injected={"kind": kind, "text": text}, **more))


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


def test_hooks_are_counted_by_what_became_of_them(db: apsw.Connection) -> None:
    for number, (action, session) in enumerate(
        (("hook.completed", "s1"), ("hook.completed", "s2"), ("hook.degraded", "s3"), ("hook.failed", "s4"),
         ("hook.timeout", "s5"))
    ):  # fmt: skip
        hook(db, f"h{number}", 10 + number, action, sessionId=session)
    assert hook_calls.outcomes(db, 0) == [
        ("claude", "Stop", "degraded", 1), ("claude", "Stop", "failed", 1), ("claude", "Stop", "late", 1),
        ("claude", "Stop", "ok", 2),
    ]  # fmt: skip
    assert hook_calls.outcomes(db, 14) == [("claude", "Stop", "late", 1)] and hook_calls.outcomes(db, 15) == []
    assert [hook_calls.sessions_since(db, since) for since in (0, 11, 12, 13)] == [3, 2, 1, 0]
    assert hook_calls.sessions_beginning(db, "s", 2) == ["s1", "s2"]
    assert hook_calls.sessions_beginning(db, "s5", 2) == ["s5"] and hook_calls.sessions_beginning(db, "t", 2) == []


def test_the_times_of_hooks_are_those_that_are_known_the_quickest_first(db: apsw.Connection) -> None:
    for number, ms in enumerate((9.0, 2, None, 4.5)):
        hook(db, f"h{number}", 10 + number, **({} if ms is None else {"duration_ms": ms}))
    assert hook_calls.times(db, 0) == [("claude", "Stop", 2.0), ("claude", "Stop", 4.5), ("claude", "Stop", 9.0)]
    assert hook_calls.times(db, 11) == [("claude", "Stop", 2.0), ("claude", "Stop", 4.5)]


def test_what_was_last_called_is_told_of_each_event_of_each_client(db: apsw.Connection) -> None:
    hook(db, "a", 10, "hook.failed", error="old")
    hook(db, "b", 20, "hook.degraded", error="first")
    hook(db, "c", 21, "hook.failed", error="last")
    hook(db, "d", 22, "hook.timeout", error="")
    hook(db, "e", 30)
    hook(db, "f", 19, metadata={"event": "Start"})
    hook(db, "g", 40, metadata={"event": "Later"})
    assert hook_calls.by_event(db, 20) == [
        hook_calls.Called("claude", "Later", 40, 1, 0, 0, ""),
        hook_calls.Called("claude", "Stop", 30, 4, 2, 1, ""),
        hook_calls.Called("claude", "Start", 19, 0, 0, 0, ""),
    ]
    assert hook_calls.by_event(db, 22)[1] == hook_calls.Called("claude", "Stop", 30, 2, 0, 1, "")
    assert hook_calls.by_event(db, 21)[1].failed == 1
    db.execute("DELETE FROM hook_call WHERE id = 'd'")
    assert hook_calls.by_event(db, 21)[1].error == "last"


def test_older_hooks_and_texts_go_some_at_once(db: apsw.Connection) -> None:
    for number in range(4):
        hook(db, f"h{number}", 10 + number)
        injected(db, f"i{number}", 10 + number)
    for kind in (hook_calls, injections):
        assert [kind.delete_before(db, 13, 2), kind.delete_before(db, 13, 2), kind.delete_before(db, 13, 2)] == [
            2,
            1,
            0,
        ]
        assert [one["at"] for one in kind.of_session(db, "s")] == [13]  # type: ignore[index]
        kind.forget(db, "t")
        assert len(kind.of_session(db, "s")) == 1
        kind.forget(db, "s")
        assert kind.of_session(db, "s") == []


def test_a_text_is_kept_word_for_word_and_once(db: apsw.Connection) -> None:
    about = {"estimatedTokens": 7, "memoryIds": ["m1", "m2"]}
    injected(db, "b", 5, "x" * 12_001, metadata=about, duration_ms=2.5)
    injected(db, "b", 6, "another")
    injected(db, "a", 5, "plain", metadata={"estimatedTokens": 1.5, "memoryIds": "m1"})
    injected(db, "c", 5, None)
    injections.record(db, event("d"))
    injections.record(db, event("e", injected="text"))
    kept = {"session": "s", "at": 5, "kind": "startup"}
    assert injections.of_session(db, "s") == [
        {**kept, "id": "a", "text": "plain", "tokens": 0, "ms": None, "memories": []},
        {**kept, "id": "b", "text": "x" * 12_000, "tokens": 7, "ms": 2.5, "memories": ["m1", "m2"]},
    ]


@pytest.mark.parametrize(("kept", "read"), [('["m", 3]', ["m"]), ('{"m": 1}', []), ("no JSON", [])])
def test_a_list_of_memories_that_another_wrote_is_read_as_far_as_it_is_one(
    db: apsw.Connection, kept: str, read: list[str]
) -> None:
    injected(db, "a")
    db.execute("UPDATE injection SET memories = ?", (kept,))
    assert injections.of_session(db, "s")[0]["memories"] == read


def test_texts_are_counted_by_kind_the_most_first(db: apsw.Connection) -> None:
    injected(db, "a", 5, kind="startup", metadata={"estimatedTokens": 3, "memoryIds": ["m"]})
    for number, kind in enumerate(("refresh", "refresh", "project", "project")):
        injected(db, f"r{number}", 6, kind=kind, metadata={"estimatedTokens": 2, "memoryIds": ["m", "n"]})
    several = [("project", 2, 4, 4), ("refresh", 2, 4, 4)]
    assert injections.by_kind(db, 5) == [*several, ("startup", 1, 3, 1)] and injections.by_kind(db, 6) == several
    assert injections.by_kind(db, 7) == []


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
    assert session_log.events(db, "s") == expected
    for unreadable in ("[1]", "no JSON"):
        db.execute("UPDATE event SET metadata = ?", (unreadable,))
        assert [one["metadata"] for one in session_log.events(db, "s")] == [{}, {}, {}]


def say(db: apsw.Connection, text: str, at: int, **more: Any) -> None:
    one: Any = documents.blank(more.pop("collection", "episodes"), f"d{db.total_changes()}", text, at)
    one |= {"session_id": "s", "observation_type": "episode", **more}
    documents.insert(db, one, b"", signatures=False)


def test_what_was_said_is_counted_and_its_prompts_are_in_order(db: apsw.Connection) -> None:
    assert turn_rows.spoken(db, "s") == (0, 0, 0)
    say(db, "user: second", 7)
    say(db, "assistant: reply", 9)
    say(db, "user: first", 5)
    say(db, "user: forgotten", 3, forgotten_at=4)
    say(db, "user: of another", 1, session_id="t")
    say(db, "user: of none", 1, session_id="")
    assert turn_rows.spoken(db, "s") == (3, 5, 9) and turn_rows.spoken(db, "") == (0, 0, 0)
    assert turn_rows.timed_prompts(db, "s") == [{"at": 5, "text": "first"}, {"at": 7, "text": "second"}]
    assert turn_rows.timed_prompts(db, "") == []


def test_calls_are_told_by_their_time_prompt_and_failure(db: apsw.Connection) -> None:
    for number, (at, outcome) in enumerate(((None, "failed"), (7, "ok"), (9, ""))):
        call_rows.save(db, {
            "session": "s", "number": 3 - number, "key": f"k{number}", "prompt": number, "at": at, "tool": "",
            "file": "",
            "command": "", "outcome": outcome, "error": "", "passage": "",
        })  # fmt: skip
    assert session_log.call_times(db, "s") == [(9, 2, False), (7, 1, False), (0, 0, True)]
    assert session_log.call_times(db, "t") == []


def test_memories_are_told_by_their_beginnings(db: apsw.Connection) -> None:
    for number in range(501):
        documents.insert(db, documents.blank("knowledge", f"m{number}", f"text {number}", 1), b"", signatures=False)
    db.execute("UPDATE document SET forgotten_at = 1 WHERE id = 'm7'")
    asked = [*(f"m{number}" for number in range(501)), "m1", "gone"]
    found = session_log.memory_texts(db, iter(asked), 8)
    assert len(found) == 500 and found["m500"] == "text 500" and "m7" not in found
    assert session_log.memory_texts(db, ["m500"], 6) == {"m500": "text 5"} and session_log.memory_texts(db, [], 9) == {}


def test_errors_are_counted_together_where_they_are_alike(db: apsw.Connection) -> None:
    put(
        db, event("a", 4, level="error", error="e", sessionId="s1"), event("b", 6, level="error", error="e"),
        event("c", 5, level="fatal"), event("d", 7, level="warn"), event("e", 8, level="debug"),
        event("f", 3, level="error", component="d"),
    )  # fmt: skip
    latest = {"at": 6, "component": "c", "action": "a", "error": "e", "count": 2, "sessionId": "s1"}
    fatal = {"at": 5, "component": "c", "action": "a", "error": "", "count": 1, "sessionId": "s"}
    assert session_log.errors(db, 4, 9) == [latest, fatal] and session_log.errors(db, 4, 1) == [latest]
    assert session_log.errors(db, 5, 9) == [{**latest, "count": 1, "sessionId": "s"}, fatal]
    assert [session_log.error_count(db, since) for since in (3, 4, 5, 6, 7)] == [4, 3, 2, 1, 0]
    assert session_log.counts(db, 4) == [("c", "a", 4)] and session_log.counts(db, 8) == []
    assert sorted(session_log.counts(db, 3)) == [("c", "a", 4), ("d", "a", 1)]


def test_recalls_of_the_command_line_are_told_by_what_they_returned(db: apsw.Connection) -> None:
    told = {"component": "recall-cli", "action": "memory.recall.completed"}
    put(
        db, event("a", 4, **told, metadata={"returned": 3}, duration_ms=1.5), event("b", 5, **told, metadata={}),
        event("c", 5, component="recall-cli"), event("d", 5, action="memory.recall.completed"),
        event("e", 6, **told, metadata={"returned": "x"}),
    )  # fmt: skip
    assert session_log.recalls(db, 4) == [(3, 1.5), (0, None), (0, None)]
    assert len(session_log.recalls(db, 5)) == 2 and session_log.recalls(db, 7) == []
