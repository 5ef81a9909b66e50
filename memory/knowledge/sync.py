"""Keeps the collection `knowledge` in step with folders of Markdown; stores notes about turns.

A file whose size and times are unchanged is not read again. Files that are gone from a folder are removed from the
store. A sync may be killed: the state counts a file only when all of its sections are stored.
"""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from core import files, json_text, words
from core.config import Config
from core.errors import Failure, os_failure, usage
from core.records import Document
from core.redaction import redact
from core.store import documents, sqlite
from memory.knowledge import markdown
from memory.write import clean_name, clean_tags, replacing, set_category, set_fingerprint, set_ungated, store

STATE_VERSION = 2  # a change of how files become sections increments it, so that every file is read again

Progress = Callable[[int], None]


def sync_folders(
    given: Sequence[str], *, prune: bool, config: Config, now: int, started: Progress, progress: Progress
) -> tuple[dict[str, Any], apsw.Connection]:
    """Sync the given folders, or those synced before; returns the report and the connection.

    `prune` also removes the sections of folders that are gone or empty. Raises Failure KNOWLEDGE_INVALID_ARGS,
    KNOWLEDGE_NO_FOLDERS, KNOWLEDGE_BUSY, or of the store.
    """
    known = _State().folders
    folders = [os.path.realpath(os.path.expanduser(path)) if path else "" for path in given]
    for folder, path in zip(folders, given, strict=True):
        if not folder or not (os.path.isdir(folder) or folder in known):  # a known folder may be gone
            message = f"{path!r} is not a folder"
            raise usage("KNOWLEDGE_INVALID_ARGS", message, "name a folder that holds markdown files")
    if not folders and not known:
        fix = "name one with markdown files: joelclaw knowledge sync ~/Vault/docs"
        raise usage("KNOWLEDGE_NO_FOLDERS", "no folder has been synced yet", fix)
    began = time.perf_counter()
    busy_ms = config.get_int("store.busy_ms")
    try:
        with files.FileLock(_state_path() + ".lock", busy_ms / 1000):
            # Everything can be read again from the files, so commits do not wait for the disk.
            db = sqlite.open_writing(busy_ms=busy_ms, durable=False)
            run = _Sync(db, folders, now)
            run.find_files(prune)
            try:
                started(len(run.found))
                for name, (path, status) in run.found.items():
                    run.sync_file(name, path, status)
                    progress(1)
                run.remove_vanished()
            finally:
                run.close()
    except files.LockTimeout:
        raise Failure("KNOWLEDGE_BUSY", "another sync is running", "wait for it, then try again") from None
    except OSError as error:
        raise os_failure(error, "STORE", files.home()) from None
    run.report["ms"] = round((time.perf_counter() - began) * 1000, 1)
    about = {"folders": [stored_path(path) for path in run.wanted], "missing": run.missing, "pruned": run.pruned}
    return {"collection": "knowledge", "created": not known, "indexed": run.report, **about}, db


def stored_path(path: str) -> str:
    """The stored form of a path: without secrets, but different from every other path."""
    plain = words.clean(path).replace("\0", "\ufffd")
    clean, kinds = redact(plain)
    return f"{clean}#{words.fingerprint(path)[:12]}" if kinds or plain != path else plain


class _SyncedFile(NamedTuple):
    """A file at its last sync."""

    stamp: str = ""  # its size and times; "" if it must be read again
    sections: int = -1  # how many are stored
    note: str = ""  # why not all of it was read


