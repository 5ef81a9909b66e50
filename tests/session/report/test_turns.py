"""What a session's events, injections, compactions and hooks are told as, and in which turn."""

from __future__ import annotations

from typing import Any

import pytest

from core import clock
from core.quoting import DELIMITER
from session.session_report import report

AT = 1_790_000_000_000
S = 1000


def event(action: str, component: str = "session-lifecycle", *, at: int = 0, level: str = "info", error: str = "",
          name: str = "", **about: Any) -> Any:  # fmt: skip
    told = {"id": name, "at": AT + at, "action": action, "component": component, "level": level, "error": error}
    return {**told, "ms": None, "metadata": about}


def told(*events: Any) -> list[tuple[int, str, str]]:
    """Of each moment when it was, its kind and its line."""
    return [(at - AT, one["kind"], one["text"]) for at, one in report.of_events(events, (), {})]


def test_the_event_of_an_injection_whose_text_is_kept_is_told_once() -> None:
    kept: Any = {
        "id": "i-1", "at": AT + 5, "kind": "memory-recall", "tokens": 40, "ms": 3.0,
        "text": f"<{DELIMITER} a=1>\n\n## # Memory\n- one\n</{DELIMITER}>", "memories": ["m-1", "m-2", "m-3"],
    }  # fmt: skip
    verdicts = [
        event(f"memory.{verdict}", "memory-feedback", at=at, memoryId=memory, termsMatched=3)
        for verdict, at, memory in (
            ("fizzle", 4, "m-1"),
            ("echo", 5, "m-1"),
            ("fizzle", 6, "m-1"),
            ("fizzle", 9, "m-2"),
        )
    ]
    first, *rest = report.of_events(
        [event("memory.recall.injected", name="i-1", contentChars=9), *verdicts], [kept], {"m-1": "the jars"}
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
        "ignored: the jars", "used, the agent said 3 of its words: the jars", "ignored: the jars", "ignored: m-2",
    ]  # fmt: skip
    assert {one["kind"] for _, one in rest} == {"feedback"}


