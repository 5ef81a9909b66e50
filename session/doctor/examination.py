"""Looks at all that a memory needs, from a client's hook to the collector, and mends what is safe to mend.

The folder of the memory (modes, owners, leftovers, room on its disk, what is switched off) and its store are examined
here, the hooks and the services in modules of their own.
"""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

import apsw

import clients
from core import clock, files, home_files, switches
from core.errors import Failure
from core.store import fold_log, log_bytes, sqlite
from core.store.history import Called
from core.store.upkeep import store_file
from memory.archive import known_files
from otel import log
from session.backup import archive
from session.doctor import hooks, services
from session.doctor import status as quick
from session.doctor.status import Finding, error, in_order, mended, note, warning
from session.install import installed_hooks, own_text, plan
from session.install.known_clients import settings_of

_AT_ONCE = 4
_ORDER = ("command", "store", "home", "switches", "settings", "model", "cluster", "exporter")
ENTRIES = frozenset({
    installed_hooks.GONE, installed_hooks.NOT_EXECUTABLE, installed_hooks.INTERPRETER_GONE, "HOOKS_REMOVED",
    "HOOKS_MISSING", "HOOKS_CHANGED", "HOOKS_OUTDATED", "HOOK_OTHER_COMMAND", "HOOK_NOT_REACHED", "HOOK_ANSWER_LOST",
})  # fmt: skip
"""What entering our part of a client's settings anew mends; the file as it was is kept beside it."""
MENDED = ENTRIES | {"MODES_OPEN", "STALE_FILES", "WAL_LARGE"}
"""What is ours alone, or can be undone. Nothing that holds what somebody said is touched."""
_LITTLE, _HARDLY_ANY = 200_000_000, 20_000_000
_LISTED = 3
_LARGE_LOG = 16_000_000
"""Bytes. Each write folds a log of more than 1 MB, so this one was held by a reader, or its folding fails."""
_FREE_SHARE, _FREE_LEAST = 0.5, 50_000_000
_AHEAD_MINUTES = 5


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
    try:
        found += _of_store(seen.db, store) if seen.db is not None else ()
        calls = hooks.calls_of(seen.db, clock.now_ms() - clock.DAY_MS)
    except Failure as failure:
        found.append(error(failure.code, "store", failure.message, failure.fix))
    about_home, more = _of_home()
    found += more
    found += _of_switches(seen.switches)
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
    with plan.locked():
        plans = plan.installing(settings_of(clients.row(name)), project=project)
        plan.stay_in_project(plans)
        backups = plan.carry_out(plans, changed)
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


def _of_home() -> tuple[dict[str, Any], list[Finding]]:
    """Facts and findings of the home; of its disk alone where there is none yet."""
    home = there = files.home()
    facts: dict[str, Any] = {"path": home, "exists": os.path.isdir(home), "freeBytes": None}
    found: list[Finding] = []
    while not os.path.isdir(there):
        there = os.path.dirname(there)
    with suppress(OSError):
        disk = os.statvfs(there)
        free = facts["freeBytes"] = disk.f_bavail * disk.f_frsize
        if free <= _LITTLE:
            about = f"{free / 1_000_000:,.0f} MB are left on the disk of {there}"
            make = error if free < _HARDLY_ANY else warning
            found.append(make("DISK_LOW", "home", about, "free some space: what cannot be written is lost"))
    entries, mend = list(_entries(home)), "joelclaw doctor --fix"
    is_all_of_it = os.path.realpath(home) == os.path.realpath(os.path.expanduser("~"))
    read = [path for path, status in entries if status.st_mode & files.OTHERS and not is_all_of_it]
    foreign = [path for path, status in entries if status.st_uid != os.geteuid()]
    aside = [path for path, _ in entries if ".damaged-" in os.path.basename(path)]
    left = home_files.stale_temporary(home) + archive.leftovers()
    chown = f"sudo chown -R {os.geteuid()} {shlex.quote(home)}"
    for make, code, paths, what, fix in (
        (warning, "MODES_OPEN", read, "others can read {}", mend),
        (warning, "OWNED_BY_OTHERS", foreign, "{} belong to another user", chown),
        (note, "STALE_FILES", left, "{} were left by a process that was killed", mend),
        (note, "FILES_SET_ASIDE", aside, "{} were damaged and set aside", "look at them, then delete them"),
    ):
        if paths:
            named = ", ".join(os.path.relpath(path, home) for path in paths[:_LISTED])
            more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
            found.append(make(code, "home", what.format(f"{named}{more} in {home}"), fix))
    waiting = log.spooled_in(home)
    facts["spooledEvents"] = len(waiting)
    is_full = len(files.start_of(log.spool_path(), log.MAX_SPOOL_BYTES * 2)) > log.MAX_SPOOL_BYTES
    if is_full:  # else they wait for the end of a turn, which may not come for long
        about = f"the spool is full: {len(waiting)} events wait to be stored"
        found.append(warning("EVENTS_WAIT", "home", about, "joelclaw otel list"))
    return facts, found


