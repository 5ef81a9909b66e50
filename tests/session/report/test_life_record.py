"""What of a session's life is added up, and which of two sources is believed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from session.session_report import life
from session.session_report.percentile import rate

AT = 1_790_000_000_000


def hook(event: str = "Stop", *, percent: float | None = None, ms: float | None = None, outcome: str = "ok") -> Any:
    return {"at": AT, "event": event, "percent": percent, "ms": ms, "outcome": outcome}


def state(*, percent: float | None = None, started: int = 0, updated: int = 0, messages: Any = ()) -> Any:
    return {
        "checkpoint": {"contextPercentAtCapture": percent}, "startedAt": started, "updatedAt": updated,
        "messages": [{"text": text} for text in messages],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("known", "hooks", "percent"),
    [
        (state(percent=0.0), [hook(percent=5.0)], 0.0),
        (state(), [hook(percent=5.0), hook(percent=0.0), hook()], 0.0),
        (None, [hook(percent=5.0)], 5.0),
        (None, [hook()], None),
    ],
)
def test_how_full_the_context_is_says_the_state_else_the_last_hook_that_told(
    known: Any, hooks: Any, percent: float | None
) -> None:
    assert life._percent(known, hooks) == percent


def kept(*, hooks: Any = (), events: Any = (), prompts: Any = (), calls: Any = (), archived: Any = None) -> Any:
    return SimpleNamespace(
        hooks=[{"at": at} for at in hooks], events=[{"at": at} for at in events],
        prompts=[{"at": at} for at in prompts], calls=[(at, 1, False) for at in calls],
        archived={"updated_at": archived} if archived is not None else None,
    )  # fmt: skip


def test_a_session_was_seen_whenever_anything_of_it_was() -> None:
    about = kept(hooks=[1, 0], events=[2], prompts=[-3], calls=[4, 0], archived=5)
    assert sorted(life._times(state(started=6, updated=0), about)) == [1, 2, 4, 5, 6]
    assert sorted(life._times(None, kept(prompts=[3]))) == [3]


def test_the_task_is_the_state_s_last_message_else_the_last_prompt_that_asks() -> None:
    prompts: Any = [{"text": "mend the retry of the receipts"}, {"text": "ok"}]
    assert life._task(state(messages=["label the jars", "count them"]), prompts) == "count them"
    assert life._task(state(), prompts) == life._task(None, prompts) == "mend the retry of the receipts"
    assert life._task(None, []) == ""


def handed(*outcomes: tuple[str, str]) -> Any:
    return {"moments": [{"memories": [{"id": name, "outcome": outcome} for name, outcome in outcomes]}]}


def test_a_memory_handed_out_twice_counts_once_and_as_used_if_it_ever_was() -> None:
    turns = [
        handed(("a", "echo"), ("b", "fizzle"), ("c", "open")), {"moments": [{}]},
        handed(("a", "fizzle"), ("b", "open"), ("c", "echo"), ("d", "fizzle")),
    ]  # fmt: skip
    assert life._outcomes(turns) == {"injected": 4, "echo": 2, "fizzle": 1, "open": 1}


def test_what_hooks_cost_is_told_by_event_the_dearest_first() -> None:
    hooks = [
        hook("a", ms=1.0), hook("b", ms=2.0), hook("a", ms=None, outcome="late"), hook("c", ms=9.0, outcome="degraded"),
        hook("b", ms=4.0),
    ]  # fmt: skip
    assert life._by_event(hooks) == [
        {"event": "c", "count": 1, "totalMs": 9.0, "p50": 9.0, "p95": 9.0, "max": 9.0, "notOk": 1},
        {"event": "b", "count": 2, "totalMs": 6.0, "p50": 2.0, "p95": 4.0, "max": 4.0, "notOk": 0},
        {"event": "a", "count": 2, "totalMs": 1.0, "p50": 1.0, "p95": 1.0, "max": 1.0, "notOk": 1},
    ]


@pytest.mark.parametrize(("part", "whole", "told"), [(4, 4, None), (0, 5, 0.0), (5, 5, 1.0), (1, 3000, 0.0003)])
def test_a_rate_is_told_of_five_or_more_to_four_places(part: int, whole: int, told: float | None) -> None:
    assert rate(part, whole) == told


def test_our_own_texts_come_back_are_no_prompts() -> None:
    prompts: Any = [{"text": " \n"}, {"text": "label the jars"}, {"text": "<joelclaw-memory>\nx\n</joelclaw-memory>"}]
    assert life._asked(prompts) == [prompts[1]]
