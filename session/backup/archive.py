"""One file that holds a home: a tar with the store, the states, the settings, and a manifest with the hash of each."""

import errno
import gzip
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import tarfile
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from glob import escape, glob
from typing import IO, Any

from core import VERSION, clock, files, home_files, json_text
from core.errors import Failure
from core.store import migrations, sqlite, store_file

FORMAT = 1
MANIFEST = "manifest.json"
STORE = files.STORE
BACKUPS = "backups.json"
_ABOUT = ("createdAt", "joelclaw", "schema", "counts")
_LEFT_OUT = frozenset({"cache", "acknowledged", BACKUPS})  # "acknowledged": written by 0.2.0
_WORK = ".work"
_COUNTED = {"document": "memories", "event": "events", "session": "sessions", "call": "toolCalls"}
_MOST_KNOWN = 20
_MOST_BYTES = 1 << 30  # of a member that is not the store: a state has at most a megabyte, a day's log rarely more
_ROOM = 1 << 20  # what a member may take besides its content: a long name, say
_UNREADABLE = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError, LookupError, RecursionError)
_TRIES = 5
_LONGEST_S = 3600
"""No backup or restore takes so long: the number of its process is another one's by then."""


def write(target: str, *, force: bool) -> dict[str, Any]:
    """Write a backup of the home to a file, mode 0600; it is there whole or not at all. Returns what it holds."""
    home, path = os.path.realpath(files.home()), os.path.realpath(target)
    folder = os.path.dirname(path)
    if home_files.is_in_home(path, files.home()):
        raise Failure("BACKUP_IN_HOME", f"{path} is in {home} and would be lost with it", "name a file outside it")
    if not os.path.isdir(folder):
        raise Failure("BACKUP_NO_FOLDER", f"there is no folder {folder}", "create the folder, or name another file")
    if os.path.lexists(path) and not (force and os.path.isfile(path)):
        raise Failure("BACKUP_EXISTS", f"{path} already exists", "name another file, or overwrite it with --force")
    if not os.path.exists(sqlite.path()) and not any(_members(home)):
        raise Failure("BACKUP_EMPTY", f"{home} is empty", "set JOELCLAW_HOME if your memory is elsewhere")
    sweep(path)
    stamp = f"{os.getpid()}.{time.monotonic_ns()}.tmp"
    temporary, copied = f"{path}.{stamp}", f"{path}.store.{stamp}"
    try:
        manifest = _write(home, temporary, copied)
        size = os.stat(temporary).st_size
        os.replace(temporary, path)
        _sync_folder(folder)
    except OSError as error:
        raise _failure("BACKUP", path, error, "name another file; nothing was left") from None
    finally:
        for left in (temporary, copied):
            _remove(left)
    note(home, path, manifest["createdAt"], known())
    about = {"file": path, "bytes": size, "files": len(manifest["members"])}
    return {**about, **manifest, "counts": _told(manifest["counts"])}


def _write(home: str, temporary: str, copied: str) -> dict[str, Any]:
    listed: list[dict[str, Any]] = []
    examined = None
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as tar:
            for name in _members(home):
                try:
                    with open(os.path.join(home, name), "rb") as one:
                        data = one.read()
                except FileNotFoundError:  # a session was cleared meanwhile, or the spool emptied
                    continue
                listed.append(_add(tar, name, io.BytesIO(data)))
            if store_file.copy(copied):
                examined = store_file.examine(copied)
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
    for path in home_files.entries(home, _raise if os.path.isdir(home) else None):
        name = os.path.relpath(path, home)
        if is_kept(name) and name != STORE and os.path.isfile(path) and not os.path.islink(path):
            yield name


def _raise(error: OSError) -> None:
    raise error


def is_kept(name: str) -> bool:
    """Whether a backup holds a file of this name, its parts joined by `/`: also what a restored one may be called."""
    parts = name.split("/")
    first, last = parts[0], parts[-1]
    if name in (STORE, "outbox.lock"):  # the lock is empty; its being there says that this memory has a cluster
        return True
    if not all(part not in ("", ".", "..") and part.isprintable() for part in parts):
        return False
    if not home_files.is_in_homes(first) or first in _LEFT_OUT or first.startswith(STORE):
        return False
    is_of_the_moment = last.endswith((".lock", ".tmp")) or ".locks" in parts
    # of the folders below `.work` only one holds no locks: sessions that are still to be observed
    return not is_of_the_moment and (_WORK not in parts or "observe-waiting" in parts)


def _told(counts: dict[str, int]) -> dict[str, int]:
    return {told: counts[table] for table, told in _COUNTED.items() if table in counts}


