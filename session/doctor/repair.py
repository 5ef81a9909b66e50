"""What `doctor --fix` mends: what is ours alone, or can be undone. Nothing that holds what somebody said is touched."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from clients import registry
from core import home_files
from core.errors import Failure
from core.store import sqlite
from core.store.upkeep import store_file
from session.doctor import home
from session.doctor.finding import Finding, mended, warning
from session.install import apply, hook_command, installed_hooks, plan

ENTRIES = frozenset({
    installed_hooks.GONE, installed_hooks.NOT_EXECUTABLE, installed_hooks.INTERPRETER_GONE, "HOOKS_REMOVED",
    "HOOKS_MISSING", "HOOKS_CHANGED", "HOOKS_OUTDATED", "HOOK_OTHER_COMMAND", "HOOK_NOT_REACHED", "HOOK_ANSWER_LOST",
})  # fmt: skip
"""What entering our part of a client's settings anew mends; the file as it was is kept beside it."""
MENDED = ENTRIES | {"MODES_OPEN", "STALE_FILES", "WAL_LARGE"}
_OTHERS = 0o077


def run(findings: Sequence[Finding], clients: Sequence[str], *, project: bool) -> list[Finding]:
    """Mend what can be; returns what was done, as findings that are `ok`, and what could not be done."""
    entering = {one.subject for one in findings if one.code in ENTRIES}
    done = [_enter(name, project=project) for name in clients if name in entering]
    wanted = {one.code for one in findings}
    if "MODES_OPEN" in wanted:
        done += _close()
    if "STALE_FILES" in wanted:
        done.append(mended("STALE_FILES", "home", f"{home_files.sweep_temporary()} temporary files were deleted"))
    if "WAL_LARGE" in wanted:
        done.append(_fold())
    return done


def _enter(name: str, *, project: bool) -> Finding:
    """Our own part of a client's settings, as this version writes it."""
    changed: list[str] = []
    try:
        hook_command.executable()
        with apply.locked():
            plans = plan.installing(registry.row(name).settings(), project=project)
            plan.stay_in_project(plans)
            backups = apply.carry_out(plans, changed)
    except Failure as failure:
        return warning("FIX_FAILED", name, f"our entries cannot be written: {failure.message}", failure.fix)
    kept = next((f"; as it was: {path}" for path in backups.values() if path), "")
    return mended("HOOKS_ENTERED", name, f"our entries were written anew to {', '.join(changed)}{kept}")


def _close() -> list[Finding]:
    """Remove group and other permissions in the home."""
    closed = 0
    for path in home.open_to_others():
        try:
            os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~_OTHERS)
            closed += 1
        except OSError:  # somebody else's
            continue
    return [mended("MODES_OPEN", "home", f"{closed} files and folders are now yours alone")] if closed else []


def _fold() -> Finding:
    try:
        db = sqlite.open_writing(busy_ms=1_000, durable=True)
        left = store_file.empty_log(db)
        db.close()
    except Failure as failure:
        return warning("FIX_FAILED", "store", failure.message, failure.fix)
    if left:
        about = f"{left:,} bytes of the write-ahead log could not be folded: another process reads them"
        return warning("FIX_FAILED", "store", about, "end what has the memory open, then run `joelclaw doctor --fix`")
    return mended("WAL_LARGE", "store", "the write-ahead log was brought into the file")
