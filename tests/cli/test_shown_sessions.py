"""What a person reads on a terminal of sessions, compactions and idle timers: every text, and some colours."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS
from terminal import drawn

from cli.idle import timers as idle
from cli.session import view as session

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
DECIDED: dict[str, Any] = {
    "compact": True, "reason": "above-threshold", "contextTokens": 190_000, "source": "usage", "threshold": 183_616,
    "window": 200_000, "windowFrom": "claude", "reserve": 16_384, "messagesSinceCompaction": 1200,
    "staleUsageIgnored": False, "staleUsageTokens": 0, "problems": [],
}  # fmt: skip
PREPARED: dict[str, Any] = {
    "reason": "ready", "firstKeptEntryId": "e7", "messagesToSummarize": [1, 2], "isSplitTurn": True,
    "turnPrefixMessages": [1], "tokensBefore": 190_000, "previousSummary": "x", "fileOps": {}, "problems": ["line 3"],
}  # fmt: skip
SUMMARY: dict[str, Any] = {
    "summary": "## Goal", "source": "model", "estimatedTokens": 1200, "tokensBefore": 190_000,
    "firstKeptEntryId": "e7", "isSplitTurn": True, "readFiles": ["a"], "modifiedFiles": [], "fallback": None,
    "problems": [],
}  # fmt: skip


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))


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


def test_a_run_as_it_happens(capfd: pytest.CaptureFixture[str]) -> None:
    for what, about in (
        ("started", {"sessionId": "s", "cwd": "/w"}),
        ("ended", {"outcome": "completed", "sessionId": "s", "ms": 1234}),
        ("ended", {"outcome": "failed", "sessionId": "s", "ms": 50, "error": "no", "reason": "off"}),
        ("ended", {"outcome": "cancelled", "sessionId": "s", "error": "", "reason": "turn-running"}),
    ):
        idle.tell(what, about)
    assert capfd.readouterr().out.splitlines() == [
        "compacting s in /w", "completed s in 1.2 s", "failed s in 0.1 s: no", "cancelled s",
    ]  # fmt: skip
