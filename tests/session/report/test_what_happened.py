"""What a session's events, injections, compactions and hooks are told as: the line, its kind, its time."""

from __future__ import annotations

from typing import Any

import pytest

from core import clock
from core.quoting import DELIMITER
from session.session_report import turns as telling

AT = 1_790_000_000_000


def event(
    action: str, component: str = "session-lifecycle", *, at: int = 0, level: str = "info", error: str = "",
    ms: float | None = None, name: str = "", **about: Any,
) -> Any:  # fmt: skip
    return {
        "id": name, "at": AT + at, "action": action, "component": component, "level": level, "error": error,
        "ms": ms, "metadata": about,
    }  # fmt: skip


def told(*events: Any, injected: Any = (), texts: Any = None) -> list[tuple[int, str, str]]:
    """Of each moment when it was, its kind and its line."""
    found = telling.of_events(events, injected, texts or {})
    return [(at - AT, one["kind"], one["text"]) for at, one in found]


def line(*events: Any, **more: Any) -> tuple[str, str]:
    ((_, kind, text),) = told(*events, **more)
    return kind, text


def test_the_event_of_an_injection_whose_text_is_kept_is_told_once() -> None:
    kept: Any = {
        "id": "i-1", "at": AT + 5, "kind": "memory-recall", "tokens": 40, "ms": 3.0,
        "text": f"<{DELIMITER} a=1>\n\n## # Memory\n- one\n</{DELIMITER}>", "memories": ["m-1", "m-2", "m-3"],
    }  # fmt: skip
    verdicts = [
        event("memory.fizzle", "memory-feedback", at=4, memoryId="m-1"),
        event("memory.echo", "memory-feedback", at=5, memoryId="m-1", termsMatched=3),
        event("memory.fizzle", "memory-feedback", at=6, memoryId="m-1"),
        event("memory.fizzle", "memory-feedback", at=9, memoryId="m-2"),
        event("memory.fizzle", "memory-feedback", at=9, memoryId=7),
        event("memory.other", "memory-feedback", at=9, memoryId="m-3"),
    ]
    texts = {"m-1": "the jars"}
    first, *rest = telling.of_events(
        [event("memory.recall.injected", name="i-1", contentChars=9), *verdicts], [kept], texts
    )
    assert first == (AT + 5, {
        "at": clock.iso(AT + 5), "kind": "injection", "text": "Memory", "ms": 3.0, "customType": "memory-recall",
        "tokens": 40, "content": "\n## # Memory\n- one",
        "memories": [
            {"id": "m-1", "text": "the jars", "outcome": "echo"},
            {"id": "m-2", "text": "", "outcome": "fizzle"},
            {"id": "m-3", "text": "", "outcome": "open"},
        ],
    })  # fmt: skip
    assert [one["text"] for _, one in rest] == [
        "fizzle: the jars (not used)", "echo: the jars (the agent said 3 of its words)", "fizzle: the jars (not used)",
        "fizzle: m-2 (not used)", "fizzle: 7 (not used)", "memory.other (memoryId m-3)",
    ]  # fmt: skip
    assert {one["kind"] for _, one in rest[:5]} == {"feedback"}


def test_a_zone_is_told_once_and_the_task_s_way_into_memory_after_it() -> None:
    found = told(
        event("compaction.extract.warm", percent=40.5), event("compaction.extract.warm", at=1, percent=50),
        event("compaction.extract.hot", at=2, percent=61.4), event("compaction.extract.hot", at=3, percent=None),
        event("compaction.extract.warm", at=4, percent=True), event("compaction.before", at=5),
        event("compaction.extract.warm", at=6, percent=41), event("session.note", "foreign", at=7),
        event("compaction.extract.hot", at=8, percent=70), event("compaction.extract.hot", at=9, percent=71),
    )  # fmt: skip
    assert found == [
        (0, "zone", "warm from 40 % on"), (1, "zone", "warm from 50 % on"), (2, "zone", "hot from 61 % on"),
        (3, "checkpoint", "the task is written to memory, at a context of unknown size"),
        (4, "checkpoint", "the task is written to memory, at a context of unknown size"),
        (6, "zone", "warm from 41 % on"), (7, "event", "session.note"), (8, "zone", "hot from 70 % on"),
        (9, "checkpoint", "the task is written to memory, at 71 %"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("rapid-recompaction", "the last one was less than the cooldown before"),
    ],
)
def test_a_signpost_that_was_not_given_says_why(reason: str, why: str) -> None:
    assert line(event("compaction.inject.skipped", reason=reason)) == ("skipped", f"no note: {why}")