def test_a_zone_is_told_once_and_the_task_s_way_into_memory_after_it() -> None:
    found = told(
        event("compaction.extract.warm", percent=40.5), event("compaction.extract.hot", at=2, percent=61.4),
        event("compaction.extract.hot", at=3, percent=None), event("compaction.before", at=5),
        event("compaction.extract.warm", at=6, percent=41),
        event("compaction.inject.skipped", at=7, reason="rapid-recompaction"),
    )  # fmt: skip
    assert found == [
        (0, "zone", "warm from 40 % on"), (2, "zone", "hot from 61 % on"),
        (3, "checkpoint", "the task is written to memory, at a context of unknown size"),
        (6, "zone", "warm from 41 % on"), (7, "skipped", "no note: rapid-recompaction"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("level", "error", "about", "expected"),
    [
        ("debug", "", {"a": 1, "b": "x"}, ("event", "disk.full (a 1, b x)")),
        ("warn", "no space", {"a": 1}, ("error", "disk.full: no space")),
        ("info", "", {"a": "x" * 81}, ("event", f"disk.full (a {'x' * 79}…)")),
    ],
)
def test_an_event_of_somebody_else_is_told_as_it_is(
    level: str, error: str, about: Any, expected: tuple[str, str]
) -> None:
    assert told(event("disk.full", "of somebody", level=level, error=error, **about)) == [(0, *expected)]


@pytest.mark.parametrize(("apart", "same"), [(120_000, True), (-120_001, False)])
def test_a_hook_s_compaction_is_the_transcript_s_within_two_minutes(apart: int, same: bool) -> None:
    before = event("gateway.compaction.before", contextPercent=70.4, contextTokens=140_000, contextLimit=200_000)
    archived: Any = {"at": AT + apart, "summary": "x" * 1024}
    found = [(at - AT, one["text"]) for at, one in report.of_compactions([before, event("other")], [archived])]
    full, size = "at 70 %, 140,000 tokens of 200,000", "; the summary has 1,024 characters"
    assert found == ([(0, f"{full}{size}")] if same else [(0, full), (apart, f"(from the transcript){size}")])


def test_of_hooks_the_starts_and_those_that_went_wrong_are_told() -> None:
    hooks = [
        {"at": AT, "kind": kind, "outcome": outcome, "ms": ms, "event": name, "error": "no disk"}
        for kind, outcome, ms, name in (
            ("tool", "ok", 5.5, "Stop"), ("start", "ok", 5.5, "SessionStart"), ("start", "failed", 5.5, "Stop"),
            ("tool", "late", None, ""),
        )
    ]  # fmt: skip
    assert report.of_hooks(hooks) == [  # type: ignore[arg-type]  # as much of them as is read
        (AT - 5, {"at": clock.iso(AT - 5), "kind": "start", "text": "the client starts (SessionStart)", "ms": 5.5}),
        (AT, {"at": clock.iso(AT), "kind": "error", "text": "hook Stop failed: no disk", "ms": 5.5}),
        (AT, {"at": clock.iso(AT), "kind": "error", "text": "hook of an unknown event late: no disk"}),
    ]


def hook(at: int, kind: str = "tool", *, ms: float | None = None, percent: float | None = None) -> Any:
    return {"at": AT + at, "kind": kind, "ms": ms, "percent": percent, "event": "e", "outcome": "ok", "error": ""}


def said(at: int, text: str) -> Any:
    return {"at": AT + at, "text": text}


def moment(at: int, kind: str = "event") -> Any:
    return AT + at, {"at": clock.iso(AT + at), "kind": kind, "text": ""}


def turns(hooks: Any = (), prompts: Any = (), calls: Any = (), moments: Any = ()) -> list[Any]:
    return report.turns_of(hooks, prompts, calls, moments, zone_of=lambda percent: f"zone of {percent}")


def test_a_turn_tells_all_that_fell_into_it() -> None:
    found = turns(
        [hook(0, "start", ms=7.0), hook(10 * S, "prompt", ms=2.0), hook(20 * S, ms=1.26, percent=30.04),
         hook(25 * S, percent=45.06), hook(90 * S, "prompt", ms=None)],
        [said(11 * S, "label the\n  jars"), said(90 * S, "go on")],
        [(AT + 12 * S, 1, True), (AT + 13 * S, 1, False), (AT + 100 * S, 2, True), (0, 9, False)],
        [moment(30 * S, "zone")],
    )  # fmt: skip
    assert found[1] == {
        "number": 1, "at": clock.iso(AT + 10 * S - 2), "seconds": 80.0, "prompt": "label the jars",
        "contextPercent": 45.1, "zone": "zone of 45.06", "toolCalls": 2, "failedCalls": 1, "hooks": 3,
        "hookMs": 3.3, "moments": [{"at": clock.iso(AT + 30 * S), "kind": "zone", "text": ""}],
    }  # fmt: skip
    names = ("number", "at", "seconds", "prompt", "toolCalls", "failedCalls", "hooks")
    assert [[one[name] for name in names] for one in (found[0], found[2])] == [
        [0, clock.iso(AT - 7), 10.0, "", 0, 0, 1], [2, clock.iso(AT + 90 * S), 0.0, "go on", 2, 1, 1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("hooks", "prompts", "begins"),
    [
        ([60 * S], [(90 * S, "hello")], [(60 * S, "hello")]),
        ([60 * S], [(30 * S - 1, "hello")], [(30 * S - 1, "hello"), (60 * S, "")]),
        ([0], [(1 * S, "first"), (2 * S, "second")], [(0, "first"), (2 * S, "second")]),
    ],
)
def test_a_hook_s_prompt_and_an_archived_one_are_the_same_within_thirty_seconds(
    hooks: Any, prompts: Any, begins: Any
) -> None:
    found = turns([hook(at, "prompt") for at in hooks], [said(*one) for one in prompts])
    assert [((clock.parse_iso(one["at"]) or 0) - AT, one["prompt"]) for one in found] == begins


def test_a_turn_begins_with_its_first_millisecond() -> None:
    found = turns(
        [hook(10, "prompt"), hook(19), hook(20, "prompt"), hook(25, ms=6)],
        calls=[(AT + 9, 5, False), (AT + 10, 5, True), (AT + 20, 0, False)],
        moments=[moment(19), moment(20), moment(30)],
    )
    assert [(one["number"], one["hooks"], one["toolCalls"], one["failedCalls"], len(one["moments"])) for one in found] \
        == [(0, 0, 1, 0, 0), (1, 3, 1, 1, 1), (2, 1, 1, 0, 2)]  # fmt: skip


def test_what_has_the_same_time_stands_in_the_order_in_which_it_came_to_be() -> None:
    kinds = ["injection", "compaction", "checkpoint", "skipped", "start", "zone"]
    (found,) = turns(moments=[moment(5, kind) for kind in kinds] + [moment(4, "injection")])
    assert [one["kind"] for one in found["moments"]] == [
        "injection", "start", "checkpoint", "zone", "compaction", "injection", "skipped",
    ]  # fmt: skip
