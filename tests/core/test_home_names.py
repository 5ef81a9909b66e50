"""`core.files` knows every name in a home, and what killed writers leave behind is swept."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import ROOT, Run, clean_environment, put
from test_install import environment
from test_one_way_out import NOW, command_lines, places

from core import files

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
    for words in command_lines(places):
        plain = [word.replace("\0", "").encode("utf-8", "replace").decode() for word in words]
        with suppress(AssertionError):  # some fail, and leave something all the same
            run(*plain, stdin=json.dumps(prompt) if plain == ["hook", "claude"] else None, env=env)
    for row in MORE:
        run(*(word.format(**places) for word in row), env=env)
    (home / "sessions" / "h.json").write_text("{")
    run("checkpoint", "save", "--session", "h", "--percent", "75", env=env)
    return home


def test_every_command_leaves_only_known_names(run: Run, filled: Path) -> None:
    names = sorted(entry.name for entry in filled.iterdir())
    assert [name for name in names if not files.is_in_homes(name)] == []
    assert {"cache", "config.toml", "install.lock", "installs", "knowledge.json", "knowledge.json.lock", "sessions",
            "store.db"} <= set(names)  # fmt: skip
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
        for call in (call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "join"):
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
    assert [name for name in named if not files.is_in_homes(str(name))] == []


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from core import files
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
files.write_whole(os.path.join(files.home(), "sessions", "x.json"), b"{}")
"""


def aged(path: Path, seconds: int = 7200) -> Path:
    put(path, b"half")
    at = time.time() - seconds
    os.utime(path, (at, at))
    return path


def test_a_killed_writers_file_is_swept_by_the_daily_prune(run: Run, home: Path) -> None:
    run("otel", "emit", "store.made")
    done = subprocess.run([sys.executable, "-c", KILLED, str(ROOT)], env=clean_environment(home), capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (leftover,) = home.rglob("*.tmp")
    aged(leftover)
    run("store", "prune")
    assert list(home.rglob("*.tmp")) == []


def test_only_stale_temporary_files_are_swept(run: Run, home: Path) -> None:
    run("otel", "emit", "store.made")
    swept = [
        aged(home / name)
        for name in ("cache/config-x.json.12.345.tmp", "sessions/s.json.9.9.tmp", "knowledge.json.7.8.tmp")
    ]
    staying = [
        aged(home / "sessions" / "s.json"), aged(home / "sessions" / "notes.tmp"),
        aged(home / "workspace" / "x.1.2.tmp"), aged(home / "sessions" / "s.json.9.10.tmp", seconds=1800),
    ]  # fmt: skip
    outside = aged(home.parent / "outside.1.2.tmp")
    link = home / "sessions" / "link.1.2.tmp"
    link.symlink_to(outside)
    run("store", "prune")
    assert [path for path in swept if path.exists()] == []
    assert all(path.exists() for path in (*staying, outside, link))