@pytest.mark.parametrize(
    ("level", "error", "about", "expected"),
    [
        ("debug", "", {"a": 1, "b": "x"}, ("event", "disk.full (a 1, b x)")),
        ("warn", "no space", {"a": 1}, ("error", "disk.full: no space")),
        ("fatal", "", {}, ("error", "disk.full")),
        ("info", "", {"a": "x" * 81}, ("event", f"disk.full (a {'x' * 79}…)")),
    ],
)
def test_an_event_of_somebody_else_is_told_as_it_is(
    level: str, error: str, about: Any, expected: tuple[str, str]
) -> None:
    assert line(event("disk.full", "of somebody", level=level, error=error, **about)) == expected


def compactions(events: Any, archived: Any) -> list[tuple[int, str]]:
    found = telling.of_compactions(events, archived)
    assert {one["kind"] for _, one in found} <= {"compaction"}
    return [(at - AT if at else 0, one["text"]) for at, one in found]


def summary(at: int | None, text: str) -> Any:
    return {"at": AT + at if at is not None else 0, "summary": text}


@pytest.mark.parametrize(
    ("about", "text"),
    [
        (
            {"contextPercent": 70.4, "contextTokens": 140_000, "contextLimit": 200_000},
            "at 70 %, 140,000 tokens of 200,000",
        ),
        ({"contextPercent": 70, "contextTokens": 140_000}, "at 70 %, 140,000 tokens"),
        ({"contextLimit": 200_000}, "at a context of unknown size"),
    ],
)  # fmt: skip
def test_a_compaction_says_how_full_the_context_was(about: Any, text: str) -> None:
    assert compactions([event("gateway.compaction.before", **about), event("other")], []) == [(0, text)]


@pytest.mark.parametrize(("apart", "same"), [(120_000, True), (-120_001, False)])
def test_a_hook_s_compaction_is_the_transcript_s_within_two_minutes(apart: int, same: bool) -> None:
    found = compactions([event("compaction.before", contextPercent=70)], [summary(apart, "x" * 1024)])
    size = "; the summary has 1,024 characters"
    assert found == ([(0, f"at 70 %{size}")] if same else [(0, "at 70 %"), (apart, f"told by the transcript{size}")])


def hook(kind: str, outcome: str, *, ms: float | None = 5.5, name: str = "Stop") -> Any:
    return {"at": AT, "kind": kind, "outcome": outcome, "ms": ms, "event": name, "error": "no disk"}


def test_of_hooks_the_starts_and_those_that_went_wrong_are_told() -> None:
    assert telling.of_hooks([hook("tool", "ok"), hook("start", "ok", name="SessionStart")]) == [
        (AT - 5, {"at": clock.iso(AT - 5), "kind": "start", "text": "the client starts (SessionStart)", "ms": 5.5}),
    ]  # fmt: skip
    assert telling.of_hooks([hook("start", "failed"), hook("tool", "late", ms=None, name="")]) == [
        (AT, {"at": clock.iso(AT), "kind": "error", "text": "hook Stop failed: no disk", "ms": 5.5}),
        (AT, {"at": clock.iso(AT), "kind": "error", "text": "hook of an unknown event late: no disk"}),
    ]  # fmt: skip
    ((at, _),) = telling.of_hooks([hook("start", "ok", ms=None)])
    assert at == AT
