"""What a person reads on a terminal of a memory that was changed, purged or pruned, and of how a score came about."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from terminal import drawn, styles

from cli.memory import view as memory
from cli.recall import explain_view

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
ROW: dict[str, Any] = {
    "id": "m1", "at": "2026-09-21T12:13:20Z", "category": "ops", "verdict": "allow", "pinned": False, "stale": False,
    "forgotten": False, "supersededBy": "", "tags": [], "project": "", "observation": "it\n retries",
}  # fmt: skip
SCORED: dict[str, Any] = {
    "rank": 1, "score": 0.649, "id": "m1", "words": [{"term": "lease", "weight": 1.234}],
    "lexical": {"bm25": 2.5, "score": 0.75, "rank": 1}, "semantic": {"cosine": 0.5, "score": 0.25, "rank": 0},
    "segment": None, "fused": 0.5, "substance": 1, "decay": {"factor": 0.9, "by": "age", "days": 3.0}, "project": 1,
    "boost": {"factor": 1.1, "priority": 2.0, "recalls": 4}, "known": 1, "echo": 1,
}  # fmt: skip


def test_a_page_of_memories() -> None:
    result = {"memories": [ROW, {**ROW, "verdict": "hold"}], "page": 3, "limit": 20, "count": 2, "found": 42}
    assert drawn(memory.listed, result, STEP) == [
        "m1  2026-09-21  ops", "    it retries", "",
        "m1  2026-09-21  ops  hold", "    it retries", "",
        "41 to 42 of 42", SHOWN_STEP,
    ]  # fmt: skip
    assert styles(memory.listed, result)["it retries"] == "yellow"
    assert "it retries" not in styles(memory.listed, {**result, "memories": [ROW]})
    none = {"memories": [], "page": 1, "limit": 20, "count": 0, "found": 0}
    assert drawn(memory.listed, none, STEP) == ["no memory is like that", SHOWN_STEP]


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"verdict": "discard"}, "discard"),
        ({"pinned": True, "stale": True, "tags": ["pinned", "stale", "x"]}, "pinned · stale · #x"),
        ({"forgotten": True, "supersededBy": "m2"}, "forgotten · superseded by m2"),
        ({"tags": ["x", "y"], "project": "acme/gateway"}, "#x · #y · acme/gateway"),
    ],
)
def test_what_tells_a_memory_from_others(about: dict[str, Any], told: str) -> None:
    result = {"memories": [{**ROW, **about}], "page": 1, "limit": 20, "count": 1, "found": 1}
    assert drawn(memory.listed, result)[0] == f"m1  2026-09-21  ops  {told}"


def explained(told: dict[str, Any]) -> list[str]:
    """The lines that `--explain` adds."""
    base = {"terms": ["lease", "raise"], "hits": [], "dropped": [], "droppedCount": {}}
    lines = drawn(lambda _: explain_view.explanation(Console(), {**base, **told}), None, columns=250)
    assert lines[:2] == ["how the scores came about", "searched for: lease, raise"]
    return lines[2:]


def test_how_a_score_came_about() -> None:
    assert explained({}) == []
    assert explained({"hits": [SCORED]}) == [
        " 1  0.65  m1",
        "    words    lease 1.23: BM25 2.50, gives 0.75 (place 1)",
        "    meaning  cosine 0.50, gives 0.25",
        "    score    0.50 both × 0.90 age (3 days) × 1.10 use (priority 2, recalled 4 times) = 0.65",
    ]
    much = {
        **SCORED, "words": [], "semantic": None, "segment": {"evidence": 0.4, "w": 0.3}, "substance": 0.8,
        "decay": {"factor": 1.0, "by": "pinned", "days": 0.5}, "project": 0.7, "known": 0.6, "echo": 0.5,
    }  # fmt: skip
    assert explained({"hits": [much]})[1:] == [
        "    words         none: BM25 2.50, gives 0.75 (place 1)",
        "    turns around  evidence 0.40, counts 0.30",
        "    score         0.50 both × 0.80 substance × 1.00 pinned, does not age (0.5 days) × 0.70 other project ×"
        " 1.10 use (priority 2, recalled 4 times) × 0.60 known words × 0.50 only repeats the question = 0.65",
    ]
    beside = {"rank": 12, "score": 1.0, "id": "m2", "beside": "stands beside m1"}
    assert explained({"hits": [beside]}) == ["12  1.00  m2", "    stands beside m1"]


def test_why_others_were_left_out() -> None:
    entry = {
        "score": 0.125, "id": "m3", "reasons": ["noise", "beyond_limit"], "words": SCORED["words"],
        "observation": "it\n retries " + "x" * 100,
    }  # fmt: skip
    together = "    all together: noise {}"
    assert explained({"dropped": [entry], "droppedCount": {"noise": 1}}) == [
        "left out",
        "    0.12  m3  noise, not among the best that were asked for",
        f"          it retries {'x' * 89}  (lease 1.23)",
        together.format(1),
    ]
    many = explained({"dropped": [{**entry, "words": []}] * 16, "droppedCount": {"noise": 16}})
    assert len(many) == 1 + 15 * 2 + 2
    assert many[2] == f"          it retries {'x' * 89}"
    assert many[-2:] == [together.format(16), "    --json shows the first 50"]
    assert explained({"dropped": [entry] * 15, "droppedCount": {"noise": 15}})[-1] == together.format(15)
