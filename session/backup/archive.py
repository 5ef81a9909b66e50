"""One file that holds a home: a tar with the store, the states, the settings, and a manifest with the hash of each.

It holds all that is ours, but for what is made again by itself (`cache`) and what is of this machine and moment:
locks, temporary files, the store's own side files, the list of backups. The files come before the store: an event that
waits in the spool now may be in the store a moment later, and is then in both, which is harmless; the other way round
it could be in neither.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from typing import IO, Any

from core import VERSION, clock, files, home_files, json_text
from core.errors import Failure
from core.store import sqlite
from core.store.upkeep import backup
from session.state import state_file

FORMAT = 1
MANIFEST = "manifest.json"
STORE = sqlite.FILE_NAME
BACKUPS = "backups.json"
_HAS_CLUSTER = "outbox.lock"
"""Empty; its being there says that this memory has a cluster."""
_LEFT_OUT = frozenset({"cache", BACKUPS})
_WORK = ".work"
_WAITING = "observe-waiting"
"""Of the folders below `.work` the only one that holds no locks: sessions that are still to be observed."""
_COUNTED = {"document": "memories", "event": "events", "session": "sessions", "call": "toolCalls"}
_DEEPEST = 6
_LONGEST = 255
_MOST_NAMED = 20


def write(target: str, *, force: bool) -> dict[str, Any]:
    """Write a backup of the home to a file, mode 0600; it is there whole or not at all. Returns what it holds.

    `force`: write over a file that is there.

    Raises:
        Failure: BACKUP_EXISTS, BACKUP_IN_HOME, BACKUP_NO_FOLDER, BACKUP_EMPTY, BACKUP_FULL, BACKUP_UNWRITABLE, or what
            the store says.
    """
    home, path = os.path.realpath(files.home()), os.path.realpath(target)
    _check(home, path, force=force)
    sweep(path)
    stamp = f"{os.getpid()}.{time.monotonic_ns()}.tmp"
    temporary, copied = f"{path}.{stamp}", f"{path}.store.{stamp}"
    try:
        manifest = _write(home, temporary, copied)
        size = os.stat(temporary).st_size
        os.replace(temporary, path)
        sync_folder(os.path.dirname(path))
    except OSError as error:
        raise failure("BACKUP", path, error, "name another file; nothing was left") from None
    finally:
        for left in (temporary, copied):
            if os.path.lexists(left):
                os.unlink(left)
    note(home, path, manifest["createdAt"], known())
    counts = counted(manifest["counts"])
    return {"file": path, "bytes": size, "files": len(manifest["members"]), **manifest, "counts": counts}


def _check(home: str, path: str, *, force: bool) -> None:
    if path == home or path.startswith(home + os.sep):
        raise Failure("BACKUP_IN_HOME", f"{path} is in {home}, and would be lost with it", "name a file elsewhere")
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise Failure("BACKUP_NO_FOLDER", f"there is no folder {folder}", "make the folder, or name another file")
    if os.path.isdir(path):
        raise Failure("BACKUP_EXISTS", f"{path} is a folder", "name a file in it")
    if os.path.lexists(path) and not (force and os.path.isfile(path)):
        raise Failure("BACKUP_EXISTS", f"{path} is there already", "name another file, or give --force")
    if not os.path.exists(sqlite.path()) and not any(_members(home)):
        raise Failure("BACKUP_EMPTY", f"there is nothing in {home} yet", "set JOELCLAW_HOME, if it lies elsewhere")


def _write(home: str, temporary: str, copied: str) -> dict[str, Any]:
    listed: list[dict[str, Any]] = []
    examined = None
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as tar:
            for name in _members(home):
                try:
                    with open(os.path.join(home, name), "rb") as one:
                        data = one.read()
                except FileNotFoundError:  # a session was cleared meanwhile, or the spool emptied
                    continue
                listed.append(_add(tar, name, io.BytesIO(data)))
            if backup.copy(copied):
                examined = backup.examine(copied)
                with open(copied, "rb") as one:
                    listed.append(_add(tar, STORE, one))
            manifest = {
                "format": FORMAT,
                "joelclaw": VERSION,
                "schema": examined.schema if examined else 0,
                "createdAt": clock.iso(clock.now_ms()),
                "counts": examined.counts if examined else {},
                "members": listed,
            }
            _add(tar, MANIFEST, io.BytesIO(json.dumps(manifest).encode()))
        file.flush()
        os.fsync(descriptor)
    return manifest


def _add(tar: tarfile.TarFile, name: str, file: IO[bytes]) -> dict[str, Any]:
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # a file that was opened
    about = tarfile.TarInfo(name)
    about.size = file.seek(0, os.SEEK_END)
    about.mode = 0o600
    about.mtime = clock.now_ms() // 1000
    file.seek(0)
    tar.addfile(about, file)
    return {"name": name, "bytes": about.size, "sha256": digest}


def _members(home: str) -> Iterator[str]:
    """The names of a home's files that belong to a backup, the store left out, in order."""
    for folder, folders, names in os.walk(home, onerror=_raise if os.path.isdir(home) else None):
        below = "" if folder == home else os.path.relpath(folder, home) + "/"
        folders[:] = sorted(one for one in folders if one == _WORK or is_kept(f"{below}{one}/x"))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if is_kept(below + name) and below + name != STORE and os.path.isfile(path) and not os.path.islink(path):
                yield below + name


