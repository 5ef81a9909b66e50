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

from core import clock, files, home_files
from core.errors import Failure
from core.store import migrations
from core.store.upkeep import backup, completeness
from session.backup import archive

_GZIP = b"\x1f\x8b"
_MOST_FILES = 200_000
_MOST_BYTES = 1 << 30
"""Of a member that is not the store: a session's state has at most a megabyte, a day's log rarely more."""
_ROOM = 1 << 20
"""What a member may take besides its content: a long name, say."""
_CHUNK = 1 << 18
_UNREADABLE = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError, LookupError, RecursionError)
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
    source, target = os.path.realpath(file), os.path.realpath(into)
    if not verify_only:
        _check_place(target, file, force=force)
    beside = source if verify_only else target
    aside: list[str] = []
    try:
        files.private_folder(os.path.dirname(beside))
        archive.sweep(beside)
        staging = f"{beside}.restoring.{os.getpid()}.{time.monotonic_ns()}.tmp"
        os.mkdir(staging, 0o700)
        try:
            manifest = _lay_out(file, staging)
            counts = _examined(staging, manifest)
            archive.note(staging, source, str(manifest["createdAt"]), archive.known(target))
            if not verify_only:
                aside = _put(staging, target, force=force)
        finally:
            if os.path.isdir(staging):
                archive.remove(staging)
    except OSError as error:
        raise _failure(target, error) from None
    return {
        "file": source,
        "verified": True,
        "restored": not verify_only,
        "home": None if verify_only else target,
        "keptAside": aside,
        "createdAt": str(manifest["createdAt"]),
        "joelclaw": str(manifest["joelclaw"]),
        "schema": manifest["schema"],
        "files": len(manifest["members"]),
        "counts": archive.counted(counts),
    }


def _check_place(target: str, file: str, *, force: bool) -> None:
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise Failure("RESTORE_NOT_EMPTY", f"{target} is no folder", "name a folder, or one that is not there yet")
    names = sorted(os.listdir(target))
    foreign = [name for name in names if not home_files.is_in_homes(name)]
    if foreign:
        shown = ", ".join(foreign[:_NAMES_SHOWN]) + (" and more" if len(foreign) > _NAMES_SHOWN else "")
        raise Failure(
            "RESTORE_MIXED",
            f"{target} holds other things too: {shown}",
            f"restore into a folder of its own: joelclaw restore {shlex.quote(file)} --into FOLDER",
        )
    into = "" if target == os.path.realpath(files.home()) else f" --into {shlex.quote(target)}"
    if names and not force:
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
    """Write the members into a folder, and compare each with the manifest, which is returned."""
    found: dict[str, tuple[int, str]] = {}
    manifest: object = None
    with open(file, "rb") as opened:
        is_packed = opened.read(2) == _GZIP
        opened.seek(0)
        bounded = _Bounded(gzip.GzipFile(fileobj=opened) if is_packed else opened)  # type: ignore[arg-type]  # reads alike
        try:
            with tarfile.open(fileobj=bounded, mode="r|", bufsize=tarfile.BLOCKSIZE * 8) as tar:  # type: ignore[call-overload]  # it only reads
                while (about := tar.next()) is not None:
                    name, most = about.name, 1 << 50 if about.name == archive.STORE else _MOST_BYTES
                    has_place = manifest is None and name not in found and len(found) <= _MOST_FILES
                    is_known = name == archive.MANIFEST or archive.is_kept(name)
                    content = tar.extractfile(about) if about.isreg() else None
                    if content is None or not has_place or not is_known or about.size > most:
                        raise _damaged(f"{name[:200]!r} has no place in it")
                    bounded.left += about.size
                    if name == archive.MANIFEST:
                        manifest = json.loads(content.read().decode())
                    else:
                        found[name] = _copied(content, os.path.join(folder, name), about.size)
                        bounded.left = _ROOM
        except _UNREADABLE as error:
            raise _damaged(f"{error}"[:200] or type(error).__name__) from None
    return _checked(manifest, found)


