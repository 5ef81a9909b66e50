"""What a client's own files say of our hooks: switched off, not trusted; and how such a file is read."""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass
from typing import Any

_COMMENTS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_MOST_BYTES = 16_000_000


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


def read_settings(path: str) -> dict[str, Any]:
    """The object in a JSON file, comments allowed, or the tables of a TOML file; empty where none can be read."""
    try:
        found = _parsed(path)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def table(value: object, *names: str) -> dict[str, Any]:
    """The table of these names within a value; empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def damage(path: str) -> str:
    """What keeps a JSON or TOML file of a client from being read; "" where it is sound, or is not there."""
    try:
        _parsed(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deep"
    return ""


def _parsed(path: str) -> Any:
    """What a regular file of a fair size holds: a repository may have a pipe or a device in its place.

    Raises:
        OSError, ValueError, RecursionError: it cannot be read, or is no JSON (`.toml`: no TOML).
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(0, "it is no regular file")
    with open(path, encoding="utf-8-sig") as file:
        text = file.read(_MOST_BYTES)
    if path.endswith(".toml"):
        return tomllib.loads(text)
    return json.loads(_COMMENTS.sub(r"\1", text)) if text.strip() else {}
