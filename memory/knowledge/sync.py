"""Keeps the collection `knowledge` in step with folders of Markdown; stores notes about turns.

A file whose size and times are unchanged is not read again. Files that are gone from a folder are removed from the
store. A sync may be killed: its state, which is saved last, counts a file only when all of its sections are stored.
"""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import apsw

from core import files, json_text, words
from core.config import Config
from core.errors import Failure, os_failure, usage
from core.project import is_below
from core.records import Document
from core.redaction import redact
from core.store import documents, sqlite
from memory.knowledge import markdown
from memory.write import clean_name, clean_tags, replacing, store, ungated

STATE_VERSION = 4  # a change of how files become sections increments it, so that every file is read again

Progress = Callable[[int], None]


def sync_folders(
    given: Sequence[str], *, prune: bool, config: Config, now: int, started: Progress, progress: Progress
) -> tuple[dict[str, Any], apsw.Connection]:
    """Sync the given folders, or those synced before; returns the report and the connection.

    `prune` also removes the sections of folders that are gone or empty. Raises Failure KNOWLEDGE_INVALID_ARGS,
    KNOWLEDGE_NO_FOLDERS, KNOWLEDGE_BUSY, or of the store.
    """
    known = _load_state()["folders"]
    folders = [os.path.realpath(os.path.expanduser(path)) for path in given]
    for folder, path in zip(folders, given, strict=True):
        if not path or not (os.path.isdir(folder) or folder in known):  # a known folder may be gone
            fix = "name a folder that holds markdown files"
            raise usage("KNOWLEDGE_INVALID_ARGS", f"{path!r} is not a folder", fix)
    if not folders and not known:
        fix = "name a folder with markdown files: joelclaw knowledge sync ~/Vault/docs"
        raise usage("KNOWLEDGE_NO_FOLDERS", "no folder has been synced yet", fix)
    began = time.perf_counter()
    busy_ms = config.get_int("store.busy_ms")
    try:
        with files.FileLock(_state_path() + ".lock", busy_ms / 1000):
            # Everything can be read again from the files, so commits do not wait for the disk.
            db = sqlite.open_writing(busy_ms=busy_ms, durable=False)
            run = _Sync(db, now)
            named = folders or known
            # The walk of a folder may skip a synced folder in it, such as a hidden folder.
            folders = list(dict.fromkeys([*named, *(path for path in known if _is_in_any(path, named))]))
            run.sync(folders, prune, started, progress)
    except files.LockTimeout:
        raise Failure("KNOWLEDGE_BUSY", "another sync is running", "wait for it, then try again") from None
    except OSError as error:
        raise os_failure(error, "STORE", files.home()) from None
    run.report["ms"] = round((time.perf_counter() - began) * 1000, 1)
    about = {"folders": [*map(_printable, folders)], "missing": run.missing, "pruned": run.pruned}
    return {"collection": "knowledge", "created": not known, "indexed": run.report, **about}, db


def _printable(path: str) -> str:
    """A path in valid Unicode and without secrets. Nothing is stored below a path that this changes."""
    return redact(words.clean(path))[0]


def _is_in_any(path: str, folders: Sequence[str]) -> bool:
    return any(is_below(path, folder) for folder in folders)


def _state_path() -> str:
    return os.path.join(files.home(), "knowledge.json")


def _load_state() -> dict[str, Any]:
    """The synced `folders` (real paths), and for each of the `files` its size and times at its last sync."""
    try:
        state = json_text.loads(files.read_file(_state_path()))
        stamps = dict(state["files"]) if state["version"] == STATE_VERSION else {}
        return {"version": STATE_VERSION, "folders": [*map(str, state["folders"])], "files": stamps}
    except OSError:
        pass
    except (json_text.InvalidJSON, KeyError, TypeError, ValueError):
        with contextlib.suppress(OSError):
            files.set_aside(_state_path())
    return {"version": STATE_VERSION, "folders": [], "files": {}}


