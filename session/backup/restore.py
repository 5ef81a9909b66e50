"""Puts a backup in the place of a home: looked through and laid out beside it first, then moved there as a whole."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import shlex
import tarfile
import time
import zlib
from typing import IO, Any

from core import clock, files
from core.errors import Failure
from core.store import layout
from core.store.upkeep import backup, completeness
from session.backup import archive, members

_GZIP = b"\x1f\x8b"
_MOST_FILES = 200_000
_MOST_BYTES = 1 << 30
"""Of a member that is not the store: a session's state has at most a megabyte, a day's log rarely more."""
_ROOM = 1 << 20
"""What a member may take besides its content: a long name, say."""
_CHUNK = 1 << 18
_NAMES_SHOWN = 5
_TRIES = 5


def restore(file: str, into: str, *, force: bool, verify_only: bool) -> dict[str, Any]:
    """Verify a backup, and put it where `into` is; what is there is kept aside. Returns what was done.

    Args:
        into: the home.
        force: also where there is a home with something in it.
        verify_only: change nothing.

    Raises:
        Failure: RESTORE_NO_FILE, BACKUP_DAMAGED, BACKUP_TOO_NEW, STORE_TOO_NEW, RESTORE_NOT_EMPTY, RESTORE_MIXED,
            RESTORE_FULL, RESTORE_UNWRITABLE, nothing was changed; RESTORE_BUSY, the old home is where it was, or the
            message says where.
    """
    if not os.path.isfile(file):
        raise Failure("RESTORE_NO_FILE", f"there is no file {file}", "name a file that `joelclaw backup` wrote")
    target = os.path.realpath(into)
    if not verify_only:
        _check_place(target, file, force=force)
    beside = os.path.realpath(file) if verify_only else target
    try:
        files.private_folder(os.path.dirname(beside))
        archive.sweep(beside)
        staging = f"{beside}.restoring.{os.getpid()}.{time.monotonic_ns()}.tmp"
        os.mkdir(staging, 0o700)
        try:
            manifest = _lay_out(file, staging)
            about = _examined(staging, manifest)
            archive.note(staging, os.path.realpath(file), str(manifest["createdAt"]), archive.known(target))
            aside = [] if verify_only else _put(staging, target, force=force)
        finally:
            if os.path.isdir(staging):
                archive.remove(staging)
    except OSError as error:
        raise _failure(target, error) from None
    return {
        "file": os.path.realpath(file),
        "verified": True,
        "restored": not verify_only,
        "home": None if verify_only else target,
        "keptAside": aside,
        "createdAt": str(manifest["createdAt"]),
        "joelclaw": str(manifest["joelclaw"]),
        "schema": manifest["schema"],
        "files": len(manifest["members"]),
        "counts": members.counted(about),
    }


def _check_place(target: str, file: str, *, force: bool) -> None:
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise Failure("RESTORE_NOT_EMPTY", f"{target} is no folder", "name a folder, or one that is not there yet")
    foreign = members.foreign_in(target)
    if foreign:
        shown = ", ".join(foreign[:_NAMES_SHOWN]) + (" and more" if len(foreign) > _NAMES_SHOWN else "")
        raise Failure(
            "RESTORE_MIXED",
            f"{target} holds other things too: {shown}",
            f"restore into a folder of its own: joelclaw restore {shlex.quote(file)} --into FOLDER",
        )
    into = "" if target == os.path.realpath(files.home()) else f" --into {shlex.quote(target)}"
    if os.listdir(target) and not force:
        raise Failure(
            "RESTORE_NOT_EMPTY",
            f"{target} holds a memory already",
            f"to put the backup in its place, and keep it aside: joelclaw restore {shlex.quote(file)}{into} --force",
        )


class _Bounded:
    """Reads a file, and no more of it than was allowed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.left = _ROOM

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise tarfile.ReadError("a member says that it is longer than one may be")
        return data


def _lay_out(file: str, folder: str) -> dict[str, Any]:
    """Write the members into a folder, and compare each with the manifest, which is returned.

    Raises:
        Failure: BACKUP_DAMAGED, BACKUP_TOO_NEW, RESTORE_FULL.
        OSError: the folder cannot be written.
    """
    found: dict[str, tuple[int, str]] = {}
    manifest: object = None
    with open(file, "rb") as opened:
        packed = opened.read(2) == _GZIP
        opened.seek(0)
        bounded = _Bounded(gzip.GzipFile(fileobj=opened) if packed else opened)  # type: ignore[arg-type]  # reads alike
        try:
            with tarfile.open(fileobj=bounded, mode="r|", bufsize=tarfile.BLOCKSIZE * 8) as tar:  # type: ignore[call-overload]  # it only reads
                while (about := tar.next()) is not None:
                    name = about.name
                    if manifest is not None or not about.isreg() or name in found or len(found) > _MOST_FILES:
                        raise _damaged(f"{name[:200]!r} has no place in it")
                    bounded.left += min(about.size, 1 << 50)
                    content = tar.extractfile(about)
                    if content is None:
                        raise _damaged(f"{name[:200]!r} is no file")
                    if name == members.MANIFEST:
                        if about.size > _MOST_BYTES:
                            raise _damaged("its manifest is far too long")
                        manifest = json.loads(content.read().decode())
                        continue
                    if not members.is_kept(name) or (about.size > _MOST_BYTES and name != members.STORE):
                        raise _damaged(f"{name[:200]!r} has no place in it")
                    found[name] = _copied(content, os.path.join(folder, name), folder, about.size)
                    bounded.left = _ROOM
        except _Unwritable as error:
            raise error.cause from None
        except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError, LookupError, RecursionError) as error:
            raise _damaged(f"{error}"[:200] or type(error).__name__) from None
    return _checked(manifest, found)


