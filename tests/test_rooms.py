"""Imports run downwards only: cli → session → recall, memory, otel → core (docs/design.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from conftest import ROOT

MAY_IMPORT = {
    "core": set(),
    "clients": {"core"},
    "recall": {"core"},
    "otel": {"core"},
    "memory": {"core", "clients", "recall"},
    "session": {"core", "clients", "recall", "memory", "otel"},
    "cli": {"core", "clients", "recall", "memory", "otel", "session"},
}
LONGEST = 400


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The rooms that a module imports, at its head or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found & set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_downwards_only(room: str) -> None:
    assert modules(room)
    for path in modules(room):
        assert imported(path) <= MAY_IMPORT[room] | {room}, path


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_module_is_short_and_names_what_it_is(room: str) -> None:
    for path in modules(room):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST, path
        assert path.stem not in ("manager", "helper", "helpers", "utils", "util", "misc"), path


def test_sql_is_written_in_the_store_only() -> None:
    # whatever a room asks of the database it asks through core/store
    words = ("SELECT ", "INSERT INTO", "DELETE FROM", "UPDATE ")
    for room in MAY_IMPORT:
        for path in modules(room):
            if "store" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    assert not node.value.lstrip().startswith(words), f"{path}: {node.value[:60]}"
