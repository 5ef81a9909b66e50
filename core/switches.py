"""What the user has switched off, and the folders whose sessions are never archived: `joelclaw off`, `exclude`.

One file in the user's home, `core.files.SWITCHES`; without it, everything is on. What was said while something was off
is never archived later either, so the file keeps past silences. Hot path.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, clock, files, json_text, project
from core.errors import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal, TypedDict

    Scope = Literal["everywhere", "project", "session"]

    class Silence(TypedDict):
        """A time in which something was off, in ms since the epoch; `until` is None while it lasts."""

        scope: Scope
        name: str
        since: int
        until: int | None

    class Switches(TypedDict):
        """The file: silences, oldest first, and real paths of excluded folders."""

        silences: list[Silence]
        excluded: list[str]


EVERYWHERE: Scope = "everywhere"
PROJECT: Scope = "project"
SESSION: Scope = "session"
MAX_PAST_SILENCES = 500  # the oldest go first


class Damaged(Exception):
    """The file is damaged; the message says how."""


def path() -> str:
    """The file's path, whether or not it exists."""
    return os.path.join(files.home(), files.SWITCHES)


def read() -> Switches:
    """What is switched off; nothing if there is no file. Raises Damaged."""
    scopes: dict[str, Scope] = {"everywhere": EVERYWHERE, "project": PROJECT, "session": SESSION}
    try:
        with open(path(), "rb") as handle:
            stored = json_text.loads(handle.read())
        silences: list[Silence] = [
            {
                "scope": scopes[row["scope"]], "name": str(row["name"]), "since": int(row["since"]),
                "until": None if row["until"] is None else int(row["until"]),
            }
            for row in stored["silences"]
        ]  # fmt: skip
        return {"silences": silences, "excluded": [str(folder) for folder in stored["excluded"]]}
    except FileNotFoundError:
        return {"silences": [], "excluded": []}
    except (OSError, json_text.InvalidJSON, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise Damaged(str(error) or type(error).__name__) from None


def load() -> tuple[Switches, str]:
    """Like `read`, but sets a damaged file aside; the second value is its new path, or ""."""
    try:
        return read(), ""
    except Damaged:
        try:
            aside = files.set_aside(path())
        except OSError:  # another process was faster, or we are not the owner
            aside = ""
        return {"silences": [], "excluded": []}, aside


def silence_in_force(switches: Switches, session: str, cwd: str) -> Silence | None:
    """The silence that keeps a session in a folder off now, the widest first; None if it is on."""
    return next((silence for silence in silences_of(switches, session, cwd) if silence["until"] is None), None)


def silences_of(switches: Switches, session: str, cwd: str) -> Iterator[Silence]:
    """All silences, past ones too, that cover a session in a folder, the widest first."""
    silences = switches["silences"]
    yield from (silence for silence in silences if silence["scope"] == EVERYWHERE)
    of_projects = [silence for silence in silences if silence["scope"] == PROJECT]
    current = project.name_of(cwd) if cwd and of_projects else ""
    yield from (silence for silence in of_projects if _is_project(silence["name"], current))
    yield from (silence for silence in silences if silence["scope"] == SESSION and silence["name"] == session)


def is_silent(silences: list[Silence], at: int | None) -> bool:
    """Whether a time (ms since the epoch; None: unknown, taken as now) falls into one of the silences."""
    if at is None:
        return any(silence["until"] is None for silence in silences)
    return any(silence["since"] <= at and (silence["until"] is None or at < silence["until"]) for silence in silences)


def is_excluded(switches: Switches, cwd: str) -> bool:
    """Whether a folder is excluded or below an excluded folder, links resolved."""
    if not switches["excluded"] or not cwd:
        return False
    try:
        real = os.path.realpath(cwd)
    except (OSError, ValueError):
        return False
    return any(real == folder or project.is_below(real, folder) for folder in switches["excluded"])


def turn_off(scope: Scope, name: str) -> tuple[Silence, bool]:
    """Switch something off. Returns its silence, and whether it was on before. Raises Failure: SWITCHES_UNWRITABLE."""
    new: Silence = {"scope": scope, "name": name, "since": clock.now_ms(), "until": None}
    in_force = new

    def change(switches: Switches) -> Switches:
        nonlocal in_force
        for silence in switches["silences"]:
            if _covers(silence, scope, name) and silence["until"] is None:
                in_force = silence
                return switches
        return {**switches, "silences": [*switches["silences"], new]}

    changed = _change(change)
    return in_force, changed


def turn_on(scope: Scope, name: str) -> bool:
    """Switch something on again; returns whether it was off. Raises as `turn_off`."""
    now = clock.now_ms()

    def change(switches: Switches) -> Switches:
        silences: list[Silence] = [
            {**silence, "until": max(now, silence["since"])}
            if _covers(silence, scope, name) and silence["until"] is None
            else silence
            for silence in switches["silences"]
        ]
        too_old = [silence for silence in silences if silence["until"] is not None][:-MAX_PAST_SILENCES]
        return {**switches, "silences": [silence for silence in silences if silence not in too_old]}

    return _change(change)


def exclude(folder: str) -> bool:
    """Never archive sessions of a folder (a real path); returns whether that is new. Raises as `turn_off`."""
    return _change(lambda switches: {**switches, "excluded": sorted({*switches["excluded"], folder})})


def include(folder: str) -> bool:
    """Archive sessions of a folder again; returns whether it was excluded. Raises as `turn_off`."""
    return _change(lambda switches: {**switches, "excluded": [path for path in switches["excluded"] if path != folder]})


def _covers(silence: Silence, scope: Scope, name: str) -> bool:
    if silence["scope"] != scope:
        return False
    return _is_project(silence["name"], name) if scope == PROJECT else silence["name"] == name


def _is_project(stored: str, name: str) -> bool:
    """Whether a stored name, perhaps from before names had a host, means this project."""
    return project.same(stored, name) or (bool(stored) and stored == project.without_host(name))


def _change(change: Callable[[Switches], Switches]) -> bool:
    """Write the file under its lock if this changes anything; returns whether it does."""
    try:
        with files.FileLock(path() + ".lock", wait_s=2.0):
            before = load()[0]
            after = change(before)
            if after == before:
                return False
            files.write_whole(path(), json_text.dumps(after).encode("utf-8", "surrogatepass"))
            return True
    except (OSError, files.LockTimeout) as error:
        raise Failure("SWITCHES_UNWRITABLE", f"{path()} cannot be written: {error}", "check its folder") from None
