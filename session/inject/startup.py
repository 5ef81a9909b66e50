"""What a new session is given, once: where its project was left, and memories that say something durable."""

from __future__ import annotations

from core.clock import DAY_MS, HOUR_MS
from core.project import folder_of
from core.quoting import clip, enclose, one_line
from session.inject import work
from session.inject.runner import ALREADY, Decision
from session.session_event import GATEWAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Hit
    from session.inject.runner import Situation
    from session.records import SessionState, Text
    from session.session_store import Work

NAME = "startup"
LEAST = "inject.startup_min_score"
CUSTOM_TYPE = "memory-recall"
HEADING = "## Relevant Memory (auto-retrieved)"
LEFT_HEADING = "## Where This Project Was Left"
MAX_MEMORIES, MAX_TOKENS = 3, 400
STALE_MS = 30 * DAY_MS
"""What was left so long ago is not open any more."""
FILES, NAMES_A_FILE, WORK_CHARS = 4, 1, 300
_STEP_CHARS = 120


def due(state: SessionState, situation: Situation) -> Decision:
    """Once a session, with the query that was asked for, else that of the role."""
    setting = "inject.gateway_query" if state["role"] == GATEWAY else "inject.query"
    config = situation.context.config
    query = situation.query or config.get_str(setting)
    strictly = not situation.query and setting in config.foreign
    reason = ALREADY if CUSTOM_TYPE in state["injectedKinds"] else ""
    return Decision(reason, query=query, strictly=strictly, about={"query": query})


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """Where the project was left, and the durable of what was recalled; None without either."""
    from session.inject.selection import fit, kept_by_somebody, select

    context = situation.context
    folder = folder_of(context.directory(state, situation.cwd))
    left = left_of(context.store.left(situation.project_of(state), folder, without=state["sessionId"]), context.now)
    above = [LEFT_HEADING, *left] if left else []
    content, shown = fit(
        CUSTOM_TYPE, [*above, HEADING], select(kept_by_somebody(hits, state), state),
        mark="{number}. [{category}] ", most=MAX_MEMORIES, max_tokens=MAX_TOKENS,
    )  # fmt: skip
    if not (content or left):
        return None
    return {
        "content": content or enclose(CUSTOM_TYPE, above),
        "memories": shown,
        "customType": CUSTOM_TYPE,
        "event": "memory.recall.injected",
        "component": "memory-enforcer",
        "about": {"result_count": len(shown), "left": len(left)},
    }


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """That it was given; where nothing was found it may be tried again."""
    now = situation.context.now
    kinds = state["injectedKinds"] if text is None else {**state["injectedKinds"], CUSTOM_TYPE: now}
    return {**state, "injectedKinds": kinds, "updatedAt": now}


def left_of(sessions: Sequence[Work], now: int) -> list[str]:
    """The lines that say where a project was left, by its sessions, the one to go on from first."""
    lines = []
    for one in sessions:  # what was asked for last in the same working tree, be it in a session that only talked
        task = work.last_task(one["prompts"])
        if task and one["session"]["folder"] == sessions[0]["session"]["folder"]:
            age = max(0, now - one["session"]["updated_at"])
            if age < STALE_MS:
                lines.append(f"**Last task** ({_ago(age)}): {work.opening(task)}")
            break
    for one in [one for one in sessions if one["session"]["calls"]][:1]:
        about = one["session"]
        step = work.open_step(about, one["prompts"]) if now - about["updated_at"] < STALE_MS else ""
        if step:
            lines.append(f"**Open step:** {clip(one_line(step), _STEP_CHARS)}")
        files = work.working_set(
            one["names"], about["calls"], characters=WORK_CHARS, most_files=FILES, most_names=NAMES_A_FILE
        )
        at_work = [f"- {one_line(': '.join((file, *names)))}" for file, names in files if file]
        lines += ["**At work in its last session:**", *at_work] if at_work else []
    return lines


def _ago(age: int) -> str:
    if age < HOUR_MS:
        return f"{age // 60_000} min ago"
    return f"{age // HOUR_MS} h ago" if age < 2 * DAY_MS else f"{age // DAY_MS} days ago"