class _Sync:
    """One sync, under its lock."""

    def __init__(self, db: apsw.Connection, now: int) -> None:
        self.db = db
        self.now = now
        self.state = _load_state()
        self.stored_rows = documents.sections_by_file(db)
        counts = ("files", "sections", "added", "updated", "removed", "unchanged", "read")
        self.report: dict[str, Any] = dict.fromkeys(counts, 0)
        self.report |= {"redacted": Counter(), "skipped": [], "skippedCount": 0}
        self.missing: list[str] = []
        self.pruned: list[str] = []

    def sync(self, folders: list[str], prune: bool, started: Progress, progress: Progress) -> None:
        """Sync the folders and save the state."""
        known = self.state["folders"]
        known += [path for path in folders if _printable(path) == path and path not in known]
        self._save_state()  # so that a sync that is killed is repeated without naming the folders
        found: dict[str, os.stat_result] = {}
        for folder in folders:
            is_there = os.path.isdir(folder)
            below = markdown.files_below(folder, lambda error: self.missing.append(error.filename)) if is_there else {}
            found |= below
            had_files = any(is_below(name, folder) for name in self.stored_rows)
            if not (below or folder in self.missing) and (had_files or not is_there):
                # A folder that has become empty is most often a disk that is not mounted.
                (self.pruned if prune else self.missing).append(folder)
        self.report["files"] = len(found)
        started(len(found))
        try:
            for path, status in found.items():
                self._sync_file(path, status)
                progress(1)
            for path in [path for path in {**self.stored_rows, **self.state["files"]} if path not in found]:
                if _is_in_any(path, self.missing):
                    self.report["sections"] += len(self.stored_rows.get(path, []))
                elif _is_in_any(path, folders):
                    self._remove(self.stored_rows.get(path, []))
                    self.state["files"].pop(path, None)
            self.state["folders"] = [folder for folder in self.state["folders"] if folder not in self.pruned]
        finally:
            self._save_state()

    def _save_state(self) -> None:
        with contextlib.suppress(OSError):
            files.write_whole(_state_path(), json_text.dumps(self.state).encode())

    def _skip(self, path: str, reason: str) -> None:
        """Report a file that was skipped or cut."""
        self.report["skippedCount"] += 1
        if len(self.report["skipped"]) < 50:
            self.report["skipped"].append({"path": _printable(path), "reason": reason})

    def _remove(self, rows: list[int]) -> None:
        if rows:
            with sqlite.transaction(self.db):
                for row in rows:
                    documents.remove(self.db, row)
            self.report["removed"] += len(rows)

    def _sync_file(self, path: str, status: os.stat_result) -> None:
        """Store the changed sections of a file, unless its size and times are as before."""
        stamp = f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"
        rows = self.stored_rows.get(path, [])
        if rows and self.state["files"].get(path) == stamp:
            self.report["unchanged"] += len(rows)
            self.report["sections"] += len(rows)
            return
        text = markdown.text_of(path) if _printable(path) == path else None
        if text is None:  # its sections stay
            self._skip(path, "not a text of at most 2 MiB, or with a secret in its path: nothing was read")
            self.report["sections"] += len(rows)
            return
        self.report["read"] += 1
        self._store(self._sections(text, path, status), rows)
        self.state["files"][path] = stamp

    def _sections(self, text: str, path: str, status: os.stat_result) -> list[Document]:
        """The documents of a file. The file is redacted as a whole: half a secret is not recognised."""
        text, kinds = redact(text)
        redacted = list(kinds)
        file = markdown.parse(text, path)
        category = clean_name(file.category, redacted)
        shared: dict[str, Any] = {
            "path": path, "source": documents.SYNC, "observation_type": clean_name(file.type, redacted),
            "tags": clean_tags(file.tags, redacted), "stale": file.stale,
        }  # fmt: skip
        at = min(max(status.st_mtime_ns // 1_000_000, 0), self.now)
        sections: list[Any] = []
        for section in file.sections:
            identifier = "kn-" + words.fingerprint("\0".join((path, *section.headings, "", str(section.ordinal))))
            title = clean_name(file.section_title(section), redacted)
            document = ungated("knowledge", identifier, section.text, category, at)
            sections.append({**document, **shared, "title": title})
        self.report["redacted"].update(redacted)
        return sections

    def _store(self, sections: list[Document], rows: list[int]) -> None:
        """Store the changed sections and remove the other rows of the file."""
        kept: set[int] = set()
        compared = ("text", "title", "path", "observation_type", "tags", "stale", "source")
        with sqlite.transaction(self.db):
            for section in sections:
                before = documents.by_id(self.db, section["id"])
                if before is not None:
                    kept.add(before["rowid"])
                    if before["forgotten_at"] is not None:
                        continue  # a forgotten section stays forgotten
                self.report["sections"] += 1
                if before is None or any(before[name] != section[name] for name in compared):  # type: ignore[literal-required]
                    store(self.db, replacing(before, section, self.now))
                    self.report["added" if before is None else "updated"] += 1
                else:
                    self.report["unchanged"] += 1
        self._remove([row for row in rows if row not in kept])


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
    document: Any = {**ungated("knowledge", f"turn-{words.fingerprint(turn_id)}", text, "", now), **fields}
    with sqlite.transaction(db):
        store(db, replacing(documents.by_id(db, document["id"]), document, now))
    return str(document["id"]), list(dict.fromkeys(redacted))
