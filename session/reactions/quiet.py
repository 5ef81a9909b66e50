"""Reactions without a text: the client's summary, the idle timer, and the observation by a model. Hot path."""

from __future__ import annotations

import os

import clients
from core import TYPE_CHECKING
from session.reactions import Reaction
from session.record import IDLE_RUN

if TYPE_CHECKING:
    import apsw

    from clients.event import HookEvent
    from session.observation_queue import Trigger
    from session.session import Session


def summary(event: HookEvent, session: Session) -> Reaction:
    """Store the summary that the client puts in place of the messages before a compaction that is under way."""
    if session.is_excluded(event["cwd"]):
        return Reaction()

    def write(db: apsw.Connection) -> None:
        from core.store import sessions, sqlite
        from memory.archive.texts import start

        text = start(event["summary"], sessions.SUMMARY_CHARS)
        with sqlite.transaction(db):
            if not sessions.is_forgotten(db, session.id):
                archived = sessions.by_id(db, session.id)
                calls = archived["calls"] if archived else 0
                sessions.save_compaction(db, session.id, calls, session.now, text)

    session.store.attempt("summary", write, None, durable=False)
    return Reaction()


def idle(event: HookEvent, session: Session) -> Reaction:
    """Set the timer of idle compaction, unless the turn is one of the compaction command itself."""
    if os.environ.get(IDLE_RUN):
        return Reaction()
    from session import idle_timers

    usage, state = session.usage, session.state
    used = idle_timers.ratio(usage["percent"], usage["tokens"], usage["window"]) if usage is not None else None
    idle_timers.set_timer(state, used, session.config, cwd=event["cwd"], transcript=event["transcript"])
    return Reaction()


def observe(event: HookEvent, session: Session) -> Reaction:
    """Let a model note observations in the background."""
    from session import observation_queue

    if observation_queue.is_on(session.config):
        trigger: Trigger = "session-end" if event["kind"] == "end" else "compaction"
        path = event["transcript"] if clients.row(session.agent).session_file else ""
        observation_queue.add(session.id, trigger, agent=session.agent, transcript=path)
    return Reaction()
