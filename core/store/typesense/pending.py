"""What this machine has written and the cluster has not got yet, laid over the cluster's answer to a recall.

A memory is recallable when the command that wrote it returns, and a forgotten one is gone, whenever the next sync is.
"""

from __future__ import annotations

from core.store import documents
from core.store.replication import outbox
from core.store.sessions import session_rows
from core.store.typesense import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from core.records import Document, Filters
    from core.store.typesense.connection import Row

_MOST = 100
"""Documents, the newest changes first: a cluster that is down for long is not asked, the local file is."""


class Pending:
    """The documents that wait in the outbox of `db`."""

    def __init__(self, db: apsw.Connection | None) -> None:
        self._waiting: list[tuple[Document, str, Row]] = []  # a document, its session's project, its row
        self._gone: set[str] = set()
        if db is None or not outbox.enabled(db):
            return
        rowids, self._gone = outbox.pending(db, _MOST)
        vectors = mapping.vectors(db, rowids)
        projects: dict[str, str] = {}
        for document in documents.by_rowids(db, rowids):
            session, project = document["session_id"], document["project"]
            if session and not project:
                if session not in projects:
                    known = session_rows.session(db, session)
                    projects[session] = known["project"] if known else ""
                project = projects[session]
            row = mapping.to_remote(document, vectors.get(document["rowid"], b""))
            self._waiting.append((document, project, row))
            self._gone.add(document["id"])

    def over(self, rows: dict[tuple[str, str], Row], filters: Filters) -> dict[tuple[str, str], Row]:
        """These documents in the place of what the cluster says of them, without what was forgotten."""
        kept = {found: row for found, row in rows.items() if found[1] not in self._gone}
        for document, project, row in self._waiting:
            if _passes(document, filters, project):
                kept[document["collection"], document["id"]] = row
        return kept


def _passes(document: Document, filters: Filters, project: str) -> bool:
    return (
        (not filters.get("collections") or document["collection"] in filters["collections"])
        and filters.get("session", "") in ("", document["session_id"])
        and (not filters.get("projects") or project in filters["projects"])
        and all(tag in document["tags"] for tag in filters.get("tags", ()))
        and filters.get("category", "") in ("", document["category_id"])
        and (not filters.get("verdicts") or document["write_verdict"] in filters["verdicts"])
    )
