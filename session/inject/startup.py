"""What a new session is given, once: where its project was left, and memories that say something durable.

Where it was left is told by what its last sessions did (`session.inject.work`); an agent's turns are no memories here:
recalled for no particular task, they are narration.
"""

from __future__ import annotations

from math import exp, log

from core.clock import DAY_MS, HOUR_MS
from core.project import folder_of
from core.quoting import as_code, clip, cost, enclose, one_line
from session.inject import work
from session.inject.runner import ALREADY, Decision
from session.session_event import GATEWAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Hit, Name
    from session.inject.runner import Situation
    from session.records import Memory, SessionState, Text
    from session.session_store import Work

NAME = "startup"
LEAST = "inject.startup_min_score"
CUSTOM_TYPE = "memory-recall"
HEADING = "## Relevant Memory (auto-retrieved)"
LEFT_HEADING = "## Where This Project Was Left"
MAX_MEMORIES, MAX_TOKENS, TEXT_CHARS = 3, 400, 200
STALE_MS = 30 * DAY_MS
"""What was left so long ago is not open any more."""
FILES, NAMES_A_FILE, WORK_CHARS = 4, 1, 300
_STEP_CHARS, _COMMAND_CHARS, _ERROR_CHARS = 120, 100, 140
# Of 1 to 5 sessions, factors .2 to .95 and 40 to 800 calls the best on half of 29 real sessions; the differences are
# small: what a new session uses next has been at work in several.
_OLDER = 0.5
_FADING_CALLS = 200


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
    from session.inject.selection import kept_by_somebody, select

    context = situation.context
    folder = folder_of(situation.directory(state))
    sessions = context.store.left(situation.project_of(state), folder, without=state["sessionId"])
    left = left_of(sessions, context.now)
    memories = select(kept_by_somebody(hits, state), state)
    for content, shown in _fitting(memories, [LEFT_HEADING, *left] if left else []):
        if cost(content) <= MAX_TOKENS or not shown:
            return {
                "content": content,
                "memories": shown,
                "customType": CUSTOM_TYPE,
                "event": "memory.recall.injected",
                "component": "memory-enforcer",
                "about": {"result_count": len(shown), "left": len(left)},
            }
    return None


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """That it was given; where nothing was found it may be tried again."""
    now = situation.context.now
    kinds = state["injectedKinds"] if text is None else {**state["injectedKinds"], CUSTOM_TYPE: now}
    return {**state, "injectedKinds": kinds, "updatedAt": now}


def left_of(sessions: Sequence[Work], now: int) -> list[str]:
    """The lines that say where a project was left.

    Args:
        sessions: the one to go on from first.
        now: ms since the epoch.
    """
    lines = []
    task, age = _asked(sessions, now)
    if task and age < STALE_MS:
        lines.append(f"**Last task** ({_ago(age)}): {work.opening(task)}")
    worked = [one for one in sessions if one["session"]["calls"]]
    if worked and now - worked[0]["session"]["updated_at"] < STALE_MS:
        step = work.open_step(worked[0]["session"], worked[0]["prompts"])
        if step:
            lines.append(f"**Open step:** {clip(one_line(step), _STEP_CHARS)}")
        failure = work.open_failure(worked[0]["calls"])
        if failure:
            from core import shell_command

            command = shell_command.without_folder(failure["command"])
            shown = as_code(command) if len(command) <= _COMMAND_CHARS else ""
            command = shown or clip(one_line(command), _COMMAND_CHARS)
            lines.append(f"**Failed last:** {command} → {clip(one_line(failure['error']), _ERROR_CHARS)}")
    files = work.working_set(
        _names(worked), 0, characters=WORK_CHARS, most_files=FILES, most_names=NAMES_A_FILE
    )  # fmt: skip
    at_work = [f"- {one_line(': '.join((file, ', '.join(names))).rstrip(': '))}" for file, names in files if file]
    return [*lines, "**At work in its last sessions:**", *at_work] if at_work else lines


def _fitting(memories: Sequence[Memory], above: Sequence[str]) -> list[tuple[str, list[Memory]]]:
    """The texts to choose from, the longest first: at most three memories, below what is told of the project."""
    entries = [memory for memory in memories if one_line(memory["text"])][:MAX_MEMORIES]
    found: list[tuple[str, list[Memory]]] = []
    for count in range(len(entries), -1, -1):
        for tokens in (TEXT_CHARS, TEXT_CHARS // 3, TEXT_CHARS // 4):
            lines = [
                f"{number}. [{clip(one_line(memory['category']), 30) or 'memory'}]"
                f" {clip(one_line(memory['text']), TEXT_CHARS, tokens)}"
                for number, memory in enumerate(entries[:count], 1)
            ]
            told = [*above, *([HEADING, *lines] if lines else [])]
            if told:
                found.append((enclose(CUSTOM_TYPE, told), entries[:count]))
    return found


def _asked(sessions: Sequence[Work], now: int) -> tuple[str, int]:
    """What was asked for last in the working tree of the first session, be it in one that only talked; its age."""
    for one in sessions:
        task = work.last_task(one["prompts"])
        if task and one["session"]["folder"] == sessions[0]["session"]["folder"]:
            return task, max(0, now - one["session"]["updated_at"])
    return "", 0


def _names(sessions: Sequence[Work]) -> list[Name]:
    """The names of all these sessions, each weighed by how often it was used, how late, and in how many of them."""
    found: dict[str, Name] = {}
    for rank, one in enumerate(sessions):
        total = one["session"]["calls"]
        for name in one["names"]:
            weight = _OLDER**rank * log(1 + name["calls"]) * exp((name["last"] - total) / _FADING_CALLS)
            known = found.setdefault(name["name"], {**name, "weight": 0.0, "last": 0})
            known["weight"] += weight
            known["written"] = known["written"] or name["written"]
    return list(found.values())


def _ago(age: int) -> str:
    if age < HOUR_MS:
        return f"{age // 60_000} min ago"
    return f"{age // HOUR_MS} h ago" if age < 2 * DAY_MS else f"{age // DAY_MS} days ago"
