"""Syncing the collection `knowledge` with folders of markdown: files that are new, changed or removed since last time.

One transaction a file (a very large one has several), so that a sync may be killed anywhere: the state does not count a
file of which the store has only a part, and the next sync goes on. A section's id is made of its path, headings and
number, so that counts of its use survive an edit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import apsw

from core import files, ids, words
from core.config import Config
from core.errors import Failure, usage
from core.records import Document
from core.redaction import redact
from core.store import documents, knowledge, sqlite
from memory.knowledge import folder_state, markdown_document, markdown_files
from memory.knowledge.folder_state import Entry
from memory.write import archived, clean_name, clean_tags, set_category, succeeding
from recall.static_vectors import document_vector

MOST_LISTED = 50
"""Skipped files that are listed with their reason."""
TOGETHER = 200
"""Sections of one transaction: a file with more is stored by several, or a hook's write would wait too long."""
_FIELDS = ("text", "title", "path", "observation_type", "tags", "stale", "source")
_TITLE_CHARS = 400


class Report:
    """What became of the files and their sections.

    `indexed` counts files, and sections: in recall now, added, updated, removed, unchanged. `missing` are folders that
    were synced before and have vanished or are empty, of which nothing was removed; of `pruned` ones everything was.
    """

    def __init__(self, folders: list[str]) -> None:
        counts = ("files", "sections", "added", "updated", "removed", "unchanged", "read", "removedFiles")
        lists: dict[str, Any] = {"redacted": {}, "skipped": [], "skippedCount": 0, "ms": 0.0}
        self.indexed: dict[str, Any] = {**dict.fromkeys(counts, 0), **lists}
        self.folders = folders
        self.missing: list[str] = []
        self.pruned: list[str] = []

    def count(self, name: str, more: int = 1) -> None:
        """Count so many more."""
        self.indexed[name] += more

    def skip(self, path: str, reason: str) -> None:
        """Count a file that was skipped or cut; the first MOST_LISTED are listed."""
        self.count("skippedCount")
        if len(self.indexed["skipped"]) < MOST_LISTED:
            self.indexed["skipped"].append({"path": stored_path(path), "reason": reason})

    def to_result(self) -> dict[str, Any]:
        """As JSON has it."""
        about = {"folders": self.folders, "missing": self.missing, "pruned": self.pruned}
        return {"collection": "knowledge", "indexed": self.indexed, **about}


def sync_folders(
    given: Sequence[str],
    *,
    prune: bool,
    config: Config,
    now: int,
    started: Callable[[int], None],
    progress: Callable[[int], None],
) -> tuple[Report, apsw.Connection]:
    """Sync the folders that a user names, or those kept before, in the store of this home; one process at a time.

    Files below other folders stay as they are. Returns what became of the files, and the connection that wrote it.

    Args:
        prune: whether the sections of a kept folder that has vanished, or is empty, are removed.
        started: called with the number of files; `progress` with the number done since.

    Raises:
        Failure: KNOWLEDGE_INVALID_ARGS, KNOWLEDGE_NO_FOLDERS, KNOWLEDGE_BUSY, or what the store says; the files before
            stay.
    """
    kept = folder_state.load().folders
    folders = [_real_folder(one, kept) for one in given]
    if not folders and not kept:
        raise usage(
            "KNOWLEDGE_NO_FOLDERS",
            "no folder has been synced yet",
            "name one with markdown files: joelclaw knowledge sync ~/Vault/docs",
        )
    began = time.perf_counter()
    busy_ms = config.get_int("store.busy_ms")
    try:
        with files.FileLock(folder_state.path() + ".lock", busy_ms / 1000):
            # Everything can be made again from the files: commits do not wait for the disk one by one.
            db = sqlite.open_writing(busy_ms=busy_ms, durable=False)
            run = _Run(db, folders, now)
            try:
                run.remember_folders()
                run.find_files(prune)
                started(len(run.found))
                run.sync_files(progress)
                run.remove_vanished()
            finally:
                run.close()
    except files.LockTimeout:
        raise Failure("KNOWLEDGE_BUSY", "another sync is under way", "wait until it is done, then try again") from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    except OSError as error:
        where = error.filename or files.home()
        message = f"{where} cannot be used: {error.strerror}"
        raise Failure("STORE_READ_ONLY", message, "check its permissions, or set JOELCLAW_HOME") from None
    run.report.indexed["ms"] = round((time.perf_counter() - began) * 1000, 1)
    return run.report, db


