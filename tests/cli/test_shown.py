"""What a person reads on a terminal of memories, hits, scores and injections: every text, some colours."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS
from terminal import drawn, styles

from cli.memory import view as memory
from cli.recall import view as recall
from cli.session import view as session
from cli.terminal import told

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
HIT: dict[str, Any] = {
    "score": 0.649, "categoryId": "jc:operations", "collection": "observations", "timestamp": "2026-09-21T12:13:20Z",
    "source": "manual", "path": "", "writeVerdict": "allow", "id": "m1", "observation": "it retries",
    "origin": "user",
}  # fmt: skip
FOUND: dict[str, Any] = {
    "query": "gateway", "rewrittenQuery": b"gateway".decode(), "count": 2, "found": 5, "backend": "sqlite",
    "budget": {"applied": "balanced"}, "hits": [HIT],
}  # fmt: skip
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


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))


def test_an_answer_is_told_by_names_then_groups_and_tables() -> None:
    result = {
        "lines": 1200, "added": 3, "failed": 0, "tags": ["a", "b"], "redacted": {"email": 2, "key": 1},
        "errors": [{"line": 3, "reason": "no text"}, {"line": 1200, "reason": "no [b]JSON[/b]"}], "files": ["x" * 61],
        "none": None, "preview": True, "compact": False,
    }  # fmt: skip
    assert drawn(told, result, STEP) == [
        "lines    1,200", "added    3", "tags     a, b", "preview  yes", "compact  no", "redacted",
        "email  2", "key    1", "errors",
        " line  reason", "    3  no text", "1,200  no [b]JSON[/b]", "files", "x" * 61, SHOWN_STEP,
    ]  # fmt: skip


def test_one_memory() -> None:
    result = {
        "verdict": "hold", "observation": "it retries", "id": "m1", "tags": [], "hint": "say why",
        "history": [{"at": "x", "source": "s", "text": "before"}],
    }  # fmt: skip
    assert drawn(memory.memory, result, STEP) == [
        "[hold] it retries", "say why", "id  m1", "history", "at  source  text", "x   s       before", SHOWN_STEP,
    ]  # fmt: skip
    assert styles(memory.memory, result)["[hold]"] == "yellow"
    assert drawn(memory.memory, {"place": "a.py", "passage": "lease = 3"}) == ["a.py", "passage  lease = 3"]


def test_hits() -> None:
    other = {
        **HIT, "score": 0.04, "collection": "episodes", "timestamp": "", "source": "", "path": "src/a.py",
        "writeVerdict": "hold", "title": "A [title]",
    }  # fmt: skip
    assert drawn(recall.hits, {**FOUND, "hits": [HIT, other]}, STEP) == [
        " 1  ██████░░░░ 0.65  operations  2 h ago  user  manual  m1",
        "    it retries",
        "",
        " 2  ░░░░░░░░░░ 0.04  operations  episodes  user  src/a.py  hold  m1",
        "    A [title]",
        "    it retries",
        "",
        "2 of 5 found · balanced · sqlite",
        SHOWN_STEP,
    ]
    assert styles(recall.hits, {**FOUND, "hits": [other]})["hold"] == "yellow"


def test_why_hits_are_missing() -> None:
    result = {
        **FOUND, "query": "z" * 21, "rewrittenQuery": "zz", "hits": [], "count": 0, "droppedByTrustPass": 3,
        "fallback": {"reason": "gone"},
        "droppedDiagnostics": [{"reasons": ["noise", "age"], "observation": "o" * 60 + "p" * 41}],
    }  # fmt: skip
    shown = drawn(recall.hits, result)
    assert shown[:3] == [
        f"Nothing bears on '{'z' * 21}'.",
        "0 of 5 found · balanced · sqlite · searched for zz · 3 left out",
        "The cluster was not asked or gave no answer: gone",
    ]
    assert "".join(shown[3:]) == f"  left out (noise, age):{'o' * 60}{'p' * 40}"


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


def test_how_a_score_came_about() -> None:
    left = {"score": 0.125, "id": "m3", "reasons": ["noise", "beyond_limit"], "observation": "it\n retries"}
    told = {
        "formula": "a = b", "terms": ["lease", "raise"], "dropped": [left] * 16, "droppedCount": {"noise": 16},
        "hits": [SCORED, {"rank": 12, "score": 1.0, "id": "m2", "beside": "stands beside m1"}],
    }  # fmt: skip
    result = {**FOUND, "hits": [], "explanation": told}
    lines = drawn(recall.hits, result, columns=250)[2:]
    assert lines[:4] == ["how the scores came about", "a = b", "searched for: lease, raise", " 1  0.65  m1"]
    assert "    words      lease 1.234" in lines and "    lexical    bm25 2.5, score 0.75, rank 1" in lines
    assert "12  1.00  m2" in lines and "    beside  stands beside m1" in lines
    at = lines.index("left out")
    assert lines[at + 2].split() == ["0.125", "m3", "noise,", "beyond_limit", "it", "retries"]
    assert lines[at + 17 :] == ["all together: noise 16"], "fifteen of them"


def test_an_injection() -> None:
    result = {
        "injected": True, "customType": "recovery", "estimatedTokens": 1200, "content": "hello\nyou", "reason": "",
    }  # fmt: skip
    assert drawn(session.injection, result, STEP) == [
        "╭─ recovery · 1200 tokens ─╮",
        "│ hello                    │",
        "│ you                      │",
        "╰──────────────────────────╯",
        SHOWN_STEP,
    ]
    none = {**result, "injected": False, "reason": "not-due"}
    assert drawn(session.injection, none) == ["Nothing injected: not-due."]
