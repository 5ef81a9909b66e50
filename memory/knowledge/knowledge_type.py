"""The types of knowledge: how people name them, and how they are stored. Hot path."""

from __future__ import annotations

from core import words

NAMES = {
    "decision": "adr", "decisions": "adr", "decision-record": "adr", "architecture-decision-record": "adr",
    "adrs": "adr", "adr": "adr", "skills": "skill", "skill": "skill", "lessons": "lesson", "lessons-learned": "lesson",
    "patterns": "pattern", "retros": "retro", "retrospective": "retro", "retrospectives": "retro",
    "postmortem": "retro", "postmortems": "retro", "notes": "note", "insights": "insight", "runbooks": "runbook",
}  # fmt: skip
FOLDERS = {**NAMES, "lesson": "lesson", "pattern": "pattern", "retro": "retro", "runbook": "runbook"}
DEFAULT = "note"
_LONGEST = 40


def named(name: str) -> str:
    """A type as it is stored and asked for: `Decisions` and `ADR` are both `adr`; "" for no name."""
    word = "-".join(words.split(name))[:_LONGEST]
    return NAMES.get(word, word)
