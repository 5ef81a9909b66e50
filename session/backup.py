"""Backup and restore: one tar file with a copy of the store, the small files of the home, and a manifest of them."""

import gzip
import io
import json
import os
import shlex
import shutil
import tarfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from core import VERSION, clock, files
from core.errors import Failure, reported, usage
from core.project import is_below
from core.store import sqlite, store_file

FORMAT = 1
MANIFEST = "manifest.json"
STORE = files.STORE


def write(target: str, *, force: bool) -> dict[str, Any]:
    """Write a backup of the home to a file with mode 0600, completely or not at all; returns facts about it."""
    home = os.path.realpath(files.home())
    path = os.path.realpath(target)
    folder = os.path.dirname(path)
    if is_below(path, home):
        raise Failure("BACKUP_IN_HOME", f"{path} is in {home} and would be lost with it", "name a file outside it")
    if not os.path.isdir(folder):
        raise Failure("BACKUP_NO_FOLDER", f"there is no folder {folder}", "create the folder, or name another file")
    if os.path.exists(path) and not (force and os.path.isfile(path)):
        fix = "name another file" + (", or overwrite it with --force" if os.path.isfile(path) else "")
        raise Failure("BACKUP_EXISTS", f"{path} already exists", fix)
    if not os.path.exists(sqlite.path()) and not any(_members(home)):
        raise Failure("BACKUP_EMPTY", f"{home} is empty", "set JOELCLAW_HOME if your memory is elsewhere")
    if lost := sqlite.lost_store(sqlite.open_reading()):
        raise lost
    with reported("BACKUP", path), _work_folder(path, "backup") as work:
        written = os.path.join(work, "tar")
        manifest, memories = _write_tar(home, written, os.path.join(work, STORE))
        size = os.stat(written).st_size
        os.replace(written, path)
    about = {"file": path, "bytes": size, "files": len(manifest["members"])}
    about |= {name: manifest[name] for name in ("joelclaw", "schema", "createdAt")}
    return {**about, "counts": _shown_counts(manifest["counts"], memories)}


def restore(file: str, into: str, *, force: bool, verify_only: bool) -> dict[str, Any]:
    """Verify a backup and put it in place of the home `into`, which is moved aside; returns the manifest's facts."""
    if not os.path.isfile(file):
        raise usage("RESTORE_NO_FILE", f"there is no file {file}", "name a file that `joelclaw backup` wrote")
    source = os.path.realpath(file)
    target = os.path.realpath(into)
    aside: list[str] = []
    memories = 0
    with reported("RESTORE", target), _work_folder(source if verify_only else target, "restoring") as work:
        manifest = _unpack(file, work)
        store = os.path.join(work, STORE)
        if os.path.exists(store):
            _, counts, memories = store_file.examine(store)
            if counts != manifest["counts"]:
                raise _damaged("its store does not match the manifest")
            store_file.set_wal(store)
        if not verify_only:
            _check_target(target, file, force=force)
            os.sync()
            aside = _replace(work, target)
    return {
        "file": source, "verified": True, "restored": not verify_only, "home": None if verify_only else target,
        "keptAside": aside, **{name: manifest[name] for name in ("createdAt", "joelclaw", "schema")},
        "files": len(manifest["members"]), "counts": _shown_counts(manifest["counts"], memories),
    }  # fmt: skip


def is_kept(name: str) -> bool:
    """Whether a backup may hold a file with this name in the home (its parts joined by `/`)."""
    parts = name.split("/")
    left_out = ("cache", "backups.json")  # the latter was written by 0.2.0
    if name in (STORE, "outbox.lock"):  # the lock is empty, and says that this memory has a cluster
        return True
    if not all(part not in ("", ".", "..") and part.isprintable() for part in parts):
        return False
    if not files.is_in_homes(parts[0]) or parts[0] in left_out or parts[0].startswith(STORE):
        return False
    is_momentary = parts[-1].endswith((".lock", ".tmp")) or ".locks" in parts
    return not is_momentary and (".work" not in parts or "observe-waiting" in parts)


