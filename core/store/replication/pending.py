"""Puts what this machine has written and the cluster has not got yet over the cluster's answer to a recall.

A memory is recallable when the command that wrote it returns, and a forgotten one is gone, whenever the next sync is.
"""

from __future__ import annotations

from core.store import documents
from core.store.replication import outbox
from core.store.sessions import calls
from core.store.typesense import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from core.records import Document, Filters
    from core.store.typesense.connection import Row
    from core.store.typesense.plan import Plan

_MOST = 100
"""Documents, the newest changes first: a cluster that is down for long is not asked, the local file is."""


class Pending:
    """The documents that wait in the outbox of `db`."""

    __slots__ = ("_by_id", "_projects", "_rows", "_withdrawn")

    def __init__(self, db: apsw.Connection | None) -> None:
        self._by_id: dict[tuple[str, str], Document] = {}
        self._rows: list[tuple[Document, Row]] = []
        self._withdrawn: list[str] = []
        self._projects: dict[str, str] = {}  # of the sessions of documents that name none
        if db is None or not outbox.enabled(db):
            return
        self._withdrawn = outbox.withdrawn(db)
        waiting = outbox.pending(db, _MOST)
        vectors = mapping.vectors(db, waiting)
        for document in documents.by_rowids(db, waiting):
            self._by_id[document["collection"], document["id"]] = document
            session = document["session_id"]
            if session and not document["project"] and session not in self._projects:
                known = calls.session(db, session)
                self._projects[session] = known["project"] if known else ""
            self._rows.append((document, mapping.to_remote(document, vectors.get(document["rowid"], b""))))

    def overlay(self, plan: Plan, filters: Filters, cosine: Cosine | None) -> None:
        """Put these documents in the place of what the cluster says of them, and take out what was withdrawn."""
        gone = {*self._withdrawn, *(document["id"] for document, _ in self._rows)}
        if not gone:
            return
        for rows in plan.found.values():
            for identifier in gone & rows.keys():
                del rows[identifier]
        plan.distances[:] = [near for near in plan.distances if near[2] not in gone]
        for document, row in self._rows:
            if _passes(document, filters, document["project"] or self._projects.get(document["session_id"], "")):
                plan.found.setdefault(document["collection"], {})[document["id"]] = row
                near = cosine.of(mapping.vector_of(row)) if cosine else None
                if near is not None:
                    plan.distances.append((1 - near, document["collection"], document["id"]))

    def document(self, collection: str, identifier: str) -> Document | None:
        """One of these documents."""
        return self._by_id.get((collection, identifier))


class Cosine:
    """The cosine to one vector of int8."""

    __slots__ = ("_length", "_numbers")

    def __init__(self, vector: bytes) -> None:
        self._numbers = memoryview(vector).cast("b").tolist()
        self._length = sum(map(int.__mul__, self._numbers, self._numbers)) ** 0.5

    def of(self, vector: bytes) -> float | None:
        """-1 to 1; None for a document without vector."""
        if len(vector) != len(self._numbers):
            return None
        numbers = memoryview(vector).cast("b").tolist()
        length = sum(map(int.__mul__, numbers, numbers)) ** 0.5
        return float(sum(map(int.__mul__, self._numbers, numbers)) / (self._length * length)) if length else None


def _passes(document: Document, filters: Filters, project: str) -> bool:
    """Whether a document is let through. `project`: its own or that of its session, "" where neither is known."""
    return (
        (not filters["collections"] or document["collection"] in filters["collections"])
        and filters["session"] in ("", document["session_id"])
        and (not filters["projects"] or project in filters["projects"])
        and all(tag in document["tags"] for tag in filters.get("tags", ()))
        and filters["category"] in ("", document["category_id"])
        and (not filters["verdicts"] or document["write_verdict"] in filters["verdicts"])
    )
