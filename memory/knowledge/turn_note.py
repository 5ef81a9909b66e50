"""What one turn of an agent came to, kept as a piece of knowledge: one a turn, the last that was told."""

from __future__ import annotations

from dataclasses import dataclass, field

import apsw

from core import ids
from core.redaction import redact
from core.store import documents, knowledge, sqlite
from memory.write import archived, clean_name, clean_tags, set_category, succeeding
from recall.static_vectors import document_vector

_TITLE_CHARS = 120


@dataclass(frozen=True)
class TurnNote:
    """A turn: who it was of, and what came of it. `about` is what else is told, by name."""

    source: str
    agent: str
    session: str
    turn_id: str
    summary: str
    channel: str = ""
    project: str = ""
    tags: tuple[str, ...] = ()
    about: dict[str, str] = field(default_factory=dict)


def store(db: apsw.Connection, note: TurnNote, *, now: int, vectors: bool) -> tuple[str, list[str]]:
    """Keep a note; returns its id and the kinds of secrets that were taken out. One of the same turn is replaced.

    Raises:
        Failure: what the store says; nothing was changed.
    """
    lines = [note.summary, *(f"{name}: {value}" for name, value in note.about.items() if value)]
    text, kinds = redact("\n".join(lines))
    found = list(kinds)
    document = documents.blank(knowledge.COLLECTION, f"turn-{ids.fingerprint(note.turn_id)}", text, now)
    document["title"] = clean_name(" ".join(note.summary.split())[:_TITLE_CHARS], found)
    document["source"] = "turn-note"
    document["observation_type"] = "turn_note"
    document["session_id"] = clean_name(note.session, found)
    document["project"] = clean_name(note.project, found)
    document["tags"] = clean_tags(["turn_note", note.source, note.agent, note.channel, *note.tags], found)
    document["fingerprint"] = ids.fingerprint(text.lower())
    archived(document, "a turn's note")
    set_category(document, "", "")
    vector = document_vector(document["text"], "", document["title"])
    with sqlite.transaction(db):
        if vectors:
            documents.ensure_signatures(db)
        older = documents.by_id(db, document["id"])
        if older is None:
            documents.insert(db, document, vector, signatures=vectors)
        else:
            documents.replace(db, succeeding(older, document, now), vector, signatures=vectors)
    return document["id"], list(dict.fromkeys(found))
