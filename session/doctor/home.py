"""The folder of the memory: its modes and owners, what was left in it, the room on its disk, what is switched off."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from core import clock, files
from core.repository import switches
from otel import spool
from session.doctor.finding import Finding, error, note, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHERS = 0o077
_LITTLE, _HARDLY_ANY = 200_000_000, 20_000_000
_LISTED = 3
_SPOOL_AGE_MS = clock.HOUR_MS


def examine() -> tuple[dict[str, Any], list[Finding]]:
    """Facts and findings of the home; nothing where there is none yet."""
    home = files.home()
    facts: dict[str, Any] = {"path": home, "exists": os.path.isdir(home), "freeBytes": None}
    found = _disk(home, facts)
    if not facts["exists"]:
        return facts, found
    opened = open_to_others()
    if opened:
        about = f"others may use {_some(opened, home)}"
        found.append(warning("MODES_OPEN", "home", about, "joelclaw doctor --fix"))
    foreign = [path for path, status in _entries(home) if status.st_uid != os.geteuid()]
    if foreign:
        about = f"{_some(foreign, home)} belong to another user"
        fix = f"sudo chown -R {os.geteuid()} {shlex.quote(home)}"
        found.append(warning("OWNED_BY_OTHERS", "home", about, fix))
    stale = files.stale_temporary()
    if stale:
        about = f"{_some(stale, home)} were left by a writer that was killed"
        found.append(note("STALE_FILES", "home", about, "joelclaw doctor --fix"))
    aside = [path for path, _ in _entries(home) if ".damaged-" in os.path.basename(path)]
    if aside:
        about = f"{_some(aside, home)} were damaged and set aside"
        found.append(note("FILES_SET_ASIDE", "home", about, "look into them, then delete them"))
    waiting = spool.lying_in(home)
    oldest = min((event["timestamp"] for event in waiting), default=None)
    facts["spooledEvents"] = len(waiting)
    if oldest is not None and clock.now_ms() - oldest > _SPOOL_AGE_MS:
        about = f"{len(waiting)} events wait since {clock.iso(oldest)} to be stored"
        found.append(warning("EVENTS_WAIT", "home", about, "joelclaw otel list"))
    return facts, found


def open_to_others() -> list[str]:
    """What of ours in the home anybody but its owner may use; links are not looked at."""
    home = files.home()
    if os.path.realpath(home) == os.path.realpath(os.path.expanduser("~")):
        return []
    return [path for path, status in _entries(home) if status.st_mode & _OTHERS]


def _entries(home: str) -> Iterator[tuple[str, os.stat_result]]:
    """The home, and all that is ours in it."""
    tops = [os.path.join(home, name) for name in _names(home) if files.is_in_homes(name)]
    paths = [home]
    for top in tops:
        paths.append(top)
        for folder, folders, names in os.walk(top):
            paths += [os.path.join(folder, name) for name in (*folders, *names)]
    for path in paths:
        try:
            status = os.lstat(path)
        except OSError:  # gone by now
            continue
        if not os.path.islink(path):
            yield path, status


def _names(home: str) -> list[str]:
    try:
        return sorted(os.listdir(home))
    except OSError:
        return []


def _disk(home: str, facts: dict[str, Any]) -> list[Finding]:
    there = home
    while not os.path.isdir(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    try:
        disk = os.statvfs(there)
    except OSError:
        return []
    free = facts["freeBytes"] = disk.f_bavail * disk.f_frsize
    if free > _LITTLE:
        return []
    about = f"{free / 1_000_000:,.0f} MB are left on the disk of {there}"
    make = error if free < _HARDLY_ANY else warning
    return [make("DISK_LOW", "home", about, "free some space: what cannot be written is not kept")]


def switched_off() -> tuple[dict[str, Any], list[Finding], list[switches.Silence]]:
    """What is switched off or excluded, as facts and findings, and all times at which anything was off."""
    try:
        known = switches.read()
    except switches.Damaged:  # health tells of it
        return {"off": [], "excluded": []}, [], []
    here, found = os.getcwd(), []
    fixes = {switches.EVERYWHERE: "joelclaw on --everywhere", switches.PROJECT: "joelclaw on --project"}
    reaching = list(switches.concerning(known, "", here))
    for one in known["silences"]:
        if one["until"] is not None:
            continue
        since = clock.iso(one["since"])
        if one in reaching:
            what = "everything is" if one["scope"] == switches.EVERYWHERE else f"the project {one['name']} is"
            about = f"{what} switched off since {since}: hooks are called and do nothing"
            found.append(warning("SWITCHED_OFF", "switches", about, fixes[one["scope"]]))
        else:
            fix = f"joelclaw on --session {shlex.quote(one['name'])}"
            if one["scope"] == switches.PROJECT:
                fix = "run `joelclaw on --project` in a folder of it"
            about = f"the {one['scope']} {one['name']} is switched off since {since}"
            found.append(note("SWITCHED_OFF_ELSEWHERE", "switches", about, fix))
    if switches.is_excluded(known, here):
        around = next(one for one in known["excluded"] if os.path.realpath(here).startswith(one))
        about = f"{around} is excluded: sessions in this folder are never archived"
        found.append(warning("FOLDER_EXCLUDED", "switches", about, f"joelclaw exclude --remove {shlex.quote(around)}"))
    facts = {"off": [one for one in known["silences"] if one["until"] is None], "excluded": known["excluded"]}
    return facts, found, known["silences"]


def _some(paths: list[str], home: str) -> str:
    """`a, b, c and 4 more in HOME`."""
    named = [os.path.relpath(path, home) for path in paths[:_LISTED]]
    more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
    return f"{', '.join(named)}{more} in {home}"
