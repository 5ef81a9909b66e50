"""Syncing the collection `knowledge` with folders of markdown: files that are new, changed or removed since last time.

One transaction a file (a very large one has several), so that a sync may be killed anywhere: the state does not count a
file of which the store has only a part, and the next sync goes on. A section's id is made of its path, headings and
number, so that counts of its use survive an edit. What one turn of an agent came to is kept here, too.
"""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import apsw

from core import files, ids, json_text, words
from core.config import Config
from core.errors import Failure, usage
from core.records import Document
from core.redaction import redact
from core.store import documents, sqlite
from memory.knowledge import markdown
from memory.write import clean_name, clean_tags, replacing, set_category, set_ungated, store

MOST_LISTED = 50  # skipped files that are listed with their reason
TOGETHER = 200
"""Sections of one transaction: a file with more is stored by several, or a hook's write would wait too long."""
_FIELDS = ("text", "title", "path", "observation_type", "tags", "stale", "source")
_TITLE_CHARS, _NOTE_TITLE_CHARS = 400, 120
_STATE_VERSION = 2
"""Of what is made of a file: with another one every file is read again."""
_RACY_MS = 2_000

Progress = Callable[[int], None]
State = tuple[list[str], dict[str, tuple[str, int, str]]]
"""The kept folders (real paths), and of each file its stamp, how many sections are in recall, and why it was cut."""


def _state_path() -> str:
    return os.path.join(files.home(), "knowledge.json")  # losing it costs time and nothing else


def _load() -> State:
    try:
        with open(_state_path(), "rb") as handle:
            kept = json_text.loads(handle.read())
        entries = kept["files"].items() if kept["version"] == _STATE_VERSION else ()
        folders = [str(folder) for folder in kept["folders"]]
        return folders, {name: (str(stamp), int(live), str(note)) for name, (stamp, live, note) in entries}
    except OSError:
        return [], {}
    except (json_text.InvalidJSON, KeyError, TypeError, ValueError, AttributeError):
        with contextlib.suppress(OSError):
            files.set_aside(_state_path())
        return [], {}


def _save(state: State) -> None:
    text = json_text.dumps({"version": _STATE_VERSION, "folders": state[0], "files": state[1]})
    with contextlib.suppress(OSError):  # the next sync reads more than it must
        files.write_whole(_state_path(), text.encode())


def sync_folders(
    given: Sequence[str], *, prune: bool, config: Config, now: int, started: Progress, progress: Progress
) -> tuple[dict[str, Any], apsw.Connection]:
    """Sync the folders that a user names, or those kept before; what became of their files, and the connection."""
    kept = _load()[0]
    folders = [os.path.realpath(os.path.expanduser(one)) if one else "" for one in given]
    for folder, one in zip(folders, given, strict=True):
        if not folder or not (os.path.isdir(folder) or folder in kept):  # a kept one may have vanished
            raise usage("KNOWLEDGE_INVALID_ARGS", f"{one!r} is not a folder", "name a folder that holds markdown files")
    if not folders and not kept:
        fix = "name one with markdown files: joelclaw knowledge sync ~/Vault/docs"
        raise usage("KNOWLEDGE_NO_FOLDERS", "no folder has been synced yet", fix)
    began = time.perf_counter()
    busy_ms = config.get_int("store.busy_ms")
    try:
        with files.FileLock(_state_path() + ".lock", busy_ms / 1000):
            # Everything can be made again from the files: commits do not wait for the disk one by one.
            db = sqlite.open_writing(busy_ms=busy_ms, durable=False)
            run = _Run(db, folders, now)
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
        where = error.filename or files.home()
        message = f"{where} cannot be used: {error.strerror}"
        raise Failure("STORE_READ_ONLY", message, "check its permissions, or set JOELCLAW_HOME") from None
    run.indexed["ms"] = round((time.perf_counter() - began) * 1000, 1)
    about = {"folders": [stored_path(one) for one in run.wanted], "missing": run.missing, "pruned": run.pruned}
    return {"collection": "knowledge", "created": not kept, "indexed": run.indexed, **about}, db


def stored_path(path: str) -> str:
    """A path as it is stored: without secrets, and still different from every other."""
    plain = words.clean(path).replace("\0", "\ufffd")
    clean, kinds = redact(plain)
    return f"{clean}#{ids.fingerprint(path)[:12]}" if kinds or plain != path else plain


