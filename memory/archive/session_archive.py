"""Storing a piece of a session: drafts become documents with vectors, stored together with the transcript's offset.

Hot path.
"""

from __future__ import annotations

from core import ids, json_text, project
from core.redaction import redact
from core.store import documents, sqlite
from core.store.sessions import segments, transcripts
from core.words import clean
from memory.archive import episode_draft
from memory.archive.episode_draft import Drafting
from memory.archive.session_work import SessionWork
from recall import categories
from recall.static_vectors import document_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import apsw

    from clients.event import Item
    from core.records import Document
    from memory.archive.episode_draft import Draft

COLLECTION = "episodes"
_LONGEST_NAME = 400
_LAST_MS = 253_402_300_799_999


class SessionArchive:
    """Stores what one session said and did.

    Args:
        db: open for writing, in no transaction.
        cwd: the folder it works in, "" where that is not known.
        now: ms since the epoch, for messages without a time.
        vectors: whether sqlite-vec is loaded.
    """

    __slots__ = ("_client", "_now", "_vectors", "db", "folder", "project", "session")

    def __init__(self, db: apsw.Connection, agent: str, session: str, cwd: str, now: int, vectors: bool) -> None:
        self.db = db
        self.session = clean_name(session)
        self.project = clean_name(project.name_of(cwd))
        self.folder = clean_name(project.folder_of(cwd))
        self._client = clean_name(agent)
        self._now = now
        self._vectors = vectors

    def piece(self, carried: Mapping[str, Any]) -> Piece:
        """A piece that goes on behind what was carried."""
        return Piece(self, carried)

    def document(self, draft: Draft) -> tuple[Document, bytes]:
        """A draft as a document, with its vector."""
        at = draft["at"]
        when = at if isinstance(at, int) and 0 <= at <= _LAST_MS else self._now
        one = documents.blank(COLLECTION, draft["id"], episode_draft.text_of(draft), when)
        one["context"] = episode_draft.context_of(draft)
        one["source"] = self._client
        one["session_id"] = self.session
        one["project"] = self.project
        one["observation_type"] = "episode"
        one["write_confidence"] = 1.0
        one["write_reason"] = "archived"
        _derive(one)
        return one, document_vector(one["text"], one["context"])

    def store(
        self, source: str, found: tuple[int, str, str] | None, piece: Piece, offset: int = 0, head: str = ""
    ) -> tuple[int, int, int] | None:
        """Store a piece and the offset behind it.

        Returns how many episodes are new and changed, and how many calls are new; None, and nothing is changed, where
        the offset is no longer `found`.
        """
        added = updated = 0
        ready = [self.document(draft) for draft in piece.drafting.changed.values()]
        carry = json_text.dumps(piece.drafting.carried())
        with sqlite.transaction(self.db):
            if transcripts.position(self.db, source) != found:
                return None
            if ready and self._vectors:
                documents.ensure_signatures(self.db)
            known = [documents.by_id(self.db, one["id"]) for one, _ in ready]
            purged = {older["id"] for older in known if older is not None and _is_purged(older)}
            if purged:
                ready, carry = _without(ready, carry, purged)
            for (one, vector), older in zip(ready, known, strict=True):
                if older is None:
                    documents.insert(self.db, one, vector, signatures=self._vectors)
                    added += 1
                else:
                    updated += self._grow(older, one, vector)
            segments.renew(self.db, self.session)
            new_calls = piece.work.store(
                self.db,
                {"id": self.session, "client": self._client, "project": self.project, "folder": self.folder,
                 "updated_at": 0, "prompts": 0, "calls": 0, "plan": []},
                prompts=piece.drafting.prompts, anew=found is None or piece.is_first, now=self._now,
            )  # fmt: skip
            if found != (offset, head, carry):
                transcripts.advance(self.db, source, offset, head, carry, self._now)
        return added, updated, new_calls

    def _grow(self, older: Document, newer: Document, vector: bytes) -> bool:
        """Write what was added to a stored episode: reading a transcript again removes nothing."""
        if older["forgotten_at"] is not None or older["collection"] != COLLECTION:
            return False
        text = older["text"] if older["text"].startswith(newer["text"]) else newer["text"]
        context = newer["context"] if newer["context"].startswith(older["context"]) else older["context"]
        if (text, context) == (older["text"], older["context"]):
            return False
        if (text, context) != (newer["text"], newer["context"]):
            vector = document_vector(text, context)
        one: Document = {**older, "text": text, "context": context}
        _derive(one)
        documents.replace(self.db, one, vector, signatures=self._vectors)
        return True


class Piece:
    """A stretch of a session, read and redacted, before it is stored.

    Args:
        carried: what the stretch before left; nothing, where there is none.
    """

    __slots__ = ("drafting", "is_first", "items", "work")

    def __init__(self, archive: SessionArchive, carried: Mapping[str, Any]) -> None:
        carry = episode_draft.read_carry(carried)
        self.is_first = not carried
        self.drafting = Drafting(carry, archive.session)
        self.work = SessionWork(carry["work"], archive.folder)
        self.items: list[Item] = []

    def add(self, item: Item, line: bytes = b"", number: int = 0) -> None:
        """Add what the `number`th item of a line says."""
        self.items.append(item)
        self.work.add(item, self.drafting.prompts)
        if item["kind"] == "said":
            self.drafting.said(item, line, number)
        elif item["kind"] == "queue":
            self.drafting.queue(item)


def clean_name(text: str) -> str:
    """A short field on one line, without secrets."""
    return " ".join(redact(" ".join(clean(text).replace("\0", "").split()))[0].split())[:_LONGEST_NAME]


def _is_purged(document: Document) -> bool:
    """Whether nothing but its id is kept (`core.store.upkeep.purge`)."""
    return document["write_reason"] == "purged" and not document["text"]


def _without(
    ready: list[tuple[Document, bytes]], carry: str, purged: set[str]
) -> tuple[list[tuple[Document, bytes]], str]:
    """The episodes and the carry of a piece in which something was purged: what is said around it stays out, too."""
    for one, _ in ready:
        one["context"] = ""
    left = episode_draft.read_carry(json_text.loads(carry))
    left["prompt"], left["queue"] = "", []
    left["drafts"] = [
        {**draft, "prompt": "", "before": "", "after": ""} for draft in left["drafts"] if draft["id"] not in purged
    ]
    return [(one, document_vector(one["text"], "")) for one, _ in ready], json_text.dumps(left)


def _derive(document: Document) -> None:
    document["fingerprint"] = ids.fingerprint(document["text"].lower())
    document["category_id"], document["category_confidence"] = categories.classify(document["text"])
    matched = document["category_confidence"] > categories.FALLBACK_CONFIDENCE
    document["category_source"] = "keyword" if matched else "fallback"