class _State:
    """The synced folders (real paths) and their files. Without a state, every file is read again."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.files: dict[str, _SyncedFile] = {}
        try:
            state = json_text.loads(files.read_file(_state_path()))
            rows = state["files"].items() if state["version"] == STATE_VERSION else ()
            entries = {name: _SyncedFile(str(stamp), int(count), str(note)) for name, (stamp, count, note) in rows}
            self.folders, self.files = [str(folder) for folder in state["folders"]], entries
        except OSError:
            pass
        except (json_text.InvalidJSON, KeyError, TypeError, ValueError, AttributeError):
            with contextlib.suppress(OSError):
                files.set_aside(_state_path())
        self._saved = self._text()

    def _text(self) -> str:
        entries = {name: list(file) for name, file in self.files.items()}
        return json_text.dumps({"version": STATE_VERSION, "folders": self.folders, "files": entries})

    def save(self) -> None:
        """Write the state if it has changed."""
        text = self._text()
        if text != self._saved:
            self._saved = text
            with contextlib.suppress(OSError):
                files.write_whole(_state_path(), text.encode())


def _state_path() -> str:
    return os.path.join(files.home(), "knowledge.json")


class _Sync:
    """One sync, under its lock."""

    def __init__(self, db: apsw.Connection, given: list[str], now: int) -> None:
        self.db = db
        self.now = now
        self.vectors = sqlite.load_vectors(db)
        self.state = _State()
        named = given or self.state.folders
        # The walk of a folder may skip a synced folder in it, such as a hidden folder.
        nested = (path for path in self.state.folders if any(markdown.is_below(path, folder) for folder in named))
        self.wanted = list(dict.fromkeys([*named, *nested]))
        counts = ("files", "sections", "added", "updated", "removed", "unchanged", "read", "removedFiles")
        self.report: dict[str, Any] = {**dict.fromkeys(counts, 0), "redacted": {}, "skipped": [], "skippedCount": 0}
        self.missing: list[str] = []
        self.pruned: list[str] = []
        self.found: dict[str, tuple[str, os.stat_result]] = {}  # stored path → path and status
        self.untouchable: list[str] = []  # folders that could not be listed, or are gone: their sections stay
        self.stored_rows = documents.sections_by_file(db)
        for folder in self.wanted:
            if stored_path(folder) != folder:
                self._skip(folder, "its path looks like a secret, so it is not remembered for the next sync")
            elif folder not in self.state.folders:
                self.state.folders.append(folder)
        self.state.save()  # so that a sync that is killed is repeated without naming the folders

    def _skip(self, path: str, reason: str) -> None:
        """Report a file that was skipped or cut."""
        self.report["skippedCount"] += 1
        if len(self.report["skipped"]) < 50:
            self.report["skipped"].append({"path": stored_path(path), "reason": reason})

    def find_files(self, prune: bool) -> None:
        """Find the files, and the folders that are gone."""
        for folder in self.wanted:
            exists = os.path.isdir(folder)
            below = markdown.files_below(folder) if exists else markdown.Files()
            for path, reason in below.problems:
                self._skip(path, reason)
            had_files = any(markdown.is_below(name, folder) for name in self.stored_rows)
            if not (below.files or below.unread) and (had_files or not exists):
                # A folder that has become empty is most often a disk that is not mounted.
                (self.pruned if prune else self.missing).append(folder)
                self.untouchable += [] if prune else [folder]
            self.untouchable += below.unread
            self.found.update({stored_path(path): (path, status) for path, status in below.files.items()})
        self.report["files"] += len(self.found)

    def remove_vanished(self) -> None:
        """Remove the sections of files that no longer exist, in a transaction for each file."""
        for name in dict.fromkeys([*self.stored_rows, *self.state.files]):
            rows = self.stored_rows.get(name, [])
            if name in self.found or not any(markdown.is_below(name, folder) for folder in self.wanted):
                continue
            if rows and any(markdown.is_below(name, folder) for folder in self.untouchable):
                self.report["sections"] += len(rows)
                continue
            self._remove(rows)
            self.report["removedFiles"] += bool(rows)
            self.state.files.pop(name, None)
        self.state.folders = [folder for folder in self.state.folders if folder not in self.pruned]

    def _remove(self, rows: list[int]) -> None:
        if rows:
            with sqlite.transaction(self.db):
                self.report["removed"] += documents.remove_sections(self.db, rows, signatures=self.vectors)

    def close(self) -> None:
        """Flush the stored sections to the disk, then save the state, which must not be ahead of the store."""
        if any(self.report[name] for name in ("added", "updated", "removed")):
            try:
                documents.make_durable(self.db)
            except sqlite.StoreError:
                return
        self.state.save()

    def sync_file(self, name: str, path: str, status: os.stat_result) -> None:
        """Store the changed sections of a file, unless its size and times are as before."""
        stamp = f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"
        if max(status.st_mtime_ns, status.st_ctime_ns) // 1_000_000 > self.now - 2_000:
            stamp = ""  # it may change again within the resolution of its times
        rows = self.stored_rows.get(name, [])
        before = self.state.files.get(name, _SyncedFile())
        if stamp and before.stamp == stamp and before.sections == len(rows):
            self.report["unchanged"] += len(rows)
            self.report["sections"] += len(rows)
            if before.note:
                self._skip(path, before.note)
            return
        try:
            data, is_longer = markdown.read(path)
        except OSError as error:  # its sections stay; a vanished file is left to the next sync
            self._skip(path, f"cannot be read: {error.strerror}")
            self.report["sections"] += len(rows)
            return
        self.report["read"] += 1
        text = markdown.decode(data[: data.rfind(b"\n") + 1 or len(data)] if is_longer else data)
        note = f"larger than {markdown.MAX_BYTES >> 20} MiB: only its beginning was read" if is_longer else ""
        if text is None:
            note = "a binary file: nothing was read"
        if note:
            self._skip(path, note)
        count = self._store(self._sections(text or "", name, path, status), rows)
        self.report["sections"] += count
        self.state.files[name] = _SyncedFile(stamp, count, note)

    def _sections(self, text: str, name: str, path: str, status: os.stat_result) -> list[Document]:
        """The documents of a file. The file is redacted as a whole: half a secret is not recognised."""
        text, kinds = redact(text)
        redacted = list(kinds)
        file = markdown.parse(text, path)
        tags, kind = clean_tags(file.tags, redacted), clean_name(file.type, redacted)
        category = clean_name(file.category, redacted)
        at = min(max(status.st_mtime_ns // 1_000_000, 0), self.now)
        sections: list[Document] = []
        for section in file.sections:
            key = "\0".join((path, *section.headings, "", str(section.ordinal)))
            title = clean_name(file.section_title(section), redacted)
            fields: dict[str, Any] = {"title": title, "path": name, "source": documents.SYNC, "observation_type": kind}
            fields |= {"tags": tags, "stale": file.stale}
            sections.append(_document(f"kn-{words.fingerprint(key)}", section.text, at, category, fields))
        for kind in redacted:
            self.report["redacted"][kind] = self.report["redacted"].get(kind, 0) + 1
        return sections

    def _store(self, sections: list[Document], rows: list[int]) -> int:
        """Store the changed sections and remove the other rows of the file; returns the number of live sections."""
        older = {section["id"]: documents.by_id(self.db, section["id"]) for section in sections}
        changed = [section for section in sections if _differs(older[section["id"]], section)]
        live = sum(map(_is_live, older.values()))
        self.report["unchanged"] += live - len(changed)
        per_commit = 200  # a hook's write waits for a transaction at most
        for start in range(0, len(changed), per_commit):
            with sqlite.transaction(self.db):
                for section in changed[start : start + per_commit]:
                    before = documents.by_id(self.db, section["id"])  # it may have changed before this transaction
                    if before is None or _differs(before, section):
                        store(self.db, replacing(before, section, self.now), vectors=self.vectors)
                        self.report["added" if before is None else "updated"] += 1
        kept = {document["rowid"] for document in older.values() if document is not None}
        self._remove([row for row in rows if row not in kept])
        return live


def _document(identifier: str, text: str, at: int, category: str, fields: Mapping[str, Any]) -> Document:
    document: Any = {**documents.blank("knowledge", identifier, text, at), **fields}
    set_fingerprint(document)
    set_ungated(document, "archived")
    set_category(document, category, "")
    section: Document = document
    return section


def _is_live(older: Document | None) -> bool:
    """Whether a section will be found: it is new, or the user has not forgotten it."""
    return older is None or (older["forgotten_at"] is None and older["collection"] == "knowledge")


def _differs(older: Document | None, newer: Document) -> bool:
    """Whether a section must be stored. A forgotten section stays forgotten."""
    if older is None:
        return True
    compared = ("text", "title", "path", "observation_type", "tags", "stale", "source")
    return _is_live(older) and any(older[name] != newer[name] for name in compared)  # type: ignore[literal-required]


def store_note(
    db: apsw.Connection, turn_id: str, summary: str, details: Mapping[str, str], origin: Mapping[str, Any], *, now: int
) -> tuple[str, list[str]]:
    """Store the result of an agent's turn, replacing an earlier note about it.

    `details` are further lines, `origin` has the session, project and tags. Returns the note's id and the kinds of
    secrets that were redacted.
    """
    lines = [summary, *(f"{name}: {value}" for name, value in details.items() if value)]
    text, kinds = redact("\n".join(lines))
    redacted = list(kinds)
    fields = {
        "title": clean_name(" ".join(summary.split())[:120], redacted), "source": "turn-note",
        "observation_type": "turn_note", "session_id": clean_name(origin["session"], redacted),
        "project": clean_name(origin["project"], redacted), "tags": clean_tags(origin["tags"], redacted),
    }  # fmt: skip
    document = _document(f"turn-{words.fingerprint(turn_id)}", text, now, "", fields)
    vectors = sqlite.load_vectors(db)
    with sqlite.transaction(db):
        store(db, replacing(documents.by_id(db, document["id"]), document, now), vectors=vectors)
    return document["id"], list(dict.fromkeys(redacted))
