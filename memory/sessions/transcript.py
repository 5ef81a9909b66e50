"""An archived session as lines, in the order in which they came: what was said, and what tools were called for.

Read from the store, not from the client's file: redacted, bounded, and there when the file is gone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import apsw

from core import clock, shell_command
from core.errors import Failure
from core.records import Call
from core.redaction import MARK
from core.store.sessions import call_rows, session_rows, turn_rows
from memory.archive import transcript_files

MOST_LINES = 20_000
"""The last of a session; a longer one is cut at its head."""
LINE_CHARS = 600
_ROLES = ("user", "assistant")


@dataclass(frozen=True)
class Line:
    """One line: `number` counts from 1, `kind` is `message` or `tool_call`; `file` and `command` are a call's."""

    number: int
    role: str
    kind: str
    text: str
    file: str = ""
    command: str = ""
    failed: bool = False

    def shown(self) -> dict[str, object]:
        """As the mirrored CLI prints evidence; the text is cut at LINE_CHARS."""
        return {"line": self.number, "role": self.role, "kind": self.kind, "text": self.text[:LINE_CHARS]}


@dataclass(frozen=True)
class Transcript:
    """A session with its lines. `path` is the client's file, where the archive knows it; else the folder is all."""

    session: str
    client: str
    project: str
    folder: str
    path: str
    started_at: int | None
    lines: tuple[Line, ...]

    def about(self) -> dict[str, object]:
        """The keys that every answer about a session begins with."""
        return {
            "sessionId": self.session,
            "startedAt": clock.iso(self.started_at),
            "cwdKey": folder_key(self.folder),
            "path": self.path,
            "client": self.client,
            "project": self.project,
            "folder": self.folder,
        }

    @property
    def redacted(self) -> bool:
        """Whether a secret was taken out of what is here."""
        return any(MARK in line.text for line in self.lines)


def folder_key(folder: str) -> str:
    """A folder as pi names its sessions' folders: `/home/u/app` → `--home-u-app--`; "" for none."""
    return f"--{folder.strip('/').replace('/', '-')}--" if folder else ""


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
            raise Failure(
                "SESSION_NOT_FOUND", f"{given}: {reason}", "name a session's transcript, or a session by its id"
            ) from None
    session = session_rows.whole_id(db, identity(wanted)) if db is not None else ""
    if db is None or not session:
        raise _unknown(given, path)
    known = session_rows.session(db, session)
    said = [(text, at) for _, text, at in turn_rows.last_turns(db, session, MOST_LINES)]
    return Transcript(
        session=session,
        client=known["client"] if known else "",
        project=known["project"] if known else "",
        folder=known["folder"] if known else "",
        path=path,
        started_at=min((at for _, at in said), default=None),
        lines=_lines(said, call_rows.calls(db, session, last=MOST_LINES)),
    )


def _unknown(given: str, path: str) -> Failure:
    if path:
        return Failure(
            "SESSION_NOT_FOUND", f"{path} is not archived", f"take it in: joelclaw memory archive {_quoted(path)}"
        )
    return Failure(
        "SESSION_NOT_FOUND",
        f"no session is archived whose id is {given[:80]!r} or begins so",
        "look for it by what it says: joelclaw sessions search --help",
    )


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"


def _lines(said: list[tuple[str, int]], called: list[Call]) -> tuple[Line, ...]:
    """What was said and what was called, by time; a call whose time nobody told stands behind the one before it."""
    placed: list[tuple[int, int, Line]] = []
    for text, at in said:
        role, colon, body = text.partition(": ")
        if not colon or role not in _ROLES:
            role, body = "assistant", text
        placed.append((at, 0, Line(0, role, "message", body)))
    last = said[0][1] if said else 0
    for call in called:
        last = call["at"] or last
        if call["outcome"] == call_rows.FORGOTTEN_CALL:
            continue
        placed.append((last, 1, _of_call(call)))
    placed.sort(key=lambda one: one[:2])
    kept = placed[-MOST_LINES:]
    return tuple(
        Line(number, line.role, line.kind, line.text, line.file, line.command, line.failed)
        for number, (_, _, line) in enumerate(kept, 1)
    )


def _of_call(call: Call) -> Line:
    outcome = shell_command.told(call["command"], call["outcome"])
    parts = (call["tool"], call["command"] or call["file"], outcome, call["error"], call["passage"])
    text = " ".join(" ".join(part.split()) for part in parts if part)
    failed = bool(call["error"]) or call["outcome"] in ("failed", "error")
    return Line(0, "tool", "tool_call", text, call["file"], call["command"], failed)
