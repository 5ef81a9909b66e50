"""The process between us and a model's command: it runs the command and leaves nothing of it behind.

Run as a script, `python -I -S model_keeper.py LINE SECONDS WORD...`, so that nothing of the environment or of a project
is imported. LINE is one end of a socket pair. When the other end closes, however its holder ended, or after SECONDS,
everything that the command started is killed. What became of the command goes back over it: `exit N`, `signal N`,
`errno N` (it could not be started) or `stopped`.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from core.process import operating_system  # found by the line above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_GRACE_S = 0.3
"""From SIGTERM to SIGKILL."""
_LONGEST_END_S = 3.0
_POLL_S = 0.01
_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(words: Sequence[str]) -> None:
    """Run the command of `words` (LINE, SECONDS, WORD...) and report."""
    line = int(words[0])
    until = time.monotonic() + float(words[1])
    os.set_inheritable(line, False)
    operating_system.adopt_orphans()
    woken = _wake_up_on_signals()
    child, fault = _start(words[2:])
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # else nobody saw the end of the command's output
        os.dup2(null, descriptor)
    status = None if fault else _wait(child, line, woken, until)
    _end(child, running=status is None and not fault)
    if fault:
        word = f"errno {fault}"
    elif status is None:
        word = "stopped"
    elif os.WIFSIGNALED(status):
        word = f"signal {os.WTERMSIG(status)}"
    else:
        word = f"exit {os.WEXITSTATUS(status)}"
    try:
        os.write(line, word.encode())
    except OSError:
        pass  # nobody is there any more


def _wake_up_on_signals() -> int:
    """A descriptor that can be read once a child has ended or we are asked to stop; it gives the signals' numbers."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *_STOPPING):
        signal.signal(number, lambda *_: None)
    return reading


def _start(words: Sequence[str]) -> tuple[int, int]:
    """The command in a session of its own; its process id, and the errno where it could not be started."""
    keeper = os.getpid()
    reading, writing = os.pipe()  # closed by a successful exec
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            operating_system.end_with_parent(signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, *_STOPPING):
                signal.signal(number, signal.SIG_DFL)
            if os.getppid() == keeper:
                os.execvp(words[0], list(words))  # noqa: S606
        except OSError as error:
            os.write(writing, str(error.errno or 1).encode())
        finally:
            os._exit(127)
    os.close(writing)
    said = os.read(reading, 16)
    os.close(reading)
    return child, int(said or b"0")


def _wait(child: int, line: int, woken: int, until: float) -> int | None:
    """Its wait status, None where it has to be stopped."""
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return None
        ready, _, _ = select.select([line, woken], [], [], left)
        if line in ready:
            return None  # nothing is ever sent to us: the other end is closed
        if woken in ready and set(os.read(woken, 4096)) & set(_STOPPING):
            return None
        status, _ = _reaped(child)
        if status is not None:
            return status


def _reaped(child: int) -> tuple[int | None, bool]:
    """The wait status of `child` if it has ended now, and whether we have children left. Takes all that have ended."""
    found = None
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found, False
        if ended == 0:
            return found, True
        if ended == child:
            found = status


def _end(child: int, *, running: bool) -> None:
    """Kill the command and all that it started, wherever that went."""
    if running:
        _signal([-child], signal.SIGTERM)
        until = time.monotonic() + _GRACE_S
        while time.monotonic() < until and _reaped(child)[0] is None:
            time.sleep(_POLL_S)
    until = time.monotonic() + _LONGEST_END_S
    while True:
        _signal([-child, *_descendants()], signal.SIGKILL)
        if not _reaped(child)[1] or time.monotonic() >= until:
            return
        time.sleep(_POLL_S)


def _signal(processes: Sequence[int], number: int) -> None:
    for process in processes:
        try:
            os.kill(process, number)
        except OSError:
            pass


def _descendants() -> list[int]:
    """The processes below this one, as far as the system tells."""
    children = operating_system.children()
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
