"""What a client's own files say of our hooks: switched off, not trusted; and how such a file is read."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any

_COMMENTS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


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
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, ValueError):
        return {}
    for candidate in (text, _COMMENTS.sub(r"\1", text)):
        try:
            found = json.loads(candidate)
        except ValueError:
            continue
        return found if isinstance(found, dict) else {}
    return {}


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file; empty where there is none that can be read."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


def table(value: object, *names: str) -> dict[str, Any]:
    """The table of these names within a value; empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def damage(path: str) -> str:
    """What keeps a JSON or TOML file of a client from being read; "" where it is sound, or is not there."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        text = data.decode("utf-8-sig")
        if path.endswith(".toml"):
            tomllib.loads(text)
        elif text.strip():
            json.loads(_COMMENTS.sub(r"\1", text))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or type(error).__name__
    except ValueError as error:
        return str(error)
    return ""
