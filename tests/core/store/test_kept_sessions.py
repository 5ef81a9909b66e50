"""What the store keeps of archived sessions: which one is found, in which order, and what stays when one goes."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.errors import Failure
from core.store import documents
from core.store.sessions import call_rows, forgotten, name_rows, observed, session_rows, transcripts


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


def test_a_purged_plan_stays_purged_when_its_session_is_read_again(db: apsw.Connection) -> None:
    keep(db, session("a"), session("b"))
    db.execute("UPDATE session SET plan = ? WHERE id = 'a'", (session_rows.PURGED_PLAN,))
    keep(db, session("a", 2), session("b", 2))
    assert dict(db.execute("SELECT id, plan FROM session")) == {
        "a": session_rows.PURGED_PLAN,
        "b": '[["1", "mend", "pending"]]',
    }


def test_of_a_project_those_with_calls_are_listed_or_those_that_only_talked(db: apsw.Connection) -> None:
    talks = [session("t", 2, calls=0), session("u", 3, calls=0), session("v", 4, calls=0, folder="/v")]
    keep(db, session("a", 1), *talks, session("w", 5, calls=0, project="q"))
    folder = talks[0]["folder"]
    assert ids(session_rows.sessions_of_project(db, ["p"], 1)) == ["a"]
    assert ids(session_rows.sessions_of_project(db, ["p"], 9, talks_in=folder)) == ["u", "t"]
    assert ids(session_rows.sessions_of_project(db, ["p", "q"], 2, talks_in=folder)) == ["w", "u"]


def test_a_forgotten_session_is_known_as_that_alone(db: apsw.Connection) -> None:
    keep(db, session("a"))
    call_rows.save(db, call("a", 1))
    name_rows.save_names(db, "a", [name("shard_17")])
    name_rows.save_compaction(db, "a", 1, 5, "kept")
    forgotten.forget(db, "a")
    assert session_rows.is_forgotten(db, "a") and session_rows.session(db, "a") is None
    assert not session_rows.is_forgotten(db, "b")
    assert session_rows.totals(db) == (0, 0) and name_rows.compactions(db, "a") == [] == name_rows.names(
        db, "a", every=True
    )
    assert call_rows.holding_any(db, ["make"], {}) == []
    assert session_rows.latest_sessions(db, 9) == session_rows.sessions_of_project(db, ["p", ""], 9) == []
    assert session_rows.sessions_below(db, [""]) == session_rows.sessions_below(db, ["/p"]) == []
    assert session_rows.last_compacted(db) is None


def test_the_session_that_was_compacted_last(db: apsw.Connection) -> None:
    keep(db, session("a", 50), session("b", 10), session("c", 40, project="q"), session("d", 90))
    assert session_rows.last_compacted(db) is None
    name_rows.save_compaction(db, "a", 1, 20, "")
    name_rows.save_compaction(db, "b", 1, 30, "")
    name_rows.save_compaction(db, "b", 2, 25, "")
    assert (session_rows.last_compacted(db) or {})["id"] == "b"
    name_rows.save_compaction(db, "c", 1, 0, "")
    assert (session_rows.last_compacted(db) or {})["id"] == "c", (
        "without a time it counts by when its session was active"
    )
    assert (session_rows.last_compacted(db, ["p"]) or {})["id"] == "b"
    assert (session_rows.last_compacted(db, ["p", "q"]) or {})["id"] == "c"
    assert session_rows.last_compacted(db, []) is None
    name_rows.save_compaction(db, "a", 9, 40, "")
    assert (session_rows.last_compacted(db) or {})["id"] == "a", "of two at one time the first by its id"


def test_what_stands_behind_an_escape_is_found_as_it_is_and_without_it(db: apsw.Connection) -> None:
    call_rows.save(db, call("a", 1, passage="plain\nsaid \\nShardMap here\nC:\\new"))
    for term in ("nShardMap", "ShardMap", "new", "plain", "ew"):
        assert len(call_rows.holding_any(db, [term], {})) == 1, term
    assert call_rows.holding_any(db, ["lain"], {}) == []


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


def test_a_dropped_session_may_come_again(db: apsw.Connection) -> None:
    keep(db, session("a"), session("b"))
    for one in ("a", "b"):
        call_rows.save(db, call(one, 1))
        call_rows.save(db, call(one, 2))
        name_rows.save_names(db, one, [name("n")])
        name_rows.save_compaction(db, one, 1, 5, "kept")
    assert forgotten.drop(db, "a") == 2
    assert (
        session_rows.session(db, "a") is None
        and not session_rows.is_forgotten(db, "a")
        and call_rows.calls(db, "a") == []
    )
    assert name_rows.compactions(db, "a") == [] == name_rows.names(db, "a", every=True)
    assert len(call_rows.holding_any(db, ["make"], {})) == 2, "of the other session"
    assert (len(name_rows.compactions(db, "b")), len(name_rows.names(db, "b", every=True))) == (1, 1)
    assert forgotten.drop(db, "a") == 0


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
    assert call_rows.holding_any(db, ["make"], {}) == []


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
    assert call_rows.holding_any(db, ["shard_17"], {}) == [] and len(call_rows.holding_any(db, ["make"], {})) == 1
    assert {one["name"] for one in name_rows.names(db, "a", every=True)} == {"from", "to"}
    assert session_rows.totals(db) == (0, 2)


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
    assert sorted(one["number"] for one in call_rows.holding_any(db, terms, {}, beginning=beginning)) == numbers


def test_calls_are_searched_for_in_a_session_or_a_project(db: apsw.Connection) -> None:
    keep(db, session("a"), session("b", project="q", client="pi"))
    for one in ("a", "b", "c"):
        call_rows.save(db, call(one, 1, passage="the queue"))
    call_rows.save(db, call("a", 2, passage="the queue, the queue"))

    def found(**more: Any) -> list[tuple[str, int]]:
        return [(one["session"], one["number"]) for one in call_rows.holding_all(db, ["the", "queue"], more)]

    assert found(session="a") == [("a", 2), ("a", 1)], "the best first"
    assert sorted(found(projects=["p", "q"])) == [("a", 1), ("a", 2), ("b", 1)]
    assert found(session="a", projects=["q"]) == [] and found(session="b", projects=["q"]) == [("b", 1)]
    assert len(found()) == 4 and call_rows.holding_all(db, ["queue", "absent"], {}) == []
    one = call_rows.one(db, "b", 1)
    assert one == {**call("b", 1, passage="the queue"), "rowid": 2, "project": "q", "client": "pi"}
    unknown = call_rows.one(db, "c", 1)
    assert unknown is not None and (unknown["project"], unknown["client"]) == ("", "")
    assert call_rows.one(db, "b", 2) is None


def test_of_a_common_name_the_newest_calls_are_scored(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_rows, "MOST_SCORED", 3)
    for number in range(1, 5):
        call_rows.save(db, call("a", number, passage="queue"))
    assert sorted(one["number"] for one in call_rows.holding_any(db, ["queue"], {})) == [2, 3, 4]
    assert sorted(one["number"] for one in call_rows.holding_any(db, ["queue"], {"session": "a"})) == [1, 2, 3, 4]
    forgotten.forget_call(db, "a", 4)
    assert sorted(one["number"] for one in call_rows.holding_any(db, ["queue"], {})) == [1, 2, 3]


def test_the_last_turns_of_a_session(db: apsw.Connection) -> None:
    for at, text in enumerate(("one", "two", "three", "four"), 1):
        say(db, "s", text, at * 10)
    say(db, "s", "gone", 45, forgotten_at=1)
    say(db, "s", "noted", 46, collection="observations")
    say(db, "", "of no session", 47)
    last = [(text, at) for _, text, at in session_rows.last_turns(db, "s", 2, until=30)]
    assert last == [("two", 20), ("three", 30)] and session_rows.last_turns(db, "", 9) == []


def test_a_session_is_meant_by_eight_characters_of_its_id(db: apsw.Connection) -> None:
    keep(db, session("12345678-a"), session("short"))
    say(db, "abcdefgh-1", "said")
    say(db, "gone-gone", "said", forgotten_at=1)
    forgotten.forget(db, "87654321-x")
    assert session_rows.whole_id(db, "12345678") == "12345678-a" and session_rows.whole_id(db, "1234567") == ""
    assert session_rows.whole_id(db, "1234567", least=7) == "12345678-a"
    assert session_rows.whole_id(db, "short") == "short" and session_rows.whole_id(db, "shor") == ""
    assert session_rows.whole_id(db, "abcdefgh") == session_rows.whole_id(db, "abcdefgh-1") == "abcdefgh-1"
    assert session_rows.whole_id(db, "87654321") == session_rows.whole_id(db, "87654321-x") == ""
    assert session_rows.whole_id(db, "nothing-of-it") == ""


@pytest.mark.parametrize(
    ("sessions", "shown"), [(2, "id-long0, id-long1"), (5, "id-long3, id-long4"), (6, "id-long4 and more")]
)
def test_of_several_sessions_that_begin_so_five_are_named(db: apsw.Connection, sessions: int, shown: str) -> None:
    keep(db, *(session(f"id-long{number}") for number in range(sessions)))
    with pytest.raises(Failure) as caught:
        session_rows.whole_id(db, "id-long-"[:7], least=7)
    assert caught.value.code == "SESSION_AMBIGUOUS" and caught.value.message.endswith(shown)
    assert session_rows.whole_id(db, "id-long0", least=7) == "id-long0"
    assert session_rows.sessions_beginning(db, "id-", 2) == ["id-long0", "id-long1"]


def test_files_that_were_seen_are_known_until_they_are_forgotten(db: apsw.Connection) -> None:
    seen: Any = {"path": "f", "stamp": "1", "asked": "", "client": "claude", "reason": "", "seen_at": 5}
    transcripts.note_seen(db, [seen, {**seen, "path": "g"}])
    transcripts.note_seen(db, [{**seen, "stamp": "2"}])
    assert transcripts.seen_files(db) == {"f": {**seen, "stamp": "2"}, "g": {**seen, "path": "g"}}
    transcripts.forget_seen(db, ["f"])
    assert list(transcripts.seen_files(db)) == ["g"]


def test_replies_that_cannot_be_read_are_counted_until_one_can(db: apsw.Connection) -> None:
    assert observed.position(db, "s") is None
    assert [observed.failed(db, "s"), observed.failed(db, "s"), observed.failed(db, "t")] == [1, 2, 1]
    observed.advance(db, "s", 7, "tail", 1)
    assert observed.position(db, "s") == (7, "tail")
    assert [observed.failed(db, "s"), observed.failed(db, "t")] == [1, 2]
