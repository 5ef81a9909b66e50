"""What a person reads on a terminal of a memory that was changed, purged or pruned, and of how a score came about."""

from __future__ import annotations

from typing import Any

import pytest
from terminal import drawn, styles

from cli.memory import view as memory
from cli.recall import view as recall

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
ROW: dict[str, Any] = {
    "id": "m1", "at": "2026-09-21T12:13:20Z", "category": "ops", "verdict": "allow", "pinned": False, "stale": False,
    "forgotten": False, "supersededBy": "", "tags": [], "project": "", "observation": "it\n retries",
}  # fmt: skip
FOUND: dict[str, Any] = {
    "query": "lease", "rewrittenQuery": "lease", "hits": [], "count": 0, "found": 0, "backend": "sqlite",
    "budget": {"applied": "lean"},
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


def test_how_a_score_came_about() -> None:
    left = {"score": 0.125, "id": "m3", "reasons": ["noise", "beyond_limit"], "observation": "it\n retries"}
    told = {
        "formula": "a = b", "terms": ["lease", "raise"], "dropped": [left] * 16, "droppedCount": {"noise": 16},
        "hits": [SCORED, {"rank": 12, "score": 1.0, "id": "m2", "beside": "stands beside m1"}],
    }  # fmt: skip
    result = {**FOUND, "explanation": told}
    lines = drawn(recall.hits, result, columns=250)[2:]
    assert lines[:4] == ["how the scores came about", "a = b", "searched for: lease, raise", " 1  0.65  m1"]
    assert "    words      lease 1.234" in lines and "    lexical    bm25 2.5, score 0.75, rank 1" in lines
    assert "12  1.00  m2" in lines and "    beside  stands beside m1" in lines
    at = lines.index("left out")
    assert lines[at + 2].split() == ["0.125", "m3", "noise,", "beyond_limit", "it", "retries"]
    assert lines[at + 17 :] == ["all together: noise 16"], "fifteen of them"
