"""What a new session is given, once: where its project was left, and memories that say something durable.

Where it was left is told by what its last sessions did (`session.inject.work`); an agent's turns are no memories here:
recalled for no particular task, they are narration.
"""

from __future__ import annotations

from math import exp, log

from core import shell_command
from core.clock import DAY_MS, HOUR_MS
from core.project import folder_of
from core.quoting import as_code, clip, cost, enclose, one_line
from core.speech import decisive, own_words
from session.inject import work
from session.inject.runner import ALREADY
from session.session_event import GATEWAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Hit, Name
    from session.inject.runner import Composed, Moment, Text
    from session.session_store import Work
    from session.state.schema import Memory, SessionState

NAME = "startup"
LEAST = "inject.startup_min_score"
NEEDS_RECALL = True
CUSTOM_TYPE = "memory-recall"
HEADING = "## Relevant Memory (auto-retrieved)"
LEFT_HEADING = "## Where This Project Was Left"
SOURCE = "memory-recall"
MAX_MEMORIES = 3
MAX_TOKENS = 400
TEXT_CHARS = 200
STALE_MS = 30 * DAY_MS
"""What was left so long ago is not open any more."""
FILES, NAMES_A_FILE, WORK_CHARS = 4, 1, 300
_CATEGORY_CHARS = 30
_STEP_CHARS, _COMMAND_CHARS, _ERROR_CHARS = 120, 100, 140
_DEMANDS, _LOOKED_AT = 2, 8
_ENDED_CHARS, _ENDED_WORTH = 200, 0.5
_LASTING = (" never ", " always ", " prefer ", " from now on", " at all costs", " in general")
# With one name a file instead of two a quarter less is shown, and .26 of it is used next instead of .24.
# Of 1 to 5 sessions, factors .2 to .95 and 40 to 800 calls the best on half of 29 real sessions, both cut at their last
# compaction and whole; the differences are small: what a new session uses next has been at work in several.
_OLDER = 0.5
_FADING_CALLS = 200


def due(state: SessionState, moment: Moment) -> str:
    """Once a session."""
    moment.about = {"query": query(state, moment)}
    moment.foreign = not moment.query and _setting(state) in moment.context.config.foreign
    return ALREADY if CUSTOM_TYPE in state["injectedKinds"] else ""


def query(state: SessionState, moment: Moment) -> str:
    """The one that was asked for, else that of the role."""
    return moment.query or moment.context.config.text(_setting(state))


def _setting(state: SessionState) -> str:
    return "inject.gateway_query" if state["role"] == GATEWAY else "inject.query"


def compose(state: SessionState, moment: Moment, hits: Sequence[Hit]) -> Text | None:
    """Where the project was left, and the durable of what was recalled; None without either."""
    from session.inject.selection import bearing, select

    context = moment.context
    project = moment.project_of(state)
    sessions = context.store.left(project, folder_of(moment.directory(state)), without=state["sessionId"])
    left = left_of(sessions, context.now)
    made = text_of(select(bearing(hits, state, ""), state), left)
    if made is None:
        return None
    return {
        "content": made["content"],
        "memories": made["memories"],
        "customType": CUSTOM_TYPE,
        "event": "memory.recall.injected",
        "component": "memory-enforcer",
        "about": {"result_count": len(made["memories"]), "left": len(left)},
    }


def apply(state: SessionState, moment: Moment, text: Text | None) -> SessionState:
    """That it was given; where nothing was found it may be tried again."""
    now = moment.context.now
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
        ended = _ended(sessions[0].get("answer", ""))
        if ended:
            lines.append(f"**It ended with:** {ended}")
    worked = [one for one in sessions if one["session"]["calls"]]
    last = worked[0] if worked else None
    if last and now - last["session"]["updated_at"] < STALE_MS:
        step = work.open_step(last["session"], last["prompts"])
        if step:
            lines.append(f"**Open step:** {clip(one_line(step), _STEP_CHARS)}")
        failure = work.open_failure(last["calls"])
        if failure:
            command = shell_command.without_folder(failure["command"])
            shown = as_code(command) if len(command) <= _COMMAND_CHARS else ""
            command = shown or clip(one_line(command), _COMMAND_CHARS)
            lines.append(f"**Failed last:** {command} → {clip(one_line(failure['error']), _ERROR_CHARS)}")
    if sessions and now - sessions[0]["session"]["updated_at"] < STALE_MS:
        prompts = [prompt for one in reversed(sessions) for prompt in one["prompts"]]
        said = [prompt for prompt in prompts if own_words.of(prompt).strip() != task]
        demands = [one for one in work.demands(said, _LOOKED_AT) if _holds_on(one)][:_DEMANDS]
        if demands:
            lines += ["**The user said:**", *(f"- “{one}”" for one in demands)]
    files = work.working_set(
        _names(worked), 0, without=(), characters=WORK_CHARS, most_files=FILES, most_names=NAMES_A_FILE
    )
    at_work = [f"- {one_line(': '.join((file, ', '.join(names))).rstrip(': '))}" for file, names in files if file]
    if at_work:
        lines += ["**At work in its last sessions:**", *at_work]
    return lines


