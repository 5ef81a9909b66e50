"""What the user has switched off, and the folders whose sessions are never archived: `joelclaw off`, `exclude`.

They are in a file in the home, `core.files.SWITCHES`; without it, everything is on. Messages from a time when something
was off are never archived later either, so the file keeps past periods in which something was off. Hot path.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, clock, files, json_text, project
from core.errors import OTHER_HOME, Failure
from core.redaction import redact

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    Scope = Literal["everywhere", "project", "session"]

    class OffPeriod(TypedDict):
        """A time in which something was off, in ms since the epoch; `until` is None while it lasts."""

        scope: Scope
        name: str
        since: int
        until: int | None

    class Switches(TypedDict):
        """The file: the periods (under `silences`), oldest first, and the real paths of excluded folders."""

        silences: list[OffPeriod]
        excluded: list[str]


class Damaged(Exception):
    """The file is damaged; the message says how."""


def path() -> str:
    """The file's path, whether or not it exists."""
    return os.path.join(files.home(), files.SWITCHES)


def read() -> Switches:
    """The switches in force; none if there is no file. Raises Damaged."""
    try:
        stored = json_text.loads(files.read_file(path()))
        periods = [_period(row["scope"], row["name"], row["since"], row["until"]) for row in stored["silences"]]
        return {"silences": periods, "excluded": [str(folder) for folder in stored["excluded"]]}
    except (FileNotFoundError, NotADirectoryError):
        return {"silences": [], "excluded": []}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Damaged(getattr(error, "strerror", str(error))) from None


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


def current_off_period(switches: Switches, session: str, cwd: str) -> OffPeriod | None:
    """The period in which a session in a folder is off now, the widest scope first; None if it is on."""
    return next((period for period in off_periods(switches, session, cwd) if period["until"] is None), None)


def off_periods(switches: Switches, session: str, cwd: str) -> list[OffPeriod]:
    """The periods in which a session in a folder is or was off, the widest scope first."""
    periods = switches["silences"]
    names = {"everywhere": "", "project": "", "session": session}
    if cwd and any(period["scope"] == "project" for period in periods):
        names["project"] = redact(project.name_of(cwd))[0]
    own = (period for period in periods if _covers(period, period["scope"], names[period["scope"]]))
    return sorted(own, key=lambda period: period["scope"])  # in the order of the alphabet


def is_in_period(periods: list[OffPeriod], at: int | None) -> bool:
    """Whether a time (ms since the epoch; None: unknown, taken as now) is in one of the periods."""
    if at is None:
        return any(period["until"] is None for period in periods)
    return any(period["since"] <= at and (period["until"] is None or at < period["until"]) for period in periods)


def is_excluded(switches: Switches, cwd: str) -> bool:
    """Whether a folder is excluded or below an excluded folder, links resolved."""
    real = os.path.realpath(cwd) if switches["excluded"] and cwd else ""
    return any(project.is_below(real, folder) for folder in switches["excluded"])


def turn_off(scope: Scope, name: str) -> tuple[OffPeriod, bool]:
    """Switch something off. Returns its period and whether it was on before. Raises Failure: SWITCHES_UNWRITABLE."""
    with _Edited() as switches:
        for period in _current(switches, scope, name):
            return period, False
        new = _period(scope, name, clock.now_ms(), None)
        switches["silences"].append(new)
        return new, True


def turn_on(scope: Scope, name: str) -> bool:
    """Switch something on again; returns whether it was off. Raises as `turn_off`."""
    with _Edited() as switches:
        current = _current(switches, scope, name)
        for period in current:
            period["until"] = max(clock.now_ms(), period["since"])
        return bool(current)


def rename_project(former: str, name: str, *, is_kept: bool) -> int:
    """Rename a project in all periods; returns in how many. Raises as `turn_off`.

    `is_kept`: the former name stays off as well.
    """
    with _Edited() as switches:
        renamed = [row for row in switches["silences"] if row["scope"] == "project" and row["name"] == former]
        if is_kept:
            switches["silences"] += [row.copy() for row in renamed]
        for row in renamed:
            row["name"] = name
        return len(renamed)


def set_excluded(folder: str, *, is_excluded: bool) -> bool:
    """Never archive sessions of a folder (a real path), or archive them again; returns whether that is a change.

    Raises as `turn_off`.
    """
    with _Edited() as switches:
        before = set(switches["excluded"])
        after = before | {folder} if is_excluded else before - {folder}
        switches["excluded"] = sorted(after)
        return after != before


class _Edited:
    """The switches, to be changed under the file's lock; then they are written. Raises Failure."""

    def __enter__(self) -> Switches:
        self._lock = files.FileLock(path() + ".lock", wait_s=2.0)
        try:
            self._lock.__enter__()
        except (OSError, files.LockTimeout) as error:
            raise _unwritable(error) from None
        self._switches = load()[0]
        self._before = json_text.dumps(self._switches)
        return self._switches

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and json_text.dumps(self._switches) != self._before:
                files.write_whole(path(), json_text.dumps(self._switches).encode("utf-8", "surrogatepass"))
        except OSError as error:
            raise _unwritable(error) from None
        finally:
            self._lock.__exit__()


def _unwritable(error: Exception) -> Failure:
    why = (isinstance(error, OSError) and error.strerror) or "another command is changing it"
    return Failure("SWITCHES_UNWRITABLE", f"{path()} cannot be written: {why}", OTHER_HOME)


def _period(scope: Scope, name: str, since: int, until: int | None) -> OffPeriod:
    """A period. Raises TypeError or ValueError for values that are none."""
    if scope not in ("everywhere", "project", "session"):
        raise ValueError(f"there is no scope {scope!r}")
    return {"scope": scope, "name": str(name), "since": int(since), "until": until if until is None else int(until)}


def _current(switches: Switches, scope: Scope, name: str) -> list[OffPeriod]:
    return [row for row in switches["silences"] if _covers(row, scope, name) and row["until"] is None]


def _covers(period: OffPeriod, scope: Scope, name: str) -> bool:
    stored = period["name"]
    if period["scope"] == scope == "project":  # its name may be from before names had a host
        return project.same(stored, name) or (bool(stored) and stored == project.without_host(name))
    return (period["scope"], stored) == (scope, name)
