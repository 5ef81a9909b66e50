"""What the store keeps of archived sessions: which one is found, in which order, and what stays when one goes."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.store import documents
from core.store.sessions import call_rows, forgotten, found_calls, name_rows, session_lists, session_rows


def session(identifier: str, at: int = 1, **more: Any) -> Any:
    return {
        "id": identifier, "client": "claude", "project": "p", "folder": "/p", "updated_at": at, "prompts": 2,
        "calls": 3, "plan": [["1", "mend", "pending"]], **more,
    }  # fmt: skip


def keep(db: apsw.Connection, *given: Any) -> None:
    for one in given:
        session_rows.save_session(db, one)


def call(session: str, number: int, **more: Any) -> Any:
    return {
        "session": session, "number": number, "key": f"k{number}", "prompt": 1, "at": number, "tool": "Bash",
        "file": "", "command": "make", "outcome": "ok", "error": "", "passage": "", **more,
    }  # fmt: skip


def name(named: str, **more: Any) -> Any:
    return {"name": named, "first": 1, "last": 1, "calls": 1, "weight": 1.0, "place": "", "written": 0, **more}


def say(db: apsw.Connection, session: str, text: str, at: int = 1, **more: Any) -> int:
    one: Any = documents.blank(more.pop("collection", "episodes"), f"d{db.total_changes()}", text, at)
    one |= {"session_id": session, "observation_type": "episode", **more}
    return documents.insert(db, one, b"", signatures=False)


def ids(found: Any) -> list[str]:
    return [one["id"] for one in found]


def test_a_forgotten_session_is_known_as_that_alone(db: apsw.Connection) -> None:
    keep(db, session("a"))
    call_rows.save(db, call("a", 1))
    name_rows.save_names(db, "a", [name("shard_17")])
    name_rows.save_compaction(db, "a", 1, 5, "kept")
    forgotten.forget(db, "a")
    assert session_rows.is_forgotten(db, "a") and session_rows.session(db, "a") is None
    assert not session_rows.is_forgotten(db, "b")
    assert session_lists.totals(db) == (0, 0) and name_rows.compactions(db, "a") == [] == name_rows.names(
        db, "a", every=True
    )
    assert found_calls.holding_any(db, ["make"], {}) == []
    assert session_lists.latest_sessions(db, 9) == session_rows.last_of_project(db, "p", "") == []
    assert session_lists.sessions_below(db, [""]) == session_lists.sessions_below(db, ["/p"]) == []
    assert session_lists.last_compacted(db) is None


def test_what_stands_behind_an_escape_is_found_as_it_is_and_without_it(db: apsw.Connection) -> None:
    call_rows.save(db, call("a", 1, passage="plain\nsaid \\nShardMap here\nC:\\new"))
    for term in ("nShardMap", "ShardMap", "new", "plain", "ew"):
        assert len(found_calls.holding_any(db, [term], {})) == 1, term
    assert found_calls.holding_any(db, ["lain"], {}) == []


def test_a_compaction_is_completed_by_what_is_told_later(db: apsw.Connection) -> None:
    name_rows.save_compaction(db, "a", 3, 0, "")
    name_rows.save_compaction(db, "a", 3, 7, "kept")
    name_rows.save_compaction(db, "a", 3, 5, "")
    name_rows.save_compaction(db, "a", 9, 6, "second")
    name_rows.save_compaction(db, "a", 1, 6, "first")
    assert name_rows.compactions(db, "a") == [
        {"call": 1, "at": 6, "summary": "first"}, {"call": 9, "at": 6, "summary": "second"},
        {"call": 3, "at": 7, "summary": "kept"},
    ]  # fmt: skip
    name_rows.save_compaction(db, "a", 3, 8, "kept of the later")
    db.execute("UPDATE compaction SET summary = ? WHERE call = 9", (name_rows.PURGED_SUMMARY,))
    name_rows.save_compaction(db, "a", 9, 6, "second")
    assert [one["summary"] for one in name_rows.compactions(db, "a")] == [
        "first", name_rows.PURGED_SUMMARY, "kept of the later",
    ]  # fmt: skip


@pytest.mark.parametrize("purged", ["call", "summary", "plan"])
def test_a_dropped_session_of_which_something_was_purged_keeps_its_numbers(db: apsw.Connection, purged: str) -> None:
    keep(db, session("a"))
    call_rows.save(db, call("a", 1))
    call_rows.save(db, call("a", 2))
    name_rows.save_compaction(db, "a", 1, 5, "kept")
    if purged == "call":
        assert forgotten.forget_call(db, "a", 2)
    elif purged == "summary":
        db.execute("UPDATE compaction SET summary = ?", (name_rows.PURGED_SUMMARY,))
    else:
        db.execute("UPDATE session SET plan = ?", (session_rows.PURGED_PLAN,))
    assert forgotten.drop(db, "a") == (1 if purged == "call" else 2)
    empty = {"tool": "", "command": "", "outcome": call_rows.FORGOTTEN_CALL}
    assert call_rows.calls(db, "a") == [call("a", 1, **empty), call("a", 2, **empty)]
    assert [one["summary"] for one in name_rows.compactions(db, "a")] == (
        [name_rows.PURGED_SUMMARY] if purged == "summary" else []
    )
    plan = db.execute("SELECT plan FROM session WHERE id = 'a'").get
    assert plan == (session_rows.PURGED_PLAN if purged == "plan" else "[]")
    assert found_calls.holding_any(db, ["make"], {}) == []


def test_a_forgotten_call_leaves_its_number_and_no_name_of_its_own(db: apsw.Connection) -> None:
    call_rows.save(db, call("a", 1))
    call_rows.save(db, call("a", 2, passage="shard_17"))
    name_rows.save_names(
        db, "a", [name("own", first=2, last=2), name("from", first=1, last=2), name("to", first=2, last=3)]
    )
    assert forgotten.forget_call(db, "a", 2) is True
    assert (
        forgotten.forget_call(db, "a", 2)
        is forgotten.forget_call(db, "a", 3)
        is forgotten.forget_call(db, "b", 1)
        is False
    )
    assert call_rows.calls(db, "a") == [
        call("a", 1),
        call("a", 2, tool="", command="", outcome=call_rows.FORGOTTEN_CALL),
    ]
    assert found_calls.holding_any(db, ["shard_17"], {}) == [] and len(found_calls.holding_any(db, ["make"], {})) == 1
    assert {one["name"] for one in name_rows.names(db, "a", every=True)} == {"from", "to"}
    assert session_lists.totals(db) == (0, 2)


@pytest.mark.parametrize(
    ("terms", "beginning", "numbers"),
    [
        (["shard"], False, [1]), (["shard_"], True, [2]), (["shard_17"], False, [2]), (["shar"], True, []),
        (["shard"], True, [1, 2]), (["queue drains"], False, [1]), (["drains queue"], False, []),
        (["queue", "shard_17"], False, [1, 2]), (['que"ue', "\0"], False, []),
    ],
)  # fmt: skip
def test_calls_hold_a_term_or_what_begins_so(
    db: apsw.Connection, terms: list[str], beginning: bool, numbers: list[int]
) -> None:
    call_rows.save(db, call("a", 1, passage="the queue drains a shard"))
    call_rows.save(db, call("a", 2, passage="shard_17"))
    assert sorted(one["number"] for one in found_calls.holding_any(db, terms, {}, beginning=beginning)) == numbers


def test_calls_are_searched_for_in_a_session_or_a_project(db: apsw.Connection) -> None:
    keep(db, session("a"), session("b", project="q", client="pi"))
    for one in ("a", "b", "c"):
        call_rows.save(db, call(one, 1, passage="the queue"))
    call_rows.save(db, call("a", 2, passage="the queue, the queue"))

    def found(**more: Any) -> list[tuple[str, int]]:
        return [(one["session"], one["number"]) for one in found_calls.holding_all(db, ["the", "queue"], more)]

    assert found(session="a") == [("a", 2), ("a", 1)], "the best first"
    assert sorted(found(projects=["p", "q"])) == [("a", 1), ("a", 2), ("b", 1)]
    assert found(session="a", projects=["q"]) == [] and found(session="b", projects=["q"]) == [("b", 1)]
    assert len(found()) == 4 and found_calls.holding_all(db, ["queue", "absent"], {}) == []
    one = found_calls.one(db, "b", 1)
    assert one == {**call("b", 1, passage="the queue"), "rowid": 2, "project": "q", "client": "pi", "folder": "/p"}
    unknown = found_calls.one(db, "c", 1)
    assert unknown is not None and (unknown["project"], unknown["client"]) == ("", "")
    assert found_calls.one(db, "b", 2) is None


def test_a_session_is_meant_by_eight_characters_of_its_id(db: apsw.Connection) -> None:
    keep(db, session("12345678-a"), session("short"))
    say(db, "abcdefgh-1", "said")
    say(db, "gone-gone", "said", forgotten_at=1)
    forgotten.forget(db, "87654321-x")
    assert session_lists.whole_id(db, "12345678") == "12345678-a" and session_lists.whole_id(db, "1234567") == ""
    assert session_lists.whole_id(db, "1234567", least=7) == "12345678-a"
    assert session_lists.whole_id(db, "short") == "short" and session_lists.whole_id(db, "shor") == ""
    assert session_lists.whole_id(db, "abcdefgh") == session_lists.whole_id(db, "abcdefgh-1") == "abcdefgh-1"
    assert session_lists.whole_id(db, "87654321") == session_lists.whole_id(db, "87654321-x") == ""
    assert session_lists.whole_id(db, "nothing-of-it") == ""
