"""What words, meaning, use, age and shortness make of a score; why a memory is dropped; which budget a query gets."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.clock import DAY_MS
from recall import ranking
from recall.query import Query, Scope


@pytest.mark.parametrize(
    ("bm25", "cosine", "score"),
    [
        (0.0, None, 0.0), (2.0, None, 0.5), (2.0, 0.3, 0.5), (0.0, 0.55, 0.175), (0.0, 1.0, 0.35), (2.0, 0.8, 0.675),
    ],
)  # fmt: skip
def test_words_and_meaning_are_added_as_chances(bm25: float, cosine: float | None, score: float) -> None:
    assert ranking.combined(bm25, cosine, 2.0) == pytest.approx(score)


@pytest.mark.parametrize(
    ("stage", "chars", "factor"),
    [
        ("", 10, 1.0), ("question", 10, 1.0), ("asked", 10, 0.9), ("under way", 300, 0.95), ("ended", 300, 1.0),
        ("ended", 150, 0.85), ("ended", 0, 0.7),
    ],
)  # fmt: skip
def test_in_a_session_with_calls_early_and_short_turns_lose(stage: str, chars: int, factor: float) -> None:
    traits: Any = {"stage": stage, "chars": chars}
    assert ranking.stage_factor(traits) == pytest.approx(factor)


WORDS = [f"word{number}" for number in range(20)]


@pytest.mark.parametrize(
    ("text", "asked", "echo"),
    [
        ("user: " + " ".join(WORDS), WORDS[:17], True), ("user: " + " ".join(WORDS), WORDS[:16], False),
        ("assistant: word1", ["word1"], False), ("Task: word0 word1 word2", WORDS[:5], True),
        ("Task: word0 word1 other", WORDS[:5], False),
    ],
)  # fmt: skip
def test_whether_a_memory_is_the_question_itself(text: str, asked: list[str], echo: bool) -> None:
    document: Any = {"text": text, "context": "", "project": "", "session_id": ""}
    scope: Any = Scope(apsw.Connection(":memory:"), Query("q"))
    assert (ranking.echo_factor(document, asked, scope) == ranking.ECHO) is echo


SHOWN = {
    "chars": 12, "collection": "observations", "stale": False, "recall_count": 0, "pinned": False, "confirmed_at": 0,
    "write_verdict": "allow", "by_hand": False, "superseded_by": "",
}  # fmt: skip
OLD = 90 * DAY_MS


@pytest.mark.parametrize(
    ("about", "score", "now", "why"),
    [
        ({"chars": 11}, 0.5, OLD, ["too_short"]), ({"chars": 2, "by_hand": True}, 0.5, OLD, []),
        ({"chars": 11, "collection": "episodes"}, 0.5, OLD + 1, []),
        ({"stale": True}, 0.5, OLD, ["stale_tagged"]), ({}, 0.5, OLD + 1, ["stale_age"]),
        ({"pinned": True}, 0.5, OLD + 1, []), ({"recall_count": 1}, 0.5, OLD + 1, []), ({}, 0.3, OLD, []),
        ({}, 0.29, 0, ["below_min_score"]), ({}, float("nan"), 0, ["invalid_score"]),
        ({"write_verdict": "hold"}, 0.5, 0, ["held_by_write_gate"]), ({"superseded_by": "x"}, 0.5, 0, ["superseded"]),
        ({"write_verdict": "discard"}, 0.5, 0, ["discarded_by_write_gate"]),
    ],
)  # fmt: skip
def test_why_a_candidate_is_dropped(about: Any, score: float, now: int, why: list[str]) -> None:
    def reasons(**included: bool) -> list[str]:
        traits: Any = {**SHOWN, **about}
        return ranking.distrust(traits, score, now, Query("q", min_score=0.3, **included))  # type: ignore[arg-type]

    assert reasons() == why
    assert reasons(include_hold=True) == [one for one in why if one != "held_by_write_gate"]
    assert reasons(include_discard=True) == [one for one in why if one != "discarded_by_write_gate"]


@pytest.mark.parametrize(
    ("requested", "query", "applied", "reason"),
    [
        ("auto", "x" * 90, "balanced", "auto.default"), ("auto", "x" * 91, "deep", "auto.long_query"),
        ("auto", "tea AND milk", "deep", "auto.complex_query"), ("lean", "why", "lean", "explicit"),
    ],
)  # fmt: skip
def test_the_budget_that_a_query_gets(requested: str, query: str, applied: str, reason: str) -> None:
    found = Query(query, budget=requested).profile()
    assert (found["requested"], found["applied"], found["reason"]) == (requested, applied, reason)
    assert found["rewriteEnabled"] is (applied != "lean")
