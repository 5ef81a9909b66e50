"""What the user has switched off, and folders whose sessions are never archived: `joelclaw off`, `exclude`.

One file in the user's home, `core.files.SWITCHES`, written whole; where it is not there everything is on. What was said
while something was off is never archived later either, so the file keeps when that was. Hot path.
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
        """A time in which something was off, in ms since the epoch; `until` is None while it is."""

        scope: Scope
        name: str
        since: int
        until: int | None

    class Switches(TypedDict):
        """The file: what is or was off, oldest first, and real paths of folders."""

        silences: list[Silence]
        excluded: list[str]


EVERYWHERE: Scope = "everywhere"
PROJECT: Scope = "project"
SESSION: Scope = "session"
_SCOPES: dict[str, Scope] = {"everywhere": EVERYWHERE, "project": PROJECT, "session": SESSION}
_MOST_ENDED = 500


class Damaged(Exception):
    """The file is damaged. `args[0]` says what is wrong."""


_CHANGE_WAIT_S = 2.0  # how long a change waits for another process


def path() -> str:
    """The file's path, whether or not it exists."""
    return os.path.join(files.home(), files.SWITCHES)


def read() -> Switches:
    """What is switched off; nothing if there is no file. Raises Damaged."""
    try:
        with open(path(), "rb") as handle:
            found = json_text.loads(handle.read())
        silences: list[Silence] = [
            {
                "scope": _SCOPES[row["scope"]], "name": str(row["name"]), "since": int(row["since"]),
                "until": None if row["until"] is None else int(row["until"]),
            }
            for row in found["silences"]
        ]  # fmt: skip
        return {"silences": silences, "excluded": [str(folder) for folder in found["excluded"]]}
    except FileNotFoundError:
        return {"silences": [], "excluded": []}
    except (OSError, json_text.InvalidJSON, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise Damaged(str(error) or type(error).__name__) from None


def sound() -> tuple[Switches, str]:
    """Like `read`, but sets a damaged file aside; the second value is its new path, "" if none was damaged."""
    try:
        return read(), ""
    except Damaged:
        try:
            aside = files.set_aside(path())
        except OSError:  # another process was faster, or it is not ours to move
            aside = ""
        return {"silences": [], "excluded": []}, aside


def off(switches: Switches, session: str, cwd: str) -> Silence | None:
    """What switches off a session that works in a folder, the widest first; None if it is on."""
    return next((one for one in concerning(switches, session, cwd) if one["until"] is None), None)


def concerning(switches: Switches, session: str, cwd: str) -> Iterator[Silence]:
    """The silences, past ones too, that cover a session in a folder, those of everything first."""
    silences = switches["silences"]
    yield from (one for one in silences if one["scope"] == EVERYWHERE)
    here = project.name_of(cwd) if cwd and any(one["scope"] == PROJECT for one in silences) else ""
    yield from (one for one in silences if one["scope"] == PROJECT and _means(one["name"], here))
    yield from (one for one in silences if one["scope"] == SESSION and one["name"] == session)


def is_silent(silences: list[Silence], at: int | None) -> bool:
    """Whether a time (ms since the epoch; None: unknown, taken as now) falls into one of them."""
    if at is None:
        return any(one["until"] is None for one in silences)
    return any(one["since"] <= at and (one["until"] is None or at < one["until"]) for one in silences)


def is_excluded(switches: Switches, cwd: str) -> bool:
    """Whether a folder is excluded, or lies below an excluded one, links resolved."""
    if not switches["excluded"] or not cwd:
        return False
    try:
        real = os.path.realpath(cwd)
    except (OSError, ValueError):
        return False
    return any(real == one or real.startswith(one.rstrip("/") + "/") for one in switches["excluded"])


def turn_off(scope: Scope, name: str) -> tuple[Silence, bool]:
    """Switch something off; returns since when it is off, and whether it was on."""
    new: Silence = {"scope": scope, "name": name, "since": clock.now_ms(), "until": None}
    known = new

    def change(switches: Switches) -> Switches:
        nonlocal known
        for one in switches["silences"]:
            if _is(one, scope, name) and one["until"] is None:
                known = one
                return switches
        return {**switches, "silences": [*switches["silences"], new]}

    changed = _change(change)
    return known, changed


def turn_on(scope: Scope, name: str) -> bool:
    """Switch it on again; returns whether it was off. Raises as `turn_off`."""
    now = clock.now_ms()

    def change(switches: Switches) -> Switches:
        kept: list[Silence] = [
            {**one, "until": max(now, one["since"])} if _is(one, scope, name) and one["until"] is None else one
            for one in switches["silences"]
        ]
        too_old = [one for one in kept if one["until"] is not None][:-_MOST_ENDED]
        return {**switches, "silences": [one for one in kept if one not in too_old]}

    return _change(change)


def exclude(folder: str) -> bool:
    """Never archive sessions of a folder, given by its real path; returns whether that is new. Raises as `turn_off`."""
    return _change(lambda switches: {**switches, "excluded": sorted({*switches["excluded"], folder})})


def include(folder: str) -> bool:
    """Archive them again; returns whether they were excluded. Raises as `turn_off`."""
    return _change(lambda switches: {**switches, "excluded": [one for one in switches["excluded"] if one != folder]})


def _is(one: Silence, scope: Scope, name: str) -> bool:
    return one["scope"] == scope and (_means(one["name"], name) if scope == PROJECT else one["name"] == name)


def _means(stored: str, name: str) -> bool:
    """Whether what was switched off, perhaps before its name had a host, is this project."""
    return project.same(stored, name) or (bool(stored) and stored == project.without_host(name))


def _change(change: Callable[[Switches], Switches]) -> bool:
    """Write the file if this changes anything; returns whether it does."""
    try:
        with files.FileLock(path() + ".lock", _CHANGE_WAIT_S):
            before = sound()[0]
            after = change(before)
            if after == before:
                return False
            files.write_whole(path(), json_text.dumps(after).encode("utf-8", "surrogatepass"))
            return True
    except (OSError, files.LockTimeout) as error:
        raise Failure("SWITCHES_UNWRITABLE", f"{path()} cannot be written: {error}", "check its folder") from None
