"""A project's `./.joelclaw/config.toml`: read inside the project, parsed once, kept as JSON; left out if invalid."""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files, json_text
from core.errors import Failure
from core.repository.project_file import SETTINGS_BYTES, Unusable, read, root_of, status_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_BITS = 64
_MOST_DOTS = 100
"""Most dots in a line. A key of 32,000 parts takes `tomllib` 24 s and 4 GB."""


def choices(folder: str) -> dict[str, Any] | None:
    """What the file in a folder says, else the one at its project's root; None if there is none.

    Of its `settings`, which hold where its folder is trusted, `withheld` hold only there; those in `never` only the
    user's own file may say. `fault` is why the file is left out.
    """
    from core import config
    from core.repository import trust

    root = root_of(folder)
    own = os.path.realpath(os.path.join(files.home(), "config.toml"))
    for place in dict.fromkeys((os.path.realpath(folder), root)):
        path = os.path.join(place, ".joelclaw", "config.toml")
        if os.path.lexists(path) and os.path.realpath(path) != own:
            break
    else:
        return None
    told: dict[str, Any] = {
        "file": path, "trusted": trust.is_trusted(root), "settings": {}, "withheld": [], "scopes": {}, "never": [],
        "fault": None,
    }  # fmt: skip
    try:
        found = table(path, root)
        dropped = config.load(place).dropped
    except Unusable as fault:
        return {**told, "fault": fault.reason}
    except Failure:  # the user's own file: it is told elsewhere
        dropped = ()
    if dropped:
        return {**told, "fault": dropped[0][1]}
    for name, value in found.items():
        if name.startswith("scopes."):
            told["scopes"][name.partition(".")[2]] = str(value)
        elif name in config.SETTINGS and config.SETTINGS[name].trusted:
            told["never"].append(name)
        elif name in config.SETTINGS:
            told["settings"][name] = value
    told["withheld"] = [name for name in told["settings"] if name not in config.NARROWING]
    return told


def table(path: str, root: str) -> dict[str, Any]:
    """The file's settings by `section.key`, none without a file. Raises Unusable: unreadable, or not TOML."""
    found = status_of(path, root)
    if found is None:
        return {}

    def parse() -> dict[str, Any]:
        try:
            return {"table": _parse(path, root)}
        except Unusable as fault:
            return {"fault": fault.reason}

    real, status = found
    kept = parsed_once(path, [real, status.st_mtime_ns, status.st_size, status.st_ino], parse)
    if "fault" in kept:
        raise Unusable(path, str(kept["fault"]))
    result: dict[str, Any] = kept["table"]
    return result


def parsed_once(path: str, key: list[Any], parse: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result cached for a file with this key, else what `parse` makes of it now: a `table` or a `fault`."""
    place = os.path.join(files.home(), "cache", f"config-{files.safe_name(path)[-90:]}.json")
    try:
        with open(place, "rb") as handle:
            kept = json_text.loads(handle.read())
        if kept["key"] == key and ("fault" in kept or isinstance(kept["table"], dict)):
            known: dict[str, Any] = kept
            return known
    except (OSError, json_text.InvalidJSON, KeyError, TypeError):
        pass
    found = parse()
    try:
        files.write_whole(place, json_text.dumps({"key": key, **found}).encode())
    except (OSError, TypeError, ValueError):
        pass  # a cache that cannot be written only costs time
    return found


def flat(tables: dict[str, Any]) -> dict[str, Any]:
    """`section.key` → value; None for anything but a single value (a date, a list, a nested table) or one too long."""
    found: dict[str, Any] = {}
    for section, inner in tables.items():
        if isinstance(inner, dict):
            found.update({f"{section}.{key}": value for key, value in inner.items()})
        else:
            found[section] = inner
    return {name: value if _is_single(value) else None for name, value in found.items()}


def _is_single(value: Any) -> bool:
    """Whether a setting can have this value. `repr` refuses an integer of thousands of digits."""
    return isinstance(value, (str, float)) or (isinstance(value, int) and value.bit_length() <= _MOST_BITS)


def _parse(path: str, root: str) -> dict[str, Any]:
    import tomllib

    data = read(path, root, SETTINGS_BYTES)
    try:
        text = (data or b"").decode()
        if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
            raise Unusable(path, f"has a line with more than {_MOST_DOTS} dots")
        return flat(tomllib.loads(text))
    except RecursionError:
        raise Unusable(path, "is nested too deeply") from None
    except UnicodeDecodeError:
        raise Unusable(path, "is not UTF-8") from None
    except ValueError as error:
        raise Unusable(path, f"is not TOML: {error}") from None
