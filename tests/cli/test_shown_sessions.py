"""What a person reads on a terminal of sessions, compactions and idle timers: every text, and some colours."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS
from terminal import drawn, styles

from cli.compaction import view as compaction
from cli.idle import view as idle
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


def test_whether_to_compact() -> None:
    figures = [
        "context                             190,000 tokens, by usage",
        "threshold                           183,616 = window 200,000 (claude) less 16,384",
        "messages since the last compaction  1,200",
    ]
    why = "compact: the context holds more than the threshold"
    assert drawn(compaction.decide, DECIDED, STEP) == [why, *figures, SHOWN_STEP]
    assert styles(compaction.decide, DECIDED)[why] == "bold yellow"
    result = {**DECIDED, "compact": False, "reason": "below-threshold", "problems": ["line 3"]}
    result |= {"staleUsageIgnored": True, "staleUsageTokens": 150_000}
    why_not = "do not compact: the context is below the threshold"
    assert drawn(compaction.decide, result) == [
        why_not,
        *figures,
        "not counted                         150,000 tokens, told before the last compaction",
        "a part is missing: line 3",
    ]
    assert styles(compaction.decide, result)[why_not] == "bold green"


def test_a_summary() -> None:
    shown = drawn(compaction.summarize, SUMMARY, STEP)
    assert shown[0].startswith("╭─ summary ─") and shown[1].startswith("│ ## Goal ") and len(shown[0]) == 100
    assert shown[3:] == [
        "made by         a model",
        "tokens, about   1,200",
        "instead of      190,000",
        "kept from       e7",
        "split turn      yes",
        "files read      1",
        "files modified  0",
        SHOWN_STEP,
    ]
    quoted = {**SUMMARY, "source": "extractive", "isSplitTurn": False, "firstKeptEntryId": None, "problems": ["p"]}
    quoted["fallback"] = {"part": "turn", "reason": "no credit"}
    assert drawn(compaction.summarize, quoted)[3:] == [
        "made by         quotes of the transcript",
        "tokens, about   1,200",
        "instead of      190,000",
        "files read      1",
        "files modified  0",
        "not used        the model's summary of the turn: no credit",
        "a part is missing: p",
    ]


@pytest.mark.parametrize(
    ("cancelled", "known", "shown", "colour"),
    [
        (True, True, "s has no timer any more.", "green"),
        (False, True, "s had no timer.", "yellow"),
        (False, False, "There is no session s.", "yellow"),
    ],
)
def test_a_cancelled_timer(cancelled: bool, known: bool, shown: str, colour: str) -> None:
    assert styles(idle.cancelled, {"sessionId": "s", "cancelled": cancelled, "known": known}) == {shown: colour}


def test_the_timers() -> None:
    timer = {
        "sessionId": "s", "agent": "pi", "percent": 45.6, "dueInSeconds": 600, "standing": "waiting", "cwd": "/w",
    }  # fmt: skip
    timers = [timer, {**timer, "standing": "turn-running"}, {**timer, "standing": "else"}]
    assert drawn(idle.timers, {"timers": timers}, STEP) == [
        "session  agent  context  when                    folder",
        "s        pi     46 %     in 10 min               /w",
        "s        pi     46 %     due; a turn is running  /w",
        "s        pi     46 %     else                    /w",
        SHOWN_STEP,
    ]
    assert drawn(idle.timers, {"timers": []}, STEP) == ["No timer."]


def test_a_run_as_it_happens() -> None:
    told: list[tuple[str, dict[str, Any]]] = [
        ("started", {"sessionId": "s", "cwd": "/w"}),
        ("ended", {"outcome": "completed", "sessionId": "s", "ms": 1234}),
        ("ended", {"outcome": "failed", "sessionId": "s", "ms": 50, "error": "no", "reason": "off"}),
        ("ended", {"outcome": "cancelled", "sessionId": "s", "error": "", "reason": "turn-running"}),
    ]

    def view(_: object) -> None:
        for one in told:
            idle.live(*one)

    assert drawn(view, None) == [
        "compacting s in /w",
        "completed s in 1.2 s",
        "failed s in 0.1 s: no",
        "cancelled s: due; a turn is running",
    ]
