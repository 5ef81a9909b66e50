"""What happens at a hook's event, the same for every client, in this order:

archive what was said → read the state → look which injections are due → recall for them → lock the state, apply, write
once → what follows: events, background processes. The runner of the steps is `session.step.run`.

The archive comes first: what was said is in the store before anything is recalled, and before a compaction drops it.
"""

from __future__ import annotations

import os

from clients import registry
from session import checkpoint
from session.faults import fault_boundary
from session.step import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.event import HookEvent, Item, Text
    from session.context import Context
    from session.inject.runner import InjectionStep
    from session.observation.waiting import Trigger
    from session.records import ContextUsage, SessionState, Turn
    from session.step import Step

SHRUNK = 0.6
"""A prompt this much smaller than the one before was compacted, where the client does not say so."""
_KEPT_BYTES = 8_000_000
"""Of a session file, its end: a context holds less."""
_KEPT_CHARS = 200_000
_IN_A_TURN = ("prompt", "tool", "turn")
_OWED = "owed"
"""Source of an event after a compaction: a process that ended meanwhile may have taken the recovery note along."""
_REACHING = ("prompt", "tool")
"""Those of them in which context reaches the model, in every client."""
_UNKNOWN: ContextUsage = {"tokens": None, "window": None, "percent": None, "source": "none"}


def answer(event: HookEvent, context: Context, *, silent: bool, until: float) -> list[Text]:
    """The texts for the model, mostly none.

    Args:
        silent: the client does not tell of a compaction; it is seen in the fall of the context.
        until: `time.monotonic()` after which the archive stops, and goes on at the next event.

    Raises:
        Failure: the session's state cannot be read or written.
    """
    items = _archive(event, context, until)
    kind = event["kind"]
    if kind == "summary":
        if not context.is_excluded(event["cwd"]):
            context.access.keep_summary(context.session_id, event["summary"])
        return []
    if kind == "before_branch":
        from session.compaction import client_compaction

        return client_compaction.summary(event, context)
    if kind in _IN_A_TURN:
        return _turn(event, context, items, silent=silent)
    steps = _feedback(context, items)
    if kind == "start":
        return _start(event, context, steps)
    if kind == "after_compaction":
        return _recover(event, context, steps)
    if kind == "before_compaction":
        return _before_compaction(event, context, steps)
    steps += _idle_timer(event, context, None)
    if steps:
        run(context, steps)
    _observe(event, context, "session-end")
    return []


def _turn(event: HookEvent, context: Context, items: Sequence[Item], *, silent: bool) -> list[Text]:
    """A prompt, a tool that was used, or the end of a turn."""
    kind, before = event["kind"], context.previous
    texts: list[Text] = []
    usage = context.usage = _usage(event, context)
    if silent and before is not None:
        was_compacted = _has_shrunk(before, usage)
        if was_compacted and kind in _REACHING:
            _flush(event, context, _UNKNOWN, [])
            texts += _recover(event, context, [])
            context.read_previous()
        elif was_compacted or usage["source"] != "usage":
            usage = {**usage, "tokens": None}  # the next event that reaches the model is to see the fall
    turn = checkpoint.Checkpoint(context, _turn_of(event, context, usage), leave_work=True)
    steps: list[Step] = [turn, *_feedback(context, items, ended=kind != "tool")]
    if kind != "tool":
        steps += _idle_timer(event, context, usage)
    injections = _injections(event, context, usage, before) if kind in _REACHING else []
    run(context, [*steps, *injections])
    if kind != "prompt":
        _do_work(context, turn)
    for injection in injections:
        texts += injection.message()
    return texts


def _do_work(context: Context, turn: checkpoint.Checkpoint) -> None:
    """Recall for the task and write it, in a process of its own: the agent waits for this one."""
    if turn.has_work:
        from session import checkpoint_run

        with fault_boundary(context.faults, "task"):
            checkpoint_run.begin_task_job(context)


def _injections(
    event: HookEvent, context: Context, usage: ContextUsage, before: SessionState | None
) -> list[InjectionStep]:
    """What may be due in the middle of a turn: memories on what is edited first, and what changed meanwhile."""
    from session.inject import refresh
    from session.inject.runner import InjectionStep, Situation

    found = []
    if event["files"]:
        from session.inject import project_context

        cwd = event["cwd"] or (before["cwd"] if before else "")
        found.append(InjectionStep(project_context, Situation(context, files=event["files"], cwd=cwd)))
    message = event["messages"][-1] if event["kind"] == "prompt" and event["messages"] else ""
    active_at = before["updatedAt"] if before is not None else None
    situation = Situation(context, message=message, percent=usage["percent"], active_at=active_at)
    return [*found, InjectionStep(refresh, situation)]


def _start(event: HookEvent, context: Context, steps: list[Step]) -> list[Text]:
    from session.inject import startup
    from session.inject.runner import InjectionStep, Situation

    memories = InjectionStep(startup, Situation(context, cwd=event["cwd"]))
    run(context, [*steps, memories])
    texts = memories.message()
    if event["source"] == "compact":  # an earlier process of the client had the note, and took it along
        from session.inject import recovery

        texts += recovery.repeat(context)
    return texts


