"""What one turn of an agent came to, kept as a piece of knowledge: one a turn, the last that was told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core import ids
from core.redaction import redact
from core.store import documents, knowledge, sqlite
from memory import gate
from memory.write import clean_name, clean_tags, set_category
from recall.static_vectors import document_vector

if TYPE_CHECKING:
    import apsw

    from core.records import Document

TYPE = "turn_note"
SOURCE = "turn-note"
_TITLE_CHARS = 120
_MOST_EVIDENCE, _MOST_TAGS = 30, 20


@dataclass(frozen=True)
class TurnNote:
    """A turn: who it was of, and what came of it. `about` are further ids, by name."""

    source: str
    agent: str
    session: str
    turn: int
    turn_id: str
    summary: str
    channel: str = ""
    decision: str = ""
    project: str = ""
    evidence: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    about: dict[str, str] = field(default_factory=dict)


def turn_id(source: str, agent: str, channel: str, session: str, turn: int) -> str:
    """The id of a turn that was given none, as the mirrored CLI makes it."""
    return f"{source}:{agent}:{channel or 'internal'}:{session}:{turn}"


def listed(text: str, most: int) -> tuple[str, ...]:
    """The entries of a comma-separated list, each once, at most so many."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))[:most]


def evidence(text: str) -> tuple[str, ...]:
    """What `--evidence` names."""
    return listed(text, _MOST_EVIDENCE)


def tags(text: str) -> tuple[str, ...]:
    """What `--usefulness` names, as tags."""
    return tuple("-".join(tag.lower().split()) for tag in listed(text, _MOST_TAGS))


def store(db: apsw.Connection, note: TurnNote, *, now: int, vectors: bool) -> tuple[str, list[str]]:
    """Keep a note; returns its id and the kinds of secrets that were taken out. One of the same turn is replaced.

    Args:
        now: ms since the epoch.
        vectors: whether sqlite-vec is loaded.

    Raises:
        Failure: what the store says; nothing was changed.
    """
    document, kinds = _document(note, now)
    vector = document_vector(document["text"], "", document["title"])
    with sqlite.transaction(db):
        if vectors:
            documents.ensure_signatures(db)
        older = documents.by_id(db, document["id"])
        if older is None:
            documents.insert(db, document, vector, signatures=vectors)
        else:
            for name in ("rowid", "created_at", "recall_count", "retrieval_priority", "last_used_at", "history"):
                document[name] = older[name]
            documents.replace(db, document, vector, signatures=vectors)
    return document["id"], kinds


def _document(note: TurnNote, now: int) -> tuple[Document, list[str]]:
    parts = {
        "Decision": note.decision,
        "Evidence": ", ".join(note.evidence),
        "Tools": ", ".join(note.tools),
        **note.about,
    }
    lines = [note.summary, *(f"{name}: {value}" for name, value in parts.items() if value)]
    text, kinds = redact("\n".join(lines))
    found = list(kinds)
    document = documents.blank(knowledge.COLLECTION, f"turn-{ids.fingerprint(note.turn_id)}", text, now)
    document["title"] = clean_name(" ".join(note.summary.split())[:_TITLE_CHARS], found)
    document["source"] = SOURCE
    document["observation_type"] = TYPE
    document["session_id"] = clean_name(note.session, found)
    document["project"] = clean_name(note.project, found)
    document["tags"] = clean_tags(["turn_note", note.source, note.agent, note.channel, *note.tags], found)
    document["fingerprint"] = ids.fingerprint(text.lower())
    document["write_confidence"] = 1.0
    document["write_reason"] = "a turn's note"
    document["write_gate_version"] = gate.VERSION
    set_category(document, "", "")
    return document, list(dict.fromkeys(found))
