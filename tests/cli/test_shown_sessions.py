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
SAVED: dict[str, Any] = {
    "percent": 45.6, "zone": "warm", "hits": 3, "recalled": True, "recallReason": "", "written": True,
    "memoryId": "m1", "writeReason": "", "sessionId": "s", "entered": ["warm"], "currentTask": "fix",
    "filesModified": ["a"], "compactionCount": 0, "ms": 12.34,
}  # fmt: skip
STATE: dict[str, Any] = {
    "checkpoint": {
        "contextPercentAtCapture": 45, "currentTask": "fix", "filesModified": ["a"], "compactionCount": 1,
    },
    "hotZoneEntered": False, "warmZoneEntered": True, "sessionId": "s", "role": "main",
    "startedAt": NOW_MS - 7_200_000, "updatedAt": NOW_MS - 60_000, "counts": {"turns": 2},
    "injectedKinds": {"startup": 1}, "injectedScopes": ["p"],
    "recallCache": [{"query": "q", "hits": [{"score": 0.5, "text": "t"}]}],
}  # fmt: skip
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


def test_a_saved_checkpoint() -> None:
    assert drawn(session.save, SAVED, STEP) == [
        "█████████░░░░░░░░░░░ 46 %  warm",
        "session      s",
        "entered      warm",
        "recalled     3 memories",
        "remembered   m1",
        "task         fix",
        "files        a",
        "compactions  0",
        "took         12.3 ms",
        SHOWN_STEP,
    ]


def test_a_saved_checkpoint_of_which_little_is_known() -> None:
    result = {
        **SAVED, "percent": None, "recalled": False, "recallReason": "unchanged", "written": False,
        "writeReason": "strange", "entered": [], "currentTask": "", "filesModified": [], "setAside": "/x",
        "storeError": {"message": "it is full", "code": "STORE_FULL"},
    }  # fmt: skip
    assert drawn(session.save, result) == [
        "context usage unknown",
        "session      s",
        "recalled     the task has not changed",
        "remembered   strange",
        "compactions  0",
        "took         12.3 ms",
        "A damaged state file was set aside: /x",
        "storeError: it is full (STORE_FULL)",
    ]


@pytest.mark.parametrize(
    ("percent", "zone", "cells", "colour"),
    [
        (2.4, "cold", 0, ""), (2.6, "cold", 1, "blue"), (50, "warm", 10, "yellow"), (97.4, "hot", 19, "red"),
        (97.6, "hot", 20, "red"), (100, "hot", 20, "red"), (160, "hot", 20, "red"),
    ],
)  # fmt: skip
def test_the_gauge_of_the_context(percent: float, zone: str, cells: int, colour: str) -> None:
    result = {**SAVED, "percent": percent, "zone": zone}
    assert drawn(session.save, result)[0] == "█" * cells + "░" * (20 - cells) + f" {percent:.0f} %  {zone}"
    if cells:
        assert styles(session.save, result)["█" * cells] == colour


def test_one_session() -> None:
    shown = drawn(session.show, STATE, STEP)
    assert shown == [
        "█████████░░░░░░░░░░░ 45 %  warm",
        "session      s (main)",
        "task         fix",
        "files        a",
        "compactions  1",
        "started      2 h ago",
        "updated      1 min ago",
        "counts       turns 2",
        "injected     startup, p",
        "",
        "recalled q",
        "  0.50 t",
        SHOWN_STEP,
    ]
    bare = {**STATE, "recallCache": [], "injectedKinds": {}, "injectedScopes": [], "warmZoneEntered": False}
    assert drawn(session.show, bare) == [shown[0].replace("warm", "cold"), *shown[1:8]]
    for warm in (True, False):
        hot = {**STATE, "hotZoneEntered": True, "warmZoneEntered": warm}
        assert drawn(session.show, hot)[0].endswith("hot"), "the highest zone that was entered is shown"


def test_all_sessions() -> None:
    entry = {
        "sessionId": "s", "role": "main", "task": "t" * 61, "percent": 45, "compactionCount": 2,
        "updatedAt": NOW_MS - 60_000, "bytes": 2048,
    }  # fmt: skip
    damaged = {**entry, "problem": "damaged", "updatedAt": 0, "percent": None}
    shown = drawn(session.list_, {"sessions": [entry, damaged]}, STEP)
    assert shown[0].split() == ["session", "role", "task", "percent", "compactions", "updated", "size"]
    assert shown[1].split()[3:] == ["45", "2", "1", "min", "ago", "2.0", "KiB"]
    assert shown[-2].split() == ["s", "main", "damaged", "–", "2", "2.0", "KiB"]
    assert shown[1].split()[2] + shown[2].strip() == "t" * 60
    assert shown[-1] == SHOWN_STEP
    assert drawn(session.list_, {"sessions": []}, STEP) == ["No session has a checkpoint yet."]
    assert drawn(session.clear, {"sessionId": "s"}) == ["Forgot the state of s; its memories stay."]


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
    none = {**result, "injected": False, "reason": "not-hot", "setAside": "/x"}
    assert drawn(session.injection, none) == [
        "Nothing injected: the context is not hot yet.",
        "A damaged state file was set aside: /x",
    ]


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
