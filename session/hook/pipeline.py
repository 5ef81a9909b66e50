"""What happens at a hook's event, the same for every client, in this order:

archive what was said → read the state → look which injections are due → recall for them → lock the state, apply, write
once → what follows: events, background processes. The runner of the steps is `session.step.run`.

The archive comes first: what was said is in the store before anything is recalled, and before a compaction drops it.
"""

from __future__ import annotations

import clients
from session.step import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.event import HookEvent, Item, Text
    from session.inject.runner import InjectionStep
    from session.records import ContextUsage, SessionState
    from session.step import Context, Step

SHRUNK = 0.6
"""A prompt this much smaller than the one before was compacted, where the client does not say so."""
GATHERED_BYTES = 262_144
"""So much of a transcript is left to the end of the turn, or to the event before the compaction (0.3 s to read)."""
_UNKNOWN: ContextUsage = {"tokens": None, "window": None, "percent": None, "source": "none"}


def says_nothing(event: HookEvent, context: Context) -> bool:
    """Whether the model is told nothing at such an event, whatever is in the store."""
    if event["kind"] == "before_compaction":
        return not (clients.row(context.agent).takes_summary or context.config.get_bool("compaction.notify_on_start"))
    return event["kind"] in ("turn", "end")


def answer(event: HookEvent, context: Context, *, silent: bool, until: float) -> list[Text]:
    """The texts for the model, mostly none."""
    kind = event["kind"]
    items = _archive(event, context, until, least=GATHERED_BYTES if kind == "tool" and not silent else 0)
    if kind == "summary":
        if not context.is_excluded(event["cwd"]):
            from session.hook import around_compaction

            around_compaction.keep_summary(context, event["summary"])
        return []
    if kind == "before_branch":
        from session.compaction import client_compaction

        return client_compaction.summary(event, context)
    if kind in ("prompt", "tool", "turn"):
        return _turn(event, context, items, silent=silent)
    steps = _feedback(context, items)
    if kind == "start":
        return _start(event, context, steps)
    from session.hook import around_compaction

    if kind == "after_compaction":
        return around_compaction.recover(event, context, steps)
    if kind == "before_compaction":
        context.usage = _usage(event, context)
        return around_compaction.before_compaction(event, context, steps, _turn_of(event, context, context.usage))
    steps += _idle_timer(event, context, None)
    if steps:
        run(context, steps)
    around_compaction.observe(event, context, "session-end")
    return []


def _start(event: HookEvent, context: Context, steps: list[Step]) -> list[Text]:
    """Where the project was left, and memories."""
    from session.inject import startup
    from session.inject.runner import InjectionStep, Situation

    memories = InjectionStep(startup, Situation(context, cwd=event["cwd"]))
    run(context, [*steps, memories])
    texts = memories.message()
    if event["source"] == "compact":  # an earlier process of the client had the note, and took it along
        from session.inject import recovery

        texts += recovery.repeat(context)
    return texts


def _turn(event: HookEvent, context: Context, items: Sequence[Item], *, silent: bool) -> list[Text]:
    """A prompt, a tool that was used, or the end of a turn."""
    from session import checkpoint

    kind, before = event["kind"], context.previous
    reaches_model = kind != "turn"
    texts: list[Text] = []
    usage = context.usage = _usage(event, context)
    recovers = reaches_model and before is not None and before["noteOwed"]  # the deadline came before it was composed
    if silent and before is not None:
        tokens, known = usage["tokens"], before["contextTokens"]
        is_told = tokens is not None and usage["source"] == "usage"
        shrunk = is_told and known is not None and 0 < (tokens or 0) < SHRUNK * known
        if shrunk and reaches_model:
            from session.hook import around_compaction

            around_compaction.flush(event, context, [], _turn_of(event, context, _UNKNOWN))
            recovers = True
        elif shrunk or usage["source"] != "usage":
            usage = {**usage, "tokens": None}  # the next event that reaches the model is to see the fall
    if recovers:
        from session.hook import around_compaction

        texts += around_compaction.recover(event, context, [])
        context.read_previous()
    step = checkpoint.Checkpoint(context, _turn_of(event, context, usage))
    steps: list[Step] = [step, *_feedback(context, items, ended=kind != "tool")]
    if kind != "tool":
        steps += _idle_timer(event, context, usage)
    injections = _injections(event, context, usage, before) if reaches_model else []
    run(context, [*steps, *injections])
    if kind != "prompt" and step.has_work:
        from session import checkpoint_run

        checkpoint_run.work_for_task(context)
    for injection in injections:
        texts += injection.message()
    return texts


