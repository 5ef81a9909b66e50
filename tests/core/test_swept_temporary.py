"""What a writer that was killed left behind is swept, and nothing that may still be written (issue 13)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, Run, clean_environment

KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from core import files
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
files.write_whole(os.path.join(files.home(), "sessions", "x.json"), b"{}")
"""


def aged(path: Path, seconds: int = 7200) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"half")
    at = time.time() - seconds
    os.utime(path, (at, at))
    return path


def test_a_killed_writer_leaves_one_and_the_daily_prune_sweeps_it(run: Run, home: Path) -> None:
    run("otel", "emit", "store.made")
    done = subprocess.run([sys.executable, "-c", KILLED, str(ROOT)], env=clean_environment(home), capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (left,) = home.rglob("*.tmp")
    run("store", "prune")
    assert left.exists()  # it might be written still
    aged(left)
    run("store", "prune")
    assert list(home.rglob("*.tmp")) == []


@pytest.mark.parametrize("words", [("store", "prune")])
def test_what_is_swept_and_what_is_not(run: Run, home: Path, words: tuple[str, ...]) -> None:
    run("otel", "emit", "store.made")
    swept = [
        aged(home / name)
        for name in ("cache/config-x.json.12.345.tmp", "sessions/s.json.9.9.tmp", "knowledge.json.7.8.tmp")
    ]
    kept = [
        aged(home / "sessions" / "s.json"),
        aged(home / "sessions" / "notes.tmp"),
        aged(home / "workspace" / "x.1.2.tmp"),
        aged(home / "sessions" / "s.json.9.10.tmp", seconds=1800),
    ]
    outside = aged(home.parent / "outside.1.2.tmp")
    link = home / "sessions" / "link.1.2.tmp"
    link.symlink_to(outside)
    run(*words)
    assert [path for path in swept if path.exists()] == []
    assert all(path.exists() for path in (*kept, outside, link))
