"""`joelclaw lost`: what the last compaction dropped, by kind, each with how to get it back."""

from typing import Any

from cli.answer import Answer, quoted, step
from cli.parameter import session_around, session_named
from core import files, ids, project
from core.quoting import clip
from core.store import sessions, sqlite
from session import lost, own_command
from session.state import stored_id

SHOWN = {"files": 8, "names": 40, "commands": 6, "errors": 5, "words": 6}
_ROWS = {"files": 3, "names": 4, "commands": 4, "errors": 2, "words": 3}
"""How many of a kind a program is told by default, and how many rows of it a person."""
_MOST = 1000
_LINE_CHARS = 200


def run(options: dict[str, Any]) -> Answer:
    """`joelclaw lost [SESSION]`: of the session given or around, else of the one that was compacted last."""
    db = sqlite.open_reading()
    asked = (options["session"] or "").strip() or session_named()
    given = stored_id(asked) if asked else ""
    around = "" if asked else session_around()
    if around and db is not None:  # nobody has asked for it
        known = sessions.by_id(db, stored_id(around))
        given = known["id"] if known else ""
    here = "" if given else project.name_of(files.current_folder())
    result = lost.of_project(db, given, options["kind"] or lost.KINDS, project=here)
    limit, found = _MOST if options["all"] else options["limit"], result["lost"]
    actions = []
    for kind, what in (("words", "your latest request that the summary left out"), ("names", "the name used most")):
        if entries := found.get(kind):
            actions.append(step(entries[0]["get"], what))
    is_cut = any(len(entries) > (limit or SHOWN[kind]) for kind, entries in found.items())
    result["lost"] = {
        kind: {"count": len(entries), "entries": entries[: limit or SHOWN[kind]]} for kind, entries in found.items()
    }
    said = "" if limit or options["kind"] else text_of(result, in_rows=True)
    if limit != _MOST and (is_cut or " in all:\n" in said):
        actions.append(step(f"joelclaw lost {quoted(ids.shown(result['session']))} --all", "all of it"))
    return Answer(result, actions, text_of(result) if options["raw"] else None, said=said)


def text_of(result: dict[str, Any], *, in_rows: bool = False) -> str:
    """A line an entry below the name of its kind, and at the end how each is got back: a tenth of the envelope.

    `in_rows`: the best of each kind, for a person's screen.
    """
    session, about = ids.shown(result["session"]), result["compaction"]
    lines = [f"lost in compaction {about['number']} of session {session} of {result['project'] or 'no project'}"]
    if not about["summaryKnown"]:
        lines.append("the client's summary is not known: everything before the compaction is listed")
    for kind, part in result["lost"].items():
        entries = part["entries"]
        if entries:
            told = lost.by_file(entries) if kind == "names" else [_line(kind, entry) for entry in entries]
            rows = told[: _ROWS[kind]] if in_rows else told
            more = f", {part['count']} in all" if in_rows else f", {len(entries)} of {part['count']}"
            is_cut = part["count"] > len(entries) or len(told) > len(rows)
            lines += [f"{kind}{more * is_cut}:", *(f"- {row}" for row in rows)]
    if any(part["entries"] for part in result["lost"].values()):
        # NAME must be replaced, so it is no command to be run as it stands
        lines.append(f"to bring one back: {own_command.word()} recall NAME --session {session} --raw")
    return "\n".join(lines)


def _line(kind: str, entry: dict[str, Any]) -> str:
    again = " (back since)" if entry.get("again") else ""
    if kind == "files":
        return _short(entry["file"]) + again
    if kind == "commands":
        outcome = f"  ({entry['outcome']})" if entry["outcome"] else ""
        return f"$ {_short(entry['command'])}{outcome}{again}"
    if kind == "errors":
        return f"{_short(entry['error'])} ({_short(entry['doing'], 80)})"
    return _short(entry["text"])


def _short(text: str, characters: int = _LINE_CHARS) -> str:
    return clip(" ".join(text.split()), characters)  # what acts or passes for markup is taken out of every answer