def _recover(event: HookEvent, context: Context, steps: list[Step]) -> list[Text]:
    from session.inject import recovery
    from session.inject.runner import InjectionStep, Situation

    before = context.previous
    if event["source"] == _OWED and before is not None and recovery.is_recent(before, context):
        return recovery.repeat(context)
    note = InjectionStep(recovery, Situation(context, kept=_kept(event, context)))
    run(context, [*steps, recovery.Compaction(context), note])
    return note.message()


def _kept(event: HookEvent, context: Context) -> str:
    """What the client has left in the context word for word, where its session file says so."""
    client = registry.row(context.agent)
    kept_of = getattr(client.transcript(), "kept_of", None) if client.session_file else None
    if kept_of is None or not event["transcript"]:
        return ""
    with fault_boundary(context.faults, "kept"), open(event["transcript"], "rb") as file:
        begin = max(0, os.fstat(file.fileno()).st_size - _KEPT_BYTES)
        file.seek(begin)
        text: str = kept_of(file.read(_KEPT_BYTES), whole=not begin)
        return text[-_KEPT_CHARS:]
    return ""


def _before_compaction(event: HookEvent, context: Context, steps: list[Step]) -> list[Text]:
    texts: list[Text] = []
    announces = context.config.flag("compaction.notify_on_start")
    if announces or registry.row(context.agent).takes_summary:
        from session.compaction import client_compaction

        texts = client_compaction.cancelled(event, context)
        if texts:
            if steps:
                run(context, steps)
            return texts
        with fault_boundary(context.faults, "summary"):
            texts = client_compaction.summary(event, context)
        if announces:
            with fault_boundary(context.faults, "notify"):
                texts += client_compaction.announce(context.agent, context.config)
    context.usage = _usage(event, context)
    _flush(event, context, context.usage, steps)
    return texts


def _flush(event: HookEvent, context: Context, usage: ContextUsage, steps: list[Step]) -> None:
    """The last checkpoint."""
    from session import daily_log

    last = checkpoint.Checkpoint(context, _turn_of(event, context, usage), flush=True, leave_work=True)
    state = run(context, [last, *steps])
    _do_work(context, last)
    if not context.is_excluded(state["cwd"]):
        daily_log.flush(state, context.now, context.config, project=context.project_of(state))
    _observe(event, context, "compaction")


def _observe(event: HookEvent, context: Context, trigger: Trigger) -> None:
    """Let a model note what was said, in the background, where the user has set one."""
    if not context.config.text("model.command"):
        return
    from session.observation import waiting

    with fault_boundary(context.faults, "observe"):
        if waiting.is_on(context.config):
            path = event["transcript"] if registry.row(context.agent).session_file else ""
            waiting.add(context.config, context.session_id, trigger, agent=context.agent, transcript=path)


def _archive(event: HookEvent, context: Context, until: float) -> Sequence[Item]:
    """Store what is new of what was said; returns it."""
    before = context.previous
    cwd = event["cwd"] or (before["cwd"] if before else "")
    if context.is_excluded(cwd):
        return []
    about = {"agent": context.agent, "session": context.session_id, "cwd": cwd}
    if event["items"]:
        context.access.archive_items(event["items"], **about)
        return event["items"]
    if not event["transcript"]:
        return []
    return context.access.archive(event["transcript"], **about, until=until)


def _feedback(context: Context, items: Sequence[Item], *, ended: bool = True) -> list[Step]:
    """Whether memories that were injected before are used, where any are pending."""
    before = context.previous
    if not items or before is None or not before["pendingFeedback"]:
        return []
    from session.inject.feedback import Feedback

    return [Feedback(context, items, ended=ended)]


def _idle_timer(event: HookEvent, context: Context, usage: ContextUsage | None) -> list[Step]:
    """The timer of idle compaction, where that is switched on."""
    if not context.config.whole("compaction.idle_trigger_minutes"):
        return []
    from session.idle.timers import IdleTimer

    return [IdleTimer(context, event, usage)]


def _usage(event: HookEvent, context: Context) -> ContextUsage:
    """How full the context is: as the client tells it, else from its transcript."""
    tokens, window, percent = event["tokens"], event["window"], event["percent"]
    if percent is None and tokens is not None and window:
        percent = round(tokens * 100 / window, 2)
    if percent is not None or not event["transcript"] or registry.row(context.agent).extension:
        return {"tokens": tokens, "window": window, "percent": percent, "source": "usage"}
    from session import context_usage

    return context_usage.of_transcript(event["transcript"], context.agent, model=event["model"], config=context.config)


def _has_shrunk(before: SessionState, usage: ContextUsage) -> bool:
    tokens, known = usage["tokens"], before["contextTokens"]
    return tokens is not None and known is not None and usage["source"] == "usage" and 0 < tokens < SHRUNK * known


def _turn_of(event: HookEvent, context: Context, usage: ContextUsage) -> Turn:
    messages = event["messages"]
    if len(messages) > 1 and context.has_been_off(event["cwd"]):
        messages = messages[-1:]  # of those before it is not known when they were said
    return checkpoint.turn_of(
        role=context.role,
        messages=messages,
        files=event["files"],
        percent=usage["percent"],
        tokens=usage["tokens"],
        window=usage["window"],
        agent=context.agent,
        cwd=event["cwd"],
    )
