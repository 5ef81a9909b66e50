"""What a person reads on a terminal of memories, hits and notes: every text, and the colours that mean something."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS
from terminal import drawn, styles

from cli.knowledge import view as knowledge
from cli.memory import view as memory
from cli.recall import view as recall
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
SECTION = {
    "score": 0.5, "type": "adr", "title": "Retries", "path": "docs/a.md", "snippet": "it retries", "line": 7,
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


def test_a_hit_that_is_a_tool_call_stands_under_its_place() -> None:
    call = {**HIT, "collection": "calls", "observation": "Bash (make): lease (3): 4", "path": "/a", "source": "user"}
    heading = " 1  ██████░░░░ 0.65  operations  calls  2 h ago  user  m1"
    assert drawn(recall.hits, {**FOUND, "hits": [call]})[:4] == [heading, "    Bash (make)", "    lease (3): 4", ""]
    assert drawn(recall.hits, {**FOUND, "hits": [{**call, "observation": "it retries"}]})[1] == "    it retries"
    said = {**HIT, "observation": "it said (twice): no"}
    assert drawn(recall.hits, {**FOUND, "hits": [said]})[1] == "    it said (twice): no", "a memory has no place"


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


def test_sections_that_were_found() -> None:
    result = {"query": "q", "hits": [SECTION, {**SECTION, "snippet": ""}], "found": 7}
    assert drawn(knowledge.hits, result, STEP) == [
        " 1  █████░░░░░ 0.50  adr  Retries",
        "    docs/a.md:7",
        "    it retries",
        "",
        " 2  █████░░░░░ 0.50  adr  Retries",
        "    docs/a.md:7",
        "2 of 7 found",
        SHOWN_STEP,
    ]
    nothing = {"query": "q", "hits": [], "found": 0}
    assert drawn(knowledge.hits, nothing) == ["Nothing bears on 'q'.", "0 of 0 found"]
