"""What use, age, shortness, a named time and the budget make of a memory, to the figure; and whose words it holds."""

from __future__ import annotations

import time
from datetime import date, timedelta
from math import exp, log
from types import SimpleNamespace
from typing import Any

import pytest

from core.clock import DAY_MS, parse_iso
from recall import budget, dates, engine, origin, trust


@pytest.mark.parametrize(
    ("priority", "recalls", "boost"),
    [
        (0, 0, 1.0), (1, 0, 1.15), (2, 0, 1.15), (-1, 0, 0.85), (-2, 0, 0.85), (0.5, 0, 1.075), (0, -5, 1.0),
        (0, 1, 1 + 0.06 * log(2)), (0, 1_000_000, 1.3), (1, 1_000_000, 1.15 * 1.3),
    ],
)  # fmt: skip
def test_what_use_does_to_a_score(priority: float, recalls: int, boost: float) -> None:
    assert trust.usage_boost(priority, recalls) == pytest.approx(boost)


@pytest.mark.parametrize(
    ("collection", "days", "left"),
    [
        ("observations", 0, 1.0), ("observations", 10, exp(-0.1)), ("observations", 91, exp(-0.91)),
        ("observations", 92, 0.4), ("observations", -5, 1.0), ("episodes", 30, 1 - 0.05 * (1 - exp(-1))),
        ("episodes", -30, 1.0), ("knowledge", 900, 1.0),
    ],
)  # fmt: skip
def test_what_age_leaves(collection: str, days: int, left: float) -> None:
    assert trust.age_factor(collection, days * DAY_MS, 0.05) == pytest.approx(left)


def test_a_turn_of_150_characters_loses_nothing() -> None:
    assert [trust.substance("episodes", chars) for chars in (0, 75, 149, 150, 300)] == [
        pytest.approx(left) for left in (0.85, 0.925, 0.999, 1.0, 1.0)
    ]
    assert trust.substance("observations", 0) == 1.0


WORDS = [f"word{number}" for number in range(20)]


@pytest.mark.parametrize(
    ("text", "asked", "echo"),
    [
        ("user: " + " ".join(WORDS), WORDS[:17], True), ("user: " + " ".join(WORDS), WORDS[:16], False),
        ("user: is it the word1", ["word1"], True), ("users: word1", ["word1"], False), ("user:", ["word1"], False),
        ("assistant: word1", ["word1"], False), ("Task: word0 word1 word2", WORDS[:5], True),
        ("Task: word0 word1 other", WORDS[:5], False), ("Task: word0", ["is", "the"], False),
        ("Task: word0", ["word0", "is", "the", "it"], True),
    ],
)  # fmt: skip
def test_whether_a_memory_is_the_question_itself(text: str, asked: list[str], echo: bool) -> None:
    assert trust.echoes(text, frozenset(asked)) is echo


SHOWN = {
    "chars": 12, "collection": "observations", "stale": False, "recall_count": 0, "pinned": False, "confirmed_at": 0,
    "write_verdict": "allow", "superseded_by": "",
}  # fmt: skip
OLD = 90 * DAY_MS


@pytest.mark.parametrize(
    ("about", "score", "now", "why"),
    [
        ({}, 0.5, OLD, []), ({"chars": 11}, 0.5, OLD, ["too_short"]),
        ({"chars": 11, "collection": "episodes"}, 0.5, OLD + 1, []), ({"stale": True}, 0.5, OLD, ["stale_tagged"]),
        ({}, 0.5, OLD + 1, ["stale_age"]), ({"pinned": True}, 0.5, OLD + 1, []),
        ({"recall_count": 1}, 0.5, OLD + 1, []),
        ({"confirmed_at": 1}, 0.5, OLD + 1, []), ({}, 0.3, 0, []), ({}, 0.29, 0, ["below_min_score"]), ({}, 1.0, 0, []),
        ({}, 1.01, 0, ["invalid_score"]), ({}, -0.01, 0, ["invalid_score"]), ({}, float("nan"), 0, ["invalid_score"]),
        ({"write_verdict": "hold"}, 0.5, 0, ["held_by_write_gate"]), ({"superseded_by": "x"}, 0.5, 0, ["superseded"]),
        ({"write_verdict": "discard"}, 0.5, 0, ["discarded_by_write_gate"]),
    ],
)  # fmt: skip
def test_why_a_candidate_is_dropped(about: Any, score: float, now: int, why: list[str]) -> None:
    def reasons(hold: bool, discard: bool) -> list[str]:
        traits: Any = {**SHOWN, **about}
        return trust.reasons(traits, score, now, min_score=0.3, include_hold=hold, include_discard=discard)

    assert reasons(False, False) == why
    assert reasons(True, False) == [one for one in why if one != "held_by_write_gate"]
    assert reasons(False, True) == [one for one in why if one != "discarded_by_write_gate"]