def text_of(memories: Sequence[Memory], left: Sequence[str] = ()) -> Composed | None:
    """The text within 400 estimated tokens: at most three memories, best first, below `left`; None without either."""
    entries = [
        (memory, clip(one_line(memory["category"]), _CATEGORY_CHARS) or "memory", one_line(memory["text"]))
        for memory in memories
    ]
    entries = [entry for entry in entries if entry[2]][:MAX_MEMORIES]
    above = [LEFT_HEADING, *left] if left else []
    for count in range(len(entries), -1, -1):
        for tokens in (TEXT_CHARS, TEXT_CHARS // 3, TEXT_CHARS // 4):
            lines = [
                f"{number}. [{category}] {clip(text, TEXT_CHARS, tokens)}"
                for number, (_, category, text) in enumerate(entries[:count], 1)
            ]
            told = [*above, *([HEADING, *lines] if lines else [])]
            if not told:
                return None
            content = enclose(SOURCE, told)
            if cost(content) <= MAX_TOKENS or not lines:
                return {"content": content, "memories": [memory for memory, _, _ in entries[:count]]}
    return None


def _ended(answer: str) -> str:
    """How the agent closed, without what only tells of its steps; "" where that says nothing."""
    from session.inject import selection

    said = [one for one in decisive.sentences(answer) if not (one.startswith("|") or selection.narrates(one))]
    text = clip(one_line(". ".join(said).replace("**", "").replace("..", ".")), _ENDED_CHARS)
    return text if text and selection.worth(text) >= _ENDED_WORTH else ""


def _asked(sessions: Sequence[Work], now: int) -> tuple[str, int]:
    """What was asked for last in the working tree of the first session, be it in one that only talked; its age."""
    for one in sessions:
        task = work.last_task(one["prompts"])
        if task and one["session"]["folder"] == sessions[0]["session"]["folder"]:
            return task, max(0, now - one["session"]["updated_at"])
    return "", 0


def _names(sessions: Sequence[Work]) -> list[Name]:
    """The names of all these sessions, each weighed by how often it was used, how late, and in how many of them.

    Of spellings of the same (`sessionID`, `SessionID`, `session_id`) the one with the most weight.
    """
    found: dict[str, Name] = {}
    for rank, one in enumerate(sessions):
        total = one["session"]["calls"]
        for name in one["names"]:
            weight = _OLDER**rank * log(1 + name["calls"]) * exp((name["last"] - total) / _FADING_CALLS)
            known = found.get(name["name"])
            if known is None:
                found[name["name"]] = {**name, "weight": weight, "last": 0}
            else:
                known["weight"] += weight
                known["written"] = known["written"] or name["written"]
    spelt: dict[str, Name] = {}
    for name in sorted(found.values(), key=lambda name: -name["weight"]):
        spelt.setdefault(name["name"].lower().replace("_", ""), name)
    return list(spelt.values())


def _holds_on(demand: str) -> bool:
    """Whether a demand is meant for later sessions too; most are about the matter at hand."""
    lower = f" {demand.lower()} "
    return any(mark in lower for mark in _LASTING)


def _ago(age: int) -> str:
    if age < HOUR_MS:
        return f"{age // 60_000} min ago"
    return f"{age // HOUR_MS} h ago" if age < 2 * DAY_MS else f"{age // DAY_MS} days ago"
