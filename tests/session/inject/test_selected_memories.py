"""Which recalled memories are handed to an agent, and in which order: those that say something it does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from conftest import NOW_MS

from core import clock
from session.inject import selection
from session.state import schema

if TYPE_CHECKING:
    from session.state.schema import SessionState

RULE = "We decided to keep the lease at 45 s"
REASON = "The gateway keeps its lease for 45 s because billing depends on it"
PLAIN = "The gateway keeps a lease of its own"


def hit(text: str, *, score: float = 0.6, **more: Any) -> Any:
    return {
        "id": text, "score": score, "observation": text, "collection": "observations", "session": "", "tags": [],
        "categoryId": "", "context": "", **more,
    }  # fmt: skip


def session(*said: str) -> SessionState:
    state = schema.blank("s1", "interactive", NOW_MS)
    return {**state, "messages": [{"text": text, "hash": str(at)} for at, text in enumerate(said)]}


def texts(*hits: Any, state: SessionState | None = None) -> list[str]:
    return [memory["text"] for memory in selection.select(hits, state)]


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        (REASON, 0.9),
        (f"assistant: {REASON}", 0.9),
        (f"User: {REASON}", 0.9),
        (RULE, 0.85),
        (PLAIN, 0.6),
        ("I've updated the three files as you asked", 0.35),
        ("Let me look at the file", 0.1),
        ("ok", 0.1),
        ("", 0.1),
    ],
)
def test_how_much_a_text_says_by_itself(text: str, worth: float) -> None:
    assert selection.worth(text) == worth


@pytest.mark.parametrize(
    ("sentence", "weight"), [(RULE, 0.7), (PLAIN, 0.15), ("Let me look at the lease, which must never end", 0.05)]
)
def test_what_is_lost_with_a_sentence(sentence: str, weight: float) -> None:
    assert selection.weight(sentence) == pytest.approx(weight)


def test_the_best_first_by_score_and_worth() -> None:
    assert texts(hit(PLAIN, score=0.8), hit(REASON, score=0.6), hit(RULE, score=0.5)) == [REASON, PLAIN, RULE]


def test_five_at_most_each_text_once_and_cut() -> None:
    many = [hit(f"{RULE} in harbour {number}", score=0.9 - number / 100) for number in range(7)]
    assert texts(*many) == [f"{RULE} in harbour {number}" for number in range(5)]
    again = {**many[1], "observation": many[0]["observation"], "id": "other"}
    assert texts(many[0], again) == [many[0]["observation"]]
    long = f"{RULE} " + "x" * 200
    assert texts(hit(long)) == [long[:199] + "…"]


def test_a_category_else_the_collection() -> None:
    [named, unnamed] = selection.select([hit(REASON, categoryId="jc:operations"), hit(RULE)], None)
    assert (named["category"], unnamed["category"]) == ("operations", "observations")


def test_a_turn_that_repeats_what_is_said_is_left_out() -> None:
    state = session("we decided to keep the lease at 45 s")
    turn = f"user: {RULE}"
    assert texts(hit(turn, collection="episodes"), state=state) == []
    assert texts(hit(turn, collection="episodes"), state=session("something else altogether")) == [turn]
    assert texts(hit(turn), state=state) == [turn], "what somebody chose to keep"


@pytest.mark.parametrize(
    ("about", "said", "bears"),
    [
        ({}, "anything", True),
        ({"tags": ["session-task"]}, "anything", False),
        ({"collection": "knowledge"}, "anything", True),
        # turns: of another session, with enough score, of use by themselves, and with a name that is said now
        ({"collection": "episodes", "score": 0.5}, "why does leaseTable grow?", True),
        ({"collection": "episodes", "score": 0.499}, "why does leaseTable grow?", False),
        ({"collection": "episodes"}, "why does the table grow?", False),
        ({"collection": "episodes"}, "why does otherTable grow?", False),
        ({"collection": "episodes", "session": "s1"}, "why does leaseTable grow?", False),
        ({"collection": "episodes", "observation": "ok"}, "why does leaseTable grow?", False),
        # what is shown of it has the name
        ({"collection": "episodes", "observation": f"{REASON} {'x' * 140} leaseTable"}, "and leaseTable?", False),
        # what the user wanted in another session
        ({"collection": "episodes", "observation": f"user: leaseTable: {REASON}"}, "and leaseTable?", False),
        ({"collection": "episodes", "observation": f"assistant: leaseTable: {REASON}"}, "and leaseTable?", True),
    ],
)
def test_which_memories_bear_on_what_is_said(about: dict[str, Any], said: str, bears: bool) -> None:
    one = hit("The leaseTable must be kept small because billing reads it", **{"session": "other", **about})
    assert bool(selection.bearing([one], session(), said)) is bears


@pytest.mark.parametrize(
    ("said_at", "compacted_at", "bears"),
    [(1000, None, False), (1000, 2000, True), (1999, 2000, True), (2000, 2000, False), (3000, 2000, False)],
)
@pytest.mark.parametrize(
    ("start", "collection"), [("user: ", "episodes"), ("assistant: ", "episodes"), ("", "observations")]
)
def test_a_session_is_told_what_it_said_or_learnt_where_a_compaction_dropped_it(
    said_at: int, compacted_at: int | None, bears: bool, start: str, collection: str
) -> None:
    own = {"session": "s1", "timestamp": clock.iso(NOW_MS + said_at), "collection": collection}
    one = hit(f"{start}leaseTable: {REASON}", **own)
    state = {**session(), "lastCompactionAt": None if compacted_at is None else NOW_MS + compacted_at}
    assert bool(selection.bearing([one], state, "and leaseTable?")) is bears  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("turn", "narrates"),
    [
        ("The leaseTable must be kept small because billing reads it", False),
        ("assistant: Good, the leaseTable must be kept small because billing reads it", True),
        ("Now the leaseTable must be kept small because billing reads it", True),
        ("The leaseTable must be kept small, so I’ll look at billing", True),
        ("The leaseTable must be kept small; I'm adding a bound because billing reads it", True),
        ("The leaseTable must be kept small because I'm sure that billing reads it", False),
        ("I need to keep the leaseTable small because billing reads it", True),
        ("You need to keep the leaseTable small because billing reads it", False),
        ("**Item 2: the leaseTable must be kept small because billing reads it**", True),
        ("The leaseTable must be kept small because billing reads it:", True),
        ("**The leaseTable** must be kept small because billing reads it", False),
        ("The leaseTable must be kept small because billing reads it" + " x" * 80 + " let me see", False),
    ],
)
def test_a_turn_that_tells_of_a_step_bears_on_nothing(turn: str, narrates: bool) -> None:
    one = hit(turn, collection="episodes", session="other")
    assert bool(selection.bearing([one], session(), "leaseTable")) is not narrates


def test_what_weighs_most_of_several_recalls() -> None:
    own = {"collection": "episodes", "session": "s1"}
    heavy = "We decided 3 things because it failed. It must never end before 45 s"
    found = selection.weightiest(
        [hit(PLAIN, **own), hit(REASON, **{**own, "session": "other"}), hit(heavy, **own), hit(RULE, **own)], session()
    )
    assert [memory["text"] for memory in found] == [heavy, RULE, REASON, PLAIN]
    printed = f"{PLAIN}\n$ make because it must never fail 45 times"
    assert [memory["id"] for memory in selection.weightiest([hit(printed, **own), hit(RULE, **own)], session())] == [
        RULE,
        printed,
    ]
    late = f"{PLAIN} {'x ' * 60}. We must never retry 3 times because of it"
    first, _ = selection.weightiest([hit(late, **own), hit(RULE, **own)], session())
    assert first["id"] == RULE
