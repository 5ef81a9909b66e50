"""What a person reads on a terminal of memories, hits and notes: every text, and the colours that mean something."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS
from terminal import drawn, styles

from cli.knowledge import view as knowledge
from cli.memory import view as memory
from cli.recall import view as recall

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
WRITTEN: dict[str, Any] = {
    "project": "acme/gateway", "isGlobal": False,
    "verdict": "hold", "observation": "the gateway retries twice", "id": "m1", "categoryId": "jc:operations",
    "categorySource": "words", "reason": "it says how", "tags": ["gate", "way"], "merged": True, "mergedCount": 2,
    "redacted": ["email"],
}  # fmt: skip
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


def test_a_written_memory() -> None:
    assert drawn(memory.write, WRITTEN, STEP) == [
        "[hold] the gateway retries twice",
        "id        m1",
        "category  jc:operations (words)",
        "why       it says how",
        "project   acme/gateway",
        "tags      gate, way",
        "merged    took the place of a memory that said the same, 2 in all",
        "redacted  email",
        SHOWN_STEP,
    ]
    plain = {**WRITTEN, "verdict": "allow", "tags": [], "merged": False, "redacted": []}
    assert drawn(memory.write, plain)[0] == "[allow] the gateway retries twice"
    assert [line.split()[0] for line in drawn(memory.write, plain)[1:]] == ["id", "category", "why", "project"]
    for is_global, told in ((True, "project   none: seen in every one"), (False, "project   none known")):
        assert told in drawn(memory.write, {**plain, "project": "", "isGlobal": is_global})
    assert styles(memory.write, WRITTEN)["[hold]"] == "yellow"
    assert styles(memory.write, plain)["[allow]"] == "green"


def test_recent_memories() -> None:
    rows = [
        {"at": "2026-09-21T14:13:20.000Z", "category": "ops", "observation": "the gateway retries", "verdict": "allow"},
        {"at": "2026-09-20T04:13:20.000Z", "category": "preferences", "observation": "no tabs", "verdict": "discard"},
    ]
    assert drawn(memory.recent, {"hours": 24.0, "observations": rows}, STEP) == [
        "at                category     verdict  observation",
        "2026-09-21 14:13  ops          allow    the gateway retries",
        "2026-09-20 04:13  preferences  discard  no tabs",
        SHOWN_STEP,
    ]
    assert drawn(memory.recent, {"hours": 1.5, "observations": []}) == ["nothing was written in the last 1.5 hours"]


def test_the_scorecard() -> None:
    result = {
        "hours": 24,
        "overallStatus": "yellow",
        "metrics": [
            {"name": "echo_rate", "value": 0.12345, "status": "green", "detail": "3 of 24"},
            {"name": "held", "value": None, "status": "not enough yet", "detail": "2 recalls"},
        ],
    }
    assert drawn(memory.scorecard, result, STEP) == [
        "last 24 hours",
        "name       value  status          detail",
        "echo_rate  12.3%  green           3 of 24",
        "held       –      not enough yet  2 recalls",
        "overall  yellow",
        SHOWN_STEP,
    ]
    assert styles(memory.scorecard, result)["yellow"] == "bold yellow"


def test_one_memory() -> None:
    result = {
        "verdict": "allow", "observation": "it retries", "forgotten": True, "id": "m1", "tags": [], "source": "",
        "priority": 0, "count": None, "score": 0.25, "context": "said on Monday",
        "history": [{"at": "x", "source": "s", "text": "before", "other": 1}],
        "evidence": [{"session": "s1", "episodes": 2, "at": "y"}],
    }  # fmt: skip
    known = ["id         m1", "priority   0", "score      0.25"]
    assert drawn(memory.show, result, STEP) == [
        "[allow] it retries",
        "forgotten: no search finds it",
        "verdict    allow",
        "forgotten  yes",
        *known,
        "context",
        "said on Monday",
        "it said before",
        "at  source  text",
        "x   s       before",
        "observed in",
        "session  episodes  at",
        "s1              2  y",
        SHOWN_STEP,
    ]
    bare = {**result, "forgotten": False, "context": "", "history": [], "evidence": []}
    assert drawn(memory.show, bare) == ["[allow] it retries", "verdict    allow", "forgotten  no", *known]


def test_an_import() -> None:
    result: dict[str, Any] = {
        "lines": 1200, "added": 3, "updated": 0, "unchanged": 2, "forgotten": 0, "failed": 3,
        "redacted": {"email": 2, "key": 1},
        "errors": [{"line": 3, "reason": "no text"}, {"line": 1200, "reason": "no [b]JSON[/b]"}],
    }  # fmt: skip
    assert drawn(memory.import_, result, STEP) == [
        "lines      1,200",
        "added      3",
        "unchanged  2",
        "failed     3",
        "redacted  email 2, key 1",
        " line  reason",
        "    3  no text",
        "1,200  no [b]JSON[/b]",
        "and 1 more",
        SHOWN_STEP,
    ]
    assert drawn(memory.import_, {**result, "failed": 2})[-1] == "1,200  no [b]JSON[/b]"
    nothing = dict.fromkeys(("lines", "added", "updated", "unchanged", "forgotten", "failed"), 0)
    assert drawn(memory.import_, {**nothing, "redacted": {}, "errors": []}) == ["lines  0"]


def test_an_archive() -> None:
    result: dict[str, Any] = {
        "transcripts": 0, "agents": {"pi": 2, "codex": 0}, "unchanged": 0, "episodes": {"added": 3, "updated": 0},
        "calls": 7,
        "bytes": 1536, "badLines": 1, "subagents": 2, "excluded": 0,
        "skipped": [{"path": "/a", "reason": "empty"}], "skippedCount": 3,
    }  # fmt: skip
    rows = [
        "transcripts         0",
        "of                  pi 2, codex 0",
        "episodes added      3",
        "tool calls added    7",
        "read                1.5 KiB",
        "bad lines           1",
        "subagents left out  2",
    ]
    left_out = ["left out", "path  reason", "/a    empty", "and 2 more", SHOWN_STEP]
    assert drawn(memory.archive, result, STEP) == [*rows, *left_out]
    assert drawn(memory.archive, {**result, "skipped": [], "skippedCount": 0}) == rows
    excluded = drawn(memory.archive, {**result, "excluded": 4})
    assert "in excluded folders, left out  4" in excluded


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
    assert drawn(knowledge.search, result, STEP) == [
        " 1  █████░░░░░ 0.50  adr  Retries",
        "    docs/a.md",
        "    it retries",
        "",
        " 2  █████░░░░░ 0.50  adr  Retries",
        "    docs/a.md",
        "2 of 7 found",
        SHOWN_STEP,
    ]
    nothing = {"query": "q", "hits": [], "found": 0}
    assert drawn(knowledge.search, nothing) == ["Nothing bears on 'q'.", "0 of 0 found"]
