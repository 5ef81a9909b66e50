"""What a turn, its work and a compaction make of the state, by value (`session.state.zones`)."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS

from session import checkpoint
from session.state import schema, task, zones

ASKED = "Fix the memory use of the importer"


def said(*texts: str) -> list[Any]:
    return [entry for text in texts if (entry := task.message(text))]


def state_of(**more: Any) -> Any:
    return {**schema.blank("s1", "interactive", NOW_MS), **more}


def asked_for(*texts: str, **more: Any) -> Any:
    """The state of a session in which this was said."""
    return {**zones.record_turn(state_of(), checkpoint.turn_of(messages=texts)), **more}


def test_a_turn_that_tells_everything() -> None:
    turn = checkpoint.turn_of(
        role="gateway", messages=["one thing", "two things"], files=["a.py", "b.py"], percent=41.5, tokens=83_000,
        window=200_000, agent="claude", cwd="/w/p",
    )  # fmt: skip
    before = state_of(messages=said("no thing"), files=["b.py", "c.py"])
    before["counts"]["userMessages"] = 1
    after = zones.record_turn(before, turn)
    assert after == {
        **before,
        "role": "gateway", "agent": "claude", "cwd": "/w/p", "messages": said("no thing", "one thing", "two things"),
        "files": ["c.py", "a.py", "b.py"], "taskHash": task.hash_of(said("no thing", "one thing", "two things")),
        "contextTokens": 83_000, "contextLimit": 200_000,
        "checkpoint": {
            **before["checkpoint"], "currentTask": "no thing | one thing | two things",
            "filesModified": ["c.py", "a.py", "b.py"], "contextPercentAtCapture": 41.5,
        },
        "counts": {**before["counts"], "userMessages": 3},
    }  # fmt: skip


def test_a_turn_that_tells_nothing_leaves_what_is_known() -> None:
    known = zones.record_turn(
        state_of(),
        checkpoint.turn_of(
            role="gateway", messages=[ASKED], files=["a.py"], tokens=0, window=9, percent=7, agent="pi", cwd="/w"
        ),
    )
    assert known["contextTokens"] == 0
    assert zones.record_turn(known, checkpoint.turn_of()) == known
    nothing_in_it = checkpoint.turn_of(percent=0, tokens=0, window=0)
    emptied = zones.record_turn(known, nothing_in_it)
    assert (emptied["contextTokens"], emptied["contextLimit"]) == (0, 0)
    assert emptied["checkpoint"]["contextPercentAtCapture"] == 0


def test_three_messages_and_twenty_files_are_known() -> None:
    turn = checkpoint.turn_of(messages=[f"thing {n}" for n in range(4)], files=[f"{n}.py" for n in range(21)])
    after = zones.record_turn(state_of(files=["old.py"]), turn)
    assert [entry["text"] for entry in after["messages"]] == ["thing 1", "thing 2", "thing 3"]
    assert after["files"] == [f"{n}.py" for n in range(1, 21)]
    assert after["checkpoint"]["filesModified"] == [f"{n}.py" for n in range(11, 21)]


@pytest.mark.parametrize(
    ("given", "percent"),
    [
        ({"tokens": 1, "window": 3}, 33.33),
        ({"tokens": 0, "window": 3}, 0.0),
        ({"tokens": 1, "window": 0}, None),
        ({"tokens": 1}, None),
        ({"window": 3}, None),
        ({"percent": 5.0, "tokens": 1, "window": 3}, 5.0),
        ({"percent": 0.0, "tokens": 1, "window": 3}, 0.0),
    ],
)
def test_the_percentage_of_a_turn(given: Any, percent: float | None) -> None:
    assert checkpoint.turn_of(**given)["percent"] == percent


def test_of_a_whole_conversation_the_last_twelve_messages_are_read() -> None:
    given = [f"thing {n}" for n in range(13)]
    assert checkpoint.turn_of(messages=given)["messages"] == said(*given[1:])
    assert checkpoint.turn_of(messages=["", given[0], " "])["messages"] == said(given[0])


def test_of_the_files_of_a_turn_the_last_twenty_are_read() -> None:
    given = [f"{n}.py" for n in range(21)]
    assert checkpoint.turn_of(files=given)["files"] == given[1:]


def test_a_path_is_one_line_and_two_hundred_characters() -> None:
    turn = checkpoint.turn_of(files=["a\nb.py", "", "/w/" + "x" * 300], cwd="/w\n")
    assert turn["files"][0] == "a b.py"
    assert [len(path) for path in turn["files"]] == [6, 200]
    assert (turn["cwd"], checkpoint.turn_of()["cwd"]) == ("/w", "")


WHERE: dict[str, Any] = {"warm": 40, "hot": 60}


@pytest.mark.parametrize(
    ("percent", "more", "zone", "entered", "recall", "write"),
    [
        (None, {}, "unknown", [], "percent-unknown", "percent-unknown"),
        (39.99, {}, "cold", [], "below-warm", "below-warm"),
        (40, {}, "warm", ["warm"], "new-task", "not-hot"),
        (40, {"warmZoneEntered": True}, "warm", [], "new-task", "not-hot"),
        (60, {}, "hot", ["warm", "hot"], "new-task", "new-task"),
        (60, {"warmZoneEntered": True}, "hot", ["hot"], "new-task", "new-task"),
        (60, {"hotZoneEntered": True}, "hot", ["warm"], "new-task", "new-task"),
        (60, {"recalledHash": "?"}, "hot", ["warm", "hot"], "unchanged", "new-task"),
        (60, {"writtenHash": "?"}, "hot", ["warm", "hot"], "new-task", "unchanged"),
        (60, {"recalledHash": "~", "writtenHash": "~"}, "hot", ["warm", "hot"], "new-task", "new-task"),
    ],
)
def test_what_the_end_of_a_turn_calls_for(
    percent: float | None, more: Any, zone: str, entered: list[str], recall: str, write: str
) -> None:
    state = asked_for(ASKED)
    state |= {key: state["taskHash"] if value == "?" else value for key, value in more.items()}
    assert zones.plan_save(state, percent, **WHERE) == {
        "zone": zone, "entered": entered, "recall": recall == "new-task", "recallReason": recall, "query": ASKED,
        "hash": state["taskHash"], "write": write == "new-task", "writeReason": write,
    }  # fmt: skip


def test_what_a_coming_compaction_calls_for() -> None:
    state = asked_for(ASKED)
    plan = zones.plan_flush(state, 10, **WHERE)
    assert plan == {
        "zone": "cold", "entered": [], "recall": True, "recallReason": "new-task", "query": ASKED,
        "hash": state["taskHash"], "write": True, "writeReason": "new-task",
    }  # fmt: skip
    cached = {**state, "recallCache": [recalled("a")], "writtenHash": state["taskHash"]}
    again = zones.plan_flush(cached, 60, **WHERE)
    assert (again["zone"], again["entered"]) == ("hot", [])
    assert (again["recall"], again["recallReason"], again["write"], again["writeReason"]) == (
        False, "cached", False, "unchanged",
    )  # fmt: skip


def test_without_a_task_nothing_is_recalled_and_nothing_written() -> None:
    for state, recall, write in ((state_of(), "no-task", "no-task"), (asked_for("go"), "query-too-short", "new-task")):
        plan = zones.plan_save(state, 60, **WHERE)
        assert (plan["recallReason"], plan["writeReason"]) == (recall, write)
        assert (plan["recall"], plan["query"]) == (False, "")


@pytest.mark.parametrize("was", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("entered", [[], ["warm"], ["hot"], ["warm", "hot"]])
def test_a_zone_stays_entered(was: tuple[bool, bool], entered: list[str]) -> None:
    state = state_of(warmZoneEntered=was[0], hotZoneEntered=was[1])
    plan: Any = {"entered": entered}
    assert zones.enter(state, plan) == {
        **state, "warmZoneEntered": was[0] or "warm" in entered, "hotZoneEntered": was[1] or "hot" in entered,
    }  # fmt: skip


def memory(text: str) -> Any:
    return {"id": text, "text": text, "category": "ops", "score": 0.5}


def recalled(query: str, *texts: str, at: int = NOW_MS) -> Any:
    return {"query": query, "hash": "h", "hits": [memory(text) for text in texts], "at": at}


def outcome(**more: Any) -> Any:
    return {"hash": "h", "query": "the query", "hits": None, "memoryId": None, **more}


def test_what_came_of_a_task_that_was_recalled_for_and_written() -> None:
    state = state_of(recallCache=[recalled("the query", "old"), recalled("other", "o")], taskMemoryIds=["t1", "t2"])
    after = zones.finish(state, outcome(hits=[memory(f"m{n}") for n in range(6)], memoryId="t1"), now=NOW_MS + 1)
    assert after == {
        **state,
        "recallCache": [recalled("other", "o"), recalled("the query", *(f"m{n}" for n in range(5)), at=NOW_MS + 1)],
        "recalledHash": "h", "writtenHash": "h", "taskMemoryIds": ["t2", "t1"],
        "counts": {**state["counts"], "recalls": 1, "writes": 1},
        "checkpoint": {
            **state["checkpoint"], "recallHits": ["m0", "o", "m1", "m2", "m3"], "recallQueries": ["the query", "other"],
        },
    }  # fmt: skip
    assert zones.finish(after, outcome(hits=[], memoryId="t3"), now=0)["counts"] == {
        **state["counts"], "recalls": 2, "writes": 2,
    }  # fmt: skip


def test_what_failed_is_as_if_it_was_never_tried() -> None:
    state = zones.finish(state_of(), outcome(), now=NOW_MS)
    assert state == state_of()


def test_a_recall_without_hits_is_not_asked_again_and_not_kept() -> None:
    state = state_of(recallCache=[recalled("the query", "old")])
    after = zones.finish(state, outcome(hits=[]), now=NOW_MS + 1)
    assert (after["recalledHash"], after["writtenHash"], after["counts"]["recalls"]) == ("h", "", 1)
    assert after["recallCache"] == state["recallCache"]


@pytest.mark.parametrize(
    ("queries", "kept"),
    [
        (["one two", "two three", "four five"], ["one two", "two three", "four five"]),
        # the one goes of whose words the others have most
        (["one two", "two three", "three four", "five six"], ["one two", "three four", "five six"]),
        (["one two", "three four", "five six", "one nine"], ["three four", "five six", "one nine"]),
        # of several the oldest, and the newest stays whatever it says
        (["a1 b1", "c1 d1", "e1 f1", "g1 h1"], ["c1 d1", "e1 f1", "g1 h1"]),
        (["x1 y1", "x1 y1 z1", "p1 q1", "x1 y1 z1"], ["x1 y1 z1", "p1 q1", "x1 y1 z1"]),
        # a share counts, not a number of words
        (["a1 b1 c1 x1 y1 z1 w1", "a1 b1 c1", "d1", "d1 e1 f1"], ["a1 b1 c1 x1 y1 z1 w1", "d1", "d1 e1 f1"]),
        (["?", "a1 b1", "b1 c1", "c1 d1"], ["?", "a1 b1", "c1 d1"]),
    ],
)
def test_three_recalls_are_kept_that_tell_most_of_the_session(queries: list[str], kept: list[str]) -> None:
    state = state_of(recallCache=[recalled(query, query, at=at) for at, query in enumerate(queries[:-1])])
    entry = outcome(query=queries[-1] + " ", hits=[memory("m")])
    after = zones.finish(state, entry, now=NOW_MS)
    assert [one["query"].strip() for one in after["recallCache"]] == kept


def test_a_compaction_starts_the_zones_anew() -> None:
    timer = {"scheduledAt": 1, "dueAt": 2, "ratio": 0.5, "cwd": "", "transcript": ""}
    state = state_of(
        warmZoneEntered=True, hotZoneEntered=True, halfRefreshed=True, idleTimer=timer, lastCompactionAt=1,
        recallCache=[recalled("q", "m")],
    )  # fmt: skip
    state["checkpoint"]["compactionCount"] = 4
    assert zones.compact(state, NOW_MS + 9) == {
        **state, "warmZoneEntered": False, "hotZoneEntered": False, "halfRefreshed": False, "idleTimer": None,
        "lastCompactionAt": NOW_MS + 9, "checkpoint": {**state["checkpoint"], "compactionCount": 5},
        "updatedAt": NOW_MS + 9,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("identifier", "session", "tags", "text", "own"),
    [
        ("t1", "other", (), "anything", True),
        ("m1", "s1", ("a", "session-task"), "anything", True),
        ("m1", "s1", (), "Task: fix it", True),
        ("m1", "s1", ("a",), "The Task: fix it", False),
        ("m1", "other", ("session-task",), "Task: fix it", False),
        ("m1", "", ("session-task",), "Task: fix it", False),
    ],
)
def test_which_memories_are_a_sessions_own_task(
    identifier: str, session: str, tags: tuple[str, ...], text: str, own: bool
) -> None:
    assert zones.is_own_task(state_of(taskMemoryIds=["t0", "t1"]), identifier, session, tags, text) is own
