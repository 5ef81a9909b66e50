"""Which session is meant: by its id or its beginning, else the one around, else the newest of a project."""

from __future__ import annotations

from core import project as projects
from core.errors import Failure
from core.store.history import hook_calls
from core.store.sessions import call_search, transcripts
from session.session_report import listing
from session.state import state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

_SHORTEST = 4
_MOST_LISTED = 10
_NEAR = 3
_LOOKED_AT, _COMPARED = 500, 60
_OF_PROJECT = 200
_ALIKE = 0.6
NOT_FOUND = "SESSION_NOT_FOUND"


def meant(db: apsw.Connection | None, given: str) -> str:
    """The id of a session of which a state, an archive or hooks are kept.

    Args:
        given: the id, or four characters or more with which no other session begins.

    Raises:
        Failure: SESSION_NOT_FOUND, naming near ones; SESSION_AMBIGUOUS.
    """
    if is_known(db, given):
        return given
    found = _beginning(db, given) if len(given) >= _SHORTEST else []
    if len(found) > 1:
        shown = ", ".join(found[:_MOST_LISTED]) + (" and more" if len(found) > _MOST_LISTED else "")
        raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {shown}", "give more of the id")
    if found:
        return found[0]
    raise _unknown(db, given)


def is_known(db: apsw.Connection | None, session: str) -> bool:
    """Whether anything is kept of a session of exactly this id."""
    if state_file.exists(session):
        return True
    if db is None:
        return False
    if hook_calls.extent(db, session) is not None:
        return True
    return call_search.exists(db) and transcripts.whole_id(db, session, least=len(session) + 1) == session


def newest(db: apsw.Connection | None, project: str) -> tuple[str, str]:
    """The session that did something last, and which it is: "project", of this one among the last 200; else "last".

    Raises:
        Failure: SESSION_NOT_FOUND where there is none at all.
    """
    known = listing.known(db)
    for one in known[:_OF_PROJECT] if project else ():
        if projects.same(project, one.read().project):
            return one.id, "project"
    if known:
        return known[0].id, "last"
    raise Failure(
        NOT_FOUND,
        "nothing is known of any session yet",
        "install the hooks with `joelclaw install`, or take in what agents left: `joelclaw memory archive --all`",
    )


def _beginning(db: apsw.Connection | None, start: str) -> list[str]:
    found = [one["sessionId"] for one in state_file.every() if one["sessionId"].startswith(start)]
    if db is not None:
        found += hook_calls.sessions_beginning(db, start, _MOST_LISTED + 1)
        if call_search.exists(db):
            found += transcripts.sessions_beginning(db, start, _MOST_LISTED + 1)
    return list(dict.fromkeys(found))


def _unknown(db: apsw.Connection | None, given: str) -> Failure:
    """That there is no such session, with a command that shows the one whose id is nearest."""
    from difflib import SequenceMatcher

    asked = given[:_COMPARED].lower()
    ids = [one.id for one in listing.known(db)[:_LOOKED_AT]]
    likeness = {one: SequenceMatcher(None, asked, one[: len(asked)].lower()).ratio() for one in ids}
    near = sorted((one for one in ids if likeness[one] >= _ALIKE), key=lambda one: -likeness[one])[:_NEAR]
    message = f"nothing is known of a session {given[:80]!r}"
    if not near:
        return Failure(NOT_FOUND, message, "`joelclaw session list` names those that are known")
    plain = all(character.isalnum() or character in "-_." for character in near[0]) and near[0][0] != "-"
    word = near[0] if plain else "'" + near[0].replace("'", "'\\''") + "'"
    others = f"; near are also {', '.join(near[1:])}" if near[1:] else ""
    return Failure(NOT_FOUND, f"{message}{others}", f"`joelclaw session show {word}` shows the one with the nearest id")
