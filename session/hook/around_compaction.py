"""What happens before a compaction and after it: the rarer half of `session.hook.pipeline`."""

from __future__ import annotations

import os

import clients
from session.faults import fault_boundary
from session.step import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from clients.event import HookEvent, Text
    from session.observation_queue import Trigger
    from session.step import Context, Step

_KEPT_BYTES = 8_000_000
"""Of a session file, its end: a context holds less."""
_KEPT_CHARS = 200_000
_OWED = "owed"
"""Source of an event after a compaction: a process that ended meanwhile may have taken the note along."""


def keep_summary(context: Context, text: str) -> None:
    """Store what the client keeps in place of the messages before the compaction that goes on."""
    session = context.session_id

    def write(db: apsw.Connection) -> None:
        from core.store import sqlite
        from core.store.sessions import name_rows, session_rows
        from memory.archive.plain_text import start

        summary = start(text, name_rows.SUMMARY_CHARS)
        with sqlite.transaction(db):
            if not session_rows.is_forgotten(db, session):
                about = session_rows.session(db, session)
                name_rows.save_compaction(db, session, about["calls"] if about else 0, context.now, summary)

    context.store.attempt("summary", write, None, durable=False)


def recover(event: HookEvent, context: Context, steps: list[Step]) -> list[Text]:
    """The recovery note."""
    from session.inject import recovery
    from session.inject.runner import InjectionStep, Situation

    before = context.previous
    if event["source"] == _OWED and before is not None and before["signpost"] and recovery.is_rapid(before, context):
        return recovery.repeat(context)
    note = InjectionStep(recovery, Situation(context, kept=_kept(event, context)))
    is_over = before is not None and before["noteOwed"] and event["kind"] != "after_compaction"
    run(context, [*steps, note] if is_over else [*steps, recovery.Compaction(context), note])
    return note.message()


def _kept(event: HookEvent, context: Context) -> str:
    """What the client has left in the context word for word, where its session file says so."""
    client = clients.row(context.agent)
    kept_of = getattr(client.transcript(), "kept_of", None) if client.session_file else None
    if kept_of is None or not event["transcript"]:
        return ""
    with fault_boundary(context.faults, "kept"), open(event["transcript"], "rb") as file:
        begin = max(0, os.fstat(file.fileno()).st_size - _KEPT_BYTES)
        file.seek(begin)
        text: str = kept_of(file.read(_KEPT_BYTES), whole=not begin)
        return text[-_KEPT_CHARS:]
    return ""


def before_compaction(event: HookEvent, context: Context, steps: list[Step], turn: dict[str, Any]) -> list[Text]:
    """The last checkpoint; what a client is told that asks whether to compact, or takes our summary."""
    texts: list[Text] = []
    announces = context.config.get_bool("compaction.notify_on_start")
    if announces or clients.row(context.agent).takes_summary:
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
    flush(event, context, steps, turn)
    return texts


def flush(event: HookEvent, context: Context, steps: list[Step], turn: dict[str, Any]) -> None:
    """The last checkpoint."""
    from session import checkpoint, daily_log

    last = checkpoint.Checkpoint(context, turn, flush=True)
    state = run(context, [last, *steps])
    if last.has_work:
        from session import checkpoint_run

        checkpoint_run.work_for_task(context)
    daily_log.before_compaction(context, state)
    observe(event, context, "compaction")


def observe(event: HookEvent, context: Context, trigger: Trigger) -> None:
    """Let a model note what was said, in the background, where the user has set one."""
    if not context.config.get_str("model.command"):
        return
    from session import observation_queue as waiting

    with fault_boundary(context.faults, "observe"):
        if waiting.is_on(context.config):
            path = event["transcript"] if clients.row(context.agent).session_file else ""
            waiting.add(context.session_id, trigger, agent=context.agent, transcript=path)
