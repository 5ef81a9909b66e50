"""Imports run downwards only and without cycles; folders and modules have a readable size (AGENTS.md)."""

import ast
import functools
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
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
LONGEST = 500
SHORTEST = 40
MOST_MODULES = 20
"""In one folder, `__init__` not counted."""
SHORT = {
    "clients/opencode.py",  # a client has a module of its own, however little differs
    "core/errors.py",  # a leaf: every room raises its Failure
}
"""Modules that are shorter than that for a reason."""


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """The imports and the strings of a module, at its head or inside a function."""
    wanted = (ast.Import, ast.ImportFrom, ast.Constant)
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, wanted)]


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_downwards_only(room: str) -> None:
    assert modules(room)
    for path in modules(room):
        rooms = {name.partition(".")[0] for name in names_imported(path)}
        assert rooms & set(MAY_IMPORT) <= MAY_IMPORT[room] | {room}, path


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_module_has_a_readable_size_and_names_what_it_is(room: str) -> None:
    for path in modules(room):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        must_be_longer = path.name != "__init__.py" and str(path.relative_to(ROOT)) not in SHORT
        assert (SHORTEST if must_be_longer else 0) <= lines <= LONGEST, path
        assert path.stem not in ("manager", "helper", "helpers", "utils", "util", "misc"), path


def folders(room: str) -> list[Path]:
    return sorted({path.parent for path in modules(room)})


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_folder_can_be_read_at_a_glance(room: str) -> None:
    for folder in folders(room):
        assert sum(path.name != "__init__.py" for path in folder.glob("*.py")) <= MOST_MODULES, folder


def names_imported(path: Path) -> Iterator[str]:
    """What a module imports anywhere: at its head, in its functions, for the type checker."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module


MODULES = {
    str(path.relative_to(ROOT)).removesuffix("/__init__.py").removesuffix(".py").replace("/", "."): path
    for room in MAY_IMPORT
    for path in modules(room)
}


def test_modules_import_each_other_in_no_circle_not_even_of_types() -> None:
    graph = {
        name: {
            imported
            for imported in names_imported(path)
            if imported in MODULES and not f"{name}.".startswith(f"{imported}.")
        }
        for name, path in MODULES.items()
    }  # Python imports a package before what is in it
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_sql_is_written_in_the_store_only() -> None:
    # whatever a room asks of the database it asks through core/store
    words = ("SELECT ", "INSERT INTO", "DELETE FROM", "UPDATE ")
    for room in MAY_IMPORT:
        for path in modules(room):
            for node in nodes(path) if "store" not in path.parts else ():
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    assert not node.value.lstrip().startswith(words), f"{path}: {node.value[:60]}"
