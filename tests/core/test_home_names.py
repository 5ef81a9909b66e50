"""The list of what is ours in a home is complete: no command puts something there that `core.files` does not know."""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import ROOT, Run
from test_install import environment
from test_one_way_out import NOW, asked, places

from core import home_files

__all__ = ["places"]

ROOMS = ("core", "clients", "recall", "otel", "memory", "session", "cli")
MORE = (
    ("install", "claude", "codex", "--yes"), ("memory", "archive", "--all"), ("knowledge", "sync", "{notes}"),
)  # fmt: skip


@pytest.fixture
def filled(run: Run, home: Path, places: dict[str, str], tmp_path: Path) -> Path:
    """A home in which every declared command ran, with all that it may leave there."""
    (home / "config.toml").write_text("[recall]\nlimit = 3\n")
    env = {**environment(tmp_path / "somebody"), **NOW, "VAULT_PATH": places["notes"]}
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "h", "prompt": "harbour", "cwd": places["repo"]}
    for words in asked(places):
        plain = [word.replace("\0", "").encode("utf-8", "replace").decode() for word in words]
        with suppress(AssertionError):  # some fail, and leave something all the same
            run(*plain, stdin=json.dumps(prompt) if plain == ["hook", "claude"] else None, env=env)
    for row in MORE:
        run(*(word.format(**places) for word in row), env=env)
    (home / "sessions" / "h.json").write_text("{")
    run("checkpoint", "save", "--session", "h", "--percent", "75", env=env)
    return home


def test_every_command_leaves_what_is_known(run: Run, filled: Path) -> None:
    found = sorted(entry.name for entry in filled.iterdir())
    assert [name for name in found if not home_files.is_in_homes(name)] == []
    assert {"cache", "config.toml", "install.lock", "installs", "knowledge.json", "knowledge.json.lock", "sessions",
            "store.db"} <= set(found)  # fmt: skip
    for path in (filled, *filled.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    run("otel", "emit", "a.b", env=NOW)
    assert [str(path) for path in (filled, *filled.rglob("*")) if path.lstat().st_mode & 0o077] == []


def test_every_name_in_the_code_is_known() -> None:
    """Also of what only a cluster or a fault puts there: `os.path.join(files.home(), NAME, …)`."""
    sources = [path.read_text() for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    constants = [dict(re.findall(r'^(\w+) = "(.*)"$', source, re.MULTILINE)) for source in sources]
    named = set()
    for source, own in zip(sources, constants, strict=True):
        if "home()" not in source:
            continue
        calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) > 1)
        for call in (one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == "join"):
            if ast.unparse(call.func) == "os.path.join" and ast.unparse(call.args[0]) in ("files.home()", "home()"):
                name = call.args[1]
                if isinstance(name, ast.Constant):
                    named.add(str(name.value))
                elif isinstance(name, ast.Attribute):  # of another module
                    named |= {every[name.attr] for every in constants if name.attr in every}
                elif ast.unparse(name) in own:
                    named.add(own[ast.unparse(name)])
                else:  # imported
                    named |= {every[ast.unparse(name)] for every in constants if ast.unparse(name) in every}
    assert {"store.db", "outbox.lock", "spool", "knowledge.json"} <= named
    assert [name for name in named if not home_files.is_in_homes(str(name))] == []
