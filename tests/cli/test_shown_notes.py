"""What a person reads on a terminal of a vault's parts and records, and of archived sessions, found and read."""

from __future__ import annotations

from typing import Any

from terminal import drawn

from cli.archived import view as archived
from cli.recall import view as recall

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
ABOUT = {"sessionId": "s-1", "client": "claude", "startedAt": "2026-09-21T12:13:20Z", "folder": "/w"}
HEAD = "s-1  claude  2026-09-21T12:13  /w"
PARTS = (
    "userPrompts", "decisions", "commandsRun", "filesTouched", "outputsReceipts", "verification", "blockers",
    "nextActions",
)  # fmt: skip


def test_hits_of_all_collections() -> None:
    hits = [
        {"collection": "observations", "score": 0.649, "title": "Retries", "snippet": "it\n  retries"},
        {"collection": "otel_events", "score": None, "title": "memory.recall", "snippet": "cli"},
    ]
    facets = {"source": [{"value": "cli", "count": 3}, {"value": "hook", "count": 1}], "level": []}
    assert drawn(recall.everywhere, {"query": "q", "hits": hits, "facets": facets, "totalFound": 7}, STEP) == [
        "observations        ██████░░░░ 0.65  Retries",
        "    it retries",
        "",
        "otel_events           memory.recall",
        "    cli",
        "",
        "source: cli 3, hook 1",
        "level: –",
        "2 of 7 found",
        SHOWN_STEP,
    ]
    nothing = {"query": "z" * 121, "hits": [], "totalFound": 0}
    shown = drawn(recall.everywhere, nothing, columns=200)
    assert shown == [f"Nothing bears on '{'z' * 120}'.", "0 of 0 found"]


def test_what_an_archived_session_holds() -> None:
    made: dict[str, Any] = {**ABOUT, "query": "lease", "matched": True, **dict.fromkeys(PARTS, ())}
    made["userPrompts"] = [{"line": 3, "role": "user", "text": "mend\n the lease"}] * 7
    made["filesTouched"] = ["a.py"] * 6
    row = "      3  user       mend the lease"
    assert drawn(archived.extract, {"extraction": made}, STEP) == [
        HEAD, "asked for, 7", *[row] * 6, "files, 6", *["  a.py"] * 6, SHOWN_STEP,
    ]  # fmt: skip
    empty = {**made, "userPrompts": [], "filesTouched": []}
    assert drawn(archived.extract, {"extraction": empty}) == [HEAD]
    assert drawn(archived.extract, {"extraction": {**empty, "query": "z" * 121, "matched": False}}, columns=200) == [
        HEAD, f"Nothing in it matches '{'z' * 120}': this is its beginning.",
    ]  # fmt: skip
    assert drawn(archived.extract, {"extraction": {**empty, "query": "", "matched": False}}) == [HEAD]