def _usage(event: HookEvent, context: Context) -> ContextUsage:
    """How full the context is: as the client tells it, else from its transcript."""
    tokens, window, percent = event["tokens"], event["window"], event["percent"]
    if percent is None and tokens is not None and window:
        percent = round(tokens * 100 / window, 2)
    if percent is not None or not event["transcript"] or clients.row(context.agent).extension:
        return {"tokens": tokens, "window": window, "percent": percent, "source": "usage"}
    from session import context_usage

    return context_usage.of_transcript(event["transcript"], context.agent, model=event["model"], config=context.config)


def _turn_of(event: HookEvent, context: Context, usage: ContextUsage) -> dict[str, Any]:
    """The turn as the zone rules take it."""
    from session import checkpoint

    messages = event["messages"]
    if len(messages) > 1 and context.has_been_off(event["cwd"]):
        messages = messages[-1:]  # of those before it is not known when they were said
    return checkpoint.turn_of(
        role=context.role, messages=messages, files=event["files"], percent=usage["percent"], tokens=usage["tokens"],
        window=usage["window"], agent=context.agent, cwd=event["cwd"],
    )  # fmt: skip


def _injections(
    event: HookEvent, context: Context, usage: ContextUsage, before: SessionState | None
) -> list[InjectionStep]:
    """What may be due in the middle of a turn: memories on what is edited first, and on what is talked about."""
    from session.inject.runner import InjectionStep, Situation

    found = []
    if event["files"]:
        from session.inject import project_context

        cwd = event["cwd"] or (before["cwd"] if before else "")
        found.append(InjectionStep(project_context, Situation(context, files=event["files"], cwd=cwd)))
    message = event["messages"][-1] if event["kind"] == "prompt" and event["messages"] else ""
    from session.state.rules import HALF_PERCENT

    percent = usage["percent"]
    if message or (percent is not None and percent >= HALF_PERCENT):
        from session.inject import refresh

        found.append(InjectionStep(refresh, Situation(context, message=message, percent=percent)))
    return found


def _archive(event: HookEvent, context: Context, until: float, *, least: int) -> Sequence[Item]:
    """Store what is new of what was said, of a transcript where it is `least` bytes; returns it."""
    before = context.previous
    cwd = event["cwd"] or (before["cwd"] if before else "")
    if context.is_excluded(cwd):
        return []
    about = {"agent": context.agent, "session": context.session_id, "cwd": cwd}
    if event["items"]:
        context.store.archive_items(event["items"], **about)
        return event["items"]
    transcript = event["transcript"]
    return context.store.archive(transcript, **about, until=until, least=least) if transcript else []


def _feedback(context: Context, items: Sequence[Item], *, ended: bool = True) -> list[Step]:
    """Whether memories that were injected before are used, where any are pending."""
    before = context.previous
    if not items or before is None or not before["pendingFeedback"]:
        return []
    from session.inject.feedback import Feedback

    return [Feedback(context, items, ended=ended)]


def _idle_timer(event: HookEvent, context: Context, usage: ContextUsage | None) -> list[Step]:
    """The timer of idle compaction, where that is switched on."""
    if not context.config.get_int("compaction.idle_trigger_minutes"):
        return []
    from session.idle.timers import IdleTimer

    return [IdleTimer(context, event, usage)]
