"""What an event sets off, once it is recorded. Hot path.

A reaction is a function `react(event, session) -> Reaction` that runs under the session's lock. It may recall, change
`session.state`, queue events and writes, and return texts for the agent. A write that may happen twice is made at once.
If it raises, its changes of the state are dropped, so that a text stays due; what it queued is kept. A step of it that
`session.store` runs does not raise: the reaction goes on without what the step returns. docs/design.md says how to add
a reaction.
"""

from __future__ import annotations

import time

from clients.base import ANSWERED_KINDS
from core import TYPE_CHECKING
from session.record import record, usage_of
from session.session import Session, fault_boundary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clients.base import HookEvent, Text
    from core.config import Config

ALREADY = "already-injected"
FAILED = "failed"
NO_CHECKPOINT = "no-checkpoint"
NO_RESULTS = "no-results"
OFF = "off"

HALF_FULL_PERCENT = 50
"""The context usage that brings a refresh, once for each compaction."""

_FUNCTIONS = {  # module and function of each reaction
    "compaction": ("compaction", "react"),
    "daily_log": ("reactions.daily_log", "react"),
    "failure": ("reactions.memories", "at_failure"),
    "feedback": ("reactions.injection", "judge_memories"),
    "idle": ("idle", "react"),
    "observe": ("observe_job", "react"),
    "project": ("reactions.memories", "at_edit"),
    "recovery": ("reactions.recovery", "react"),
    "refresh": ("reactions.refresh", "react"),
    "startup": ("reactions.memories", "at_start"),
    "summary": ("compaction", "store_summary"),
    "task": ("reactions.task", "react"),
}


class Reaction:
    """What came of a reaction: texts for the agent, or the reason why there are none.

    `about` says more of the occasion; the results of `inject …` print it.
    """

    __slots__ = ("about", "reason", "texts")

    def __init__(self, reason: str = "", *, texts: Sequence[Text] = (), about: Mapping[str, Any] | None = None) -> None:
        self.reason = reason
        self.texts = texts
        self.about = about or {}


def run_due(event: HookEvent, session: Session) -> list[Text]:
    """Run the reactions that are due; returns their texts."""
    return [text for name in due(event, session) for text in run(name, event, session).texts]


def due(event: HookEvent, session: Session) -> list[str]:
    """The names of the reactions that may have something to do, in order."""
    kind, state, config, plan = event["kind"], session.state, session.config, session.plan
    percent = session.usage["percent"]
    is_half_full = percent is not None and percent >= HALF_FULL_PERCENT
    is_foreground_turn = kind == "turn" and event["source"] != "background"
    # A client may go on with a compacted session in another process (Qwen Code: `compact`).
    is_compacted = kind == "after_compaction" or (kind == "start" and event["source"] == "compact")
    is_due = {
        "feedback": session.entries and state.pending_feedback,
        "summary": kind == "summary",
        "recovery": is_compacted or (state.note_owed and kind in ANSWERED_KINDS),
        "startup": kind == "start",
        "project": kind in ("prompt", "tool") and event["files"],
        "refresh": (kind == "prompt" and event["messages"]) or (kind in ("prompt", "tool") and is_half_full),
        "failure": kind == "failure" and event["error"],
        # `entered`: there may be only an event to leave
        "task": plan.must_recall or plan.must_write or plan.entered or kind == "before_compaction",
        "daily_log": kind == "before_compaction",
        "compaction": kind in ("before_compaction", "before_branch"),
        "idle": is_foreground_turn and config.get_int("compaction.idle_trigger_minutes"),
        "observe": kind in ("before_compaction", "end") and config.get_str("model.command"),
    }
    return [name for name, value in is_due.items() if value]


def run(name: str, event: HookEvent, session: Session, **options: Any) -> Reaction:
    """Run a reaction. If it fails, the state is set back, and the session has a fault under the reaction's name."""
    session.reaction_began = time.monotonic()
    state = session.state.copy()
    with fault_boundary(session.store, name):
        module, function = _FUNCTIONS[name]
        # Without a name in `fromlist` that the module has, Python would return the package.
        react = getattr(__import__(f"session.{module}", fromlist=["__name__"]), function)
        reaction: Reaction = react(event, session, **options)
        return reaction
    session.state = state
    return Reaction(FAILED)


def inject(name: str, event: HookEvent, config: Config, *, role: str, **options: Any) -> tuple[Reaction, Session]:
    """Run a reaction for a command, `inject …`; returns what came of it, and the session."""
    began = time.monotonic()
    session = Session(event["session"], config, role=role, creates_state=name != "recovery")
    if session.is_off(event["cwd"]):
        return Reaction(OFF), session
    with session:
        session.usage = usage_of(event)
        if name == "recovery":
            record(event, session)
            session.save()
        elif name == "refresh" and event["messages"]:
            session.state.last_message_at = session.now
        reaction = run(name, event, session, **options)
        if session.before is not None or reaction.texts:
            session.complete(f"inject {'memory' if name == 'startup' else name}", began)
        else:  # no event is left about an unknown session
            session.save()
    if session.must_store_events:
        session.store_events()
    return reaction, session
