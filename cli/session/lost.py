"""`joelclaw lost`: what the last compaction dropped, by kind, each with how to get it back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, quoted, step
from cli.parameter import session_around, session_named
from cli.session import lost_text
from core import clock, project
from core.store import sqlite
from core.store.sessions import session_rows
from core.store.sqlite import apsw
from session.lost import report
from session.state import state_file

if TYPE_CHECKING:
    from core.envelope import NextAction
    from session.lost.entry import Entry

SHOWN = {"files": 8, "names": 40, "commands": 6, "errors": 5, "words": 6}
"""How many of a kind are shown by default: as much as fits on two screens."""
MOST = 1000
_CAMEL = {"prompts_before": "promptsBefore", "calls_before": "callsBefore"}


def run(options: dict[str, Any]) -> Answer:
    """`joelclaw lost [SESSION]`: of the session given, else the one that our own variables name, else the one around
    where its calls are archived, else of the one that was compacted last in this folder's project, else anywhere.

    Raises:
        Failure: SESSION_NOT_FOUND, SESSION_AMBIGUOUS, CALLS_NOT_ARCHIVED, NO_COMPACTION.
    """
    kinds = options["kind"] or report.KINDS
    try:
        db = sqlite.open_reading()
        given = _given(options["session"]) or _around(db)
        here = "" if given else project.name_of(_here())
        lost = report.of_session(db, given, kinds, project=here)
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    result = _result(lost, options["limit"])
    text = lost_text.text_of(lost, result["lost"]) if options["raw"] else None
    return Answer(result, _next_actions(lost, options["limit"]), text)


def _given(session: str | None) -> str:
    for name in (session, session_named()):
        if name and name.strip():
            return state_file.identity(name.strip())
    return ""


def _around(db: apsw.Connection | None) -> str:
    """The session whose client runs this command, "" where nothing of it is archived: nobody has asked for it."""
    around = session_around()
    known = around and db is not None and session_rows.session(db, state_file.identity(around))
    return known["id"] if known else ""


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return ""


def _result(lost: report.Lost, limit: int | None) -> dict[str, Any]:
    return {
        "session": lost.session,
        "chosen": lost.chosen,
        "client": lost.client,
        "project": lost.project,
        "folder": lost.folder,
        "compaction": {
            "number": lost.compactions,
            "at": clock.iso(lost.at or None),
            "callsBefore": lost.calls_before,
            "callsSince": lost.calls_since,
            "promptsBefore": lost.prompts_before,
            "summaryKnown": lost.summary_chars > 0,
            "summaryChars": lost.summary_chars,
        },
        "lost": {
            kind: {"count": len(entries), "entries": [_entry(one) for one in entries[: limit or SHOWN[kind]]]}
            for kind, entries in lost.kinds.items()
        },
    }


def _entry(one: Entry) -> dict[str, Any]:
    return {_CAMEL.get(name, name): getattr(one, name) for name in one.__slots__}


def _next_actions(lost: report.Lost, limit: int | None) -> list[NextAction]:
    actions = []
    for kind, what in (("words", "the user's latest words that the summary lacks"), ("names", "the name most at work")):
        entries = lost.kinds.get(kind)
        if entries:
            actions.append(step(entries[0].get, what))
    longer = [len(entries) for kind, entries in lost.kinds.items() if len(entries) > (limit or SHOWN[kind])]
    more = max(longer, default=0)
    if more and limit != MOST:
        actions.append(step(f"joelclaw lost {quoted(lost.session)} --limit {min(more, MOST)}", "all of it"))
    return actions
