"""Syncing the collection `knowledge` with folders of markdown: files that are new, changed or removed since last time.

One transaction a file (a very large one has several), so that a sync may be killed anywhere: the state does not count a
file of which the store has only a part, and the next sync goes on. A section's id is made of its path, headings and
number, so that counts of its use survive an edit.
"""

from __future__ import annotations

import os
import time
from hashlib import blake2b
from typing import TYPE_CHECKING

from core import files
from core.errors import Failure, usage
from core.store import documents, knowledge, sqlite
from memory.knowledge import folder_state, markdown_files
from memory.knowledge.folder_state import Entry
from memory.knowledge.section_store import SectionStore, Synced, stored_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from core.config import Config
    from memory.knowledge.folder_state import SyncedFiles


def sync_folders(
    given: Sequence[str],
    *,
    prune: bool,
    config: Config,
    now: int,
    started: Callable[[int], None],
    progress: Callable[[int], None],
) -> tuple[Synced, apsw.Connection]:
    """Sync the folders that a user names, or those kept before, in the store of this home; one process at a time.

    Returns what became of them, and the connection that wrote it.

    Raises:
        Failure: KNOWLEDGE_INVALID_ARGS, KNOWLEDGE_BUSY, or as `sync`.
    """
    kept = folder_state.load().folders
    folders = [_real_folder(one, kept) for one in given]
    if not folders and not kept:
        raise _no_folders()
    busy_ms = config.whole("store.busy_ms")
    try:
        with folder_state.lock(busy_ms / 1000):
            # Everything can be made again from the files: commits do not wait for the disk one by one.
            db = sqlite.open_writing(busy_ms=busy_ms, durable=False)
            vectors = sqlite.load_vectors(db)
            return sync(db, folders, prune=prune, now=now, vectors=vectors, started=started, progress=progress), db
    except files.LockTimeout:
        raise Failure("KNOWLEDGE_BUSY", "another sync is under way", "wait until it is done, then try again") from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    except OSError as error:
        where = error.filename or files.home()
        raise Failure(
            "STORE_READ_ONLY",
            f"{where} cannot be used: {error.strerror}",
            "check its permissions, or set JOELCLAW_HOME",
        ) from None


def _real_folder(given: str, kept: Sequence[str]) -> str:
    """The real path of a folder; one that was kept may have vanished."""
    folder = os.path.realpath(os.path.expanduser(given)) if given else ""
    if not folder or not (os.path.isdir(folder) or folder in kept):
        what = "is a file" if os.path.isfile(folder) else "is no folder"
        raise usage("KNOWLEDGE_INVALID_ARGS", f"{given!r} {what}", "name a folder that holds markdown files")
    return folder


def sync(
    db: apsw.Connection,
    folders: Sequence[str],
    *,
    prune: bool,
    now: int,
    vectors: bool,
    started: Callable[[int], None],
    progress: Callable[[int], None],
) -> Synced:
    """Store the markdown below the folders, and remove what is no longer there.

    The caller holds `synced_files.lock`. Files below other folders stay as they are.

    Args:
        folders: real paths, which are kept for the next sync; empty for those kept before.
        prune: whether the sections of a kept folder that has vanished, or is empty, are removed.
        now: ms since the epoch.
        started: called with the number of files; `progress` with the number done since.

    Raises:
        Failure: KNOWLEDGE_NO_FOLDERS, or what the store says; the files before stay.
    """
    began = time.perf_counter()
    state = folder_state.load()
    wanted = list(dict.fromkeys(folders)) or list(state.folders)
    # A kept folder below a wanted one may be hidden from its walk.
    nested = (one for one in state.folders if any(markdown_files.is_below(one, folder) for folder in wanted))
    wanted = list(dict.fromkeys([*wanted, *nested]))
    if not wanted:
        raise _no_folders()
    if vectors:
        with sqlite.transaction(db):
            documents.ensure_signatures(db)
    run = _Run(db, state, wanted, now, vectors)
    try:
        run.remember_folders()
        run.find_files(prune)
        started(run.report.files)
        run.sync_files(progress)
        run.remove_vanished()
    finally:
        run.close()
    run.report.ms = round((time.perf_counter() - began) * 1000, 1)
    return run.report


def _no_folders() -> Failure:
    """There is nothing to sync: none was named, and none is kept."""
    return usage(
        "KNOWLEDGE_NO_FOLDERS",
        "no folder has been synced yet",
        "name one with markdown files: joelclaw knowledge sync ~/Vault/docs",
    )


