"""`joelclaw lost`: what the last compaction dropped, by kind, each with how to get it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.answer import Answer, quoted, step
from cli.parameter import session_around, session_named
from core import clock, files, ids, project
from core.quoting import clip
from core.store import sqlite
from core.store.sessions import session_rows
from session import own_command
from session.lost import report
from session.state import state_file

if TYPE_CHECKING:
    import apsw

    from core.envelope import NextAction

SHOWN = {"files": 8, "names": 40, "commands": 6, "errors": 5, "words": 6}
"""How many of a kind are shown by default: as much as fits on two screens."""
MOST = 1000
_LINE_CHARS = 200
_CAMEL = {"prompts_before": "promptsBefore", "calls_before": "callsBefore"}


def run(options: dict[str, Any]) -> Answer:
    """`joelclaw lost [SESSION]`: of the session given, else the one that our own variables name, else the one around
    where its calls are archived, else of the one that was compacted last in this folder's project, else anywhere.
    """
    db = sqlite.open_reading()
    asked = (options["session"] or "").strip() or session_named()
    given = state_file.identity(asked) if asked else _around(db)
    here = "" if given else project.name_of(files.current_folder())
    lost = report.of_session(db, given, options["kind"] or report.KINDS, project=here)
    result = _result(lost, options["limit"])
    text = _text(lost, result["lost"]) if options["raw"] else None
    return Answer(result, _next_actions(lost, options["limit"]), text)


def _around(db: apsw.Connection | None) -> str:
    """The session whose client runs this command, "" where nothing of it is archived: nobody has asked for it."""
    around = session_around()
    known = around and db is not None and session_rows.session(db, state_file.identity(around))
    return known["id"] if known else ""


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
            kind: {
                "count": len(entries),
                "entries": [
                    {_CAMEL.get(name, name): getattr(one, name) for name in one.__slots__}
                    for one in entries[: limit or SHOWN[kind]]
                ],
            }
            for kind, entries in lost.kinds.items()
        },
    }


def _next_actions(lost: report.Lost, limit: int | None) -> list[NextAction]:
    actions = []
    for kind, what in (("words", "the user's latest words that the summary lacks"), ("names", "the name most at work")):
        if entries := lost.kinds.get(kind):
            actions.append(step(entries[0].get, what))
    longer = [len(entries) for kind, entries in lost.kinds.items() if len(entries) > (limit or SHOWN[kind])]
    if longer and limit != MOST:
        actions.append(step(f"joelclaw lost {quoted(lost.session)} --limit {min(max(longer), MOST)}", "all of it"))
    return actions


def _text(lost: report.Lost, kinds: dict[str, Any]) -> str:
    """A line an entry below the name of its kind, and at the end how each is got back: a tenth of the envelope."""
    session = ids.shown(lost.session)
    lines = [f"lost in compaction {lost.compactions} of session {session} of {lost.project or 'no project'}"]
    if not lost.summary_chars:
        lines.append("the client's summary is not known: all that was before the compaction is listed")
    for kind, part in kinds.items():
        entries = part["entries"]
        if entries:
            more = f", {len(entries)} of {part['count']}" if part["count"] > len(entries) else ""
            lines.append(f"{kind}{more}:")
            lines += _names(entries) if kind == "names" else [f"- {_line(kind, entry)}" for entry in entries]
    if len(lines) > 1:
        # NAME must be replaced, so it is no command to be run as it stands
        lines.append(f"each comes back with: {own_command.word()} recall NAME --session {session} --raw")
    return "\n".join(lines)


def _names(entries: list[dict[str, Any]]) -> list[str]:
    """A line a place, the place most at work first."""
    places: dict[str, list[str]] = {}
    for one in entries:
        places.setdefault(one["place"], []).append(one["name"])
    return [f"- {_short(place) + ': ' if place else ''}{' '.join(names)}" for place, names in places.items()]


def _line(kind: str, entry: dict[str, Any]) -> str:
    again = " (back since)" if entry.get("again") else ""
    if kind == "files":
        return _short(entry["file"]) + again
    if kind == "commands":
        outcome = f"  ({entry['outcome']})" if entry["outcome"] else ""
        return f"$ {_short(entry['command'])}{outcome}{again}"
    if kind == "errors":
        return f"{_short(entry['error'])} ({_short(entry['doing'], 80)}; {'answered' if entry['answered'] else 'open'})"
    return _short(entry["text"])


def _short(text: str, characters: int = _LINE_CHARS) -> str:
    return clip(" ".join(text.split()), characters)  # what acts or passes for markup is taken out of every answer
