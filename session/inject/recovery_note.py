"""The recovery note: where the work of a session stands after a compaction, and how to get the rest back. Hot path.

It is made of what the session did, spends nothing on what the client's own summary has, and stays within its budget.
"""

from __future__ import annotations

from core.names import is_file, names_in
from core.quoting import as_code, clip, cost, enclose, one_line
from core.store.sessions import call_rows, name_rows, session_rows
from recall.by_name import card_weights
from session import own_command
from session.inject import checks, work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import TypedDict

    import apsw

    from core.records import Call, Name, Session
    from session.records import Memory

    class Note(TypedDict):
        """A text and what went into it; "" where the summary leaves nothing to say."""

        content: str
        files: int
        queries: list[str]
        memories: list[Memory]


HEADING = "## Session Recovery"
SOURCE = "session-recovery"
LEAST_CALLS = 5
"""With fewer calls there is no work to tell of."""
TASK_CHARS, STEP_CHARS, ERROR_CHARS = 150, 100, 90
COMMAND_CHARS, MOST_COMMANDS, COMMANDS_CHARS = 90, 2, 200
MOST_QUERIES, QUERY_CHARS = 3, 32
_PROMPTS, _PROMPT_CHARS = 12, 12_000
_SAME = 40
"""So many of a text's first characters tell whether a summary has it."""
_LEAST_ROOM = 80
_QUERIES_ROOM = MOST_QUERIES * QUERY_CHARS + 90
_FIRST_TO_GO = ("commands", "failure", "step", "task")
"""Where the lines leave no room for the working set, in this order."""
_COMMANDS = "commands"
_MOST_UNITS, _MOST_TRIED = 3, 16
_LEAST_GAIN, _SHORTNESS = 0.5, 0.6
_LINE_CHARS = 40
"""About what the places themselves take of an answer, a line each."""


def of(
    db: apsw.Connection, session: str, *, kept: str, max_tokens: int, agent: str, requests: Sequence[str]
) -> Note | None:
    """The note of a session within `max_tokens` estimated tokens; None where it did too little to tell of.

    Of the path by which its commands name us, `own_command.uncounted` tokens do not count.

    Args:
        kept: what the client still has before it beside the summary that the store knows.
        requests: as queries, for a note in which no name is missing that could be asked for by its place.
    """
    about = session_rows.session(db, session)
    if about is None or about["calls"] < LEAST_CALLS:
        return None
    compactions = name_rows.compactions(db, session)
    summary = f"{compactions[-1]['summary'] if compactions else ''}\n{kept}"
    calls = call_rows.calls(db, session)
    asks = len(card_weights.ranked_commands(calls, card_weights.COMMAND_CHARS)) > 1
    commands = [call for call, _ in checks.working(calls, without=summary) if call["command"] not in summary]
    prompts = [text[:_PROMPT_CHARS] for text in session_rows.prompts(db, session, _PROMPTS)]
    lines = _standing(about, calls, prompts, summary)
    lines |= _run_before([call for call in commands if f"`{call['command']}`" not in lines.get("failure", "")])
    names = name_rows.names(db, session)
    told = names_in(summary)[0]
    most = own_command.most(MOST_QUERIES, agent)
    for dropped in ("", *_FIRST_TO_GO):
        lines.pop(dropped, None)
        fixed = list(lines.values())
        # The queries are chosen for what the rest leaves out; so their room is guessed at first.
        room = (max_tokens - cost(enclose(SOURCE, [HEADING, *fixed]))) * 4 - _QUERIES_ROOM
        asked: list[str] | None = None
        while room >= _LEAST_ROOM:
            shown = work.working_set(names, about["calls"], without=told, characters=room)
            text = [*fixed, *_working_set(shown)]
            if asked is None:
                found = queries(names, about["calls"], told=told, shown="\n".join(text), commands=asks)
                asked = found[:most] or list(requests[:most] if text else ())
                left = max_tokens + own_command.uncounted(len(asked), agent)
                room = (left - cost(enclose(SOURCE, [HEADING, *fixed, *_more(asked, agent)]))) * 4
                continue
            text += _more(asked, agent)
            content = enclose(SOURCE, [HEADING, *text]) if text else ""
            over = cost(content) - left
            if over <= 0:
                files = sum(bool(place) for place, _ in shown)
                return {"content": content, "files": files, "queries": asked, "memories": []}
            room -= over * 4 + 4
    return None