@pytest.mark.parametrize(
    ("requested", "query", "applied", "reason"),
    [
        ("auto", "x" * 90, "balanced", "auto.default"), ("auto", "x" * 91, "deep", "auto.long_query"),
        ("auto", "tea AND milk", "deep", "auto.complex_query"), ("auto", "Why", "deep", "auto.complex_query"),
        ("auto", "sand", "balanced", "auto.default"), ("lean", "why", "lean", "explicit"),
        ("deep", "x", "deep", "explicit"),
    ],
)  # fmt: skip
def test_the_budget_that_a_query_gets(requested: str, query: str, applied: str, reason: str) -> None:
    found = budget.choose(requested, query)
    assert (found["requested"], found["applied"], found["reason"]) == (requested, applied, reason)
    assert found["rewriteEnabled"] is (applied != "lean")
    assert (found["fetchMultiplier"], found["maxInject"]) == {
        "lean": (1.8, 5), "balanced": (3.0, 10), "deep": (5.0, 10)
    }[applied]  # fmt: skip


@pytest.mark.parametrize(
    ("requested", "most", "raw", "named", "chars"),
    [
        ("lean", 5, False, True, 820), ("lean", 5, False, False, 1000), ("lean", 1, True, False, 1000),
        ("lean", 6, False, True, 984), ("lean", 10, True, False, 2000), ("balanced", 5, False, True, None),
        ("balanced", 5, True, True, 820), ("balanced", 5, True, False, 3000), ("deep", 5, True, False, None),
        ("auto", 5, True, False, 3000),
    ],
)  # fmt: skip
def test_how_long_an_answer_may_be(requested: str, most: int, raw: bool, named: bool, chars: int | None) -> None:
    assert budget.answer_chars(budget.choose(requested, "why"), most, raw=raw, named=named) == chars


@pytest.mark.parametrize(
    ("characters", "needed", "each"),
    [
        (100, [10, 200, 200], 45), (100, [200, 10, 200], 45), (100, [50, 50], 100), (100, [50, 51], 50),
        (100, [200], 100), (99, [10, 20, 100], 69), (10, [1], 10), (10, [4, 4, 4], 3), (101, [60, 60], 50),
    ],
)  # fmt: skip
def test_what_needs_less_leaves_the_rest_to_the_others(characters: int, needed: list[int], each: int) -> None:
    assert budget.share(characters, needed) == each


def day(text: str) -> int:
    found = parse_iso(f"{text}T00:00:00Z")
    assert found is not None
    return found


SUNDAY = day("2026-11-22") + 15 * 3_600_000


@pytest.mark.parametrize(
    ("query", "start", "end", "slack"),
    [
        ("last week", "2026-11-09", "2026-11-16", (0, 3)), ("previous week", "2026-11-09", "2026-11-16", (0, 3)),
        ("this week", "2026-11-16", "2026-11-23", (0, 0)), ("past month", "2026-10-01", "2026-11-01", (0, 7)),
        ("this year", "2026-01-01", "2027-01-01", (0, 0)), ("last sunday", "2026-11-15", "2026-11-16", (0, 1)),
        ("on monday", "2026-11-16", "2026-11-17", (0, 1)), ("last saturday", "2026-11-21", "2026-11-22", (0, 1)),
        ("past 2 weeks", "2026-11-08", "2026-11-23", (0, 0)), ("one month ago", "2026-10-08", "2026-11-08", (15, 15)),
        ("a week ago", "2026-11-12", "2026-11-19", (3, 3)), ("10 days ago", "2026-11-12", "2026-11-13", (0, 0)),
        ("1 may", "2026-04-30", "2026-05-05", (6, 11)), ("5 November", "2026-11-04", "2026-11-09", (6, 11)),
        ("December 5th", "2025-12-04", "2025-12-09", (6, 11)), ("31 of july 2024", "2024-07-30", "2024-08-04", (6, 11)),
        ("32 july 2024", "2024-07-01", "2024-08-01", (0, 7)), ("since march", "2026-03-01", "2026-04-01", (0, 7)),
        ("may 2024", "2024-05-01", "2024-06-01", (0, 7)), ("2024-12-31", "2024-12-30", "2025-01-04", (6, 11)),
        ("2024-05-32", "2024-05-01", "2024-06-01", (0, 7)), ("in 2024-13", "2024-01-01", "2025-01-01", (0, 7)),
        ("in 1990", "1990-01-01", "1991-01-01", (0, 7)), ("in 2099", "2099-01-01", "2100-01-01", (0, 7)),
        ("jun 2024", "2024-06-01", "2024-07-01", (0, 7)), ("it was today", "2026-11-22", "2026-11-23", (0, 0)),
    ],
)  # fmt: skip
def test_the_days_that_a_query_names(query: str, start: str, end: str, slack: tuple[int, int]) -> None:
    span = dates.named(query, SUNDAY)
    assert span is not None
    zone = (time.localtime(SUNDAY / 1000).tm_gmtoff or 0) * 1000
    assert (span.start, span.end, span.slack) == (day(start) - zone, day(end) - zone, slack)


@pytest.mark.parametrize(
    "query",
    ["friday", "0 days ago", "many days ago", "days ago", "in 1989", "in 2100", "in 20244", "jan 20244", "2024-13-05",
     "last 3 commits", "last", "ago", "the march of time"],
)  # fmt: skip
def test_words_that_name_no_day(query: str) -> None:
    assert dates.named(query, SUNDAY) is None