@contextmanager
def _work_folder(path: str, kind: str) -> Iterator[str]:
    """A temporary folder next to `path`."""
    files.private_folder(os.path.dirname(path))
    folder = files.private_folder(f"{path}.{kind}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_tar(home: str, path: str, store: str) -> tuple[dict[str, Any], int]:
    """Write the backup of a home; returns its manifest and the number of memories. `store`: for a copy of the store."""
    members: list[dict[str, Any]] = []
    schema = memories = 0
    counts: dict[str, int] = {}
    with _new_file(path) as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as tar:
            for name in _members(home):
                path = os.path.join(home, name)
                with suppress(FileNotFoundError):  # a session was cleared meanwhile, or the spool emptied
                    data, changed = files.read_file(path), os.stat(path).st_mtime
                    members.append(_add(tar, name, io.BytesIO(data), changed))
            if store_file.copy(store):
                schema, counts, memories = store_file.examine(store)
                with open(store, "rb") as member:
                    members.append(_add(tar, STORE, member))
            manifest = {"format": FORMAT, "joelclaw": VERSION, "schema": schema, "createdAt": clock.iso(clock.now_ms())}
            manifest |= {"counts": counts, "members": members}
            _add(tar, MANIFEST, io.BytesIO(json.dumps(manifest).encode()))
        file.flush()
        os.fsync(file.fileno())
    return manifest, memories


def _new_file(path: str) -> IO[bytes]:
    file = open(path, "xb")
    os.fchmod(file.fileno(), 0o600)
    return file


def _add(tar: tarfile.TarFile, name: str, file: IO[bytes], changed: float = 0) -> dict[str, Any]:
    member = tarfile.TarInfo(name)
    member.size = file.seek(0, os.SEEK_END)
    member.mode = 0o600
    member.mtime = changed  # in s; that of a state says when the session was active
    file.seek(0)
    tar.addfile(member, file)
    return {"name": name, "bytes": member.size}


def _members(home: str) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise error

    for path in files.entries(home, fail if os.path.isdir(home) else None):
        name = os.path.relpath(path, home)
        if is_kept(name) and name != STORE and os.path.isfile(path) and not os.path.islink(path):
            yield name


def _unpack(file: str, folder: str) -> dict[str, Any]:
    """Unpack a backup into an empty folder, and compare it with its manifest, which is returned."""
    unpacked: dict[str, int] = {}
    manifest: Any = None
    try:
        with gzip.open(file) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for member in tar:
                name = member.name
                content = tar.extractfile(member) if member.isreg() else None
                is_known = name == MANIFEST or is_kept(name)
                is_too_large = member.size > 1 << 30 and name != STORE  # a state has at most a megabyte
                if content is None or manifest is not None or name in unpacked or not is_known or is_too_large:
                    raise _damaged(f"{name[:200]!r} does not belong in it")
                if name == MANIFEST:
                    manifest = json.loads(content.read().decode())
                    continue
                path = os.path.join(folder, name)
                files.private_folder(os.path.dirname(path))
                with _new_file(path) as target:
                    shutil.copyfileobj(content, target, 1 << 18)
                os.utime(path, (member.mtime, member.mtime))
                unpacked[name] = member.size
            while stream.read(1 << 18):  # gzip's checksum is at the end
                pass
        for code, name, newest in (("BACKUP_TOO_NEW", "format", FORMAT), ("STORE_TOO_NEW", "schema", sqlite.SCHEMA)):
            if int(manifest[name]) > newest:
                message = f"the backup has {name} {manifest[name]}; this joelclaw knows {newest}"
                raise Failure(code, message, "upgrade joelclaw, then restore; nothing was changed")
        listed = {str(member["name"]): member["bytes"] for member in manifest["members"]}
        needed = ("createdAt", "joelclaw", "schema", "counts", "members")
        checked: dict[str, Any] = {name: manifest[name] for name in needed}
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(f"{error}"[:200] or type(error).__name__) from None
    except (ValueError, LookupError, TypeError, RecursionError):
        raise _damaged("its contents are malformed") from None
    if listed != unpacked:
        wrong = min(name for name in {*listed, *unpacked} if listed.get(name) != unpacked.get(name))
        raise _damaged(f"{wrong[:200]!r} does not match the manifest")
    return checked


def _check_target(target: str, file: str, *, force: bool) -> None:
    """Raise Failure if the target is not a home, or holds a memory and may not be replaced."""
    if not os.path.lexists(target):
        return
    names = sorted(os.listdir(target))
    again = f"joelclaw restore {shlex.quote(file)}"
    if foreign := [name for name in names if not files.is_in_homes(name)]:
        fix = f"restore into a separate folder: {again} --into FOLDER"
        raise Failure("RESTORE_MIXED", f"{target} also holds other files: {', '.join(foreign[:5])}", fix)
    if names and not force:
        into = "" if target == os.path.realpath(files.home()) else f" --into {shlex.quote(target)}"
        fix = f"to replace it with the backup and set it aside: {again}{into} --force"
        raise Failure("RESTORE_NOT_EMPTY", f"{target} already holds a memory", fix)


def _replace(staging: str, target: str) -> list[str]:
    """Move the restored folder in place of the home; returns the path of the old home, if there was any."""
    aside = ""
    if os.path.isdir(target) and os.listdir(target):
        aside = f"{target}.before-restore-{clock.now_ms()}"
        os.rename(target, aside)
    try:
        os.rename(staging, target)
    except OSError as error:  # a hook has made a home there in the meantime
        fix = f"stop the running agents, move {aside or target} back to {target}, and run this again"
        raise Failure("RESTORE_BUSY", f"{target} cannot be replaced: {error.strerror}", fix) from None
    return [aside] if aside else []


def _shown_counts(rows: dict[str, int], memories: int) -> dict[str, int]:
    shown = {"document": "memories", "event": "events", "session": "sessions", "call": "toolCalls"}
    return {name: memories if table == "document" else rows[table] for table, name in shown.items() if table in rows}


def _damaged(what: str) -> Failure:
    return Failure("BACKUP_DAMAGED", f"the backup is damaged: {what}", "use another backup; nothing was changed")
