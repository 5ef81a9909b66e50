"""Answers a query of files, folders, programs, `commands`: what the session last at work there did. Hot path."""

from __future__ import annotations

from core import clock, ids, shell_command
from core.names import is_file, names_in
from core.project import same
from core.store.sessions import call_rows, name_rows, session_rows
from recall import hit
from recall.by_name.card_weights import COMMAND_CHARS, COMMANDS_CHARS, MOST_CHARS, deal, ranked_commands, weights_of
from recall.by_name.search import COMMANDS, is_anchor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from core.records import Hit, Name, Session
    from recall.query import Query

COLLECTION = "work"
LEAN_CHARS, ONE_CHARS = 1000, 600
"""Of an answer: with a lean budget, to a single file's name, otherwise."""
_NOTES, _SESSIONS = 20, 20
"""Recovery notes that are looked into for a query; and sessions, where a place is named in calls elsewhere."""


def ask(
    db: apsw.Connection, text: str, units: Sequence[str], query: Query, projects: Sequence[str], *, lean: bool
) -> Hit | None:
    """The answer to a query that is made of units; None where no session (of these projects, if any) was there.

    It is of `query.session`, or of the last session that was at work there: first of the one that asks, `query.own`
    or, where that is not known, the one whose recovery note printed this query; then of those of the project preferred.
    Of a single file `path` is that: other hits follow then.
    """
    room = LEAN_CHARS if lean else ONE_CHARS if len(units) == 1 and is_file(text) else MOST_CHARS
    asks = query.own or ("" if query.session else _told_to_ask(db, text, query.prefer))
    for about in _sessions_at(db, units, query.session, projects, query.prefer, asks):
        names = names_at(name_rows.names(db, about["id"]), units)
        if not names:  # what faded long ago is told only where nothing else is
            names = names_at(name_rows.names(db, about["id"], every=True), units)
        told = _text_of(db, about, names, units, room) if names else ""
        if any(line not in units for line in told.splitlines()[1:]):  # the name of the file alone tells nothing
            return hit.made(
                f"work:{about['id']}", 1.0, told, kind="work", source=about["client"], collection=COLLECTION,
                session=about["id"], timestamp=clock.iso(about["updated_at"]), project=about["project"],
                path=text.strip() if room == ONE_CHARS else "", origin=hit.TOOL,
            )  # fmt: skip
    return None


def names_at(names: Sequence[Name], units: Iterable[str]) -> list[Name]:
    """The names whose place is one of the units; a folder without a file of its own stands for those below it."""
    chosen: list[Name] = []
    for unit in units:
        here = [name for name in names if _is_at(name["place"], unit)]
        if not here and is_anchor(unit) and unit.endswith("/"):
            below = "/" + unit.removeprefix("./").lstrip("/")
            here = [name for name in names if is_file(name["place"]) and below in f"/{name['place']}"]
        chosen += here
    return list({name["name"]: name for name in chosen}.values())


def _is_at(place: str, unit: str) -> bool:
    """Whether a place is the file, lies in the folder, or is the program of a unit."""
    if unit.endswith("/"):
        return is_file(place) and f"/{place.rpartition('/')[0]}/".endswith(f"/{unit.removeprefix('/')}")
    return place == unit or (is_file(unit) and f"/{place}".endswith(f"/{unit}"))


def _text_of(db: apsw.Connection, about: Session, here: Sequence[Name], units: Sequence[str], room: int) -> str:
    """The lines of a session's cards within so many characters: its commands, and the names in these places."""
    lines = [f"session {ids.shown(about['id'])} of {about['project'] or 'no project'}, {about['calls']} calls:"]
    room -= len(lines[0]) + 1
    if COMMANDS in units:
        lines += _command_lines(db, about["id"], min(COMMANDS_CHARS, room // 2))
        room -= sum(len(line) + 1 for line in lines[1:])
    compactions = name_rows.compactions(db, about["id"])
    kept = names_in(compactions[-1]["summary"])[0] if compactions else set()
    weights = weights_of(here, about["calls"], kept)
    left = room - sum(len(place) + 3 for place in {name["place"] for name in here})
    places: dict[str, list[str]] = {}
    for name in deal([one for one in here if one["name"] in weights], weights, left) or _deal_faded(here, room):
        inside = places.setdefault(name["place"], [])
        if name["name"] != name["place"].rpartition("/")[2]:
            inside.append(name["name"])
    lines += [f"{place}: {' '.join(inside)}" if inside else place for place, inside in places.items()]
    return "\n".join(lines)


def _deal_faded(names: Sequence[Name], room: int) -> list[Name]:
    """Names that are at work no more, or in too many places: by the weight they had, the last first."""
    dealt: list[Name] = []
    places: set[str] = set()
    for name in sorted(names, key=lambda one: (-one["weight"], -one["last"])):
        cost = len(name["name"]) + 1 + (0 if name["place"] in places else len(name["place"]) + 3)
        if cost <= room:
            room -= cost
            places.add(name["place"])
            dealt.append(name)
    return dealt


def _command_lines(db: apsw.Connection, session: str, room: int) -> list[str]:
    lines: list[str] = []
    for call in ranked_commands(call_rows.calls(db, session), COMMAND_CHARS):
        came = shell_command.told(call["command"], call["outcome"])
        outcome = f"{came}: {call['error'][:80]}" if call["error"] else came or "no outcome"
        line = f"$ {call['command']}  ({outcome})"
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return lines


def _told_to_ask(db: apsw.Connection, query: str, near: str) -> str:
    """The session whose recovery note printed this query last, of the project `near` where it has any; "" for none."""
    told = session_rows.notes_with(db, f'recall "{query}"', _NOTES)
    known = dict(session_rows.latest_first(db)) if told else {}
    if any(same(project, near) for project in known.values()):
        told = [session for session in told if same(known.get(session, ""), near)]
    return told[0] if told else ""


def _sessions_at(
    db: apsw.Connection, units: Sequence[str], session: str, projects: Sequence[str], near: str, own: str
) -> list[Session]:
    """Sessions whose calls name such a file or folder: `own` first, then those of the project `near`, latest first."""
    if session:
        about = session_rows.session(db, session)
        return [about] if about else []
    known = [one for one in session_rows.latest_first(db) if not projects or one[1] in projects]
    known.sort(key=lambda one: (one[0] != own, not same(one[1], near)))
    anchors = [unit for unit in units if is_anchor(unit)]
    return call_rows.sessions_holding(db, anchors, [identifier for identifier, _ in known], _SESSIONS)