def queries(
    names: Sequence[Name], total: int, *, told: Container[str], shown: Container[str], commands: bool
) -> list[str]:
    """Up to three queries by file, folder and program, the one that brings back most of what is missing first.

    What each would answer is known, since the cards are dealt here as `recall.by_name.work_cards` deals them.

    Args:
        total: calls of the session so far.
        told, shown: names in the client's summary, the text of the note.
        commands: whether one of them asks for commands, too.
    """
    weights = card_weights.weights_of(names, total, told)
    by_unit: dict[str, list[Name]] = {}
    for name in names:
        if name["name"] in weights:
            for unit in _units(name["place"]):
                by_unit.setdefault(unit, []).append(name)
    seen = {name for name in weights if name in told or name in shown}
    missing = {
        unit: sum(weights[name["name"]] for name in inside if name["name"] not in seen)
        for unit, inside in by_unit.items()
    }
    likely = sorted(missing, key=lambda unit: -missing[unit])[:_MOST_TRIED]
    dealt = {
        unit: [name["name"] for name in card_weights.deal(by_unit[unit], weights, card_weights.MOST_CHARS)]
        for unit in likely
    }
    chosen: list[list[str]] = []
    for given in ([_COMMANDS] if commands else [], [], []):
        units = _query(dealt, weights, seen, given)
        if units:
            chosen.append(units)
            dealt = {unit: found for unit, found in dealt.items() if unit not in units}
    # files and folders, then programs, then the word
    return [" ".join(sorted(units, key=lambda unit: (unit == _COMMANDS, not _is_anchor(unit)))) for units in chosen]


def _query(
    dealt: Mapping[str, Sequence[str]], weights: Mapping[str, float], seen: set[str], given: Sequence[str]
) -> list[str]:
    """The units of one query, greedily; what they bring back is added to `seen`."""
    units = list(given)
    room = card_weights.MOST_CHARS - (card_weights.COMMANDS_CHARS if given else 0)
    characters = QUERY_CHARS - sum(len(unit) + 1 for unit in units)
    brought: set[str] = set()
    while len(units) < _MOST_UNITS:
        best: tuple[float, str, list[str], int] = (0.0, "", [], 0)
        for unit, names in dealt.items():
            if unit in units or len(unit) > characters or not any(map(_is_anchor, (*units, unit))):
                continue
            found, left = [], room
            for name in names:
                if len(name) + 1 <= left:
                    left -= len(name) + 1
                    found.append(name)
            gain = sum(weights[name] for name in found if name not in seen and name not in brought)
            if gain >= _LEAST_GAIN:
                best = max(best, (gain / (len(unit) + 6) ** _SHORTNESS, unit, found, left), key=lambda one: one[0])
        _, unit, found, left = best
        if not unit:
            break
        units.append(unit)
        brought.update(found)
        characters -= len(unit) + 1
        room = left - _LINE_CHARS
    if not any(map(_is_anchor, units)):
        return []
    seen.update(brought)
    return units


def _units(place: str) -> list[str]:
    """What a place can be asked for by: a file by its name and by the end of its folder, a program by itself."""
    if not is_file(place):
        return [place] if place and place.replace(" ", "").replace("-", "").isalnum() else []
    folder, _, file = place.rpartition("/")
    if not _is_plain(file):
        return []
    parts = folder.strip("/").split("/")[-2:]
    return [file, "/".join(parts) + "/"] if parts != [""] and all(map(_is_plain, parts)) else [file]


def _is_anchor(unit: str) -> bool:
    """Whether a unit is a file or a folder, as `recall.by_name.search` tells them."""
    return unit.endswith("/") or is_file(unit)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace("_", "").replace(".", "").replace("@", "").isalnum()


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
    failure = checks.failing(calls)
    if failure is not None and failure["error"] not in summary:
        command = as_code(failure["command"]) if len(failure["command"]) <= COMMAND_CHARS * 2 else ""
        error = clip(one_line(failure["error"]), ERROR_CHARS, ERROR_CHARS // 2)
        lines["failure"] = f"**Failed last:** {command + ': ' if command else ''}{error}"
    return lines


def _run_before(commands: Sequence[Call]) -> dict[str, str]:
    """The commands that work, as they stand."""
    shown: list[str] = []
    room = COMMANDS_CHARS
    for call in commands:
        entry = f"{as_code(call['command'])} ok"
        if len(entry) + 2 <= room and len(shown) < MOST_COMMANDS and as_code(call["command"]):
            room -= len(entry) + 2
            shown.append(entry)
    return {"commands": f"**Run before:** {', '.join(shown)}"} if shown else {}


def _working_set(shown: Sequence[tuple[str, list[str]]]) -> list[str]:
    """A line a file, files of one folder under it."""
    folders: dict[str, list[str]] = {}
    elsewhere = ""
    for place, inside in shown:
        folder, _, file = place.rpartition("/")
        if place:
            names = ": " + " ".join(inside) if inside else ""
            folders.setdefault(one_line(folder), []).append(one_line(file) + names)
        else:
            elsewhere = " ".join(inside)
    lines: list[str] = []
    for folder, files in folders.items():
        if len(files) > 1 and folder:
            lines += [f"- {folder}/", *(f"  {file}" for file in files)]
        else:
            lines += [f"- {folder + '/' if folder else ''}{file}" for file in files]
    if elsewhere:
        lines.append(f"- elsewhere: {elsewhere}")
    return ["**At work, by file:**", *lines] if lines else []


def _more(queries: Sequence[str], agent: str) -> list[str]:
    printed = [f"`{own_command.recall(query, agent)}`" for query in queries if as_code(query)]
    return ["**More:** " + ", ".join(printed)] if printed else []


def _plain(text: str) -> str:
    """The text in lower case, its white space as one space: as summaries repeat it."""
    return " ".join(text.lower().split())
