"""One file that holds a home: a tar with the store, the states, the settings, and a manifest with the hash of each.

The files come before the store: an event that waits in the spool now may be in the store a moment later, and is then in
both, which is harmless; the other way round it could be in neither.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import tarfile
import time
from typing import IO, TYPE_CHECKING, Any

from core import VERSION, clock, files, json_text
from core.errors import Failure
from core.store import sqlite
from core.store.upkeep import backup
from session.backup import members
from session.state import state_file

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = 1
_LEVEL = 1
"""Of gzip."""
_MOST_NAMED = 20


def write(target: str, *, force: bool, progress: Callable[[int], None] = lambda _: None) -> dict[str, Any]:
    """Write a backup of the home to a file, mode 0600; it is there whole or not at all. Returns what it holds.

    Args:
        force: write over a file that is there.
        progress: told how many pages of the store are left.

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
        manifest = _write(home, temporary, copied, progress)
        size = os.stat(temporary).st_size
        os.replace(temporary, path)
        _sync_folder(os.path.dirname(path))
    except OSError as error:
        raise _failure(path, error) from None
    finally:
        for left in (temporary, copied):
            if os.path.lexists(left):
                os.unlink(left)
    note(home, path, manifest["createdAt"], known())
    return {
        "file": path,
        "bytes": size,
        "files": len(manifest["members"]),
        **manifest,
        "counts": members.counted(manifest["counts"]),
    }


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
    if not os.path.isdir(home) or (not os.path.exists(sqlite.path()) and not any(members.of_home(home))):
        raise Failure("BACKUP_EMPTY", f"there is nothing in {home} yet", "set JOELCLAW_HOME, if it lies elsewhere")


def _write(home: str, temporary: str, copied: str, progress: Callable[[int], None]) -> dict[str, Any]:
    listed: list[dict[str, Any]] = []
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=_LEVEL, format=tarfile.PAX_FORMAT) as tar:
            for name in members.of_home(home):
                try:
                    with open(os.path.join(home, name), "rb") as one:
                        listed.append(_add(tar, name, one))
                except FileNotFoundError:  # a session was cleared meanwhile, or the spool emptied
                    continue
            examined = None
            if backup.copy(copied, progress):
                examined = backup.examine(copied)
                with open(copied, "rb") as one:
                    listed.append(_add(tar, members.STORE, one))
            manifest = {
                "format": FORMAT,
                "joelclaw": VERSION,
                "schema": examined.schema if examined else 0,
                "createdAt": clock.iso(clock.now_ms()),
                "counts": examined.counts if examined else {},
                "members": listed,
            }
            data = json.dumps(manifest).encode()
            _add(tar, members.MANIFEST, io.BytesIO(data), len(data))
        file.flush()
        os.fsync(descriptor)
    return manifest


class _Hashed:
    """Reads a file's first bytes and takes their hash."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.hash = hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.hash.update(data)
        return data


def _add(tar: tarfile.TarFile, name: str, file: IO[bytes], size: int | None = None) -> dict[str, Any]:
    about = tarfile.TarInfo(name)
    about.size = os.fstat(file.fileno()).st_size if size is None else size
    about.mode = 0o600
    about.mtime = clock.now_ms() // 1000
    read = _Hashed(file)
    tar.addfile(about, read)  # type: ignore[arg-type]  # it calls nothing but `read`
    return {"name": name, "bytes": about.size, "sha256": read.hash.hexdigest()}


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
    import shutil

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
        with open(os.path.join(home or files.home(), members.BACKUPS), "rb") as file:
            kept = json_text.loads(file.read())
        return [{"file": str(one["file"]), "at": str(one["at"])} for one in kept]
    except (OSError, json_text.InvalidJSON, TypeError, KeyError):
        return []


def note(home: str, path: str, at: str, before: list[dict[str, Any]]) -> None:
    """Keep, in a home, where a backup of it is, besides those of before: a purge tells of them."""
    kept = [*(one for one in before if one["file"] != path), {"file": path, "at": at}]
    try:
        files.write_whole(os.path.join(home, members.BACKUPS), json_text.dumps(kept[-_MOST_NAMED:]).encode())
    except OSError:  # a home that is only read was backed up all the same
        pass


def _sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # a file system that has no such thing
        pass
    finally:
        os.close(descriptor)


def _failure(path: str, error: OSError) -> Failure:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Failure(
            "BACKUP_FULL",
            f"the disk of {path} is full",
            "free some space there, or name another folder; nothing was left",
        )
    return Failure("BACKUP_UNWRITABLE", f"{error.filename or path}: {error.strerror or error}", "name another file")
