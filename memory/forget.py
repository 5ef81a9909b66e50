"""Finding memories by id, forgetting them, and bringing them back."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from core.errors import Failure
from core.records import Document
from core.store import document_rows, documents, history, sqlite
from core.store.sessions import forgotten, segments, session_rows
from core.store.upkeep.purge import PURGED
from recall.by_name import calls
from recall.static_vectors import document_vector

SHORTEST_PREFIX = 8
_MOST_LISTED = 10


def find(db: apsw.Connection | None, identifier: str) -> Document:
    """The memory with this id, or the only one whose id begins so (8 characters or more), forgotten or not.

    Raises:
        Failure: MEMORY_NOT_FOUND, or MEMORY_AMBIGUOUS naming the ids that begin so.
    """
    document = documents.by_id(db, identifier) if db is not None else None
    if document is None and db is not None and len(identifier) >= SHORTEST_PREFIX:
        names = documents.ids_beginning(db, identifier, _MOST_LISTED + 1)
        if len(names) > 1:
            raise Failure(
                "MEMORY_AMBIGUOUS", f"several ids begin with {identifier}: {_listed(names)}", "give more of the id"
            )
        document = documents.by_id(db, names[0]) if names else None
    if document is None:
        raise _unknown([identifier])
    return document


def forget(db: apsw.Connection, identifiers: Sequence[str], *, now: int, vectors: bool) -> list[Document]:
    """Take memories out of every search, all or none; one forgotten before stays so. Returns them as they were.

    Raises:
        Failure: MEMORY_NOT_FOUND or MEMORY_AMBIGUOUS; nothing was changed.
    """
    with sqlite.transaction(db):
        found = _all(db, identifiers)
        for document in found:
            if document["forgotten_at"] is None:
                documents.forget(db, document["rowid"], now, signatures=vectors and document_rows.has_signatures(db))
        _renew(db, found)
    return found


def forget_calls(db: apsw.Connection, identifiers: Sequence[str]) -> list[str]:
    """Delete what is kept of tool calls, `call:<session>:<number>`, for good, all or none; returns their whole ids.

    Raises:
        Failure: MEMORY_NOT_FOUND, SESSION_AMBIGUOUS; nothing was changed.
    """
    with sqlite.transaction(db):
        found = []
        for identifier in identifiers:
            call = calls.view(db, identifier)
            if call is None:
                raise _unknown([identifier])
            found.append(call)
        for call in found:
            forgotten.forget_call(db, call["session"], call["number"])
    return list(dict.fromkeys(call["id"] for call in found))


def forget_session(db: apsw.Connection, given: str, *, now: int, vectors: bool) -> tuple[list[str], int]:
    """Take all that is kept of a session out: its memories of every search; its tool calls, texts and hooks for good.

    Returns the ids of the memories, and how many calls there were. What its transcript says from now on becomes
    memories, but no calls.

    Args:
        given: the session's id, or a beginning of 8 characters or more that no other archived session has.

    Raises:
        Failure: SESSION_NOT_FOUND, SESSION_AMBIGUOUS; nothing was changed.
    """
    with sqlite.transaction(db):
        session = session_rows.whole_id(db, given) or given
        found = documents.of_session(db, session)
        known = session_rows.session(db, session)
        if not found and known is None and history.extent(db, session) is None:
            message = f"nothing is kept of a session {session}"
            raise Failure("SESSION_NOT_FOUND", message, "sessions are in the hits of recall")
        signatures = vectors and document_rows.has_signatures(db)
        for rowid, _ in found:
            documents.forget(db, rowid, now, signatures=signatures)
        segments.renew(db, session)
        forgotten.forget(db, session)
        history.forget(db, session)
    return [identifier for _, identifier in found], known["calls"] if known else 0


def bring_back(db: apsw.Connection, identifiers: Sequence[str], *, now: int, vectors: bool) -> list[Document]:
    """Undo `forget`, all or none: the memories are indexed anew. Returns them as they were.

    Raises:
        Failure: MEMORY_NOT_FOUND, MEMORY_AMBIGUOUS or MEMORY_PURGED; nothing was changed.
    """
    with sqlite.transaction(db):
        if vectors:
            documents.ensure_signatures(db)
        found = _all(db, identifiers)
        for one in found:
            if one["write_reason"] == PURGED and not one["text"]:
                message = f"{one['id']} was purged: nothing of it is kept"
                raise Failure("MEMORY_PURGED", message, "restore a backup from before, if any")
        for document in found:
            if document["forgotten_at"] is not None:
                vector = document_vector(document["text"], document["context"], document["title"])
                back: Document = {**document, "forgotten_at": None, "updated_at": now}
                documents.replace(db, back, vector, signatures=vectors)
        _renew(db, found)
    return found


def _renew(db: apsw.Connection, found: Sequence[Document]) -> None:
    """What was forgotten, or brought back, goes out of the segments of its session, or into them, with it."""
    for session in {document["session_id"] for document in found}:
        segments.renew(db, session)


def _all(db: apsw.Connection, identifiers: Sequence[str]) -> list[Document]:
    found: dict[str, Document] = {}
    missing: list[str] = []
    for identifier in identifiers:
        try:
            document = find(db, identifier)
            found[document["id"]] = document
        except Failure as failure:
            if failure.code != "MEMORY_NOT_FOUND":
                raise
            missing.append(identifier)
    if missing:
        raise _unknown(missing, "; nothing was changed")
    return list(found.values())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_LISTED]) + (" and more" if len(names) > _MOST_LISTED else "")


def _unknown(identifiers: Sequence[str], more: str = "") -> Failure:
    message = f"there is no memory with the id {_listed(identifiers)}{more}"
    fix = "ids are in the hits of `joelclaw recall` and in `joelclaw memory recent`"
    return Failure("MEMORY_NOT_FOUND", message, fix)
