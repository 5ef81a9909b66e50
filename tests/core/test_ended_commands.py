"""How a command of the user's ended, in words, how a signal ends a wait for it, and what Ctrl-C does to our own."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment

from core.process.command import Command, Ended, Interrupts


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        (Ended(0, b""), "exit status 0"),
        (Ended(3, b"a\n b", "", b"c"), "exit status 3: a b c"),
        (Ended(None, b"x", "not-started"), "it could not be started: x"),
        (Ended(1, b"", "timeout"), "it took too long and was stopped"),
        (Ended(1, b"b" + b"a" * 500), "exit status 1: " + "a" * 500),
    ],
)
def test_how_it_ended_in_words(ended: Ended, told: str) -> None:
    assert ended.explain() == told


def test_a_signal_ends_a_command_and_what_was_before_is_there_again() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts() as interrupts:
        stop = Command(["sh", "-c", "kill $PPID; sleep 3600"], seconds=60).run(interrupts)
        assert stop.reason == "stopped" and interrupts.came()
    assert signal.getsignal(signal.SIGTERM) == before


def test_of_what_it_prints_the_last_is_kept() -> None:
    much = "printf %0200000d 7"
    ended = Command(["sh", "-c", f"{much} >&2; {much}; echo no >&2; exit 3"], seconds=60).run()
    assert (ended.status, ended.reason, ended.errors) == (3, "", b"0" * 7_996 + b"7no\n")
    assert ended.output == b"0" * 7_999 + b"7"


@pytest.mark.parametrize("words", [["/no/such/program"], [], ["a\0b"]])
def test_what_cannot_be_started_is_told(words: list[str]) -> None:
    ended = Command(words, seconds=1).run()
    assert (ended.status, ended.reason) == (None, "not-started") and ended.output


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
def test_ctrl_c_before_or_after_a_command_leaves_no_traceback(home: Path, module: str, name: str, code: int) -> None:
    script = STOPPED.format(module=module, name=name)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=clean_environment(home), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert bool(done.stdout) == (code == 0)  # what it had to say is out