def _real_folder(given: str, kept: Sequence[str]) -> str:
    """The real path of a folder; one that was kept may have vanished."""
    folder = os.path.realpath(os.path.expanduser(given)) if given else ""
    if not folder or not (os.path.isdir(folder) or folder in kept):
        what = "is a file" if os.path.isfile(folder) else "is no folder"
        raise usage("KNOWLEDGE_INVALID_ARGS", f"{given!r} {what}", "name a folder that holds markdown files")
    return folder


def stored_path(path: str) -> str:
    """A path as it is stored: without secrets, and still different from every other."""
    plain = words.clean(path).replace("\0", "\ufffd")
    clean, kinds = redact(plain)
    return f"{clean}#{ids.fingerprint(path)[:12]}" if kinds or plain != path else plain


class _Run:
    """One sync, under the lock."""

    def __init__(self, db: apsw.Connection, folders: list[str], now: int) -> None:
        self.db = db
        self.now = now
        self.vectors = sqlite.load_vectors(db)
        if self.vectors:
            with sqlite.transaction(db):
                documents.ensure_signatures(db)
        self.state = folder_state.load()
        self.before = (list(self.state.folders), dict(self.state.entries))
        wanted = folders or self.state.folders
        # A kept folder below a wanted one may be hidden from its walk.
        nested = (one for one in self.state.folders if any(markdown_files.is_below(one, folder) for folder in wanted))
        self.wanted = list(dict.fromkeys([*wanted, *nested]))
        self.report = Report([stored_path(folder) for folder in self.wanted])
        self.found: dict[str, tuple[str, os.stat_result]] = {}
        """Stored path → path and status."""
        self.kept_below: list[str] = []
        """Folders of which nothing may be removed: not listed, or vanished."""
        self.stored_rows = knowledge.rows_by_file(db)

    def remember_folders(self) -> None:
        """Save the folders first: a sync that was killed is repeated without naming them."""
        for folder in self.wanted:
            if stored_path(folder) != folder:
                self.report.skip(folder, "its path looks like a secret, so it is not kept for the next sync")
            elif folder not in self.state.folders:
                self.state.folders.append(folder)
        if self.state.folders != self.before[0]:
            folder_state.save(self.state)

    def find_files(self, prune: bool) -> None:
        """Find the files, and the folders that have vanished."""
        for folder in self.wanted:
            found = markdown_files.below(folder) if os.path.isdir(folder) else None
            for path, reason in found.problems if found else ():
                self.report.skip(path, reason)
            had = any(self._owner(name) == folder for name in self.stored_rows)
            empty = found is None or not (found.files or found.unread)
            if empty and (had or found is None):
                # A folder that is empty where it was not is most often a disk that is not mounted.
                if prune:
                    self.report.pruned.append(folder)
                else:
                    self.report.missing.append(folder)
                    self.kept_below.append(folder)
            elif found is not None:
                self.kept_below += found.unread
                self.found.update({stored_path(path): (path, status) for path, status in found.files.items()})
        self.report.count("files", len(self.found))

    def _owner(self, name: str) -> str:
        """The innermost of the kept folders that holds a file, "" where none does."""
        holding = (folder for folder in self.state.folders if markdown_files.is_below(name, folder))
        return max(holding, key=len, default="")

    def sync_files(self, progress: Callable[[int], None]) -> None:
        """Every file that was found."""
        for name, (path, status) in self.found.items():
            self._sync_file(name, path, status)
            progress(1)

    def remove_vanished(self) -> None:
        """The sections of files that are no longer there, a transaction for each file."""
        for name in [*self.stored_rows, *(name for name in self.state.entries if name not in self.stored_rows)]:
            rows = self.stored_rows.get(name, [])
            if name in self.found or self._owner(name) not in self.wanted:
                continue
            if rows and any(markdown_files.is_below(name, folder) for folder in self.kept_below):
                self.report.count("sections", len(rows))
                continue
            with sqlite.transaction(self.db):
                self.report.count("removed", knowledge.remove(self.db, rows, self.now, signatures=self.vectors))
            self.report.count("removedFiles", bool(rows))
            self.state.entries.pop(name, None)
        self.state.folders = [folder for folder in self.state.folders if folder not in self.report.pruned]

    def close(self) -> None:
        """Make durable what was stored, then save what was read."""
        if any(self.report.indexed[name] for name in ("added", "updated", "removed")):
            try:
                knowledge.make_durable(self.db)
            except sqlite.StoreError:
                return  # the state must not be ahead of the store
        if (self.state.folders, self.state.entries) != self.before:
            folder_state.save(self.state)

    def _sync_file(self, name: str, path: str, status: os.stat_result) -> None:
        """One file: nothing where its stamp is as before, else its changed sections."""
        stamp = folder_state.stamp(status, self.now)
        rows = self.stored_rows.get(name, [])
        before = self.state.entries.get(name)
        if before and stamp and before.stamp == stamp and before.live == len(rows):
            self.report.count("unchanged", before.live)
            self.report.count("sections", before.live)
            if before.note:
                self.report.skip(path, before.note)
            return
        try:
            data, more = markdown_files.read(path)
        except OSError as error:  # its sections stay; a file that has vanished is left to the next sync
            self.report.skip(path, f"cannot be read: {error.strerror}")
            self.report.count("sections", len(rows))
            return
        self.report.count("read")
        note = ""
        if more:
            data = data[: data.rfind(b"\n") + 1 or len(data)]
            note = f"larger than {markdown_files.LARGEST >> 20} MiB: only its beginning was taken"
        text = markdown_files.decode(data)
        if text is None:
            note = "binary: no text was taken"
        if note:
            self.report.skip(path, note)
        live = self._store(self._documents_of(text or "", name, path, status), rows)
        self.report.count("sections", live)
        self.state.entries[name] = Entry(stamp, live, note)

    def _documents_of(self, text: str, name: str, path: str, status: os.stat_result) -> list[Document]:
        """The documents of a file. Redacted whole, since half a secret is not known as one."""
        text, kinds = redact(text)
        found = list(kinds)
        file = markdown_document.parse(text, path)
        tags, kind = clean_tags(file.tags, found), clean_name(file.type, found)
        category = clean_name(file.category, found)
        at = min(max(status.st_mtime_ns // 1_000_000, 0), self.now)
        made: list[Document] = []
        for section in file.sections:
            about = "\0".join((path, *section.headings, "", str(section.ordinal)))
            document = documents.blank(knowledge.COLLECTION, f"kn-{ids.fingerprint(about)}", section.text, at)
            document["title"] = clean_name(file.section_title(section), found)[:_TITLE_CHARS]
            document["path"] = name
            document["source"] = knowledge.SOURCE
            document["observation_type"] = kind
            document["tags"] = tags
            document["stale"] = file.stale
            document["fingerprint"] = ids.fingerprint(section.text.lower())
            archived(document, "archived")
            set_category(document, category, "")
            made.append(document)
        for one in found:
            self.report.indexed["redacted"][one] = self.report.indexed["redacted"].get(one, 0) + 1
        return made

    def _store(self, sections: list[Document], rows: list[int]) -> int:
        """Write what differs, and remove rows that are no section any more; returns how many sections are in recall."""
        older = {one["id"]: documents.by_id(self.db, one["id"]) for one in sections}
        kept = {one["rowid"] for one in older.values() if one is not None}
        gone = [row for row in rows if row not in kept]
        # Embedded before anything is locked.
        changed = [
            (one, document_vector(one["text"], "", one["title"])) for one in sections if _differs(older[one["id"]], one)
        ]
        live = sum(_counts(one) for one in older.values())
        self.report.count("unchanged", live - len(changed))
        remaining = iter(changed)
        while batch := list(islice(remaining, TOGETHER)):
            with sqlite.transaction(self.db):
                for one, vector in batch:
                    self._write(one, vector)
        if gone:
            with sqlite.transaction(self.db):
                self.report.count("removed", knowledge.remove(self.db, gone, self.now, signatures=self.vectors))
        return live

    def _write(self, document: Document, vector: bytes) -> None:
        older = documents.by_id(self.db, document["id"])  # as it is now that nobody else writes
        if older is None:
            document["updated_at"] = self.now
            documents.insert(self.db, document, vector, signatures=self.vectors)
            self.report.count("added")
        elif _differs(older, document):
            documents.replace(self.db, succeeding(older, document, self.now), vector, signatures=self.vectors)
            self.report.count("updated")


def _counts(older: Document | None) -> bool:
    """Whether a section will be in recall: new, or not forgotten by the user."""
    return older is None or (older["forgotten_at"] is None and older["collection"] == knowledge.COLLECTION)


def _differs(older: Document | None, newer: Document) -> bool:
    """Whether there is something to write. What was forgotten stays so, whatever the file says."""
    if older is None:
        return True
    return _counts(older) and any(older[name] != newer[name] for name in _FIELDS)  # type: ignore[literal-required]
