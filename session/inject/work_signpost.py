"""The signpost after a compaction, from what the session did: where the work stands, and how to get the rest back.

It spends nothing on what the client's own summary has. Every line can be acted on. Hot path.
"""

from __future__ import annotations

from core import shell_command
from core.names import names_in
from core.quoting import as_code, clip, cost, enclose, one_line
from core.speech import own_words
from core.store.sessions import calls as store
from core.store.sessions import transcripts
from recall.by_name import query_names, work_cards
from session import own_command
from session.inject import work, work_queries
from session.inject.topics import is_topic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Sequence
    from typing import TypedDict

    import apsw

    from core.records import Call, Name, Session
    from session.state.schema import Memory

    class WorkSignpost(TypedDict):
        """A text and what went into it; "" where the summary leaves nothing to say."""

        content: str
        files: int
        queries: list[str]
        memories: list[Memory]
        """The turns that it quotes."""


HEADING = "## Session Recovery"
SOURCE = "session-recovery"
LEAST_CALLS = 5
"""With fewer calls there is no work to point to."""
TASK_CHARS, STEP_CHARS, ERROR_CHARS = 150, 100, 90
COMMAND_CHARS, MOST_COMMANDS, COMMANDS_CHARS = 90, 3, 110
SAID_CHARS = 140
_TURNS, _TURN_CHARS = 12, 1500
_PROMPT_CHARS = 12_000
"""Of a prompt: what its writer says himself may stand behind what he pasted."""
_ANSWERS, _TURNS_SAID = 20, 60
_AGENT = "assistant: "
_SHORT_WORD = 4
_TOLD_SHARE = 0.6
_SAME = 40
"""So many of a text's first characters tell whether a summary has it."""
_LEAST_ROOM = 80
_QUERIES_ROOM = work_queries.MOST_QUERIES * work_queries.QUERY_CHARS + 90
_FIRST_TO_GO = ("decision", "demand", "commands", "failure", "step", "task")
"""Where the lines leave no room for the working set, in this order."""


def of(db: apsw.Connection, session: str, *, kept: str, max_tokens: int, agent: str) -> WorkSignpost | None:
    """The signpost of a session within `max_tokens` estimated tokens; None where it did too little to point to.

    Args:
        kept: what the client still has before it beside the summary that the store knows.
        agent: the client.
    """
    about = store.session(db, session)
    if about is None or about["calls"] < LEAST_CALLS:
        return None
    compactions = store.compactions(db, session)
    summary = f"{compactions[-1]['summary'] if compactions else ''}\n{kept}"
    calls = store.calls(db, session)
    commands = [
        call
        for call in work.standing(work_cards.ranked_commands(calls, work_cards.COMMAND_CHARS))
        if call["command"] not in summary
    ]
    lines = _standing(about, calls, _prompts(db, session), summary)
    said = _said(db, session, _plain(summary), shown=_plain(lines.get("task", "")))
    lines |= {key: line for key, (line, _) in said.items()}
    lines |= _commands([call for call in commands if f"`{call['command']}`" not in lines.get("failure", "")])
    extras = [query_names.COMMANDS] if len(commands) > 1 else []
    if work_cards.decision_lines(db, session, work_cards.DECISIONS_CHARS):
        extras.append(query_names.DECISIONS)
    names = store.names(db, session)
    told, others = names_in(summary)
    for dropped in ("", *_FIRST_TO_GO):
        lines.pop(dropped, None)
        made = _fitted(list(lines.values()), names, about["calls"], told, others, extras, max_tokens, agent)
        if made is not None:
            made["memories"] = [
                {"id": identifier, "text": line, "category": "episodes", "score": 1.0}
                for key, (line, identifier) in said.items()
                if key in lines
            ]
            return made
    return None


def _fitted(
    lines: list[str],
    names: Sequence[Name],
    total: int,
    told: Container[str],
    known: Collection[str],
    extras: Sequence[str],
    max_tokens: int,
    agent: str,
) -> WorkSignpost | None:
    """The text with as much of the working set as has room; None where that is next to none.

    Of the path by which its commands name us, `own_command.uncounted` tokens do not count.
    """
    most = own_command.most(work_queries.MOST_QUERIES, agent)
    # The queries come last in the text, and are chosen for what the rest leaves out; so their room is guessed at first.
    room = (max_tokens - cost(enclose(SOURCE, [HEADING, *lines]))) * 4 - _QUERIES_ROOM
    fitting: WorkSignpost | None = None
    while room >= _LEAST_ROOM:
        shown = work.working_set(names, total, without=told, characters=room, known=known)
        text = _working_set(shown)
        asked = work_queries.queries(names, total, told=told, shown="\n".join((*lines, *text)), extras=extras)[:most]
        body = [*lines, *text, *_more(asked, agent)]
        content = enclose(SOURCE, [HEADING, *body]) if body else ""
        over = cost(content) - max_tokens - own_command.uncounted(len(asked), agent)
        if over > 0 and fitting is not None:
            break
        room -= over * 4
        if over <= 0:
            files = sum(bool(place) for place, _ in shown)
            made: WorkSignpost = {"content": content, "files": files, "queries": asked, "memories": []}
            if fitting is not None or over == 0:
                return max(made, fitting or made, key=lambda one: len(one["content"]))
            fitting = made  # the queries took less than was left to them: once more, with what is over
        else:
            room -= 4
    return fitting


