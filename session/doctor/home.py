"""The folder of the memory: modes and owners, leftovers, room on its disk, what is switched off; and its store."""

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import apsw

from core import clock, files, home_files
from core.repository import switches
from core.store import sqlite
from core.store.upkeep import store_file
from otel import unstored
from session.backup import archive
from session.doctor.status import Finding, error, note, warning
from session.recorded_recall import COMPONENT

_LITTLE, _HARDLY_ANY = 200_000_000, 20_000_000
_LISTED = 3
_LARGE_LOG = 16_000_000
"""Bytes. Each write folds a log of more than 1 MB, so this one was held by a reader, or its folding fails."""
_FREE_SHARE, _FREE_LEAST = 0.5, 50_000_000
_AHEAD_MINUTES = 5


def examine() -> tuple[dict[str, Any], list[Finding]]:
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
    waiting = unstored.lying_in(home)
    facts["spooledEvents"] = len(waiting)
    # a recall's own events wait there for the next hook
    old = [one["timestamp"] for one in waiting if one["component"] != COMPONENT]
    if old and clock.now_ms() - min(old) > clock.HOUR_MS:
        about = f"{len(waiting)} events have been waiting to be stored since {clock.iso(min(old))}"
        found.append(warning("EVENTS_WAIT", "home", about, "joelclaw otel list"))
    return facts, found


def _entries(home: str) -> Iterator[tuple[str, os.stat_result]]:
    for path in home_files.entries(home):
        with suppress(OSError):  # gone by now
            if not os.path.islink(path):
                yield path, os.lstat(path)


def switched_off(known: "switches.Switches | None") -> Iterator[Finding]:
    """What is switched off or excluded; None: that cannot be read."""
    if known is None:
        return
    here = os.getcwd()
    reaching = list(switches.concerning(known, "", here))
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


def store(db: apsw.Connection, facts: dict[str, Any]) -> list[Finding]:
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
