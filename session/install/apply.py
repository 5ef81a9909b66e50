"""Writing what was planned: under a lock, with a backup, by rename."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from core import files
from core.errors import Failure
from session import own_command
from session.install import backups
from session.install.plan import CODE, Plan, read
from session.install.receipt import Receipt

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK_WAIT_S = 20.0


@contextmanager
def locked() -> Iterator[None]:
    """One installation at a time.

    Raises:
        Failure: INSTALL_BUSY, another one takes longer than 20 s; INSTALL_FAILED, our folder cannot be written.
    """
    lock = files.FileLock(os.path.join(files.home(), "install.lock"), _LOCK_WAIT_S)
    try:
        lock.__enter__()
    except files.LockTimeout:
        raise Failure("INSTALL_BUSY", "another installation is going on", "wait for it and run this again") from None
    except OSError as error:
        raise _failure(files.home(), error) from None
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def carry_out(plan: Plan) -> str | None:
    """Write, or delete, the file of a plan; returns the path of the backup, if one was needed.

    Raises:
        Failure: INSTALL_CHANGED, somebody wrote the file meanwhile; INSTALL_FAILED, it cannot be written. Then nothing
            was changed.
    """
    if not plan.changed:
        if plan.receipt is None:
            Receipt.forget(plan.path)
        return None
    if read(plan.target) != plan.before:
        raise Failure("INSTALL_CHANGED", f"{plan.path} was changed meanwhile", "run this again")
    try:
        return _delete(plan) if plan.after is None else _write(plan, plan.after)
    except OSError as error:
        raise _failure(plan.path, error) from None


def carry_out_after(plan: Plan, changed: list[str]) -> str | None:
    """As `carry_out`, for one of several plans: a failure names the files that were changed before it.

    Args:
        changed: those; this plan's is added.
    """
    try:
        backup = carry_out(plan)
    except Failure as failure:
        if not changed:
            raise
        fix = failure.fix.replace("; nothing was changed", "")
        raise Failure(failure.code, f"{failure.message}; changed before it: {', '.join(changed)}", fix) from None
    if plan.changed:
        changed.append(plan.path)
    return backup


def _write(plan: Plan, data: bytes) -> str | None:
    before = Receipt.load(plan.path)
    made = _folders(os.path.dirname(plan.target), shared=plan.project)
    backup = None
    try:
        backup = None if plan.before is None or plan.untouched else backups.make(plan.path, plan.target, plan.before)
        if plan.receipt is not None:  # first: without it a removal would know less
            kept = before.folders if before and plan.receipt.created else ()
            replace(plan.receipt, folders=(*kept, *made)).save()
        _replace(plan, data)
    except OSError:
        if backup:
            os.unlink(backup)
        for folder in reversed(made):
            os.rmdir(folder)
        raise
    if plan.receipt is None:
        Receipt.forget(plan.path)
    backups.thin(plan.path)
    return backup


def _delete(plan: Plan) -> str | None:
    receipt = Receipt.load(plan.path)
    backup = None if plan.before is None or plan.untouched else backups.make(plan.path, plan.target, plan.before)
    os.unlink(plan.target)
    Receipt.forget(plan.path)
    backups.thin(plan.path)
    around = os.path.dirname(plan.target)
    named = (around,) if os.path.basename(around) == own_command.NAME else ()  # ours, whether noted or not
    for folder in reversed((receipt.folders if receipt else ()) or named):
        try:
            os.rmdir(folder)  # only an empty one goes
        except OSError:
            break
    return backup


def _replace(plan: Plan, data: bytes) -> None:
    if plan.before is None:
        mode = 0o666 & ~_umask() if plan.project else 0o600
    else:
        mode = os.stat(plan.target).st_mode & 0o7777
    files.sweep_beside(plan.target)
    temporary = f"{plan.target}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    backups.create(temporary, data, mode)
    try:
        if plan.before is not None:
            _same_owner(plan.target, temporary)
        os.replace(temporary, plan.target)
    except OSError:
        os.unlink(temporary)
        raise


def _same_owner(old: str, new: str) -> None:
    """When root installs for somebody, the file stays theirs."""
    was = os.stat(old)
    if (was.st_uid, was.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.chown(new, was.st_uid, was.st_gid)
        except PermissionError:
            pass


def _folders(path: str, *, shared: bool) -> tuple[str, ...]:
    """Make what is missing of a folder; returns what was made, the outermost first."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    missing.reverse()
    for folder in missing:
        os.mkdir(folder, 0o777 if shared else 0o700)
    return tuple(missing)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _failure(path: str, error: OSError) -> Failure:
    where = error.filename or path
    fix = f"make {os.path.dirname(str(where)) or where} writable and run this again; nothing was changed"
    return Failure(CODE, f"{path} cannot be written: {error.strerror or error}", fix)
