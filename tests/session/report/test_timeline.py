"""Which turn of a session a hook, a call and a moment belong to, where turns begin, and which points a curve keeps."""

from __future__ import annotations

from typing import Any

import pytest

from core import clock
from session.session_report import turns as telling

AT = 1_790_000_000_000
S = 1000


def hook(at: int, kind: str = "tool", *, ms: float | None = None, percent: float | None = None) -> Any:
    return {"at": AT + at, "kind": kind, "ms": ms, "percent": percent, "event": "e", "outcome": "ok", "error": ""}


def said(at: int, text: str) -> Any:
    return {"at": AT + at, "text": text}


def moment(at: int, kind: str = "event", text: str = "") -> Any:
    return AT + at, {"at": clock.iso(AT + at), "kind": kind, "text": text}


def turns(
    hooks: list[Any] | None = None, prompts: list[Any] | None = None, calls: list[Any] | None = None,
    moments: list[Any] | None = None,
) -> list[Any]:  # fmt: skip
    return telling.turns_of(
        hooks or [], prompts or [], calls or [], moments or [], zone_of=lambda percent: f"zone of {percent}"
    )


def begins(found: list[Any]) -> list[tuple[int, int, str]]:
    return [(one["number"], (clock.parse_iso(one["at"]) or 0) - AT, one["prompt"]) for one in found]


def test_a_turn_tells_all_that_fell_into_it() -> None:
    found = turns(
        [hook(0, "start", ms=7.0), hook(10 * S, "prompt", ms=2.0), hook(20 * S, ms=1.26, percent=30.04),
         hook(25 * S, percent=45.06), hook(90 * S, "prompt", ms=None)],
        [said(11 * S, "label the\n  jars"), said(90 * S, "go on")],
        [(AT + 12 * S, 1, True), (AT + 13 * S, 1, False), (AT + 100 * S, 2, True)],
        [moment(30 * S, "zone", "warm")],
    )  # fmt: skip
    assert found == [
        {
            "number": 0, "at": clock.iso(AT - 7), "seconds": 10.0, "prompt": "", "contextPercent": None,
            "zone": "zone of None", "toolCalls": 0, "failedCalls": 0, "hooks": 1, "hookMs": 7.0, "moments": [],
        },
        {
            "number": 1, "at": clock.iso(AT + 10 * S - 2), "seconds": 80.0, "prompt": "label the jars",
            "contextPercent": 45.1, "zone": "zone of 45.06", "toolCalls": 2, "failedCalls": 1, "hooks": 3,
            "hookMs": 3.3, "moments": [{"at": clock.iso(AT + 30 * S), "kind": "zone", "text": "warm"}],
        },
        {
            "number": 2, "at": clock.iso(AT + 90 * S), "seconds": 10.0, "prompt": "go on", "contextPercent": None,
            "zone": "zone of None", "toolCalls": 1, "failedCalls": 1, "hooks": 1, "hookMs": 0.0, "moments": [],
        },
    ]  # fmt: skip


@pytest.mark.parametrize(("apart", "one"), [(30 * S, True), (-30 * S - 1, False)])
def test_a_hook_s_prompt_and_an_archived_one_are_the_same_within_thirty_seconds(apart: int, one: bool) -> None:
    found = begins(turns([hook(60 * S, "prompt")], [said(60 * S + apart, "hello")]))
    apart_too = sorted([(60 * S, ""), (60 * S + apart, "hello")])
    expected = [(60 * S, "hello")] if one else apart_too
    assert found == [(number, at, text) for number, (at, text) in enumerate(expected, 1)]


def test_a_hook_that_has_its_prompt_takes_no_second_one() -> None:
    found = begins(turns([hook(0, "prompt")], [said(1 * S, "first"), said(2 * S, "second")]))
    assert found == [(1, 0, "first"), (2, 2 * S, "second")]


def test_a_turn_begins_with_its_first_millisecond() -> None:
    found = turns(
        [hook(10, "prompt"), hook(19), hook(20, "prompt"), hook(25, ms=6)],
        calls=[(AT + 9, 5, False), (AT + 10, 5, True), (AT + 20, 0, False)],
        moments=[moment(19), moment(20), moment(30)],
    )
    assert [(one["number"], one["hooks"], one["toolCalls"], one["failedCalls"], len(one["moments"])) for one in found] \
        == [(0, 0, 1, 0, 0), (1, 3, 1, 1, 1), (2, 1, 1, 0, 2)]  # fmt: skip


def test_a_call_of_unknown_time_goes_by_its_prompt_s_number_the_last_where_there_are_fewer() -> None:
    found = turns(
        [hook(10, "prompt"), hook(20, "prompt")], calls=[(0, 0, True), (0, 1, True), (0, 2, True), (0, 3, True)]
    )
    assert [(one["number"], one["failedCalls"]) for one in found] == [(0, 1), (1, 1), (2, 2)]


def test_a_session_with_only_a_moment_before_the_first_prompt_takes_its_time_from_it() -> None:
    (found,) = turns(moments=[moment(5, "error", "x")])
    assert (found["number"], found["at"], found["seconds"]) == (0, clock.iso(AT + 5), None)
    (found,) = turns(calls=[(AT + 5, 1, False)])
    assert (found["number"], found["at"], found["seconds"]) == (0, "unknown", None)


def test_what_has_the_same_time_stands_in_the_order_in_which_it_came_to_be() -> None:
    kinds = ["injection", "compaction", "checkpoint", "skipped", "start", "zone"]
    (found,) = turns(moments=[moment(5, kind) for kind in kinds] + [moment(4, "injection")])
    assert [one["kind"] for one in found["moments"]] == [
        "injection", "start", "checkpoint", "zone", "compaction", "injection", "skipped",
    ]  # fmt: skip


def test_a_turn_lasts_until_the_next_and_the_last_until_the_last_sign_of_life() -> None:
    one = [hook(0, "prompt")]
    assert [turn["seconds"] for turn in turns([*one, hook(1549, "prompt")])] == [1.5, 0.0]
    assert [turn["seconds"] for turn in turns([*one, hook(2550)])] == [2.5]
    assert [turn["seconds"] for turn in turns([*one, hook(2000)], calls=[(AT + 9000, 1, False)])] == [9.0]
    assert [turn["seconds"] for turn in turns([*one, hook(2000)], calls=[(AT + 1000, 1, False)])] == [2.0]
    assert [turn["seconds"] for turn in turns(one)] == [0.0]
