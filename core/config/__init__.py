"""Settings: flags beat the environment, that beats `./.joelclaw/config.toml`, that beats `$JOELCLAW_HOME/config.toml`.

A TOML file costs 15 ms to parse (`tomllib` imports `re`), so what was read is kept as JSON in the home's `cache/`.
Until the user trusts the folder of a project's file, it may only say what is asked of its own memories (`NARROWING`); a
fault in it drops it as a whole. Settings marked `trusted` are read from the user's own file and environment only.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files
from core.config.settings import ENVIRONMENT, FORMERLY, NARROWING, SETTINGS, variable

if TYPE_CHECKING:
    from core.config.settings import Said, Value

_OTHER_VARIABLES = ("JOELCLAW_IDLE_RUN",)
"""Our variables that look like settings and are not."""


class Config:
    """The settings in force."""

    __slots__ = ("_values", "dropped", "foreign", "foreign_scopes", "scopes", "unknown", "withheld")

    def __init__(self, values: dict[str, Value], scopes: dict[str, str] | None = None) -> None:
        self._values = values
        self.scopes = scopes or {}
        """The table `[scopes]`: folder of a project → what to recall when an agent first edits a file in it."""
        self.foreign: frozenset[str] = frozenset()
        """Settings from an untrusted project: what they select is limited to that project."""
        self.foreign_scopes: frozenset[str] = frozenset()
        """Scopes likewise."""
        self.withheld: tuple[str, ...] = ()
        """What else such a project's file sets, which would apply if its folder were trusted."""
        self.dropped: tuple[tuple[str, str], ...] = ()
        """The project's file and what is wrong with it, if it was left out."""
        self.unknown: tuple[tuple[str, str], ...] = ()
        """Files, and the unknown names in them."""

    def suggest(self, name: str, value: Value | None) -> None:
        """Set a value that nobody has set yet; None changes nothing."""
        if value is not None:
            self._values.setdefault(name, value)

    def apply(self, said: Said) -> None:
        """Apply what a file says over what is known; of an untrusted project's only what narrows its own queries."""
        values, scopes = said["values"], said["scopes"]
        if not said["trusted"]:
            self.withheld = tuple(name for name in values if name not in NARROWING)
            values = {name: value for name, value in values.items() if name in NARROWING}
            self.foreign, self.foreign_scopes = frozenset(values), frozenset(scopes)
        self._values.update(values)
        self.scopes = {**self.scopes, **scopes}
        self.unknown += said["unknown"]

    def add_environment(self) -> None:
        """Apply the environment's variables over the files."""
        for name in (*FORMERLY, *SETTINGS):
            given = os.environ.get(variable(name))
            if given:
                from core.config.value import checked

                known = FORMERLY.get(name, name)
                self._values[known] = checked(name, SETTINGS[known], given, ENVIRONMENT)
                self.foreign -= {known}

    def get_str(self, name: str) -> str:
        """A setting that is a string."""
        return str(self._values.get(name, SETTINGS[name].default))

    def get_float(self, name: str) -> float:
        """A setting that is a number."""
        return float(self._values.get(name, SETTINGS[name].default))

    def get_int(self, name: str) -> int:
        """A setting that is a whole number."""
        return int(self._values.get(name, SETTINGS[name].default))

    def get_bool(self, name: str) -> bool:
        """A setting that is true or false."""
        return bool(self._values.get(name, SETTINGS[name].default))


def load(cwd: str | None = None) -> Config:
    """The settings in force for a command started in `cwd`. Raises Failure: CONFIG_INVALID, for the user's own file."""
    own = os.path.join(files.home(), "config.toml")
    made = Config({})
    if os.path.exists(own):
        from core.config import file

        made.apply(file.own(own))
    try:
        folder = cwd or os.getcwd()
        project = os.path.join(folder, ".joelclaw", "config.toml")
        if os.path.lexists(project) and os.path.realpath(project) != os.path.realpath(own):
            from core.config import file

            said = file.project(project, folder)
            if said["fault"]:
                made.dropped = ((project, said["fault"]),)
            made.apply(said)
    except (OSError, ValueError):  # the current folder was removed, or none can have this name
        pass
    made.add_environment()
    return made


def unknown_variables() -> tuple[tuple[str, str], ...]:
    """Environment variables that look like settings and are not."""
    sections = tuple({variable(name.partition(".")[0]) + "_" for name in SETTINGS})
    ours = [name for name in os.environ if name.startswith(sections) and name not in _OTHER_VARIABLES]
    known = {variable(name) for name in (*FORMERLY, *SETTINGS)} if ours else set()
    return tuple((ENVIRONMENT, name) for name in ours if name not in known)
