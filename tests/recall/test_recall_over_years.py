"""Age decides among near equals and outweighs nothing; a time in the query counts more."""

from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import NOW, NOW_MS, Run
from hypothesis import given
from hypothesis import strategies as st

from core.clock import DAY_MS, iso, parse_iso
from recall import ranking
from recall.times import period_named, words_of_time

HARBOUR = "the harbour crane was painted {} and the gate of the lock was oiled as well"


def archive(run: Run, folder: Path, messages: dict[str, tuple[str, str]]) -> None:
    """One session for each name: when, and what the user said in it."""
    for name, (at, text) in messages.items():
        transcript = Transcript(folder / f"{name}.jsonl")
        transcript.write(transcript.entry("user", text, timestamp=at, uuid=name))
    run("memory", "archive", str(folder))


def hits(run: Run, query: str) -> list[dict[str, Any]]:
    return run("recall", query, env=NOW).result["hits"]


def ago(days: float) -> str:
    return iso(int(NOW_MS - days * DAY_MS))


def test_an_old_answer_comes_before_a_new_text_that_matches_less(run: Run, tmp_path: Path) -> None:
    archive(run, tmp_path, {
        "old": (ago(900), "we chose blue for the crane because the rust shows less on it"),
        "young": (ago(1), "the crane is out of order until Monday, says the harbour office"),
    })  # fmt: skip
    first, *_ = hits(run, "which blue colour for the crane because of rust")
    assert first["session"] == "old"
    assert first["score"] >= 0.3


def test_the_newer_of_equal_hits_comes_first(run: Run, tmp_path: Path) -> None:
    archive(run, tmp_path, {name: (ago(days), HARBOUR.format(name)) for name, days in (("red", 400), ("blue", 3))})
    assert [hit["session"] for hit in hits(run, "crane painted")] == ["blue", "red"]


def test_a_score_means_the_same_after_years(run: Run, tmp_path: Path) -> None:
    archive(run, tmp_path, {"old": (ago(1000), HARBOUR.format("green"))})
    (now,) = hits(run, "crane painted green")
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    archive(run, fresh, {"new": (ago(0), HARBOUR.format("green") + " again")})
    scores = {hit["session"]: hit["score"] for hit in hits(run, "crane painted green")}
    assert scores["old"] >= 0.94 * scores["new"]
    assert now["score"] > 0


@pytest.mark.parametrize(("query", "first"), [
    ("what about the crane yesterday", "yesterday"), ("the crane last month", "month"),
    ("the crane two months ago", "months"), ("crane in May 2025", "may"),
    ("the crane on 12 May 2025", "may"), ("harbour crane painted 2025-05-12", "may"),
])  # fmt: skip
def test_a_time_in_the_query_counts(run: Run, tmp_path: Path, query: str, first: str) -> None:
    times = {"yesterday": ago(1), "month": ago(30), "months": ago(61), "may": "2025-05-12T09:00:00.000Z"}
    archive(run, tmp_path, {name: (at, HARBOUR.format("once")) for name, at in times.items()})
    assert hits(run, query)[0]["session"] == first


def day(text: str) -> int:
    parsed = parse_iso(text)
    assert parsed is not None
    return parsed


SUNDAY = day("2026-11-22T15:00:00Z")


@pytest.mark.parametrize(("query", "start", "end"), [
    ("today", "2026-11-22", "2026-11-23"), ("what did we do yesterday?", "2026-11-21", "2026-11-22"),
    ("last week", "2026-11-09", "2026-11-16"), ("this week", "2026-11-16", "2026-11-23"),
    ("last month", "2026-10-01", "2026-11-01"), ("this month", "2026-11-01", "2026-12-01"),
    ("last year", "2025-01-01", "2026-01-01"), ("3 days ago", "2026-11-19", "2026-11-20"),
    ("two weeks ago", "2026-11-05", "2026-11-12"), ("in June", "2026-06-01", "2026-07-01"),
    ("in December", "2025-12-01", "2026-01-01"),
    ("Feb 2024", "2024-02-01", "2024-03-01"), ("2024-02", "2024-02-01", "2024-03-01"),
    ("in 2023", "2023-01-01", "2024-01-01"), ("in May", "2026-05-01", "2026-06-01"),
    ("8 May, 2023", "2023-05-07", "2023-05-12"), ("May 8th 2023", "2023-05-07", "2023-05-12"),
    ("the 8th of May 2023", "2023-05-07", "2023-05-12"), ("2023-05-08", "2023-05-07", "2023-05-12"),
    ("31 December 2023", "2023-12-30", "2024-01-04"), ("29 February 2024", "2024-02-28", "2024-03-04"),
])  # fmt: skip
def test_times_are_read(query: str, start: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert period_named(words_of_time(query), SUNDAY) == (day(start), day(end))


@given(st.integers(0, 20_000), st.sampled_from(["observations", "episodes", "knowledge"]))
def test_age_takes_no_more_than_its_share(days: int, collection: str) -> None:
    least = {"observations": 0.4, "episodes": 0.95, "knowledge": 1.0}[collection]
    assert least <= ranking.age_factor(collection, days * DAY_MS, 0.05) <= 1.0
    assert ranking.age_factor(collection, (days + 1) * DAY_MS, 0.05) <= ranking.age_factor(
        collection, days * DAY_MS, 0.05
    )
