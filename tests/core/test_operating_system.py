"""What Linux alone does is behind one module, and without it nothing breaks: no `prctl`, no /proc, no forked workers.

Another system is played by a fake: `sys.platform` says darwin, and `ps` tells the processes.
"""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PATIENCE_S, ROOT

from core.process import model_keeper, operating_system

DARWIN = """
import os, runpy, sys
sys.platform = "darwin"
os.listdir = lambda path=".", real=os.listdir: 1 / 0 if str(path) == "/proc" else real(path)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
ASKS = {"sys.platform", "os.uname().machine", "os.sched_getaffinity"}
FAMILY = "sleep 3600 & (sleep 3600 &) ; echo $$ > {told}; sleep 3600"


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")


def test_nothing_else_asks_which_system_it_is() -> None:
    asking = set()
    for room in ("cli", "clients", "core", "memory", "otel", "recall", "session"):
        for path in (ROOT / room).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            if not re.search(r"platform|uname|sched_getaffinity|/proc", source):
                continue
            for node in ast.walk(ast.parse(source)):
                is_asking = isinstance(node, ast.Attribute) and node.attr in {
                    "platform",
                    "machine",
                    "sched_getaffinity",
                }
                names = (ast.unparse(node),) if is_asking else ()
                text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
                if {"sys.platform", "os.uname().machine", "os.sched_getaffinity"} & set(names) or text.startswith(
                    "/proc"
                ):
                    asking.add(str(path.relative_to(ROOT)))
    assert asking == {"core/process/operating_system.py"}


def test_the_children_of_a_process_are_told_alike(elsewhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "3600"]) as child:
        try:
            from_ps = operating_system.children()
            monkeypatch.setattr(sys, "platform", "linux")
            from_proc = operating_system.children()
        finally:
            child.kill()
    assert child.pid in from_ps[os.getpid()]
    assert child.pid in from_proc[os.getpid()]


@pytest.mark.parametrize(
    ("printed", "told"),
    [("  1 0\n 12  1\n 13 12\n", {0: [1], 1: [12], 12: [13]}), ("x y\n\n5\n7 1 2\n", {}), ("", {})],
)
def test_what_ps_prints_is_read(
    elsewhere: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: str, told: dict[int, list[int]]
) -> None:
    fake = tmp_path / "ps"
    fake.write_text(f"#!/bin/sh\nprintf '%s' '{printed}'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert operating_system.children() == told


def test_without_ps_no_process_is_known(elsewhere: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert operating_system.children() == {}


def test_a_package_compiled_on_this_machine_fits_its_processor(elsewhere: None) -> None:
    assert operating_system.processor_flags() is None


@pytest.mark.spawned
def test_a_model_s_command_leaves_nothing_of_its_process_group_behind(tmp_path: Path) -> None:
    told = tmp_path / "told"
    ours, theirs = socket.socketpair()
    command = FAMILY.format(told=told)
    keeper = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            DARWIN,
            model_keeper.__file__,
            str(theirs.fileno()),
            "60",
            "sh",
            "-c",
            command,
        ],
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    try:
        until = time.monotonic() + PATIENCE_S
        while not (told.exists() and told.read_text().strip()) and time.monotonic() < until:
            time.sleep(0.01)
        group = int(told.read_text())
        ours.close()  # whoever asked has ended
        assert keeper.wait(PATIENCE_S) == 0
        left = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True).stdout
        assert f"{os.getpgid(0)} " in left
        alive = [line.split() for line in left.splitlines() if line.split()[0] == str(group)]
        assert all(state.startswith("Z") for _, state in alive), alive  # what has ended waits for init
    finally:
        keeper.kill()
        keeper.wait()


@pytest.mark.spawned
def test_what_became_of_the_command_is_told_elsewhere_too() -> None:
    ours, theirs = socket.socketpair()
    words = [str(theirs.fileno()), "60", "sh", "-c", "exit 3"]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", DARWIN, model_keeper.__file__, *words],
        pass_fds=[theirs.fileno()], timeout=PATIENCE_S, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with ours, theirs:
        assert ours.recv(100) == b"exit 3"
