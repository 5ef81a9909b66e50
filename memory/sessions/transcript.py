"""An archived session as lines, in the order in which they came: what was said, and what tools were called for.

Read from the store, not from the client's file: redacted, bounded, and there when the file is gone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import apsw

from core import clock, shell_command
from core.errors import Failure
from core.records import Call
from core.redaction import MARK
from core.store.sessions import call_rows, session_rows
from memory.archive import transcript_files

MOST_LINES = 20_000
"""The last of a session; a longer one is cut at its head."""
LINE_CHARS = 600
_MOST_MATCHES = 8
_ROLES = ("user", "assistant")


class Line(NamedTuple):
    """One line: `number` counts from 1, `kind` is `message` or `tool_call`; `file` and `command` are a call's."""

    at: int
    role: str
    kind: str
    text: str
    file: str = ""
    command: str = ""
    failed: bool = False
    number: int = 0

    def shown(self) -> dict[str, object]:
        """As the mirrored CLI prints evidence; the text is cut at LINE_CHARS."""
        return {"line": self.number, "role": self.role, "kind": self.kind, "text": self.text[:LINE_CHARS]}


class Transcript(NamedTuple):
    """A session with its lines; `about` are the keys that every answer about it begins with."""

    session: str
    about: dict[str, Any]
    lines: list[Line]

    def redacted(self) -> bool:
        """Whether a secret was taken out of what is here."""
        return any(MARK in line.text for line in self.lines)


def about(db: apsw.Connection, session: str) -> dict[str, Any]:
    """What is known of a session's place and time; `cwdKey` is its folder as pi names it, `--home-u-app--`."""
    known: Any = session_rows.session(db, session) or {"folder": "", "client": "", "project": ""}
    folder = known["folder"]
    return {
        "sessionId": session,
        "startedAt": clock.iso(session_rows.spoken(db, session)[1] or None),
        "cwdKey": f"--{folder.strip('/').replace('/', '-')}--" if folder else "",
        **{name: known[name] for name in ("client", "project", "folder")},
    }


def read(db: apsw.Connection | None, given: str, *, identity: Callable[[str], str]) -> Transcript:
    """The archived session that an id, the beginning of one, or a transcript's path means.

    Args:
        identity: the id under which a session is kept.

    Raises:
        Failure: SESSION_NOT_FOUND, SESSION_AMBIGUOUS.
    """
    wanted, path = given, ""
    if os.path.isfile(given):
        path = os.path.abspath(given)
        try:
            wanted = transcript_files.look_at(given).session
        except transcript_files.NotATranscriptError as reason:
            fix = "name a session's transcript, or a session by its id"
            raise Failure("SESSION_NOT_FOUND", f"{given}: {reason}", fix) from None
    session = session_rows.whole_id(db, identity(wanted)) if db is not None else ""
    if db is None or not session:
        message = f"no session is archived whose id is {given[:80]!r} or begins so"
        fix = "look for it by what it says: joelclaw sessions search --help"
        if path:
            shown = "'" + path.replace("'", "'\\''") + "'"
            message, fix = f"{path} is not archived", f"take it in: joelclaw memory archive {shown}"
        raise Failure("SESSION_NOT_FOUND", message, fix)
    said = [(text, at) for _, text, at in session_rows.last_turns(db, session, MOST_LINES)]
    lines = _lines(said, call_rows.calls(db, session, last=MOST_LINES))
    return Transcript(session, {**about(db, session), "path": path}, lines)


def _lines(said: list[tuple[str, int]], called: list[Call]) -> list[Line]:
    """What was said and what was called, by time; a call whose time nobody told stands behind the one before it."""
    placed: list[Line] = []
    for text, at in said:
        role, colon, body = text.partition(": ")
        is_told = colon and role in _ROLES
        placed.append(Line(at, role if is_told else "assistant", "message", body if is_told else text))
    last = said[0][1] if said else 0
    for call in called:
        last = call["at"] or last
        if call["outcome"] != call_rows.FORGOTTEN_CALL:
            placed.append(_of_call(call, last))
    placed.sort(key=lambda line: line.at)  # what was said goes before what was called for then
    return [line._replace(number=number) for number, line in enumerate(placed[-MOST_LINES:], 1)]


def _of_call(call: Call, at: int) -> Line:
    outcome = shell_command.told(call["command"], call["outcome"])
    parts = (call["tool"], call["command"] or call["file"], outcome, call["error"], call["passage"])
    text = " ".join(" ".join(part.split()) for part in parts if part)
    failed = bool(call["error"]) or call["outcome"] in ("failed", "error")
    return Line(at, "tool", "tool_call", text, call["file"], call["command"], failed)


def inspect(session: Transcript, pattern: re.Pattern[str], before: int, after: int) -> dict[str, Any]:
    """The first eight lines that a pattern is found in, each with the lines around it."""
    found: list[dict[str, Any]] = []
    for at, line in enumerate(session.lines):
        if len(found) < _MOST_MATCHES and pattern.search(line.text):
            around = session.lines[max(0, at - before) : at + after + 1]
            found.append({
                "matchLine": line.number,
                "startLine": around[0].number,
                "endLine": around[-1].number,
                "entries": [one.shown() for one in around],
            })  # fmt: skip
    return {**session.about, "around": pattern.pattern, "matches": found, "redacted": session.redacted()}
