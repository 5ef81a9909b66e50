"""Tool calls of archived sessions that answer a query: the passage in which a name stands, with its place. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, clock, words
from core.store import calls
from recall import hit, ranking
from recall.by_name.asked import holds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Filters, Hit
    from core.records import FoundCall as Found
    from recall.by_name.asked import QueryNames
    from recall.query import Scope

COLLECTION = "calls"
PREFIX = "call:"
WHOLE_QUERY = 0.85  # score of a call that holds the query word for word: an error or a command that was copied
_ALONE, _OTHER_CASE, _BEGINS = 0.8, 0.75, 0.45
_BESIDE_PROSE = 0.9  # what a call's words count beside those that were said
_PHRASE_WORDS = 3
"""From so many words on, stop words left out, a query that stands somewhere word for word was copied from there."""
_LEAST_WORDS = 2
_ESSENCE_BEFORE, _ESSENCE_CHARS = 8, 52
_WORK, _LINES = 3, 2
_PLACE_CHARS, _HEAD_CHARS = 110, 60
_LEAST_ROOM, _LONGEST_COMMAND = 60, 400
_TRIES = 10  # calls behind one that failed among which is looked for the form that worked


class Match:
    """A call that answers a query, and how well: `score` is 0 to 1."""

    def __init__(self, call: Found, score: float, wanted: Sequence[str]) -> None:
        self.call = call
        self.score = self.raw = score
        self.wanted = wanted
        self.worked = ""  # of a command that failed: the form of it that worked then, and the number of its call

    def hit(self, room: int) -> Hit:
        """The hit, its text within `room` characters."""
        call = self.call
        return hit.made(
            f"{PREFIX}{call['session']}:{call['number']}", self.score, self._text(room), raw=self.raw,
            kind="call", source=call["client"], collection=COLLECTION, session=call["session"],
            timestamp=time_of(call), path=call["file"], project=call["project"],
            origin=hit.origin_of_call(call["tool"]),
        )  # fmt: skip

    def _text(self, room: int) -> str:
        worked = f"\n{self.worked[: room // 2]}" if self.worked else ""
        return text_of(self.call, self.wanted, room - len(worked)) + worked


def matches(
    db: apsw.Connection, query: str, asked: QueryNames, filters: Filters, scope: Scope, most: int
) -> list[Match]:
    """The different calls that answer a query, best first; of equals those of the project preferred, and the newest."""
    found = _found(db, query.strip(), asked, filters) or _near(db, asked, filters)
    for match in found:
        match.score = match.raw * scope.factor(match.call["project"], match.call["session"])

    def order(match: Match) -> tuple[float, bool, int, int, int]:
        call = match.call
        return -match.score, call["project"] != scope.prefer, -_substance(match), -(call["at"] or 0), -call["rowid"]

    different: dict[str, Match] = {}  # a passage, a command or a file is shown once
    for match in sorted(found, key=order):
        if len(different) < most:
            different.setdefault(_essence(match), match)
    best = list(different.values())
    for match in best:
        if match.call["outcome"] == "failed" and match.call["command"]:
            match.worked = _worked(db, match.call)
    return best


def _worked(db: apsw.Connection, failed: Found) -> str:
    """What ran the program of a failed command with its verb, and succeeded shortly after; "" for nothing else."""
    from core import shell_command

    run = shell_command.steps(failed["command"])
    tried = [{step["program"], *step["verb"].split()} for step in run if shell_command.does(step)]
    for number, command in calls.successful_after(db, failed, _TRIES):
        ran = [{step["program"], *step["words"]} for step in shell_command.steps(command)]
        if any(one <= words for one in tried for words in ran):
            told = "the same" if command == failed["command"] else " ".join(command.split())
            return f"then ok (call {number}): {told}"
    return ""


def _found(db: apsw.Connection, whole: str, asked: QueryNames, filters: Filters) -> list[Match]:
    """The calls that hold the query word for word, its one name, or any of its names and words; in no order."""
    wanted = [*asked.names, *asked.words]
    found: dict[int, Match] = {}
    if asked.alone:
        for call in calls.holding_any(db, wanted, filters):
            found[call["rowid"]] = Match(call, _ALONE if wanted[0] in _text(call) else _OTHER_CASE, wanted)
    elif wanted:
        half = ranking.half(ranking.LEXICAL_SCALE, len(wanted), max(calls.size(db), calls.SMALL))
        for bm25, call in calls.best(db, wanted, filters):
            found[call["rowid"]] = Match(call, _BESIDE_PROSE * ranking.fuse(bm25, None, half), wanted)
    if len(whole.split()) >= _LEAST_WORDS:
        for call in calls.holding_all(db, [whole], filters):
            if _holds_all_of(call, whole, asked):
                found[call["rowid"]] = Match(call, WHOLE_QUERY, [whole, *wanted])
    return list(found.values())


def _near(db: apsw.Connection, asked: QueryNames, filters: Filters) -> list[Match]:
    """For a name that no call holds: calls that hold what begins so or, of a path, its longest end that any holds."""
    whole = asked.names[0] if asked.alone else ""
    parts = [part for part in whole.split("/") if part]
    for name in (whole, *("/".join(parts[at:]) for at in range(1, len(parts) - 1))):
        if name and (found := calls.holding_any(db, [name], filters, beginning=True)):
            return [Match(call, _BEGINS, [name]) for call in found]
    return []


def _holds_all_of(call: Found, whole: str, asked: QueryNames) -> bool:
    """Whether a query was copied from a call: a command begins so, or it stands there and is no common phrase."""
    if _begins(call["command"], whole):
        return True
    return whole.lower() in _text(call).lower() and bool(asked.names or len(asked.words) >= _PHRASE_WORDS)


def _text(call: Found) -> str:
    return "\n".join((call["tool"], call["file"], call["command"], call["error"], call["passage"]))


def _substance(match: Match) -> int:
    """What a match shows: work on the file that is asked for, lines in which a name stands, or less."""
    call, first = match.call, match.wanted[0].lower()
    if _begins(call["command"], match.wanted[0]):
        return _LINES
    if call["file"] and call["passage"] and f"/{call['file'].lower()}".endswith(f"/{first}"):
        return _WORK
    return _LINES if holds(call["passage"], match.wanted) else int(holds(call["error"], match.wanted))


def _begins(command: str, query: str) -> bool:
    """Whether a query of several words begins a command, or one of those that a line runs in turn."""
    if len(query.split()) < _LEAST_WORDS or query not in command:
        return False
    return command.startswith(query) or any(f"{mark} {query}" in command for mark in ("&&", "||", ";", "|"))


def _essence(match: Match) -> str:
    """What tells a match from others: how a line goes on from the name, whatever a tool printed before it."""
    call = match.call
    if _substance(match) != _LINES or _begins(call["command"], match.wanted[0]):
        return call["command"] or f"{call['tool']} {call['file']}"
    lower = call["passage"].lower()
    place = next((at for word in match.wanted if (at := lower.find(word.lower())) >= 0), 0)
    return " ".join(words.split(call["passage"][max(0, place - _ESSENCE_BEFORE) : place + _ESSENCE_CHARS]))


def text_of(call: Found, wanted: Sequence[str], room: int) -> str:
    """`place: passage`, in about `room` characters; what was asked for word for word is not cut."""
    from recall import snippet

    where, command = place(call), call["command"]
    own = [
        line for line in (call["error"], *call["passage"].splitlines()) if line.strip() and line.strip() not in command
    ]
    first = wanted[0] if wanted else ""
    asked = bool(command) and (holds(command, wanted) or not holds("\n".join(own), wanted))
    if asked and not call["file"] and len(" ".join(command.split())) > _HEAD_CHARS:
        where = place({**call, "command": ""})  # a command is told once: whole, or as much as has room
    if asked and (call["file"] or not where.startswith(f"{call['tool']} {' '.join(command.split())}")):
        own.insert(0, command)
    left = max(room - len(where) - 2, _LEAST_ROOM)
    if left < len(first) <= _LONGEST_COMMAND:
        left = len(first) + 2 * len(snippet.CUT)
    shown = snippet.around("\n".join(dict.fromkeys(own)), wanted, left)
    return f"{where}: {shown}" if shown else where


def place(call: Found) -> str:
    """Where a call stands: its tool, its file or the head of its command, the session, the prompt and its number."""
    from core import ids, shell_command

    about = call["file"] or " ".join(call["command"].split())
    most = _PLACE_CHARS if call["file"] else _HEAD_CHARS
    if len(about) > most:
        about = "…" + about[1 - most :] if call["file"] else about[: most - 1] + "…"
    head = f"{call['tool']} {about}".strip()
    came = shell_command.told(call["command"], call["outcome"])
    outcome = f", {came}" if came == "failed" or (came and not call["file"]) else ""
    return f"{head} (session {ids.shown(call['session'])}, prompt {call['prompt']}, call {call['number']}{outcome})"


def time_of(call: Found) -> str:
    """When a call was made, in ISO 8601; "unknown" for some."""
    return "unknown" if call["at"] is None else clock.iso(call["at"])
