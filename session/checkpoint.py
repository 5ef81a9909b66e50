"""The end of a turn, and the last checkpoint before a compaction, as a step (ADR-0203, stages 1 and 2).

A turn is written down in any case; from the warm zone on memories are recalled for its task, in the hot zone the task
is written to memory too. The store is not opened below the warm zone.
"""

from __future__ import annotations

from core.quoting import clip_path, one_line
from session.state import rules, state_file
from session.step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from session.records import Memory, Plan, SessionState
    from session.step import Context

_MESSAGES_READ = 12
"""Of a whole conversation handed over, the end is enough to see what is new."""


def turn_of(
    *, role: str = "", messages: Sequence[str] = (), files: Sequence[str] = (), percent: float | None = None,
    tokens: int | None = None, window: int | None = None, agent: str = "", cwd: str = "",
) -> dict[str, Any]:  # fmt: skip
    """A turn as the rules take it: texts redacted and on one line, the percentage from tokens where need be."""
    if percent is None and tokens is not None and window:
        percent = round(tokens * 100 / window, 2)
    known = [entry for entry in map(rules.message, messages[-_MESSAGES_READ:]) if entry is not None]
    return {
        "role": state_file.role_name(role),
        "messages": known,
        "files": [path for path in map(_path, files[-state_file.FILES_KEPT :]) if path],
        "percent": percent,
        "tokens": tokens,
        "window": window,
        "agent": agent,
        "cwd": _path(cwd) if cwd else "",
    }


class Checkpoint(Step):
    """A turn that has ended, or that a compaction ends (`flush`); None where only what one has left is to be done.

    What its task calls for is left to `session.checkpoint_run`.
    """

    name = "task"

    def __init__(self, context: Context, turn: dict[str, Any] | None, *, flush: bool = False) -> None:
        self.context = context
        self.turn = turn
        self.hits: list[Memory] | None = None
        """What the recall returned; None where there was none."""
        self.memory_id: str | None = None
        self.plan: Plan
        self.is_flush = flush

    def change(self, state: SessionState) -> SessionState:
        """The turn, its zone and how often that happened."""
        percent = state["checkpoint"]["contextPercentAtCapture"]
        if self.turn is not None:
            percent = self.turn["percent"]
            state = rules.record_turn(state, self.turn)
            kind = "flushes" if self.is_flush else "saves"
            counts = {**state["counts"], kind: state["counts"][kind] + 1}
            state = {**state, "counts": counts, "updatedAt": self.context.now}
        plan = self.plan = rules.plan_of(state, rules.zone_of(percent, self.context.config), flush=self.is_flush)
        if plan["write"] and self.context.is_excluded(state["cwd"]):
            self.plan = {**plan, "write": False, "writeReason": "excluded"}
        return rules.enter(state, plan)

    @property
    def has_work(self) -> bool:
        """Whether the task is to be recalled for, or to be written."""
        return self.plan["recall"] or self.plan["write"]

    def follow_up(self, state: SessionState, *, late: bool = False) -> None:  # noqa: ARG002  # late or not
        """The events."""
        context, plan, checkpoint = self.context, self.plan, state["checkpoint"]
        percent = self.turn["percent"] if self.turn else checkpoint["contextPercentAtCapture"]
        written = self.memory_id is not None
        totals = {"recallHits": len(checkpoint["recallHits"]), "filesCount": len(checkpoint["filesModified"])}
        events: list[tuple[str, dict[str, Any]]] = []
        if self.hits is not None:
            # the query is what the user said
            asked = {} if context.is_excluded(state["cwd"]) else {"query": plan["query"]}
            events.append(("task.recalled", {**asked, "returned": len(self.hits), "written": written}))
        if "warm" in plan["entered"]:
            events.append(("compaction.extract.warm", {"percent": percent}))
        if plan["zone"] == "hot" and not self.is_flush and ("hot" in plan["entered"] or written):
            events.append(("compaction.extract.hot", {"percent": percent, **totals}))
        if not (events or self.is_flush):
            return
        from session import session_event

        if self.is_flush:
            last, now = state["lastCompactionAt"], context.now
            captured = {"contextPercent": checkpoint["contextPercentAtCapture"]}
            about = {**session_event.compaction_count(state), **captured, **totals}
            before = {
                "contextTokens": state["contextTokens"],
                "contextLimit": state["contextLimit"],
                "recallCacheSize": len(state["recallCache"]),
                "userMessageCount": state["counts"]["userMessages"],
                "timeSinceLastCompactionMs": None if last is None else max(0, now - last),
                "timeSinceSessionStartMs": max(0, now - state["startedAt"]),
            }
            done = {
                "queriesCount": len(checkpoint["recallQueries"]),
                "taskChars": len(checkpoint["currentTask"]),
                "written": written,
                "memoryId": self.memory_id,
            }
            events += [("compaction.before", about | before), ("compaction.checkpoint", about | done)]
        context.note([session_event.of_state(name, state, about, context.now) for name, about in events])


def _path(path: str) -> str:
    from core.redaction import redact
    from core.words import clean

    known = redact(clean(path))[0]
    line = one_line(known)
    if line != known:  # a line break tells some secrets from prose, and may part others
        line = redact(line)[0]
    return clip_path(line, state_file.FILE_CHARS)
