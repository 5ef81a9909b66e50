"""What an event says of its turn: what was said and edited, how full the context is, and what is left to do for it."""

from __future__ import annotations

from clients import registry
from session import checkpoint
from session.faults import fault_boundary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clients.event import HookEvent
    from session.context import Context
    from session.records import ContextUsage, Turn


def do_work(context: Context, step: checkpoint.Checkpoint) -> None:
    """Recall for the task and write it, in a process of its own: the agent waits for this one."""
    if step.has_work:
        from session import checkpoint_run

        with fault_boundary(context.faults, "task"):
            checkpoint_run.begin_task_job(context)


def usage_of(event: HookEvent, context: Context) -> ContextUsage:
    """How full the context is: as the client tells it, else from its transcript."""
    tokens, window, percent = event["tokens"], event["window"], event["percent"]
    if percent is None and tokens is not None and window:
        percent = round(tokens * 100 / window, 2)
    if percent is not None or not event["transcript"] or registry.row(context.agent).extension:
        return {"tokens": tokens, "window": window, "percent": percent, "source": "usage"}
    from session import context_usage

    return context_usage.of_transcript(event["transcript"], context.agent, model=event["model"], config=context.config)


def turn_of(event: HookEvent, context: Context, usage: ContextUsage) -> Turn:
    """The turn as the zone rules take it."""
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
