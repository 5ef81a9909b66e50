"""What is shown of a tool call: its place, and the lines in which a name stands; all that is kept of one."""

from __future__ import annotations

from core import clock, ids, shell_command
from core.store.sessions import call_rows, session_rows
from recall import hit, snippet
from recall.by_name.session_calls import COLLECTION, PREFIX, holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import FoundCall as Found
    from core.records import Hit
    from recall.by_name.session_calls import Match

LEAST_ROOM = 60
_PLACE_CHARS = 110
_HEAD_CHARS = 60
_LONGEST_COMMAND = 400
_LONGEST_NUMBER = 10


def hit_of(match: Match, room: int) -> Hit:
    """The hit of a call, its text within `room` characters."""
    call = match.call
    return hit.made(
        f"{PREFIX}{call['session']}:{call['number']}", match.score, text_of(call, match.wanted, room), raw=match.raw,
        kind="call", source=call["client"], collection=COLLECTION, session=call["session"], timestamp=time_of(call),
        path=call["file"], project=call["project"], origin=hit.origin_of_call(call["tool"]),
    )  # fmt: skip


def text_of(call: Found, wanted: Sequence[str], room: int) -> str:
    """`place: passage`, in about `room` characters; of a call whose names stand in the place only, the place.

    What was asked for word for word is not cut, up to _LONGEST_COMMAND characters.
    """
    where = place(call)
    command = call["command"]
    own = [
        line for line in (call["error"], *call["passage"].splitlines()) if line.strip() and line.strip() not in command
    ]
    first = wanted[0] if wanted else ""
    asked = bool(command) and (not holds("\n".join(own), wanted) or (first in command and " " in first))
    if asked and not call["file"] and len(" ".join(command.split())) > _HEAD_CHARS:
        where = place({**call, "command": ""})  # a command is told once: whole, or as much as has room
    if asked and (call["file"] or not where.startswith(f"{call['tool']} {' '.join(command.split())}")):
        own.insert(0, command)
    left = max(room - len(where) - 2, LEAST_ROOM)
    if left < len(first) <= _LONGEST_COMMAND:
        left = len(first) + 2 * len(snippet.CUT)
    shown = snippet.around("\n".join(dict.fromkeys(own)), wanted, left)
    return f"{where}: {shown}" if shown else where


def place(call: Found) -> str:
    """Where a call stands: its tool, its file or the head of its command, the session, the prompt and its number."""
    about = call["file"] or " ".join(call["command"].split())
    most = _PLACE_CHARS if call["file"] else _HEAD_CHARS
    if len(about) > most:
        about = snippet.CUT + about[1 - most :] if call["file"] else about[: most - 1] + snippet.CUT
    head = f"{call['tool']} {about}".strip()
    came = shell_command.told(call["command"], call["outcome"])
    outcome = f", {came}" if came == "failed" or (came and not call["file"]) else ""
    return f"{head} (session {ids.shown(call['session'])}, prompt {call['prompt']}, call {call['number']}{outcome})"


def view(db: apsw.Connection | None, identifier: str) -> dict[str, Any] | None:
    """The call with this id and all that is kept of it; None where there is none, or it is no call's.

    Of the session, a beginning of 8 characters or more that no other archived session has will do.

    Raises:
        Failure: SESSION_AMBIGUOUS.
    """
    session, colon, number = identifier.removeprefix(PREFIX).rpartition(":")
    if db is None or not (
        identifier.startswith(PREFIX) and colon and number.isdecimal() and len(number) < _LONGEST_NUMBER
    ):
        return None
    session = session_rows.whole_id(db, session)
    call = call_rows.one(db, session, int(number))
    if call is None or call["outcome"] == call_rows.FORGOTTEN_CALL:
        return None
    return {
        "id": f"{PREFIX}{session}:{number}", "collection": COLLECTION, "place": place(call), "session": session,
        "client": call["client"], "project": call["project"], "number": call["number"], "prompt": call["prompt"],
        "at": time_of(call), "tool": call["tool"], "file": call["file"], "command": call["command"],
        "outcome": shell_command.told(call["command"], call["outcome"]), "error": call["error"],
        "passage": call["passage"], "origin": hit.origin_of_call(call["tool"]),
    }  # fmt: skip


def time_of(call: Found) -> str:
    """When a call was, as a hit tells it."""
    return "unknown" if call["at"] is None else clock.iso(call["at"])
