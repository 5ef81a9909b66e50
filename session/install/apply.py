"""Writing what was planned: under a lock, with a backup, by rename."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from core import files, home_files
from core.errors import Failure
from session import own_command
from session.install import undo
from session.install.plan import CODE, Plan, read

_LOCK_WAIT_S = 20.0


@contextmanager
def locked() -> Iterator[None]:
    """One installation at a time."""
    try:
        with files.FileLock(os.path.join(files.home(), "install.lock"), _LOCK_WAIT_S):
            yield
    except files.LockTimeout:
        raise Failure("INSTALL_BUSY", "another installation is running", "wait for it and run this again") from None
    except OSError as error:
        raise _failure(files.home(), error) from None


def carry_out(plans: Sequence[Plan], changed: list[str]) -> dict[str, str | None]:
    """Write, or delete, the files of plans, and add them to `changed`; returns by path the backup, None without one."""
    made = {}
    for plan in plans:
        try:
            made[plan.path] = _carry_out(plan)
        except Failure as failure:
            if not changed:
                raise
            fix = failure.fix.replace("; nothing was changed", "")
            about = f"{failure.message}; changed before it: {', '.join(changed)}"
            raise Failure(failure.code, about, fix) from None
        if plan.changed:
            changed.append(plan.path)
    return made


def _carry_out(plan: Plan) -> str | None:
    backup, made = None, list[str]()
    if plan.changed:
        if read(plan.target) != plan.before:
            raise Failure("INSTALL_CHANGED", f"{plan.path} has changed in the meantime", "run this again")
        try:
            if plan.before is not None and plan.backs_up:
                backup = undo.back_up(plan.path, plan.target, plan.before)
            if plan.after is not None:
                _write(plan, plan.after, made)
            else:
                os.unlink(plan.target)
                around = os.path.dirname(plan.target)
                named = (around,) if os.path.basename(around) == own_command.NAME else ()  # ours, whether noted or not
                with suppress(OSError):  # only empty ones go
                    for folder in reversed((plan.receipt.folders if plan.receipt else ()) or named):
                        os.rmdir(folder)
        except OSError as error:
            if backup:
                os.unlink(backup)
            for folder in reversed(made):
                os.rmdir(folder)
            raise _failure(plan.path, error) from None
        undo.thin(plan.path)
    if plan.kept is None:
        undo.forget(plan.path)
    return backup


def _write(plan: Plan, data: bytes, made: list[str]) -> None:
    """Another file in the place of the old one, of its mode and owner; folders that it needs are added to `made`."""
    folder, missing = os.path.dirname(plan.target), list[str]()
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        os.mkdir(folder, 0o777 if plan.project else 0o700)
        made.append(folder)
    if plan.kept is not None:  # first: without it a removal would know less
        before = plan.receipt.folders if plan.receipt and plan.kept.created else ()
        replace(plan.kept, folders=(*before, *made)).save()
    old = None if plan.before is None else os.stat(plan.target)
    home_files.sweep_beside(plan.target)
    temporary = f"{plan.target}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    undo.create(temporary, data, old.st_mode & 0o7777 if old else None if plan.project else 0o600)
    try:
        if old and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):
                os.chown(temporary, old.st_uid, old.st_gid)
        os.replace(temporary, plan.target)
    except OSError:
        os.unlink(temporary)
        raise


def _failure(path: str, error: OSError) -> Failure:
    where = error.filename or path
    fix = f"make {os.path.dirname(str(where)) or where} writable and run this again; nothing was changed"
    return Failure(CODE, f"{path} cannot be written: {error.strerror or error}", fix)
