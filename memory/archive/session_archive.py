"""Storing a session's episodes: drafts become documents with vectors, stored together with the transcript's offset.

Hot path.
"""

from __future__ import annotations

from core import ids, json_text, project
from core.redaction import redact
from core.store import documents, sqlite
from core.store.sessions import segments, transcripts
from core.words import clean
from memory.archive import episode_draft
from recall import categories
from recall.static_vectors import document_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw

    from core.records import Document
    from memory.archive.episode_draft import Draft
    from memory.archive.session_work import SessionWork

COLLECTION = "episodes"
_LONGEST_NAME = 400
_LAST_MS = 253_402_300_799_999


class SessionArchive:
    """Stores the episodes of one session.

    Args:
        db: open for writing, in no transaction.
        cwd: the folder it works in, "" where that is not known.
        now: ms since the epoch, for messages without a time.
        vectors: whether sqlite-vec is loaded.
    """

    __slots__ = ("_folder", "_now", "_project", "_source", "_vectors", "db", "session")

    def __init__(self, db: apsw.Connection, agent: str, session: str, cwd: str, now: int, vectors: bool) -> None:
        self.db = db
        self.session = clean_name(session)
        self._source = clean_name(agent)
        self._project = clean_name(project.name_of(cwd))
        self._folder = clean_name(project.folder_of(cwd))
        self._now = now
        self._vectors = vectors

    def prepared(self, drafts: Mapping[str, Draft]) -> list[tuple[Document, bytes]]:
        """The drafts as documents, each with its vector."""
        return [self._document(draft) for draft in drafts.values()]

    def _document(self, draft: Draft) -> tuple[Document, bytes]:
        at = draft["at"]
        text = episode_draft.text_of(draft)
        one = documents.blank(
            COLLECTION, draft["id"], text, at if isinstance(at, int) and 0 <= at <= _LAST_MS else self._now
        )
        one["context"] = episode_draft.context_of(draft)
        one["source"] = self._source
        one["session_id"] = self.session
        one["project"] = self._project
        one["observation_type"] = "episode"
        one["write_confidence"] = 1.0
        one["write_reason"] = "archived"
        _derive(one)
        return one, document_vector(text, one["context"])

    def store(
        self,
        source: str,
        found: tuple[int, str, str] | None,
        ready: list[tuple[Document, bytes]],
        offset: int,
        head: str,
        carry: str,
        work: SessionWork,
        prompts: int,
        *,
        anew: bool = False,
        again: Sequence[str] | None = None,
    ) -> tuple[int, int, int] | None:
        """Store episodes, what the session did and the offset together.

        Returns how many episodes are new and changed, and how many calls are new; None, and nothing is changed, where
        the offset is no longer `found`.

        Args:
            anew: the transcript is read from its start.
            again: an older version has read this part, and took tool calls for something said: its episodes are written
                anew, and those with these ids, which are calls alone, are taken out.
        """
        added = updated = 0
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
                elif self._grown(older, one, vector, is_truth=again is not None):
                    updated += 1
            for identifier in again or ():
                self._take_out(identifier)
            segments.renew(self.db, self.session)
            new_calls = work.store(
                self.db, self.session, client=self._source, project=self._project, folder=self._folder,
                prompts=prompts, anew=anew or found is None, now=self._now,
            )  # fmt: skip
            if found != (offset, head, carry):
                transcripts.advance(self.db, source, offset, head, carry, self._now)
        return added, updated, new_calls

    def _take_out(self, identifier: str) -> None:
        older = documents.by_id(self.db, identifier)
        if older is not None and older["collection"] == COLLECTION and older["forgotten_at"] is None:
            documents.remove(self.db, older["rowid"], signatures=self._vectors and documents.has_signatures(self.db))

    def _grown(self, older: Document, newer: Document, vector: bytes, *, is_truth: bool) -> bool:
        """Write what was added to a stored episode: reading a transcript again removes nothing, unless `is_truth`."""
        if older["forgotten_at"] is not None or older["collection"] != COLLECTION:
            return False
        text, context = newer["text"], newer["context"]
        if not is_truth:
            text = older["text"] if older["text"].startswith(text) else text
            context = context if context.startswith(older["context"]) else older["context"]
        if (text, context) == (older["text"], older["context"]):
            return False
        if (text, context) != (newer["text"], newer["context"]):
            vector = document_vector(text, context)
        one: Document = {**older, "text": text, "context": context}
        _derive(one)
        documents.replace(self.db, one, vector, signatures=self._vectors)
        return True


def _is_purged(document: Document) -> bool:
    """Whether nothing but its id is kept (`core.store.upkeep.purge`)."""
    return document["write_reason"] == "purged" and not document["text"]


def _without(
    ready: list[tuple[Document, bytes]], carry: str, purged: set[str]
) -> tuple[list[tuple[Document, bytes]], str]:
    """The episodes and the carry of a piece in which something was purged: what is said around it stays out, too."""
    left: list[tuple[Document, bytes]] = []
    for one, _ in ready:
        one["context"] = ""
        left.append((one, document_vector(one["text"], "")))
    carried = episode_draft.read_carry(json_text.loads(carry))
    carried["prompt"], carried["queue"] = "", []
    carried["drafts"] = [
        {**draft, "prompt": "", "before": "", "after": ""} for draft in carried["drafts"] if draft["id"] not in purged
    ]
    return left, json_text.dumps(carried)


def _derive(document: Document) -> None:
    document["fingerprint"] = ids.fingerprint(document["text"].lower())
    document["category_id"], document["category_confidence"] = categories.classify(document["text"])
    matched = document["category_confidence"] > categories.FALLBACK_CONFIDENCE
    document["category_source"] = "keyword" if matched else "fallback"


def clean_name(text: str) -> str:
    """A short field on one line, without secrets."""
    return " ".join(redact(" ".join(clean(text).replace("\0", "").split()))[0].split())[:_LONGEST_NAME]