class _Run:
    """One sync, under the lock."""

    def __init__(self, db: apsw.Connection, given: list[str], now: int) -> None:
        self.db = db
        self.now = now
        self.vectors = sqlite.load_vectors(db)
        self.folders, self.entries = _load()
        self.before = (list(self.folders), dict(self.entries))
        # A kept folder below a wanted one may be hidden from its walk.
        named = given or self.folders
        nested = (one for one in self.folders if any(markdown.is_below(one, folder) for folder in named))
        self.wanted = list(dict.fromkeys([*named, *nested]))
        counts = ("files", "sections", "added", "updated", "removed", "unchanged", "read", "removedFiles")
        self.indexed: dict[str, Any] = {**dict.fromkeys(counts, 0), "redacted": {}, "skipped": [], "skippedCount": 0}
        self.missing: list[str] = []
        self.pruned: list[str] = []
        self.found: dict[str, tuple[str, os.stat_result]] = {}  # stored path → path and status
        self.kept_below: list[str] = []  # folders of which nothing may be removed: not listed, or vanished
        self.stored_rows = documents.sections_by_file(db)
        for folder in self.wanted:
            if stored_path(folder) != folder:
                self._skip(folder, "its path looks like a secret, so it is not remembered for the next sync")
            elif folder not in self.folders:
                self.folders.append(folder)
        if self.folders != self.before[0]:  # saved first: a sync that was killed is repeated without naming them
            _save((self.folders, self.entries))

    def _skip(self, path: str, reason: str) -> None:
        """Count a file that was skipped or cut; the first MOST_LISTED are listed."""
        self.indexed["skippedCount"] += 1
        if len(self.indexed["skipped"]) < MOST_LISTED:
            self.indexed["skipped"].append({"path": stored_path(path), "reason": reason})

    def find_files(self, prune: bool) -> None:
        """Find the files, and the folders that have vanished."""
        for folder in self.wanted:
            is_there = os.path.isdir(folder)
            below = markdown.files_below(folder) if is_there else markdown.Files()
            for path, reason in below.problems:
                self._skip(path, reason)
            had = any(markdown.is_below(name, folder) for name in self.stored_rows)
            if not (below.files or below.unread) and (had or not is_there):
                # A folder that is empty where it was not is most often a disk that is not mounted.
                (self.pruned if prune else self.missing).append(folder)
                self.kept_below += [] if prune else [folder]
            self.kept_below += below.unread
            self.found.update({stored_path(path): (path, status) for path, status in below.files.items()})
        self.indexed["files"] += len(self.found)

    def remove_vanished(self) -> None:
        """The sections of files that are no longer there, a transaction for each file."""
        for name in dict.fromkeys([*self.stored_rows, *self.entries]):
            rows = self.stored_rows.get(name, [])
            if name in self.found or not any(markdown.is_below(name, folder) for folder in self.wanted):
                continue
            if rows and any(markdown.is_below(name, folder) for folder in self.kept_below):
                self.indexed["sections"] += len(rows)
                continue
            self._remove(rows)
            self.indexed["removedFiles"] += bool(rows)
            self.entries.pop(name, None)
        self.folders = [folder for folder in self.folders if folder not in self.pruned]

    def _remove(self, rows: list[int]) -> None:
        if rows:
            with sqlite.transaction(self.db):
                self.indexed["removed"] += documents.remove_sections(self.db, rows, signatures=self.vectors)

    def close(self) -> None:
        """Make durable what was stored, then save what was read."""
        if any(self.indexed[name] for name in ("added", "updated", "removed")):
            try:
                documents.make_durable(self.db)
            except sqlite.StoreError:
                return  # the state must not be ahead of the store
        if (self.folders, self.entries) != self.before:
            _save((self.folders, self.entries))

    def sync_file(self, name: str, path: str, status: os.stat_result) -> None:
        """One file: nothing where its size and times are as before, else its changed sections."""
        stamp = f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"
        if max(status.st_mtime_ns, status.st_ctime_ns) // 1_000_000 > self.now - _RACY_MS:
            stamp = ""  # it may change again unnoticed
        rows = self.stored_rows.get(name, [])
        before, live, note = self.entries.get(name, ("", -1, ""))
        if stamp and before == stamp and live == len(rows):
            self.indexed["unchanged"] += live
            self.indexed["sections"] += live
            if note:
                self._skip(path, note)
            return
        try:
            data, more = markdown.read(path)
        except OSError as error:  # its sections stay; a file that has vanished is left to the next sync
            self._skip(path, f"cannot be read: {error.strerror}")
            self.indexed["sections"] += len(rows)
            return
        self.indexed["read"] += 1
        text = markdown.decode(data[: data.rfind(b"\n") + 1 or len(data)] if more else data)
        note = f"larger than {markdown.MAX_BYTES >> 20} MiB: only its beginning was read" if more else ""
        if text is None:
            note = "a binary file: nothing was read"
        if note:
            self._skip(path, note)
        live = self._store(self._documents(text or "", name, path, status), rows)
        self.indexed["sections"] += live
        self.entries[name] = (stamp, live, note)

    def _documents(self, text: str, name: str, path: str, status: os.stat_result) -> list[Document]:
        """The documents of a file. Redacted whole, since half a secret is not known as one."""
        text, kinds = redact(text)
        found = list(kinds)
        file = markdown.parse(text, path)
        tags, kind = clean_tags(file.tags, found), clean_name(file.type, found)
        category = clean_name(file.category, found)
        at = min(max(status.st_mtime_ns // 1_000_000, 0), self.now)
        made: list[Document] = []
        for section in file.sections:
            about = "\0".join((path, *section.headings, "", str(section.ordinal)))
            title = clean_name(file.section_title(section), found)[:_TITLE_CHARS]
            named: Any = {"title": title, "path": name, "source": documents.SYNC, "observation_type": kind}
            named |= {"tags": tags, "stale": file.stale}
            made.append(_document(f"kn-{ids.fingerprint(about)}", section.text, at, category, named))
        redacted = self.indexed["redacted"]
        for one in found:
            redacted[one] = redacted.get(one, 0) + 1
        return made

    def _store(self, sections: list[Document], rows: list[int]) -> int:
        """Write what differs, and remove rows that are no section any more; returns how many sections are in recall."""
        older = {one["id"]: documents.by_id(self.db, one["id"]) for one in sections}
        changed = [one for one in sections if _differs(older[one["id"]], one)]
        live = sum(_counts(one) for one in older.values())
        self.indexed["unchanged"] += live - len(changed)
        for start in range(0, len(changed), TOGETHER):
            with sqlite.transaction(self.db):
                for one in changed[start : start + TOGETHER]:
                    before = documents.by_id(self.db, one["id"])  # as it is now that nobody else writes
                    if before is None or _differs(before, one):
                        store(self.db, replacing(before, one, self.now), vectors=self.vectors)
                        self.indexed["added" if before is None else "updated"] += 1
        kept = {one["rowid"] for one in older.values() if one is not None}
        self._remove([row for row in rows if row not in kept])
        return live


def _document(identifier: str, text: str, at: int, category: str, named: Any) -> Document:
    document: Document = {**documents.blank("knowledge", identifier, text, at), **named}
    document["fingerprint"] = ids.fingerprint(text.lower())
    set_ungated(document, "archived")
    set_category(document, category, "")
    return document


def _counts(older: Document | None) -> bool:
    """Whether a section will be in recall: new, or not forgotten by the user."""
    return older is None or (older["forgotten_at"] is None and older["collection"] == "knowledge")


def _differs(older: Document | None, newer: Document) -> bool:
    """Whether there is something to write. What was forgotten stays so, whatever the file says."""
    if older is None:
        return True
    return _counts(older) and any(older[name] != newer[name] for name in _FIELDS)  # type: ignore[literal-required]


def store_note(
    db: apsw.Connection,
    turn_id: str,
    summary: str,
    *,
    session: str,
    project: str,
    tags: Sequence[str],
    about: dict[str, str],
    now: int,
) -> tuple[str, list[str]]:
    """Keep what a turn came to, in the place of what was told of it before; its id, and the kinds of secrets in it."""
    lines = [summary, *(f"{name}: {value}" for name, value in about.items() if value)]
    text, kinds = redact("\n".join(lines))
    found = list(kinds)
    named = {
        "title": clean_name(" ".join(summary.split())[:_NOTE_TITLE_CHARS], found), "source": "turn-note",
        "observation_type": "turn_note", "session_id": clean_name(session, found),
        "project": clean_name(project, found), "tags": clean_tags(tags, found),
    }  # fmt: skip
    document = _document(f"turn-{ids.fingerprint(turn_id)}", text, now, "", named)
    vectors = sqlite.load_vectors(db)
    with sqlite.transaction(db):
        store(db, replacing(documents.by_id(db, document["id"]), document, now), vectors=vectors)
    return document["id"], list(dict.fromkeys(found))
