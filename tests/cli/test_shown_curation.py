"""What a person reads on a terminal of a memory that was changed, purged or pruned, and of how a score came about."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from terminal import drawn, styles

from cli.memory import purge
from cli.memory import view as memory
from cli.recall import explain_view
from cli.store import view as prune

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
ROW: dict[str, Any] = {
    "id": "m1", "at": "2026-09-21T12:13:20Z", "category": "ops", "verdict": "allow", "pinned": False, "stale": False,
    "forgotten": False, "supersededBy": "", "tags": [], "project": "", "observation": "it\n retries",
}  # fmt: skip
CHANGED: dict[str, Any] = {
    "id": "m1", "observation": "it retries", "changed": True, "verdict": "allow", "category": "ops", "tags": ["a", "b"],
}  # fmt: skip
GONE: dict[str, Any] = {
    "purged": False, "memories": ["m1", "m2"], "toolCalls": 1200, "summaries": 0, "events": 3, "injectedTexts": 0,
    "hookCalls": 0, "states": [], "statesChanged": ["s"], "logSections": 0, "waitingEvents": 0, "filesDeleted": [],
    "bytes": 2048, "cluster": None, "namedOnly": [], "notTouched": [],
}  # fmt: skip
PRUNED: dict[str, Any] = {
    "events": {"byAge": 1200, "bySize": 0}, "episodes": 3, "toolCalls": 0, "hooksAndInjections": 2, "dryRun": False,
    "bytes": {"overLimit": 0, "before": 4096, "after": 2048},
}  # fmt: skip
TAKEN: dict[str, Any] = {
    "form": "claude", "items": 1200, "added": 1, "updated": 0, "merged": 2, "unchanged": 0, "forgotten": 0,
    "leftOutCount": 0, "verdicts": {"allow": 3}, "categories": {}, "redacted": {}, "leftOut": [],
    "first": [{"where": "a.md:3", "outcome": "added", "verdict": "allow", "category": "ops", "observation": "it"}],
}  # fmt: skip
SCORED: dict[str, Any] = {
    "rank": 1, "score": 0.649, "id": "m1", "words": [{"term": "lease", "weight": 1.234}],
    "lexical": {"bm25": 2.5, "score": 0.75, "rank": 1}, "semantic": {"cosine": 0.5, "score": 0.25, "rank": 0},
    "segment": None, "fused": 0.5, "substance": 1, "decay": {"factor": 0.9, "by": "age", "days": 3.0}, "project": 1,
    "boost": {"factor": 1.1, "priority": 2.0, "recalls": 4}, "known": 1, "echo": 1,
}  # fmt: skip


def test_a_page_of_memories() -> None:
    result = {"memories": [ROW, {**ROW, "verdict": "hold"}], "page": 3, "limit": 20, "count": 2, "found": 42}
    assert drawn(memory.list_, result, STEP) == [
        "m1  2026-09-21  ops", "    it retries", "",
        "m1  2026-09-21  ops  hold", "    it retries", "",
        "41 to 42 of 42", SHOWN_STEP,
    ]  # fmt: skip
    assert styles(memory.list_, result)["it retries"] == "yellow"
    assert "it retries" not in styles(memory.list_, {**result, "memories": [ROW]})
    none = {"memories": [], "page": 1, "limit": 20, "count": 0, "found": 0}
    assert drawn(memory.list_, none, STEP) == ["no memory is like that", SHOWN_STEP]


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
    assert drawn(memory.list_, result)[0] == f"m1  2026-09-21  ops  {told}"


def test_a_changed_memory() -> None:
    rows = ["category  ops", "tags      a, b"]
    assert drawn(memory.changed, CHANGED, STEP) == ["it retries", "id        m1", *rows, SHOWN_STEP]
    assert drawn(memory.changed, {**CHANGED, "before": b"it retries".decode()})[1:] == ["id        m1", *rows]
    much = {
        **CHANGED, "changed": False, "superseded": {"observation": "it did not"}, "before": "it tried", "merged": True,
        "takenOut": ["m9"], "verdict": "hold", "reason": "a wish", "hint": "say how", "redacted": ["email", "key"],
    }  # fmt: skip
    assert drawn(memory.changed, much)[1:] == [
        "id          m1",
        "changed     nothing: it was so before",
        "instead of  it did not",
        "it said     it tried",
        "merged      a memory said so already: it took the place",
        "forgotten   m9",
        "gate        hold: a wish",
        "hint        say how",
        "category    ops",
        "tags        a, b",
        "redacted    email, key",
    ]


def test_what_was_purged_or_would_be() -> None:
    rows = [
        "memories                      2",
        "tool calls                    1,200",
        "events                        3",
        "session states that quote it  1",
    ]
    assert drawn(purge.shown, GONE, STEP) == ["would be deleted for good", *rows, SHOWN_STEP]
    done = {**GONE, "purged": True, "cluster": {"pending": 2}, "namedOnly": ["a", "b"], "notTouched": ["/x", "/y"]}
    assert [" ".join(line.split()) for line in drawn(memory.forget, done)] == [
        "deleted for good", "memories 2", "tool calls 1,200", "events 3", "session states that quote it 1",
        "the store is now 2.0 KiB", "waiting for the cluster 2", "not touched: yours a, b",
        "not touched: copies, transcripts /x", "/y",
    ]  # fmt: skip
    assert drawn(purge.shown, {**GONE, "declined": True}, STEP) == ["nothing was deleted"]


def test_what_was_pruned_or_would_be() -> None:
    counts = ["events by age           1,200", "archived turns          3", "hooks and injected texts  2"]
    shown = [" ".join(line.split()) for line in drawn(prune.pruned, PRUNED, STEP)]
    told = [" ".join(line.split()) for line in counts]
    assert shown == ["dropped", *told, "the store 2.0 KiB", "given back 2.0 KiB", SHOWN_STEP.replace("  ", " ")]
    same = {"overLimit": 0, "before": 2048, "after": 2048}
    nothing = {"events": {"byAge": 0, "bySize": 0}, "episodes": 0, "toolCalls": 0, "hooksAndInjections": 0}
    for dry in (True, False):
        well = drawn(prune.pruned, {**nothing, "bytes": same, "dryRun": dry})
        assert well == ["nothing is old or too much", "the store  2.0 KiB"]
    grown = {**nothing, "bytes": {"overLimit": 0, "before": 2048, "after": 4096}, "dryRun": False}
    assert drawn(prune.pruned, grown)[1:] == ["the store  4.0 KiB"]
    beyond = {**nothing, "bytes": {**same, "overLimit": 1024}}
    assert drawn(prune.pruned, {**beyond, "dryRun": True}) == [
        "would be dropped",
        "beyond retention.store_mb  1.0 KiB: debug events, then turns",
        "the store                  2.0 KiB",
    ]
    assert drawn(prune.pruned, {**beyond, "dryRun": False})[:2] == [
        "nothing is old or too much",
        "beyond retention.store_mb  1.0 KiB",
    ]


def test_what_was_taken_in_from_another_tool() -> None:
    rows = ["form      claude", "items     1,200", "added     1", "merged    2", "left out  0", "verdicts  allow 3"]
    first = ["where   outcome  verdict  category  observation", "a.md:3  added    allow    ops       it"]
    assert drawn(memory.import_, TAKEN, STEP) == [*rows, *first, "and 2 more", SHOWN_STEP]
    whole = {
        **TAKEN, "merged": 0, "preview": True, "leftOutCount": 3,
        "leftOut": [{"where": "b.md", "reason": "empty", "text": "x"}],
    }  # fmt: skip
    assert drawn(memory.import_, whole) == [
        "a preview: nothing was stored",
        *rows[:3],
        "left out  3",
        rows[5],
        *first,
        "left out",
        "where  reason  text",
        "b.md   empty   x",
        "and 2 more",
    ]


def test_a_tool_call_of_an_archived_session() -> None:
    call = {
        "place": "a.py", "id": "call:s:3", "project": "", "client": "pi", "at": "then", "outcome": "ok", "error": "",
        "command": "make", "passage": "lease = 3", "session": "s",
    }  # fmt: skip
    rows = ["a.py", "id       call:s:3", "client   pi", "at       then", "outcome  ok", "command  make"]
    title = "lines in which names stand first in the session"
    assert drawn(memory.show, call, STEP) == [*rows, title, "lease = 3", SHOWN_STEP]
    assert drawn(memory.show, {**call, "passage": ""}) == rows


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
