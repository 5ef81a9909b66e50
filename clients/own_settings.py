"""What a client's own files say of our hooks: switched off, not trusted; and how such a file is read."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from typing import Any

_COMMENTS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


_MOST_BYTES = 16_000_000
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True)
class Place:
    """Where an entry of ours stands in a client's settings: event, group, place in the group, both from 0."""

    event: str
    group: int
    position: int


@dataclass(frozen=True)
class Obstacle:
    """What keeps a client from running our hooks, and what the user does about it."""

    message: str
    fix: str


def read_json(path: str) -> dict[str, Any]:
    """The object in a JSON file, comments allowed; empty where there is none that can be read."""
    try:
        text = _data(path).decode("utf-8-sig")
        for candidate in (text, _COMMENTS.sub(r"\1", text)):
            try:
                found = json.loads(candidate)
            except ValueError:
                continue
            return found if isinstance(found, dict) else {}
    except (OSError, ValueError, RecursionError):
        pass
    return {}


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file; empty where there is none that can be read."""
    import tomllib

    try:
        return tomllib.loads(_data(path).decode())
    except (OSError, ValueError, RecursionError):
        return {}


def table(value: object, *names: str) -> dict[str, Any]:
    """The table of these names within a value; empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def damage(path: str) -> str:
    """What keeps a JSON or TOML file of a client from being read; "" where it is sound, or is not there."""
    try:
        text = _data(path).decode("utf-8-sig")
        if path.endswith(".toml"):
            import tomllib

            tomllib.loads(text)
        elif text.strip():
            json.loads(_COMMENTS.sub(r"\1", text))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deep"
    return ""


def _data(path: str) -> bytes:
    """What a regular file of a fair size holds: a repository may have a pipe or a device in its place.

    Raises:
        OSError: it cannot be read, or is none.
    """
    descriptor = os.open(path, _FLAGS)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no regular file")
        if status.st_size > _MOST_BYTES:
            raise OSError("it is far too large")
        return file.read(_MOST_BYTES)