@pytest.mark.parametrize("query", ["the latest", "newest of them", "recently", "last time"])
def test_what_is_recent_has_no_first_day(query: str) -> None:
    span = dates.named(query, SUNDAY)
    assert span is not None and (span.start, span.end) == (None, SUNDAY)
    assert span.factor(SUNDAY + DAY_MS) == 1.0


def test_a_day_is_that_of_the_user_s_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = SimpleNamespace(localtime=lambda _: SimpleNamespace(tm_gmtoff=10 * 3600), gmtime=time.gmtime)
    monkeypatch.setattr(dates, "time", ahead)
    span = dates.named("today", SUNDAY)
    assert span is not None and span.start == day("2026-11-23") - 10 * 3_600_000
    assert span.end - span.start == DAY_MS


def test_beside_the_days_that_are_meant_a_memory_keeps_most_of_its_score() -> None:
    span = dates.Span(10 * DAY_MS, 12 * DAY_MS, 99 * DAY_MS, (2, 3))
    ends = (8 * DAY_MS - 1, 8 * DAY_MS, 10 * DAY_MS - 1, 10 * DAY_MS, 12 * DAY_MS - 1, 12 * DAY_MS, 15 * DAY_MS - 1)
    assert [span.factor(at) for at in (*ends, 15 * DAY_MS)] == [0.7, 0.85, 0.85, 1.0, 1.0, 0.85, 0.85, 0.7]


def test_days_are_those_of_the_calendar() -> None:
    for step in range(0, 42_000, 59):
        at = date(1990, 1, 1) + timedelta(days=step)
        assert dates._day(at.year, at.month, at.day) == at.toordinal() - 719_163
    assert dates._day(2000, 2, 29) + 1 == dates._day(2000, 3, 1)


@pytest.mark.parametrize(
    ("tool", "said"),
    [("Bash", "tool Bash"), ("WebFetch", "web WebFetch"), ("google_web_search", "web google_web_search"), ("", "tool")],
)
def test_who_said_what_a_call_holds(tool: str, said: str) -> None:
    assert origin.of_call(tool) == said


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"collection": "knowledge", "path": "a/b.md"}, "file a/b.md"), ({"collection": "knowledge"}, "file"),
        ({"collection": "episodes", "text": "user: x"}, "user"),
        ({"collection": "episodes", "text": "assistant: user: x"}, "assistant"),
        ({"source": "Web https://h"}, "Web https://h"),
        ({"source": "tool:x", "id": "im-1"}, "tool:x"), ({"source": "user", "id": "im-1"}, "import"),
        ({"source": "user"}, "user"), ({"source": "assistant: y"}, "assistant"), ({"source": "observe"}, "assistant"),
        ({"source": "MCP x"}, "assistant"), ({"source": "cli"}, "user"), ({"source": ""}, "user"),
    ],
)  # fmt: skip
def test_who_said_what_a_memory_holds(about: dict[str, str], said: str) -> None:
    document: Any = {"collection": "observations", "path": "", "text": "", "source": "", "id": "x", **about}
    assert origin.of_document(document) == said


@pytest.mark.parametrize(
    ("about", "printed"),
    [
        ({"origin": "user"}, "a b"), ({"origin": "tool Bash"}, "[tool Bash] a b"),
        ({"origin": "file x.md"}, "[file x.md] a b"),
        ({"origin": "file"}, "[file] a b"), ({"origin": "tool Bash", "collection": "calls"}, "[tool] a b"),
        ({"origin": "tool Bash", "collection": "work"}, "a\nb"), ({"origin": "import"}, "a b"),
    ],
)  # fmt: skip
def test_in_front_of_foreign_words_stands_whose_they_are(about: dict[str, str], printed: str) -> None:
    hit: Any = {"collection": "observations", "observation": "a\nb", **about}
    assert origin.line(hit) == printed


@pytest.mark.parametrize(
    ("more", "applied"),
    [
        ({"include_hold": True, "include_discard": True}, []),
        ({}, ["write_verdict:!=hold", "write_verdict:!=discard"]),
        ({"include_hold": True, "min_score": 0.25}, ["min_score:0.25", "write_verdict:!=discard"]),
        ({"include_hold": True, "include_discard": True, "collections": ["calls", "episodes"], "project": "p",
          "filters": {"session": "s", "category": "jc:x", "tags": ("a", "b")}},
         ["collection:calls,episodes", "session:s", "project:p", "category:jc:x", "tag:a", "tag:b"]),
        ({"include_hold": True, "include_discard": True, "collections": [*engine.COLLECTIONS, "calls"]}, []),
    ],
)  # fmt: skip
def test_the_filters_that_an_answer_names(more: dict[str, Any], applied: list[str]) -> None:
    filters: Any = {"session": "", "category": "", **more.pop("filters", {})}
    given: Any = {
        "collections": (), "project": "", "min_score": 0.0, "include_hold": False, "include_discard": False, **more,
    }  # fmt: skip
    assert engine._filters_applied(filters, **given) == applied