def leftovers(path: str = "", *, over: bool = True) -> list[str]:
    """What killed backups and restores left beside a file or a home, by default this home and its known backups;
    `over` False: what others write now."""
    places = [path] if path else [os.path.realpath(files.home()), *(one["file"] for one in known())]
    beside = [(place, one) for place in places for one in sorted(glob(escape(place) + ".*.tmp"))]
    named = r"\.(?:store\.|restoring\.)?(\d+)\.\d+\.tmp"
    found = ((one, re.fullmatch(named, one.removeprefix(place))) for place, one in beside)
    return [one for one, writer in found if writer and _is_over(int(writer[1]), one) == over]


def _is_over(writer: int, path: str) -> bool:
    try:
        if time.time() - os.path.getmtime(path) < _LONGEST_S:
            os.kill(writer, 0)
            return False
    except PermissionError:  # it runs, as somebody else
        return False
    except (OSError, OverflowError):
        pass
    return True


def sweep(path: str = "") -> int:
    """Remove `leftovers`; returns how many."""
    found = leftovers(path)
    for one in found:
        _remove(one)
    return len(found)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)


def known(home: str = "") -> list[dict[str, Any]]:
    """Where backups of a home (default: this one) were written, the last one last: path and time of each."""
    try:
        with open(os.path.join(home or files.home(), BACKUPS), "rb") as file:
            kept = json_text.loads(file.read())
        return [{"file": str(one["file"]), "at": str(one["at"])} for one in kept]
    except (OSError, json_text.InvalidJSON, TypeError, KeyError):
        return []


def newest_readable() -> dict[str, Any] | None:
    """The last known backup of this home that is still there and begins as one; it is not verified."""
    for one in sorted(known(), key=lambda one: str(one["at"]), reverse=True):
        with suppress(*_UNREADABLE, OSError), tarfile.open(one["file"], "r:gz") as tar:
            if (first := tar.next()) is not None and (first.name == MANIFEST or is_kept(first.name)):
                return one
    return None


def lost_store() -> Failure | None:
    """STORE_LOST, with the ways to recover, if this home has session files but its store is missing or empty."""
    if not files.is_store_lost():
        return None
    again = "`joelclaw memory archive --all` archives the transcripts that the clients still have"
    newest = newest_readable()
    if newest is None:
        fix = f"no readable backup is known; {again}. Memories written by hand, observed or imported, and feedback come"
        fix += " back only from a backup of your own: `joelclaw restore FILE --force`"
    else:
        fix = f"`joelclaw restore {shlex.quote(newest['file'])} --force` restores the state of {newest['at']}"
        fix += f" (the current data is set aside); then {again}"
    return Failure("STORE_LOST", f"{sqlite.path()} is missing or empty, but this home has sessions", fix)


def note(home: str, path: str, at: str, before: list[dict[str, Any]]) -> None:
    """Keep, in a home, where a backup of it is, besides those of before: a purge tells of them."""
    kept = [*(one for one in before if one["file"] != path), {"file": path, "at": at}]
    with suppress(OSError):  # a home that is only read was backed up all the same
        files.write_whole(os.path.join(home, BACKUPS), json_text.dumps(kept[-_MOST_KNOWN:]).encode())


def _sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    with suppress(OSError):  # a file system without such a thing
        os.fsync(descriptor)
    os.close(descriptor)


def _failure(code: str, path: str, error: OSError, fix: str) -> Failure:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Failure(f"{code}_FULL", f"the disk of {path} is full", f"free some space on it, or {fix}")
    return Failure(f"{code}_UNWRITABLE", f"{error.filename or path}: {error.strerror or error}", fix)


def restore(file: str, into: str, *, force: bool, verify_only: bool) -> dict[str, Any]:
    """Verify a backup, and put it where `into` is; what is there is kept aside. Returns what was done."""
    if not os.path.isfile(file):
        raise Failure("RESTORE_NO_FILE", f"there is no file {file}", "name a file that `joelclaw backup` wrote")
    source, target = os.path.realpath(file), os.path.realpath(into)
    if not verify_only:
        _check_place(target, file, force=force)
    beside = source if verify_only else target
    aside: list[str] = []
    try:
        files.private_folder(os.path.dirname(beside))
        sweep(beside)
        staging = f"{beside}.restoring.{os.getpid()}.{time.monotonic_ns()}.tmp"
        os.mkdir(staging, 0o700)
        try:
            manifest = _lay_out(file, staging)
            store = os.path.join(staging, STORE)
            if os.path.exists(store):
                examined = store_file.examine(store)
                if examined.counts != manifest["counts"]:
                    raise _damaged("its store does not match the manifest")
            note(staging, source, str(manifest["createdAt"]), known(target))
            if not verify_only:
                aside = _put(staging, target)
        finally:
            _remove(staging)
    except OSError as error:
        raise _not_restored(target, error) from None
    return {
        "file": source,
        "verified": True,
        "restored": not verify_only,
        "home": None if verify_only else target,
        "keptAside": aside,
        **{name: manifest[name] for name in _ABOUT},
        "files": len(manifest["members"]),
        "counts": _told(manifest["counts"]),
    }


