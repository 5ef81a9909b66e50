"""Starts one of our commands in the background, one at a time under a lock, and kills it after a time limit."""

from __future__ import annotations

import fcntl
import os
import sys
import time

from core import TYPE_CHECKING, files

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = "JOELCLAW_DETACHED_SECONDS"
_HELD = "JOELCLAW_DETACHED_LOCK"
_POLL_S = 0.003
_held: list[int] = []
"""Variable with the descriptor of the lock that this process was started with."""


def begin(lock: str, words: Sequence[str], seconds: int, *others: str) -> bool:
    """Start `joelclaw WORDS...`, killed after `seconds`, under the first free lock; returns whether it is running."""
    if not os.path.isfile(sys.argv[0]):
        return False
    for path in (lock, *others):
        try:
            files.touch_private(path)
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.set_inheritable(descriptor, True)
            os.posix_spawn(
                sys.executable,
                [sys.executable, sys.argv[0], *words],
                {**os.environ, LIMIT: str(seconds), _HELD: str(descriptor)},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
                    (os.POSIX_SPAWN_DUP2, 0, 1),
                    (os.POSIX_SPAWN_DUP2, 0, 2),
                ],
                setpgroup=0,  # a client that ends its hook's group does not end this
            )
            return True
        except BlockingIOError:
            continue
        except OSError:
            return False
        finally:
            os.close(descriptor)
    return True


def stop_in_time() -> bool:
    """In the command: have the kernel end this process when its time is up; returns whether `begin` started it."""
    seconds = os.environ.pop(LIMIT, "")
    held = os.environ.pop(_HELD, "")
    if seconds and held.isdecimal():
        try:
            os.set_inheritable(int(held), False)
            _held.append(int(held))
        except OSError:  # a word of somebody else's: there is no such descriptor
            pass
    if seconds.isdecimal():
        import signal

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(seconds))
    return bool(seconds)


def free() -> None:
    """In the command: free the lock that it was started with, before it ends."""
    while _held:
        os.close(_held.pop())


def wait(lock: str, seconds: float) -> bool:
    """Wait until nothing holds the lock; returns whether that happened in time."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return True
    until = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return True
            except OSError:
                if time.monotonic() >= until:
                    return False
                time.sleep(_POLL_S)
    finally:
        os.close(descriptor)
