"""Looks at all that a memory needs, from a client's hook to the collector, and mends what is safe to mend."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

import clients
from core import clock, files, home_files
from core.errors import Failure
from core.store import fold_log, history, log_bytes, sqlite
from core.store.history import Called
from memory.archive import known_files
from session.backup import archive
from session.doctor import home, hooks, services
from session.doctor import status as quick
from session.doctor.status import Finding, error, in_order, mended, note, warning
from session.install import apply, installed_hooks, own_text, plan

_AT_ONCE = 4
_ORDER = ("command", "store", "home", "switches", "settings", "model", "cluster", "exporter")
ENTRIES = frozenset({
    installed_hooks.GONE, installed_hooks.NOT_EXECUTABLE, installed_hooks.INTERPRETER_GONE, "HOOKS_REMOVED",
    "HOOKS_MISSING", "HOOKS_CHANGED", "HOOKS_OUTDATED", "HOOK_OTHER_COMMAND", "HOOK_NOT_REACHED", "HOOK_ANSWER_LOST",
})  # fmt: skip
"""What entering our part of a client's settings anew mends; the file as it was is kept beside it."""
MENDED = ENTRIES | {"MODES_OPEN", "STALE_FILES", "WAL_LARGE"}
"""What is ours alone, or can be undone. Nothing that holds what somebody said is touched."""


def run(names: Sequence[str] = (), *, project: bool = False, fix: bool = False) -> dict[str, Any]:
    """Examine; with `fix`, repair what is safe to repair, and add what was done to the findings as `ok`."""
    try:
        here = os.getcwd()
    except OSError:
        raise Failure("DOCTOR_NO_FOLDER", "the current folder is gone", "change to a folder that exists") from None
    if project and os.path.realpath(here) == os.path.realpath(os.path.expanduser("~")):
        fix_it = "run this in a project's folder, or without --project"
        raise Failure("DOCTOR_NO_PROJECT", f"{here} is your home folder, not a project", fix_it)
    look = partial(_examined, names, project=project)
    found, about_clients, subjects, facts = _unwriting(look)
    if fix:
        there = [name for name, about in about_clients.items() if about["present"] or about["installed"]]
        done = _mend(found, there, project=project)
        if done:
            found, about_clients, subjects, facts = _unwriting(look)
            found += done
    found = in_order(found, (*about_clients, *_ORDER))
    counted = {"errors": "error", "warnings": "warning", "notes": "note", "fixed": "ok"}
    return {
        "healthy": not any(one.severity == "error" for one in found),
        **{name: sum(one.severity == severity for one in found) for name, severity in counted.items()},
        "findings": [asdict(one) for one in found],
        "clients": about_clients,
        "subjects": {name: subjects[name] for name in _ORDER if name in subjects},
        "folder": here,
        "facts": facts,
    }


Examined = tuple[list[Finding], dict[str, Any], dict[str, Any], dict[str, Any]]


def _unwriting(look: Callable[[], Examined]) -> Examined:
    files.only_look.append(True)
    try:
        return look()
    finally:
        files.only_look.clear()


def _examined(names: Sequence[str], *, project: bool) -> Examined:
    seen = quick.look()
    known, found = seen.result, list(seen.findings)
    calls: list[Called] = []
    store = {name: known["store"][name] for name in ("path", "exists", "schema", "knownSchema")}
    if seen.db is not None:
        try:
            found += home.store(seen.db, store)
            calls = history.hooks_by_event(seen.db, clock.now_ms() - clock.DAY_MS)
        except Failure as failure:
            found.append(error(failure.code, "store", failure.message, failure.fix))
    about_home, more = home.examine()
    found += more
    found += home.switched_off(seen.switches)
    settings = {"file": known["config"]["file"], "changed": sorted(known["config"]["changed"])}
    subjects = {"store": store, "home": about_home, "switches": known["switches"], "settings": settings}
    for name, (facts, more) in services.examine(known).items():
        subjects[name] = facts
        found += more
    silences = seen.switches["silences"] if seen.switches else []
    about_clients = {}
    wanted = [client for client in clients.rows() if not names or client.name in names]
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # each waits for the hooks that it calls
        conditions = list(pool.map(lambda client: hooks.examine(client, project=project), wanted))
    for client, condition in zip(wanted, conditions, strict=True):
        about = condition.facts
        if names or about["present"] or about["installed"] or condition.findings:
            found += [*condition.findings, *hooks.of_calls(client, calls, condition, silences)]
            about_clients[client.name] = {**about, "events": hooks.events(client, calls)}
    found += history_left(seen.db, about_clients)
    return found, about_clients, subjects, known


def history_left(db: Any, names: Iterable[str]) -> Iterator[Finding]:
    """A note where clients that are here have sessions that were never archived."""
    with suppress(Failure):
        left = known_files.not_archived(db, names)
        if left:
            megabytes = sum(file.size for file in left) / 1e6
            sessions = "1 past session" if len(left) == 1 else f"{len(left):,} past sessions"
            about = f"{sessions} ({megabytes:,.1f} MB) not archived: recall does not find what was said there"
            yield note("HISTORY_NOT_ARCHIVED", "store", about, "joelclaw memory archive --all")


def _mend(findings: Sequence[Finding], names: Sequence[str], *, project: bool) -> list[Finding]:
    """Mend what can be; returns what was done, as findings that are `ok`, and what could not be done."""
    wanted = {one.code for one in findings}
    entering = {one.subject for one in findings if one.code in ENTRIES}
    jobs: list[Any] = [("HOOKS_ENTERED", name, partial(_enter, name, project)) for name in names if name in entering]
    close = partial(home_files.close_all, files.home())
    sweep = partial(home_files.sweep_temporary, files.home())
    others = (
        ("MODES_OPEN", "home", lambda: f"{len(close())} files and folders are now readable only by you"),
        (
            "STALE_FILES",
            "home",
            lambda: f"{sweep() + archive.sweep()} leftovers were deleted",
        ),
        ("WAL_LARGE", "store", _fold),
    )
    done = []
    for code, subject, mend in (*jobs, *(one for one in others if one[0] in wanted)):
        try:
            done.append(mended(code, subject, mend()))
        except Failure as failure:
            done.append(warning("FIX_FAILED", subject, failure.message, failure.fix))
    return done


def _enter(name: str, project: bool) -> str:
    changed: list[str] = []
    own_text.executable()
    with apply.locked():
        plans = plan.installing(clients.row(name).settings(), project=project)
        plan.stay_in_project(plans)
        backups = apply.carry_out(plans, changed)
    kept = next((f"; backup: {path}" for path in backups.values() if path), "")
    return f"our entries were rewritten in {', '.join(changed)}{kept}"


def _fold() -> str:
    db = sqlite.open_writing(busy_ms=1_000, durable=True)
    fold_log(db, over=0)
    left = log_bytes()
    db.close()
    if left:
        about = f"{left:,} bytes of the write-ahead log could not be merged: another process is reading them"
        raise Failure("FIX_FAILED", about, "stop the process that reads it, then run `joelclaw doctor --fix`")
    return "the write-ahead log was merged into the store file"
