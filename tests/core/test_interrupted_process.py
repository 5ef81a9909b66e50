"""Ctrl-C before a command has begun, or when it is done already: no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment

STOPPED = """
import sys
import {module} as owner
def stopped(*_):
    sys.stdout.flush()
    raise KeyboardInterrupt
owner.{name} = stopped
sys.argv = ["joelclaw", "otel", "emit", "build.passed"]
from cli.start import start
start()
"""


@pytest.mark.parametrize(
    ("module", "name", "code"), [("cli.main", "main", 130), ("cli.start", "_flush", 0)], ids=["before", "after"]
)
def test_it_ends_quietly(home: Path, module: str, name: str, code: int) -> None:
    script = STOPPED.format(module=module, name=name)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=clean_environment(home), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert bool(done.stdout) == (code == 0)  # what it had to say is out
