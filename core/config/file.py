"""Files of settings, held against what there is: parsed once, kept as JSON. A project's is left out if invalid."""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files, json_text
from core.config import FORMERLY, NARROWING, SETTINGS
from core.config.value import checked
from core.errors import Failure
from core.repository.project_file import SETTINGS_BYTES, Unusable, read, root_of, status_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from core.config import Said, Value

_REASON_CHARS = 200
_SCOPES = "scopes."
_MOST_BITS = 64
_MOST_DOTS = 100
"""Most dots in a line. A key of 32,000 parts takes `tomllib` 24 s and 4 GB."""


def choices(folder: str) -> dict[str, Any] | None:
    """What the file in a folder says, else the one at its project's root; None if there is none.

    Of its `settings`, which hold where its folder is trusted, `withheld` hold only there; those in `never` only the
    user's own file may say. `fault` is why the file is left out.
    """
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
    if fault := project(path, root)["fault"]:
        return {**told, "fault": fault}
    for name, value in table(path, root).items():
        if name.startswith("scopes."):
            told["scopes"][name.partition(".")[2]] = str(value)
        elif name in SETTINGS and SETTINGS[name].trusted:
            told["never"].append(name)
        elif name in SETTINGS:
            told["settings"][name] = value
    told["withheld"] = [name for name in told["settings"] if name not in NARROWING]
    return told


def own(path: str) -> Said:
    """The user's own file. Raises Failure: CONFIG_INVALID."""
    status = os.stat(path)

    def parse() -> dict[str, Any]:
        import tomllib

        try:
            with open(path, "rb") as handle:
                return {"table": flat(tomllib.load(handle))}
        except (OSError, ValueError) as error:
            raise Failure("CONFIG_INVALID", f"{path}: {error}", f"fix {path}, or move it away") from None

    found: dict[str, Any] = parsed_once(path, [path, status.st_mtime_ns, status.st_size], parse)["table"]
    return _said(found, path, is_own=True)


def project(path: str, folder: str) -> Said:
    """A project's file; if anything in it is wrong, it says nothing but that."""
    from core.repository import trust

    root = root_of(folder)
    said: Said = {"values": {}, "scopes": {}, "unknown": (), "trusted": trust.is_trusted(root), "fault": ""}
    try:
        return {**_said(table(path, root), path, is_own=False), "trusted": said["trusted"]}
    except Unusable as fault:
        return {**said, "fault": fault.reason}
    except Failure as failure:
        return {**said, "fault": "is wrong: " + failure.message.removeprefix(f"{path}: ")[:_REASON_CHARS]}


def _said(table: dict[str, Any], path: str, *, is_own: bool) -> Said:
    values: dict[str, Value] = {}
    for name in sorted(table, key=SETTINGS.__contains__):  # a name of today beats that of old
        setting = SETTINGS.get(FORMERLY.get(name, name))
        if setting is None or (setting.trusted and not is_own):
            continue  # unknown, or one that a project may not set
        values[FORMERLY.get(name, name)] = checked(name, setting, table[name], path)
    others = [name for name in table if name not in SETTINGS and name not in FORMERLY]  # misspelled, or newer
    unknown = tuple((path, name) for name in others if not name.startswith(_SCOPES))
    return {"values": values, "scopes": _scopes(table, path), "unknown": unknown, "trusted": True, "fault": ""}


def _scopes(table: dict[str, Any], path: str) -> dict[str, str]:
    """The entries of the table `[scopes]`, in the file's order."""
    scopes: dict[str, str] = {}
    for name, value in table.items():
        if name.startswith(_SCOPES):
            if not isinstance(value, str):
                message = f"{path}: {name} is {value!r}, which is not text"
                raise Failure("CONFIG_INVALID", message, f"set {name} to text")
            scopes[name.removeprefix(_SCOPES)] = value
    return scopes


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