def _entries(home: str) -> Iterator[tuple[str, os.stat_result]]:
    for path in home_files.entries(home):
        with suppress(OSError):  # gone by now
            if not os.path.islink(path):
                yield path, os.lstat(path)


def _of_switches(known: "switches.Switches | None") -> Iterator[Finding]:
    """What is switched off or excluded; None: that cannot be read."""
    if known is None:
        return
    here = os.getcwd()
    reaching = list(switches.silences_of(known, "", here))
    for one in known["silences"]:
        if one["until"] is not None:
            continue
        scope, name, since = one["scope"], shlex.quote(one["name"]), clock.iso(one["since"])
        if one in reaching:
            what = "everything" if scope == switches.EVERYWHERE else f"the project {one['name']}"
            about = f"{what} is switched off since {since}: hooks run and do nothing"
            yield warning("SWITCHED_OFF", "switches", about, f"joelclaw on --{scope}")
        else:
            in_it = scope == switches.PROJECT
            fix = "run `joelclaw on --project` in a folder of it" if in_it else f"joelclaw on --session {name}"
            about = f"the {scope} {one['name']} is switched off since {since}"
            yield note("SWITCHED_OFF_ELSEWHERE", "switches", about, fix)
    if switches.is_excluded(known, here):
        around = next(one for one in known["excluded"] if os.path.realpath(here).startswith(one))
        about = f"{around} is excluded: sessions in this folder are never archived"
        yield warning("FOLDER_EXCLUDED", "switches", about, f"joelclaw exclude --remove {shlex.quote(around)}")


def _of_store(db: apsw.Connection, facts: dict[str, Any]) -> list[Finding]:
    """Whether the file is whole, how large it and its log are, whether its times can be."""
    found, where = [], sqlite.path()
    faults = store_file.faults(db)
    if faults:
        fix = (
            "with a backup: `joelclaw restore FILE --force` (what is here is kept aside); without one save what is "
            f"left with `joelclaw memory export`, move {where} away, and import it again"
        )
        found.append(error("STORE_DAMAGED", "store", f"{where} is damaged: {'; '.join(faults)}", fix))
    figures = store_file.figures(db)
    newest = figures.newest or 0
    facts |= {**asdict(figures), "newest": clock.iso(newest) if newest else None}
    if figures.log > _LARGE_LOG:
        about = f"the write-ahead log has {figures.log / 1e6:,.1f} MB: each command reads all of it when it starts"
        found.append(warning("WAL_LARGE", "store", about, "joelclaw doctor --fix"))
    if figures.free > max(_FREE_LEAST, _FREE_SHARE * figures.size):
        about = f"{figures.free / 1e6:,.1f} of the {figures.size / 1e6:,.1f} MB of the file hold nothing"
        found.append(note("STORE_MOSTLY_FREE", "store", about, "joelclaw store prune"))
    minutes = (newest - clock.now_ms()) // 60_000
    if minutes >= _AHEAD_MINUTES:
        about = f"the clock is behind: something was stored at {clock.iso(newest)}, {minutes} min from now"
        fix = "set the clock; if it was ahead before, what was stored then stays the newest until that time"
        found.append(warning("CLOCK_BEHIND", "store", about, fix))
    return found
