"""What `doctor --fix` mends: what is ours alone, or can be undone. Nothing that holds what somebody said is touched."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from clients import registry
from core import files
from core.errors import Failure
from core.store import sqlite
from core.store.upkeep import integrity
from session.doctor import home
from session.doctor.finding import Finding, warning
from session.install import apply, beside, entered, hook_command, plan

if TYPE_CHECKING:
    from collections.abc import Sequence

ENTRIES = frozenset(
    {entered.GONE, entered.NOT_EXECUTABLE, entered.INTERPRETER_GONE, "HOOKS_REMOVED", "HOOKS_MISSING", "HOOKS_CHANGED"}
) | {"HOOKS_OUTDATED", "HOOK_OTHER_COMMAND", "HOOK_NOT_REACHED", "HOOK_ANSWER_LOST"}
"""What entering our part of a client's settings anew mends; the file as it was is kept beside it."""
_OTHERS = 0o077


def run(findings: Sequence[Finding], clients: Sequence[str], *, project: bool) -> list[Finding]:
    """Mend what can be; returns what was done, as findings that are `ok`, and what could not be done."""
    codes = {(one.code, one.subject) for one in findings}
    entering = {subject for code, subject in codes if code in ENTRIES}
    done = [_enter(name, project=project) for name in clients if name in entering]
    wanted = {code for code, _ in codes}
    if "MODES_OPEN" in wanted:
        done += _close()
    if "STALE_FILES" in wanted:
        number = files.sweep_temporary()
        done.append(Finding("STALE_FILES", "ok", "home", f"{number} temporary files were deleted", ""))
    if "WAL_LARGE" in wanted:
        done += _fold()
    return done


def _enter(name: str, *, project: bool) -> Finding:
    """Our own part of a client's settings, as this version writes it."""
    client = registry.row(name).settings()
    try:
        hook_command.executable()
        with apply.locked():
            plans = [plan.installing(client, project=project), *beside.installing(client, project=project, mcp=False)]
            plan.stay_in_project(plans)
            changed: list[str] = []
            backups = [apply.carry_out_after(one, changed) for one in plans]
    except Failure as failure:
        return warning("FIX_FAILED", name, f"our entries cannot be written: {failure.message}", failure.fix)
    kept = next((f"; as it was: {path}" for path in backups if path), "")
    return Finding("HOOKS_ENTERED", "ok", name, f"our entries were written anew to {', '.join(changed)}{kept}", "")


def _close() -> list[Finding]:
    """Take from others what they may do with what is ours in the home."""
    closed = 0
    for path in home.open_to_others():
        try:
            os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~_OTHERS)
            closed += 1
        except OSError:  # somebody else's
            continue
    return (
        [Finding("MODES_OPEN", "ok", "home", f"{closed} files and folders are now yours alone", "")] if closed else []
    )


def _fold() -> list[Finding]:
    try:
        db = sqlite.open_writing(busy_ms=1_000, durable=True)
        left = integrity.empty_log(db)
        db.close()
    except Failure as failure:
        return [warning("FIX_FAILED", "store", failure.message, failure.fix)]
    if left:
        about = f"{left:,} bytes of the write-ahead log could not be folded: another process reads them"
        return [warning("FIX_FAILED", "store", about, "end what has the memory open, then run `joelclaw doctor --fix`")]
    return [Finding("WAL_LARGE", "ok", "store", "the write-ahead log was brought into the file", "")]