def _raise(error: OSError) -> None:
    raise error


def is_kept(name: str) -> bool:
    """Whether a backup holds a file of this name, its parts joined by `/`: also what a restored one may be called."""
    parts = name.split("/")
    first, last = parts[0], parts[-1]
    if name in (STORE, _HAS_CLUSTER):
        return True
    if len(parts) > _DEEPEST or not all(map(_is_plain, parts)):
        return False
    if not home_files.is_in_homes(first) or first in _LEFT_OUT or first.startswith(STORE):
        return False
    if last.endswith((".lock", ".tmp")) or ".locks" in parts:
        return False
    return _WORK not in parts or _WAITING in parts


def _is_plain(part: str) -> bool:
    return part not in ("", ".", "..") and len(part.encode("utf-8", "replace")) <= _LONGEST and part.isprintable()


def counted(counts: dict[str, int]) -> dict[str, int]:
    """How many of what a store holds, by the names that an answer has for it."""
    return {told: counts[table] for table, told in _COUNTED.items() if table in counts}


def sweep(path: str) -> None:
    """Remove what backups to this file left that were killed."""
    folder, stem = os.path.dirname(path), os.path.basename(path) + "."
    for name in os.listdir(folder):
        if not name.startswith(stem) or not name.endswith(".tmp"):
            continue
        parts = name[len(stem) :].removeprefix("store.").removeprefix("restoring.").split(".")
        if len(parts) == 3 and parts[0].isdigit() and parts[1].isdigit() and not state_file.is_alive(int(parts[0])):
            remove(os.path.join(folder, name))


def remove(path: str) -> None:
    """Delete a file, or a folder with all that is in it."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except OSError:  # another one sweeps too
        pass


def known(home: str = "") -> list[dict[str, Any]]:
    """Where backups of a home (default: this one) were written, the last one last: path and time of each."""
    try:
        with open(os.path.join(home or files.home(), BACKUPS), "rb") as file:
            kept = json_text.loads(file.read())
        return [{"file": str(one["file"]), "at": str(one["at"])} for one in kept]
    except (OSError, json_text.InvalidJSON, TypeError, KeyError):
        return []


def note(home: str, path: str, at: str, before: list[dict[str, Any]]) -> None:
    """Keep, in a home, where a backup of it is, besides those of before: a purge tells of them."""
    kept = [*(one for one in before if one["file"] != path), {"file": path, "at": at}]
    try:
        files.write_whole(os.path.join(home, BACKUPS), json_text.dumps(kept[-_MOST_NAMED:]).encode())
    except OSError:  # a home that is only read was backed up all the same
        pass


def sync_folder(path: str) -> None:
    """Bring a rename in a folder to the disk, where its file system has such a thing."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def failure(code: str, path: str, error: OSError, fix: str) -> Failure:
    """`CODE_FULL` or `CODE_UNWRITABLE`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Failure(f"{code}_FULL", f"the disk of {path} is full", f"free some space there, or {fix}")
    return Failure(f"{code}_UNWRITABLE", f"{error.filename or path}: {error.strerror or error}", fix)
