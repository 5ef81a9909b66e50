"""Runs a user's command in its own process group: it ends in time, or with us, and leaves no process behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType, TracebackType
    from typing import Any

_LOOK_S = 0.1
_GRACE_S = 3.0
_TAIL_BYTES = 4_000
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Args:
        status: its exit status, negative for a signal; None where it did not start.
        output: the last 4 KB of what it printed.
        reason: why it did not end by itself, "" where it did.
    """

    status: int | None
    output: str
    reason: Literal["", "timeout", "stopped", "not-started"] = ""

    def explained(self) -> str:
        """How it ended, in words."""
        said = " ".join(self.output.split())[-500:]
        how = {
            "": f"exit status {self.status}",
            "timeout": "it took too long and was ended",
            "stopped": "it was ended with us",
            "not-started": "it could not be started",
        }[self.reason]
        return f"{how}: {said}" if said else how


class Interrupts:
    """Within it Ctrl-C, SIGTERM and SIGHUP do not end this process: they end a wait, and `came` says so."""

    def __init__(self) -> None:
        self._came = False
        self._read = self._write = -1
        self._before: dict[signal.Signals, Any] = {}
        self._wakeup = -1

    def __enter__(self) -> Interrupts:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._take) for number in _STOPPING}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._read)
        os.close(self._write)

    def came(self) -> bool:
        """Whether this process was told to end."""
        return self._came

    def wait(self, seconds: float, *descriptors: int) -> list[int]:
        """Wait for data on the descriptors, for a signal, or for the time to pass; those with data."""
        if self._came:
            return []
        ready, _, _ = select.select([self._read, *descriptors], [], [], seconds)
        return [one for one in ready if one != self._read]

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True


def run(
    words: Sequence[str],
    *,
    seconds: float,
    cwd: str | None = None,
    environment: Mapping[str, str] | None = None,
    data: bytes = b"",
    interrupts: Interrupts | None = None,
    begun: Callable[[int], None] | None = None,
) -> Ended:
    """Run a command to its end; whatever it started is gone when this returns, unless it left the group.

    Args:
        seconds: then it is ended: SIGTERM, and 3 s later SIGKILL.
        data: for its stdin; a few KB at most, since nobody waits until they are read.
        begun: called with its process id, which is that of the group.
    """
    try:
        process = subprocess.Popen(  # noqa: S603  # the user's own command
            list(words),
            cwd=cwd,
            env=dict(environment) if environment is not None else None,
            stdin=subprocess.PIPE if data else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError, IndexError) as error:
        return Ended(None, str(error), "not-started")
    reason: Literal["", "timeout", "stopped"] = "stopped"
    output = b""
    try:
        if begun is not None:
            begun(process.pid)
        if data:
            _give(process, data)
        descriptor = process.stdout.fileno() if process.stdout is not None else -1
        reason, output = _until_over(process.pid, descriptor, time.monotonic() + seconds, interrupts)
    finally:
        _end(process)
    return Ended(process.returncode, output.decode("utf-8", "replace"), reason)


def _give(process: subprocess.Popen[bytes], data: bytes) -> None:
    try:
        if process.stdin is not None:
            process.stdin.write(data)
            process.stdin.close()
    except BrokenPipeError:
        pass


def _until_over(
    pid: int, descriptor: int, until: float, interrupts: Interrupts | None
) -> tuple[Literal["", "timeout", "stopped"], bytes]:
    """Wait for the command's end; a grandchild that holds its output does not count."""
    os.set_blocking(descriptor, False)
    output = b""
    is_open = True
    while True:
        is_over = _is_over(pid)
        if is_open:
            more, is_open = _read(descriptor)
            output = (output + more)[-_TAIL_BYTES:]
        if is_over:
            return "", output
        if interrupts is not None and interrupts.came():
            return "stopped", output
        left = until - time.monotonic()
        if left <= 0:
            return "timeout", output
        watched = (descriptor,) if is_open else ()
        if interrupts is not None:
            interrupts.wait(min(left, _LOOK_S), *watched)
        else:
            select.select(watched, [], [], min(left, _LOOK_S))


def _read(descriptor: int) -> tuple[bytes, bool]:
    """The end of what is there to read, and whether more may come."""
    output = b""
    for _ in range(64):  # what prints without end must not keep us from the clock
        try:
            part = os.read(descriptor, 65_536)
        except BlockingIOError:
            return output, True
        if not part:
            return output, False
        output = (output + part)[-_TAIL_BYTES:]
    return output, True


def _is_over(pid: int) -> bool:
    """Whether it has ended; it stays a zombie, so that its group's number is not given to another."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the group, and take the exit status."""
    if not _is_over(process.pid):
        _signal(process.pid, signal.SIGTERM)
        until = time.monotonic() + _GRACE_S
        while not _is_over(process.pid) and time.monotonic() < until:
            time.sleep(_LOOK_S / 5)
    _signal(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None and not stream.closed:
            try:
                stream.close()
            except BrokenPipeError:
                pass


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass
