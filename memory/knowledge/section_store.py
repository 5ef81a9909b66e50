"""Storing the sections of one file: those that differ are written, those that are no more are removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core import ids, words
from core.redaction import redact
from core.store import documents, knowledge, sqlite
from memory import gate
from memory.knowledge import markdown_document
from memory.write import clean_name, clean_tags, set_category
from recall.static_vectors import document_vector

if TYPE_CHECKING:
    import os

    import apsw

    from core.records import Document

MOST_LISTED = 50
"""Skipped files that are listed with their reason."""
TOGETHER = 200
"""Sections of one transaction: a file with more is stored by several, or a hook's write would wait too long."""
_FIELDS = ("text", "title", "path", "observation_type", "tags", "stale", "source")
_TITLE_CHARS = 400


@dataclass
class Synced:
    """What became of the files and their sections.

    Args:
        files: markdown files seen; `read` of them were read.
        sections: in recall now, of the folders of this sync; the four counts below are of sections too.
        removed_files: whose sections were removed.
        skipped: files that were skipped or cut, at most MOST_LISTED; `skipped_count` is of all.
        missing: folders that were synced before and have vanished or are empty; nothing of them was removed.
        pruned: the same, with their sections removed.
    """

    files: int = 0
    read: int = 0
    sections: int = 0
    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0
    removed_files: int = 0
    redacted: dict[str, int] = field(default_factory=dict)
    skipped: list[dict[str, str]] = field(default_factory=list)
    skipped_count: int = 0
    missing: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    ms: float = 0

    def skip(self, path: str, reason: str) -> None:
        """Count a file that was skipped or cut; the first MOST_LISTED are listed."""
        self.skipped_count += 1
        if len(self.skipped) < MOST_LISTED:
            self.skipped.append({"path": stored_path(path), "reason": reason})


class SectionStore:
    """Writes sections, a transaction a file, and counts in `report` what it did.

    Args:
        now: ms since the epoch.
        vectors: whether sqlite-vec is loaded.
    """

    def __init__(self, db: apsw.Connection, now: int, vectors: bool, report: Synced) -> None:
        self._db = db
        self._now = now
        self._vectors = vectors
        self._report = report

    def documents_of(self, text: str, name: str, path: str, status: os.stat_result) -> list[Document]:
        """The documents of a file. Redacted whole, since half a secret is not known as one."""
        text, kinds = redact(text)
        found = list(kinds)
        file = markdown_document.parse(text, path)
        tags = clean_tags(file.tags, found)
        kind = clean_name(file.type, found)
        category = clean_name(file.category, found)
        made: list[Document] = []
        for section in file.sections:
            about = "\0".join((path, *section.headings, "", str(section.ordinal)))
            at = min(max(status.st_mtime_ns // 1_000_000, 0), self._now)
            document = documents.blank(knowledge.COLLECTION, f"kn-{ids.fingerprint(about)}", section.text, at)
            document["title"] = clean_name(file.section_title(section), found)[:_TITLE_CHARS]
            document["path"] = name
            document["source"] = knowledge.SOURCE
            document["observation_type"] = kind
            document["tags"] = tags
            document["stale"] = file.stale
            document["fingerprint"] = ids.fingerprint(section.text.lower())
            document["write_confidence"] = 1.0
            document["write_reason"] = "archived"
            document["write_gate_version"] = gate.VERSION
            set_category(document, category, "")
            made.append(document)
        for one in found:
            self._report.redacted[one] = self._report.redacted.get(one, 0) + 1
        return made

    def store(self, sections: list[Document], rows: list[int]) -> int:
        """Write what differs, and remove rows that are no section any more; returns how many sections are in recall."""
        older = {one["id"]: documents.by_id(self._db, one["id"]) for one in sections}
        kept = {one["rowid"] for one in older.values() if one is not None}
        gone = [row for row in rows if row not in kept]
        # Embedded before anything is locked.
        ready = {
            one["id"]: document_vector(one["text"], "", one["title"])
            for one in sections
            if _differs(older[one["id"]], one)
        }
        live = sum(1 for one in sections if _counts(older[one["id"]]))
        self._report.unchanged += sum(1 for one in sections if one["id"] not in ready and _counts(older[one["id"]]))
        if not ready and not gone:
            return live
        changed = [one for one in sections if one["id"] in ready]
        for start in range(0, max(len(changed), 1), TOGETHER):
            with sqlite.transaction(self._db):
                for one in changed[start : start + TOGETHER]:
                    self._write(one, ready[one["id"]])
                if start + TOGETHER >= len(changed):
                    self._report.removed += knowledge.remove(self._db, gone, self._now, signatures=self._vectors)
        return live

    def _write(self, document: Document, vector: bytes) -> None:
        older = documents.by_id(self._db, document["id"])  # as it is now that nobody else writes
        if older is None:
            document["updated_at"] = self._now
            documents.insert(self._db, document, vector, signatures=self._vectors)
            self._report.added += 1
        elif _differs(older, document):
            one: Document = {**document}
            for name in ("rowid", "created_at", "recall_count", "retrieval_priority", "last_used_at", "history"):
                one[name] = older[name]
            one["updated_at"] = self._now
            documents.replace(self._db, one, vector, signatures=self._vectors)
            self._report.updated += 1


def _counts(older: Document | None) -> bool:
    """Whether a section will be in recall: new, or not forgotten by the user."""
    return older is None or (older["forgotten_at"] is None and older["collection"] == knowledge.COLLECTION)


def _differs(older: Document | None, newer: Document) -> bool:
    """Whether there is something to write. What was forgotten stays so, whatever the file says."""
    if older is None:
        return True
    if not _counts(older):
        return False
    return any(older[name] != newer[name] for name in _FIELDS)  # type: ignore[literal-required]  # keys of the TypedDict


def stored_path(path: str) -> str:
    """A path as it is stored: without secrets, and still different from every other."""
    plain = words.clean(path).replace("\0", "\ufffd")
    clean, kinds = redact(plain)
    return f"{clean}#{ids.fingerprint(path)[:12]}" if kinds or plain != path else plain