class _Unwritable(Exception):
    def __init__(self, cause: OSError) -> None:
        self.cause = cause


def _copied(content: IO[bytes], path: str, root: str, size: int) -> tuple[int, str]:
    """Write a member to its file; returns its length and hash."""
    taken, length = hashlib.sha256(), 0
    try:
        room = os.statvfs(root)
        if size > room.f_bavail * room.f_frsize:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        files.private_folder(os.path.dirname(path))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _Unwritable(error) from None
    with os.fdopen(descriptor, "wb") as file:
        while data := content.read(_CHUNK):
            taken.update(data)
            length += len(data)
            try:
                file.write(data)
            except OSError as error:
                raise _Unwritable(error) from None
        try:
            file.flush()
            os.fsync(descriptor)
        except OSError as error:
            raise _Unwritable(error) from None
    return length, taken.hexdigest()


def _checked(manifest: object, found: dict[str, tuple[int, str]]) -> dict[str, Any]:
    if not isinstance(manifest, dict):
        raise _damaged("its end is missing" if manifest is None else "its manifest is none")
    kind = manifest.get("format")
    if isinstance(kind, int) and kind > archive.FORMAT:
        raise Failure(
            "BACKUP_TOO_NEW",
            f"the backup has format {kind}; this joelclaw knows {archive.FORMAT}",
            "upgrade joelclaw, then restore; nothing was changed",
        )
    try:
        listed = {str(one["name"]): (one["bytes"], one["sha256"]) for one in manifest["members"]}
        schema = manifest["schema"]
        manifest["createdAt"], manifest["joelclaw"], manifest["counts"]
    except (KeyError, TypeError):
        raise _damaged("its manifest is none") from None
    if kind != archive.FORMAT or not isinstance(schema, int):
        raise _damaged("its manifest is none")
    if schema > layout.SCHEMA:
        raise Failure(
            "STORE_TOO_NEW",
            f"the backup has schema {schema}; this joelclaw knows {layout.SCHEMA}",
            "upgrade joelclaw, then restore; nothing was changed",
        )
    wrong = sorted(name for name in {*listed, *found} if listed.get(name) != found.get(name))
    if wrong:
        raise _damaged(f"{wrong[0][:200]!r} is not what the manifest says")
    return manifest


def _examined(folder: str, manifest: dict[str, Any]) -> dict[str, int]:
    """Look at the store; where it is sound, lay the signs of a whole one beside it. Returns its counts."""
    store = os.path.join(folder, members.STORE)
    if not os.path.exists(store):
        return {}
    examined = backup.examine(store)
    if examined.counts != manifest["counts"]:
        raise _damaged("its store does not hold what the manifest says")
    completeness.begin(store, examined.last_event)
    return examined.counts


def _put(staging: str, target: str, *, force: bool) -> list[str]:
    """Move the folder to where the home is; returns where the homes are that were there.

    A hook that runs in the moment between makes a home of its own: that is kept aside, too.
    """
    aside: list[str] = []
    try:
        _swap(staging, target, aside, force=force)
    except (OSError, Failure) as error:
        if not aside:
            raise
        raise _told(_failure(target, error) if isinstance(error, OSError) else error, aside, target) from None
    descriptor = os.open(os.path.dirname(target), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return aside


def _swap(staging: str, target: str, aside: list[str], *, force: bool) -> None:
    """Move the homes that are there into `aside`, and the new one to their place."""
    for _ in range(_TRIES):
        if os.path.isdir(target) and os.listdir(target):
            if not force and not aside:
                raise Failure("RESTORE_NOT_EMPTY", f"{target} was made meanwhile", "run it again with --force")
            free = _free_name(target)
            os.rename(target, free)
            aside.append(free)
        try:
            os.rename(staging, target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    raise Failure("RESTORE_BUSY", f"{target} is written again and again", "end the agents that run, and try again")


def _free_name(target: str) -> str:
    free = f"{target}.before-restore-{clock.now_ms()}"
    while os.path.lexists(free):
        free += "-2"
    return free


def _told(error: Failure, aside: list[str], target: str) -> Failure:
    """The same failure, after the old home was moved back; its message names every folder that is left beside it."""
    old, *meanwhile = aside
    message, fix = error.message, error.fix
    try:
        _move_back(old, target, meanwhile)
        if meanwhile:
            message += "; what was there is back, and what was written meanwhile is in " + ", ".join(meanwhile)
    except OSError:
        message += f"; what was there is in {old}, and could not be moved back"
        if meanwhile:
            message += ", and what was written meanwhile is in " + ", ".join(meanwhile)
        moved = f"mv {shlex.quote(old)} {shlex.quote(target)}"
        fix = f"end the agents that run, move {target} away if it is there, then: {moved}"
    return Failure(error.code, message, fix, error.exit_code)


def _move_back(old: str, target: str, meanwhile: list[str]) -> None:
    """Move the old home to its place again, and homes that were made there meanwhile aside.

    Raises:
        OSError: it stays where it is.
    """
    for last in (*[False] * (_TRIES - 1), True):
        if os.path.isdir(target) and os.listdir(target):
            free = _free_name(target)
            os.rename(target, free)
            meanwhile.append(free)
        try:
            os.rename(old, target)
            return
        except OSError:
            if last:
                raise


def _damaged(what: str) -> Failure:
    return Failure("BACKUP_DAMAGED", f"the backup is damaged: {what}", "take another one; nothing was changed")


def _failure(target: str, error: OSError) -> Failure:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Failure("RESTORE_FULL", f"the disk of {target} is full", "free some space; nothing was changed")
    return Failure(
        "RESTORE_UNWRITABLE",
        f"{error.filename or target}: {error.strerror or error}",
        "name another folder with --into; nothing was changed",
    )
