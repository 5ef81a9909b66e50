"""`joelclaw lost --raw`: what a compaction dropped as plain lines, as an agent reads it; a tenth of the envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core import ids
from core.quoting import clip
from session import own_command

if TYPE_CHECKING:
    from session.lost.report import Lost

_LINE_CHARS = 200


def text_of(lost: Lost, kinds: dict[str, Any]) -> str:
    """A line an entry below the name of its kind, and at the end how each is got back.

    Args:
        kinds: entries by kind, as the envelope has them.
    """
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