class _Run:
    """One sync."""

    def __init__(self, db: apsw.Connection, state: SyncedFiles, wanted: list[str], now: int, vectors: bool) -> None:
        self.db = db
        self.state = state
        self.now = now
        self.vectors = vectors
        self.report = Synced(folders=[stored_path(folder) for folder in wanted])
        self.sections = SectionStore(db, now, vectors, self.report)
        self.wanted = wanted
        self.found: dict[str, tuple[str, os.stat_result]] = {}
        """Stored path → path and status."""
        self.kept_below: list[str] = []
        """Folders of which nothing may be removed: not listed, or vanished."""
        self.stored_rows = knowledge.rows_by_file(db)
        self.before = (list(state.folders), dict(state.entries))

    def remember_folders(self) -> None:
        """Save the folders first: a sync that was killed is repeated without naming them."""
        for folder in self.wanted:
            if stored_path(folder) != folder:
                self.report.skip(folder, "its path looks like a secret, so it is not kept for the next sync")
            elif folder not in self.state.folders:
                self.state.folders.append(folder)
        if self.state.folders != self.before[0]:
            self._save()

    def find_files(self, prune: bool) -> None:
        """Find the files, and the folders that have vanished."""
        for folder in self.wanted:
            found = markdown_files.below(folder) if os.path.isdir(folder) else None
            for path, reason in found.problems if found else ():
                self.report.skip(path, reason)
            had = any(folder_state.owner(name, self.state.folders) == folder for name in self.stored_rows)
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
        self.report.files = len(self.found)

    def sync_files(self, progress: Callable[[int], None]) -> None:
        """Every file that was found."""
        for name, (path, status) in self.found.items():
            self._sync_file(name, path, status)
            progress(1)

    def remove_vanished(self) -> None:
        """The sections of files that are no longer there, a transaction for each file."""
        for name in [*self.stored_rows]:
            if name in self.found or folder_state.owner(name, self.state.folders) not in self.wanted:
                continue
            if any(markdown_files.is_below(name, folder) for folder in self.kept_below):
                self.report.sections += len(self.stored_rows[name])
                continue
            with sqlite.transaction(self.db):
                self.report.removed += knowledge.remove(
                    self.db, self.stored_rows[name], self.now, signatures=self.vectors
                )
            self.report.removed_files += 1
            self.state.entries.pop(name, None)
        for name in [*self.state.entries]:  # files without sections
            gone = name not in self.found and name not in self.stored_rows
            if gone and folder_state.owner(name, self.state.folders) in self.wanted:
                del self.state.entries[name]
        self.state.folders = [folder for folder in self.state.folders if folder not in self.report.pruned]

    def close(self) -> None:
        """Make durable what was stored, then save what was read."""
        if self.report.added or self.report.updated or self.report.removed:
            try:
                knowledge.make_durable(self.db)
            except sqlite.StoreError:
                return  # the state must not be ahead of the store
        if (self.state.folders, self.state.entries) != self.before:
            self._save()

    def _save(self) -> None:
        try:
            folder_state.save(self.state)
        except OSError:
            pass  # the next sync reads more than it must

    def _sync_file(self, name: str, path: str, status: os.stat_result) -> None:
        """One file: nothing where its stamp is as before, else its changed sections."""
        stamp = folder_state.stamp(status, self.now)
        rows = self.stored_rows.get(name, [])
        before = self.state.entries.get(name)
        if before and before.live != len(rows):
            before = None
        if before and stamp and before.stamp == stamp:
            self._count_unchanged(path, before)
            return
        try:
            data, more = markdown_files.read(path)
        except OSError as error:  # its sections stay; a file that has vanished is left to the next sync
            self.report.skip(path, f"cannot be read: {error.strerror}")
            self.report.sections += len(rows)
            return
        self.report.read += 1
        hashed = blake2b(data, digest_size=16).hexdigest()
        if before and before.hash == hashed:
            self._count_unchanged(path, before)
            self.state.entries[name] = Entry(stamp, hashed, before.live, before.note)
            return
        note = ""
        if more:
            data = data[: data.rfind(b"\n") + 1 or len(data)]
            note = f"larger than {markdown_files.LARGEST >> 20} MiB: only its beginning was taken"
        text = markdown_files.decode(data)
        if text is None:
            note = "binary: no text was taken"
        if note:
            self.report.skip(path, note)
        live = self.sections.store(self.sections.documents_of(text or "", name, path, status), rows)
        self.report.sections += live
        self.state.entries[name] = Entry(stamp, hashed, live, note)

    def _count_unchanged(self, path: str, entry: Entry) -> None:
        self.report.unchanged += entry.live
        self.report.sections += entry.live
        if entry.note:
            self.report.skip(path, entry.note)