def _standing(about: Session, calls: Sequence[Call], prompts: Sequence[str], summary: str) -> dict[str, str]:
    """Task, open step, open failure: each where the summary has it not."""
    lines: dict[str, str] = {}
    plain = _plain(summary)
    task = one_line(work.last_task(prompts))
    if task and _plain(task)[:_SAME] not in plain:
        lines["task"] = f'**Task:** "{clip(task, TASK_CHARS, TASK_CHARS // 2)}"'
    step = one_line(work.open_step(about, prompts))
    if step and _plain(step)[:_SAME] not in plain:
        lines["step"] = f"**Open step:** {clip(step, STEP_CHARS, STEP_CHARS // 2)}"
    failure = work.open_failure(calls)
    if failure is not None and failure["error"] not in summary:
        command = as_code(failure["command"]) if len(failure["command"]) <= COMMAND_CHARS * 2 else ""
        error = clip(one_line(failure["error"]), ERROR_CHARS, ERROR_CHARS // 2)
        lines["failure"] = f"**Failed last:** {command + ': ' if command else ''}{error}"
    return lines


def _said(db: apsw.Connection, session: str, plain: str, *, shown: str) -> dict[str, tuple[str, str]]:
    """What the user demanded, and what was decided and why, each where the summary has it not; and the turn's id."""
    found: dict[str, tuple[str, str]] = {}
    turns = transcripts.turns(db, session, first=0, last=_TURNS_SAID, characters=_PROMPT_CHARS)
    answers = 0
    for identifier, text in reversed(turns):
        is_agents = text.startswith(_AGENT)
        answers += is_agents
        if is_agents and answers > _ANSWERS:
            continue
        key = "decision" if is_agents else "demand"
        body = text.partition(": ")[2]
        for sentence in work.decisions([body[:_TURN_CHARS]]) if is_agents else _demands(body):
            if len(sentence) > SAID_CHARS or _is_told(sentence, plain) or _plain(sentence) in shown:
                continue
            line = f"**Decided:** {sentence}" if is_agents else f'**The user said:** "{sentence}"'
            found.setdefault(key, (line, identifier))
    return {key: found[key] for key in ("demand", "decision") if key in found}


def _demands(prompt: str) -> list[str]:
    return work.demands([own_words.said(prompt)[:_TURN_CHARS]], _TURNS) if is_topic(prompt) else []


def _is_told(sentence: str, plain: str) -> bool:
    """Whether a summary has a sentence, or most of its longer words."""
    words = {word for word in _plain(sentence).split() if len(word) > _SHORT_WORD}
    return _plain(sentence)[:_SAME] in plain or sum(word in plain for word in words) > len(words) * _TOLD_SHARE


def _commands(missing: Sequence[Call]) -> dict[str, str]:
    """The commands that are run again, as they stand, with their outcome."""
    shown: list[str] = []
    room = COMMANDS_CHARS
    for call in missing:
        code = as_code(call["command"])
        came = shell_command.told(call["command"], call["outcome"])
        if came == "failed" and "|" in call["command"] and not work.is_failure(call):
            came = ""  # a `grep` that found nothing
        entry = f"{code} {came}".rstrip()
        if code and work.is_check(call["command"]) and len(call["command"]) <= COMMAND_CHARS and len(entry) + 2 <= room:
            room -= len(entry) + 2
            shown.append(entry)
        if len(shown) == MOST_COMMANDS:
            break
    return {"commands": f"**Run before:** {', '.join(shown)}"} if shown else {}


def _working_set(shown: Sequence[tuple[str, list[str]]]) -> list[str]:
    """A line a file, files of one folder under it."""
    folders: dict[str, list[tuple[str, str]]] = {}
    for place, inside in shown:
        folder, _, file = place.rpartition("/")
        folders.setdefault(folder if place else "\0", []).append((file, " ".join(inside)))
    lines: list[str] = []
    for folder, files in folders.items():
        if folder == "\0":
            lines += [f"- elsewhere: {inside}" for _, inside in files if inside]
            continue
        begin = one_line(folder) + "/" if folder else ""
        if len(files) > 1 and begin:
            lines.append(f"- {begin}")
            begin = "  "
        else:
            begin = f"- {begin}"
        lines += [f"{begin}{one_line(file)}{': ' + inside if inside else ''}" for file, inside in files]
    return ["**At work, by file:**", *lines] if lines else []


def _more(queries: Sequence[str], agent: str) -> list[str]:
    printed = [f"`{own_command.recall(query, agent)}`" for query in queries if as_code(query)]
    return ["**More, by place:** " + ", ".join(printed)] if printed else []


def _prompts(db: apsw.Connection, session: str) -> list[str]:
    return [text[:_PROMPT_CHARS] for text in store.prompts(db, session, _TURNS)]


def _plain(text: str) -> str:
    """The text in lower case, its white space as one space: as summaries repeat it."""
    return " ".join(text.lower().split())