def _copied(content: IO[bytes], path: str, size: int) -> tuple[int, str]:
    """Write a member to its file; returns its length and hash."""
    digest, length = hashlib.sha256(), 0
    room = os.statvfs(files.private_folder(os.path.dirname(path)))
    if size > room.f_bavail * room.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while data := content.read(_CHUNK):
            digest.update(data)
            length += file.write(data)
        file.flush()
        os.fsync(descriptor)
    return length, digest.hexdigest()


def _checked(manifest: object, found: dict[str, tuple[int, str]]) -> dict[str, Any]:
    if manifest is None:
        raise _damaged("its end is missing")
    upgrade = "upgrade joelclaw, then restore; nothing was changed"
    kind = manifest.get("format") if isinstance(manifest, dict) else None
    if isinstance(kind, int) and kind > archive.FORMAT:
        known = archive.FORMAT
        raise Failure("BACKUP_TOO_NEW", f"the backup has format {kind}; this joelclaw knows {known}", upgrade)
    if not isinstance(manifest, dict) or kind != archive.FORMAT or not isinstance(manifest.get("schema"), int):
        raise _damaged("its manifest is none")
    try:
        listed = {str(one["name"]): (one["bytes"], one["sha256"]) for one in manifest["members"]}
        schema, _, _, _ = (manifest[name] for name in ("schema", "createdAt", "joelclaw", "counts"))
    except (KeyError, TypeError):
        raise _damaged("its manifest is none") from None
    if schema > len(migrations.STEPS):
        known = len(migrations.STEPS)
        raise Failure("STORE_TOO_NEW", f"the backup has schema {schema}; this joelclaw knows {known}", upgrade)
    wrong = sorted(name for name in {*listed, *found} if listed.get(name) != found.get(name))
    if wrong:
        raise _damaged(f"{wrong[0][:200]!r} is not what the manifest says")
    return manifest


def _examined(folder: str, manifest: dict[str, Any]) -> dict[str, int]:
    """Look at the store; where it is sound, lay the signs of a whole one beside it. Returns its counts."""
    store = os.path.join(folder, archive.STORE)
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
    if not force and os.path.isdir(target) and os.listdir(target):
        raise Failure("RESTORE_NOT_EMPTY", f"{target} was made meanwhile", "run it again with --force")
    try:
        _move(staging, target, aside)
    except (OSError, Failure) as error:
        if not aside:
            raise
        raise _moved_back(_failure(target, error) if isinstance(error, OSError) else error, aside, target) from None
    archive.sync_folder(os.path.dirname(target))
    return aside


def _move(source: str, target: str, aside: list[str]) -> None:
    """Move a home to its place, and those that are there, or are made there meanwhile, aside."""
    for _ in range(_TRIES):
        if os.path.isdir(target) and os.listdir(target):
            free = f"{target}.before-restore-{clock.now_ms()}"
            while os.path.lexists(free):
                free += "-2"
            os.rename(target, free)
            aside.append(free)
        try:
            os.rename(source, target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    raise Failure("RESTORE_BUSY", f"{target} is written again and again", "end the agents that run, and try again")


def _moved_back(error: Failure, aside: list[str], target: str) -> Failure:
    """The same failure, after the old home was moved back; its message names every folder that is left beside it."""
    old, *meanwhile = aside
    message, fix = error.message, error.fix
    try:
        _move(old, target, meanwhile)
        message += "; what was there is back" if meanwhile else ""
    except (OSError, Failure):
        message += f"; what was there is in {old}, and could not be moved back"
        moved = f"mv {shlex.quote(old)} {shlex.quote(target)}"
        fix = f"end the agents that run, move {target} away if it is there, then: {moved}"
    if meanwhile:
        message += ", and what was written meanwhile is in " + ", ".join(meanwhile)
    return Failure(error.code, message, fix, error.exit_code)


def _damaged(what: str) -> Failure:
    return Failure("BACKUP_DAMAGED", f"the backup is damaged: {what}", "take another one; nothing was changed")


def _failure(target: str, error: OSError) -> Failure:
    return archive.failure("RESTORE", target, error, "name another folder with --into; nothing was changed")
