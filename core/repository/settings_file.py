"""A project's `./.joelclaw/config.toml`: read within the project, parsed once, kept as JSON; a bad one is left out."""

from __future__ import annotations

import os

from core import files, json_text
from core.repository.project_file import SETTINGS_BYTES, Unusable, read, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_BITS = 64
_MOST_DOTS = 100
"""In a line. A key of 32,000 parts takes `tomllib` 24 s and 4 GB."""


def table(path: str, root: str) -> dict[str, Any]:
    """The file's settings by `section.key`; empty where there is none.

    Args:
        root: the project's real path.

    Raises:
        Unusable: it may not be read, or is no TOML.
    """
    found = status_of(path, root)
    if found is None:
        return {}
    real, status = found
    key = [real, status.st_mtime_ns, status.st_size, status.st_ino]
    kept = cached(path, key)
    if kept is None:
        try:
            kept = {"table": _parse(path, root)}
        except Unusable as fault:
            kept = {"fault": fault.reason}
        keep(path, key, kept)
    if "fault" in kept:
        raise Unusable(path, str(kept["fault"]))
    result: dict[str, Any] = kept["table"]
    return result


def cached(path: str, key: list[Any]) -> dict[str, Any] | None:
    """What was kept of a file with this key, None where nothing was or the file has changed."""
    try:
        with open(_place(path), "rb") as handle:
            kept = json_text.loads(handle.read())
        if kept["key"] == key and ("fault" in kept or isinstance(kept["table"], dict)):
            found: dict[str, Any] = kept
            return found
    except (OSError, json_text.InvalidJSON, KeyError, TypeError):
        pass
    return None


def keep(path: str, key: list[Any], value: dict[str, Any]) -> None:
    """Keep what was made of a file; a cache that cannot be written only costs time."""
    try:
        files.write_whole(_place(path), json_text.dumps({"key": key, **value}).encode())
    except (OSError, TypeError, ValueError):
        pass


def flat(tables: dict[str, Any]) -> dict[str, Any]:
    """`section.key` → value; None for what is no single value (a date, a list, a table within a table) or too long."""
    found: dict[str, Any] = {}
    for section, inner in tables.items():
        if isinstance(inner, dict):
            found.update({f"{section}.{key}": value for key, value in inner.items()})
        else:
            found[section] = inner
    return {name: value if _is_single(value) else None for name, value in found.items()}


def _is_single(value: Any) -> bool:
    """Whether a setting can have it. An integer of thousands of digits could not even be told: `repr` refuses it."""
    return isinstance(value, (str, float)) or (isinstance(value, int) and value.bit_length() <= _MOST_BITS)


def _place(path: str) -> str:
    return os.path.join(files.home(), "cache", f"config-{files.safe_name(path)[-90:]}.json")


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
        raise Unusable(path, f"is no TOML: {error}") from None
