"""The end of a turn, and the last checkpoint before a compaction, as a step (ADR-0203, stages 1 and 2).

A turn is written down in any case; from the warm zone on memories are recalled for its task, in the hot zone the task
is written to memory too. The store is not opened below the warm zone.
"""

from __future__ import annotations

import time

from core.quoting import clip_path, one_line
from session import session_event
from session.context import Context
from session.faults import errors_of
from session.state import schema, state_file, task, zones
from session.step import Step, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.config import Config
    from core.records import Event
    from session.state.schema import SessionState
    from session.state.zones import Outcome, Plan, Turn

_EXCLUDED = "excluded"
_MESSAGES_READ = 12
"""Of a whole conversation handed over, the end is enough to see what is new."""


def turn_of(
    *,
    role: str = "",
    messages: Sequence[str] = (),
    files: Sequence[str] = (),
    percent: float | None = None,
    tokens: int | None = None,
    window: int | None = None,
    agent: str = "",
    cwd: str = "",
) -> Turn:
    """A turn as the zone rules take it: texts redacted and on one line, the percentage from tokens where need be."""
    if percent is None and tokens is not None and window:
        percent = round(tokens * 100 / window, 2)
    known = [entry for entry in map(task.message, messages[-_MESSAGES_READ:]) if entry is not None]
    return {
        "role": state_file.role_name(role),
        "messages": known,
        "files": [path for path in map(_path, files[-schema.FILES_KEPT :]) if path],
        "percent": percent,
        "tokens": tokens,
        "window": window,
        "agent": agent,
        "cwd": _path(cwd) if cwd else "",
    }


class Checkpoint(Step):
    """A turn that has ended, or that a compaction ends.

    Args:
        turn: None where nothing has happened, and only what a turn has left is to be done.
        flush: a compaction comes next.
        leave_work: recall and writing are left to the task job (`session.task_job`) or to the next turn.
    """

    name = "task"

    def __init__(self, context: Context, turn: Turn | None, *, flush: bool = False, leave_work: bool = False) -> None:
        self._context = context
        self._turn = turn
        self._flush = flush
        self._leave_work = leave_work
        self._busy = False
        self._recalled = False
        self._hits = 0
        self._memory_id: str | None = None
        self._outcome: Outcome | None = None
        self.plan: Plan

    def change(self, state: SessionState) -> SessionState:
        """The turn, its zone and how often that happened."""
        percent = state["checkpoint"]["contextPercentAtCapture"]
        if self._turn is not None:
            percent = self._turn["percent"]
            counted = "flushes" if self._flush else "saves"
            state = zones.record_turn(state, self._turn)
            counts = {**state["counts"], counted: state["counts"][counted] + 1}  # type: ignore[literal-required]
            state = {**state, "counts": counts, "updatedAt": self._context.now}  # type: ignore[typeddict-item]
        config = self._context.config
        decide = zones.plan_flush if self._flush else zones.plan_save
        self.plan = decide(
            state,
            percent,
            warm=config.number("checkpoint.warm_percent"),
            hot=config.number("checkpoint.hot_percent"),
        )
        if self.plan["write"] and self._context.is_excluded(state["cwd"]):
            self.plan = {**self.plan, "write": False, "writeReason": _EXCLUDED}
        return zones.enter(state, self.plan)

    @property
    def has_work(self) -> bool:
        """Whether the task is to be recalled for, or to be written."""
        return self.plan["recall"] or self.plan["write"]

    def is_due(self, state: SessionState) -> bool:  # noqa: ARG002  # `change` has planned by it
        """Whether that is done here."""
        return self.has_work and not self._leave_work

    def is_busy(self) -> None:
        """Another process recalls for this task, or writes it."""
        self._busy = True

    def work(self, state: SessionState) -> None:
        """Recall for the task, and write it to memory."""
        plan, store = self.plan, self._context.store
        hits = None
        if plan["recall"]:
            context = self._context
            found = store.recall(plan["query"], project=context.project_of(state), everywhere=context.serves_all(state))
            if found is not None:
                from session.inject.selection import select

                hits = select(found, state)
                self._recalled, self._hits = True, len(hits)
        if plan["write"]:
            checkpoint = state["checkpoint"]
            text = task.memory_of(checkpoint["currentTask"], checkpoint["filesModified"][::-1])
            project = self._context.project_of(state)
            self._memory_id = store.write_task(
                text, source=state["role"], session=state["sessionId"], project=project, known=state["taskMemoryIds"]
            )
        self._outcome = {"hash": plan["hash"], "query": plan["query"], "hits": hits, "memoryId": self._memory_id}

    def apply(self, state: SessionState) -> SessionState:
        """The state with what was recalled and written."""
        return zones.finish(state, self._outcome, now=self._context.now) if self._outcome else state

    def follow_up(self, state: SessionState) -> None:
        """The events."""
        events = self._events(state)
        if events:
            self._context.note(events)

    def follow_up_late(self, state: SessionState) -> None:
        """The events, whether its work was done or not."""
        self.follow_up(state)

    def _events(self, state: SessionState) -> list[Event]:
        context, plan, checkpoint = self._context, self.plan, state["checkpoint"]
        percent = self._turn["percent"] if self._turn else checkpoint["contextPercentAtCapture"]
        now = context.now
        events: list[Event] = []
        if self._recalled:
            found = {"query": plan["query"], "returned": self._hits, "written": self._memory_id is not None}
            if context.is_excluded(state["cwd"]):  # it is what the user said
                del found["query"]
            events.append(session_event.of_state("task.recalled", state, found, now))
        if "warm" in plan["entered"]:
            events.append(session_event.of_state("compaction.extract.warm", state, {"percent": percent}, now))
        totals = {"recallHits": len(checkpoint["recallHits"]), "filesCount": len(checkpoint["filesModified"])}
        written = self._memory_id is not None
        if plan["zone"] == "hot" and not self._flush and ("hot" in plan["entered"] or written):
            hot = {"percent": percent, **totals}
            events.append(session_event.of_state("compaction.extract.hot", state, hot, now))
        if self._flush:
            events.append(session_event.of_state("compaction.before", state, _before_compaction(state, now), now))
            about = {
                **session_event.compaction_count(state),
                "contextPercent": checkpoint["contextPercentAtCapture"],
                **totals,
                "queriesCount": len(checkpoint["recallQueries"]),
                "taskChars": len(checkpoint["currentTask"]),
                "written": written,
                "memoryId": self._memory_id,
            }
            events.append(session_event.of_state("compaction.checkpoint", state, about, now))
        return events

    def result(self, state: SessionState) -> dict[str, Any]:
        """What was done, for `checkpoint save` and `flush`."""
        plan, checkpoint = self.plan, state["checkpoint"]
        written = self._memory_id is not None
        recall_reason, write_reason = plan["recallReason"], plan["writeReason"]
        if plan["recall"] and not self._recalled:
            recall_reason = "in-flight" if self._busy else "failed"
        if plan["write"] and not written:
            write_reason = "in-flight" if self._busy else "failed"
        result: dict[str, Any] = {
            "sessionId": state["sessionId"],
            "role": state["role"],
            "zone": plan["zone"],
            "percent": self._turn["percent"] if self._turn else checkpoint["contextPercentAtCapture"],
            "entered": plan["entered"],
            "recalled": self._recalled,
            "recallReason": recall_reason,
            "recallQuery": plan["query"],
            "hits": self._hits,
            "cachedHits": len(checkpoint["recallHits"]),
            "written": written,
            "writeReason": write_reason,
            "memoryId": self._memory_id,
            "currentTask": checkpoint["currentTask"],
            "filesModified": checkpoint["filesModified"],
            "taskHash": state["taskHash"],
            "compactionCount": checkpoint["compactionCount"],
            **errors_of(self._context.faults),
        }
        if self._context.set_aside:
            result["setAside"] = self._context.set_aside
        return result


