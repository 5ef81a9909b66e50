"""Runs a user's command in its own process group, which ends in time, or with us, and leaves no process behind."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from core.files import FileLock

Reason = Literal["", "timeout", "stopped", "not-started", "too-long"]
_LOOK_S = 0.1
_GRACE_S = 3.0
_TAIL_BYTES = 8_000
_CHUNK = 65_536
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GUARD = """\
import os, sys
alive = int(sys.argv[1])
os.set_inheritable(alive, False)
if os.fork():
    os.execvp(sys.argv[2], sys.argv[2:])
os.closerange(0, 3)
os.read(alive, 1)
os.killpg(0, 9)
"""
"""A child beside the command: when we end, the pipe that it reads closes, and it kills the group."""


@dataclass(frozen=True)
class Ended:
    """How a command ended; the last 8 KB of `output` and `errors`, unless more output was asked for."""

    status: int | None
    """Negative for a signal; None if it did not start."""
    output: bytes
    reason: Reason = ""
    """Why it did not end on its own."""
    errors: bytes = b""

    def explained(self) -> str:
        """How it ended, in words."""
        said = " ".join((self.output + b"\n" + self.errors).decode("utf-8", "replace").split())[-500:]
        how = {
            "": f"exit status {self.status}",
            "timeout": "it took too long and was stopped",
            "stopped": "it was stopped when joelclaw ended",
            "not-started": "it could not be started",
            "too-long": "it printed too much and was stopped",
        }[self.reason]
        return f"{how}: {said}" if said else how


class Interrupts:
    """Inside it Ctrl-C, SIGTERM and SIGHUP do not end this process: they end a wait, and `came` says so."""

    def __init__(self) -> None:
        self._came = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        self._before = {number: signal.signal(number, lambda *_: self._take()) for number in _STOPPING}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def came(self) -> bool:
        """Whether this process was told to end."""
        return self._came

    def wait(self, seconds: float) -> None:
        """Wait for a signal, or until the time is up."""
        until = time.monotonic() + seconds
        while not self._came and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))

    def _take(self) -> None:
        self._came = True


def run(
    words: Sequence[str],
    *,
    seconds: float,
    cwd: str | None = None,
    environment: Mapping[str, str] | None = None,
    data: bytes = b"",
    most: int = 0,
    guarded: bool = False,
    interrupts: Interrupts | None = None,
    lock: FileLock | None = None,
) -> Ended:
    """Run a command to its end; everything it started is gone when this returns, unless it left the group.

    Args:
        seconds: then it is ended: SIGTERM, and 3 s later SIGKILL.
        data: for its stdin, which it need not read.
        most: it may print so many bytes, and all are returned; 0 for any number, of which the last are.
        guarded: it is killed where we end, too, however that happens.
        lock: held by the command, too: it stays locked where we are killed and the command goes on.
    """
    if not words or "\0" in "".join(words) or shutil.which(words[0]) is None:
        return Ended(None, f"No such file: {words[0] if words else ''!r}".encode(), "not-started")
    alive, ours = os.pipe()
    guard = [sys.executable, "-I", "-S", "-c", _GUARD, str(alive)] if guarded else []
    try:
        process = subprocess.Popen(  # noqa: S603  # the user's own command
            [*guard, *words],
            cwd=cwd,
            env=dict(environment) if environment is not None else None,
            stdin=subprocess.PIPE if data else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(*((alive,) if guarded else ()), *((lock.fileno(),) if lock is not None else ())),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(ours)
        return Ended(None, str(error).encode(), "not-started")
    finally:
        os.close(alive)
    output, errors = bytearray(), bytearray()
    reason: Reason = "stopped"
    try:
        reason = _exchange(process, data, (output, errors), most, time.monotonic() + seconds, interrupts)
    finally:
        _end(process)
        os.close(ours)
    return Ended(process.returncode, bytes(output), reason, bytes(errors))


def _exchange(
    process: subprocess.Popen[bytes], data: bytes, texts: tuple[bytearray, bytearray], most: int, until: float,
    interrupts: Interrupts | None,
) -> Reason:  # fmt: skip
    """Give a process its input and take its output until it ends; output held by a grandchild does not count."""
    reading = {
        stream.fileno(): text for stream, text in zip((process.stdout, process.stderr), texts, strict=True) if stream
    }
    writing = [process.stdin.fileno()] if process.stdin is not None else []
    rest = memoryview(data)
    for descriptor in (*reading, *writing):
        os.set_blocking(descriptor, False)
    while True:
        is_over = _is_over(process.pid)
        _read(reading, texts[0] if most else None)
        if 0 < most < len(texts[0]):
            return "too-long"
        if is_over:
            return ""
        if interrupts is not None and interrupts.came():
            return "stopped"
        left = until - time.monotonic()
        if left <= 0:
            return "timeout"
        if select.select([*reading], writing, [], min(left, _LOOK_S if reading else _LOOK_S / 20))[1]:
            try:
                rest = rest[os.write(writing[0], rest[:_CHUNK]) :]
            except BrokenPipeError:
                rest = rest[:0]
            if not rest and process.stdin is not None:
                writing = []
                process.stdin.close()


def _read(reading: dict[int, bytearray], whole: bytearray | None) -> None:
    """Take part of each output; of a text that is not wanted whole, the end is kept."""
    for descriptor, text in list(reading.items()):
        try:
            part = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            continue
        text += part
        if text is not whole:
            del text[:-_TAIL_BYTES]
        if not part:
            del reading[descriptor]


def _is_over(pid: int) -> bool:
    """Whether it has ended; it stays a zombie, so that its group's number is not reused."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the rest of the group, and take the exit status."""
    if not _is_over(process.pid):
        _signal(process.pid, signal.SIGTERM)
        until = time.monotonic() + _GRACE_S
        while not _is_over(process.pid) and time.monotonic() < until:
            time.sleep(_LOOK_S / 5)
    _signal(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
