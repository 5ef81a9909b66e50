"""Ingesting what a client without a transcript file tells of its session. Hot path."""

from __future__ import annotations

from core.store import sqlite
from core.store.sessions import transcripts
from memory.archive import ingest
from memory.archive.episode_draft import identifier_of, read_carry
from memory.archive.session_archive import SessionArchive, clean_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from clients.event import Item


def ingest_items(
    db: apsw.Connection, items: Sequence[Item], *, agent: str, session: str, cwd: str, now: int, vectors: bool
) -> ingest.Ingested:
    """Archive what a client without a transcript file gives; what it has given before changes nothing.

    Raises:
        Failure: what the store says; nothing was changed.
    """
    ingested = ingest.nothing()
    archive = SessionArchive(db, agent, session, cwd, now, vectors)
    source = source_of_session(session)
    try:
        for _ in range(ingest.MOST_TRIES):
            found = transcripts.position(db, source)
            carried = ingest.carried_in(found)
            piece = archive.piece(carried)
            silences = ingest.Silences(session, cwd)
            for item in _after(items, carried, archive.session):
                if not silences.cover(item.get("at")):
                    piece.add(item)
            stored = archive.store(source, found, piece)
            if stored is not None:
                ingest.count(ingested, stored, piece)
                return ingested
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    ingested["complete"] = False
    return ingested


def source_of_session(session: str) -> str:
    """The same for a session without a file."""
    return "session:" + clean_name(session)


def _after(items: Sequence[Item], carried: dict[str, Any], session: str) -> Sequence[Item]:
    """The items from the last known message on: clients give the same ones again."""
    known = [draft["id"] for draft in read_carry(carried)["drafts"]]
    for place in range(len(items) - 1, -1, -1):
        item = items[place]
        if item["kind"] == "said" and known and identifier_of(item, session, b"", 0) == known[-1]:
            return items[place:]
    return items