def save(session_id: str, turn: Turn, config: Config) -> dict[str, Any]:
    """Write down the end of a turn and do what its zone calls for; the result tells what was done.

    Raises:
        Failure: the state cannot be read or written (STATE_...).
    """
    context = Context(session_id, config, role=turn["role"])
    return _run(context, Checkpoint(context, turn))


def flush(session_id: str, turn: Turn, config: Config) -> dict[str, Any]:
    """The last checkpoint before a compaction: also the queries of the signpost, and the events.

    Raises:
        Failure: as `save`.
    """
    from session.inject.query_selection import QuerySelection

    context = Context(session_id, config, role=turn["role"])
    return _run(context, Checkpoint(context, turn, flush=True), QuerySelection(context))


def catch_up(context: Context, *, holds_lock: bool = False) -> dict[str, Any]:
    """Do what a hook has left to do for the task, by the context usage that it wrote down.

    Args:
        holds_lock: this process was started with the lock of that work.

    Raises:
        Failure: SESSION_NOT_FOUND; else as `save`.
    """
    if context.previous is None and not state_file.exists(context.session_id):
        raise state_file.unknown_session(context.session_id)
    step = Checkpoint(context, None)
    step.takes_lock = not holds_lock
    return _run(context, step)


def _run(context: Context, checkpoint: Checkpoint, *more: Step) -> dict[str, Any]:
    began = time.perf_counter()
    state = run(context, (checkpoint, *more))
    return {**checkpoint.result(state), "ms": round((time.perf_counter() - began) * 1000, 2)}


def _before_compaction(state: SessionState, now: int) -> dict[str, Any]:
    """The metadata of `compaction.before`."""
    checkpoint = state["checkpoint"]
    last = state["lastCompactionAt"]
    return {
        **session_event.compaction_count(state),
        "contextPercent": checkpoint["contextPercentAtCapture"],
        "contextTokens": state["contextTokens"],
        "contextLimit": state["contextLimit"],
        "recallCacheSize": len(state["recallCache"]),
        "recallHits": len(checkpoint["recallHits"]),
        "filesCount": len(checkpoint["filesModified"]),
        "userMessageCount": state["counts"]["userMessages"],
        "timeSinceLastCompactionMs": None if last is None else max(0, now - last),
        "timeSinceSessionStartMs": max(0, now - state["startedAt"]),
    }


def _path(path: str) -> str:
    from core.redaction import redact
    from core.words import clean

    known = redact(clean(path))[0]
    line = one_line(known)
    if line != known:  # a line break tells some secrets from prose, and may part others
        line = redact(line)[0]
    return clip_path(line, schema.FILE_CHARS)
