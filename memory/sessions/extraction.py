"""What an archived session holds about a topic: requests, decisions, commands, files, results, what stood open.

The keys and bounds are the mirrored CLI's; which line counts as what is told by words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from core import words
from memory.sessions.transcript import Line, Transcript

BEFORE, AFTER = 4, 10
"""Lines around one that matches, which belong to it."""
HEAD = 80
"""Lines that are looked at where none matches."""
_MOST_FILES = 80
_PARTS: tuple[tuple[str, int, re.Pattern[str]], ...] = (
    ("decisions", 12, re.compile(r"\b(we (?:will|chose)|decid\w+|decision|chosen|agreed|instead|rather than|because"
                                 r"|root cause|trade-?off|adr)\b", re.I)),
    ("outputsReceipts", 12, re.compile(r"\b(result\w*|output|returned|commit(?:ted)?|passed|created|written|printed"
                                       r"|status|exit(?:ed)?|id)\b", re.I)),
    ("verification", 12, re.compile(r"\b(tests?|pytest|vitest|jest|checks?|verif\w+|lint|build|tsc|mypy|ruff|smoke"
                                    r"|passe[sd])\b", re.I)),
    ("blockers", 12, re.compile(r"\b(block(?:ed|er|s)|fail(?:ed|s|ure)?|errors?|missing|denied|refused|timed? ?out"
                                r"|cannot|can't|stuck|unavailable)\b", re.I)),
    ("nextActions", 10, re.compile(r"\b(next (?:step|action|up)|todo|follow-? ?up|remain(?:s|ing)|still (?:to|open)"
                                   r"|left to do|hand-?off)\b", re.I)),
)  # fmt: skip
_FILE = re.compile(r"(?<![\w/])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w")
_TITLES = {
    "userPrompts": "User prompts",
    "decisions": "Decisions",
    "commandsRun": "Commands run",
    "filesTouched": "Files touched",
    "outputsReceipts": "Outputs / receipts",
    "verification": "Verification",
    "blockers": "Blockers",
    "nextActions": "Next actions",
    "evidence": "Evidence",
}


def matches(text: str, query: str) -> bool:
    """Whether a text holds the query as it stands, or every word of it."""
    lower, wanted = text.lower(), query.lower().strip()
    if wanted and wanted in lower:
        return True
    terms = [word for word in words.split(query) if len(word) > 2]
    return bool(terms) and all(term in lower for term in terms)


def extract(session: Transcript, query: str) -> dict[str, Any]:
    """What the session holds about a topic; of one without a match, of its beginning."""
    near: set[int] = set()
    for at, line in enumerate(session.lines):
        if query and matches(line.text, query):
            near.update(range(max(0, at - BEFORE), min(len(session.lines), at + AFTER + 1)))
    chosen = [session.lines[at] for at in sorted(near)] or session.lines[:HEAD]
    made: dict[str, Any] = {
        **session.about,
        "query": query,
        "matched": bool(near),
        "lineCount": len(session.lines),
        "evidence": _shown(chosen, 16),
        "userPrompts": _shown([line for line in chosen if line.role == "user"], 10),
    }
    for key, most, pattern in _PARTS:
        found = [line for line in chosen if pattern.search(line.text) or (key == "blockers" and line.failed)]
        made[key] = _shown(found, most)
        if key == "decisions":
            made["commandsRun"] = _shown([line for line in chosen if line.command], 16)
            made["filesTouched"] = _files(chosen)
    return {**made, "redacted": session.redacted()}


def markdown(extraction: dict[str, Any]) -> str:
    """An extraction as markdown: a heading a part, a bullet a line."""
    lines = ["# Session extraction", ""]
    lines += [f"- {name}: {extraction[key] or '–'}" for name, key in (
        ("session", "sessionId"), ("client", "client"), ("started", "startedAt"), ("folder", "folder"),
        ("query", "query"), ("lines", "lineCount"), ("redacted", "redacted"),
    )]  # fmt: skip
    for key, title in _TITLES.items():
        lines += ["", f"## {title}", ""]
        lines += [_bullet(entry) for entry in extraction[key]] or ["- none found"]
    return "\n".join(lines) + "\n"


def _bullet(entry: Any) -> str:
    if isinstance(entry, str):
        return f"- {entry}"
    return f"- L{entry['line']} {entry['role']}/{entry['kind']}: {' '.join(entry['text'].split())}"


def _shown(lines: Iterable[Line], most: int) -> list[dict[str, object]]:
    return [line.shown() for line in lines if line.text][:most]


def _files(lines: Iterable[Line]) -> list[str]:
    found: dict[str, None] = {}
    for line in lines:
        if line.file:
            found.setdefault(line.file)
        for match in _FILE.finditer(line.text[:4000]) if line.kind == "message" else ():
            found.setdefault(match[0])
        if len(found) >= _MOST_FILES:
            break
    return list(found)[:_MOST_FILES]
