"""What a project's own settings file chooses: what trust lets in, and what stays the user's. Off the hot path."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from core import config, files
from core.errors import Failure
from core.repository import settings_file, trust
from core.repository.project_file import Unusable, root_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class Choices:
    """Of one file.

    Args:
        file: its path.
        trusted: whether the project's folder is trusted.
        settings: what holds where it is trusted, by name.
        withheld: those of them that hold only there.
        scopes: its table `[scopes]`: folder → query.
        never: settings in it that are read from the user's own file and environment only.
        fault: why the file is left out as a whole; empty where it is not.
    """

    file: str
    trusted: bool
    settings: dict[str, Any] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    scopes: dict[str, str] = field(default_factory=dict)
    never: tuple[str, ...] = ()
    fault: str = ""


def of(folder: str) -> Choices | None:
    """What the file in a folder says, else the one at its project's root; None where there is none."""
    root = root_of(folder)
    own = os.path.join(files.home(), "config.toml")
    for place in dict.fromkeys((os.path.realpath(folder), root)):
        path = os.path.join(place, ".joelclaw", "config.toml")
        if os.path.lexists(path) and os.path.realpath(path) != os.path.realpath(own):
            return _read(path, place, root)
    return None


def _read(path: str, folder: str, root: str) -> Choices:
    trusted = trust.is_trusted(root)
    try:
        table = settings_file.table(path, root)
        dropped = config.load(folder).dropped
    except Unusable as fault:
        return Choices(path, trusted, fault=fault.reason)
    except Failure:  # the user's own file: it is told elsewhere
        dropped = ()
    if dropped:
        return Choices(path, trusted, fault=dropped[0][1])
    known = {name: value for name, value in table.items() if name in config.SETTINGS}
    settings = {name: value for name, value in known.items() if not config.SETTINGS[name].trusted}
    return Choices(
        path,
        trusted,
        settings,
        tuple(name for name in settings if not config.is_harmless(name)),
        {name.partition(".")[2]: str(value) for name, value in table.items() if name.startswith("scopes.")},
        tuple(name for name in known if name not in settings),
    )