def _check_place(target: str, file: str, *, force: bool) -> None:
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise Failure("RESTORE_NOT_EMPTY", f"{target} is not a folder", "name a folder, or one that does not exist yet")
    names = sorted(os.listdir(target))
    again = f"joelclaw restore {shlex.quote(file)}"
    if foreign := [name for name in names if not home_files.is_in_homes(name)]:
        fix = f"restore into a separate folder: {again} --into FOLDER"
        raise Failure("RESTORE_MIXED", f"{target} also holds other files: {', '.join(foreign[:5])}", fix)
    if names and not force:
        into = "" if target == os.path.realpath(files.home()) else f" --into {shlex.quote(target)}"
        fix = f"to replace it with the backup and set it aside: {again}{into} --force"
        raise Failure("RESTORE_NOT_EMPTY", f"{target} already holds a memory", fix)


class _Bounded:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.left = _ROOM

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise tarfile.ReadError("a member claims to be longer than the limit")
        return data


def _lay_out(file: str, folder: str) -> dict[str, Any]:
    found: dict[str, tuple[int, str]] = {}
    manifest: object = None
    with open(file, "rb") as opened:
        bounded = _Bounded(gzip.GzipFile(fileobj=opened))  # type: ignore[arg-type]  # reads alike
        try:
            with tarfile.open(fileobj=bounded, mode="r|", bufsize=tarfile.BLOCKSIZE * 8) as tar:  # type: ignore[call-overload]  # it only reads
                while (about := tar.next()) is not None:
                    name, most = about.name, 1 << 50 if about.name == STORE else _MOST_BYTES
                    has_place = manifest is None and name not in found
                    content = tar.extractfile(about) if about.isreg() else None
                    is_known = name == MANIFEST or is_kept(name)
                    if content is None or not has_place or not is_known or about.size > most:
                        raise _damaged(f"{name[:200]!r} does not belong in it")
                    bounded.left += about.size
                    if name == MANIFEST:
                        manifest = json.loads(content.read().decode())
                    else:
                        found[name] = _copied(content, os.path.join(folder, name))
                        bounded.left = _ROOM
        except _UNREADABLE as error:
            raise _damaged(f"{error}"[:200] or type(error).__name__) from None
    return _checked(manifest, found)


def _copied(content: IO[bytes], path: str) -> tuple[int, str]:
    digest, length = hashlib.sha256(), 0
    files.private_folder(os.path.dirname(path))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while data := content.read(1 << 18):
            digest.update(data)
            length += file.write(data)
        file.flush()
        os.fsync(descriptor)
    return length, digest.hexdigest()


def _checked(manifest: Any, found: dict[str, tuple[int, str]]) -> dict[str, Any]:
    known = (("BACKUP_TOO_NEW", "format", FORMAT), ("STORE_TOO_NEW", "schema", len(migrations.STEPS)))
    try:
        for code, what, newest in known:
            if int(manifest[what]) > newest:
                fix = "upgrade joelclaw, then restore; nothing was changed"
                raise Failure(code, f"the backup has {what} {manifest[what]}; this joelclaw knows {newest}", fix)
        listed = {str(one["name"]): (one["bytes"], one["sha256"]) for one in manifest["members"]}
        checked: dict[str, Any] = {name: manifest[name] for name in (*_ABOUT, "members")}
    except (KeyError, TypeError, ValueError):
        raise _damaged("its manifest is unreadable or its end is missing") from None
    wrong = sorted(name for name in {*listed, *found} if listed.get(name) != found.get(name))
    if wrong:
        raise _damaged(f"{wrong[0][:200]!r} does not match the manifest")
    return checked


def _put(staging: str, target: str) -> list[str]:
    """Move the folder in place of the home; returns where the homes are that were there or that a hook made."""
    aside: list[str] = []
    try:
        _move(staging, target, aside)
    except (OSError, Failure) as error:
        if not aside:
            raise
        failure = _not_restored(target, error) if isinstance(error, OSError) else error
        old, *meanwhile = aside
        message, fix = failure.message, failure.fix
        try:
            _move(old, target, meanwhile)
        except (OSError, Failure):
            message += f"; what was there is in {old}, and could not be moved back"
            fix = f"stop the running agents, then: mv {shlex.quote(old)} {shlex.quote(target)}"
        if meanwhile:
            message += "; what was written in the meantime is in " + ", ".join(meanwhile)
        raise Failure(failure.code, message, fix, failure.exit_code) from None
    _sync_folder(os.path.dirname(target))
    return aside


def _move(source: str, target: str, aside: list[str]) -> None:
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
    raise Failure("RESTORE_BUSY", f"{target} keeps being written to", "stop the running agents and try again")


def _damaged(what: str) -> Failure:
    return Failure("BACKUP_DAMAGED", f"the backup is damaged: {what}", "use another backup; nothing was changed")


def _not_restored(target: str, error: OSError) -> Failure:
    return _failure("RESTORE", target, error, "name another folder with --into; nothing was changed")
