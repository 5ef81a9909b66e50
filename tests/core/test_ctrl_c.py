"""What Ctrl-C does to our own commands."""

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
    ("module", "name", "code"), [("cli.start", "main", 130), ("cli.start", "_flush", 0)], ids=["before", "after"]
)
def test_ctrl_c_before_or_after_a_command_leaves_no_traceback(home: Path, module: str, name: str, code: int) -> None:
    script = STOPPED.format(module=module, name=name)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=clean_environment(home), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert bool(done.stdout) == (code == 0)  # what it had to say is out
