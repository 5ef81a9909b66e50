"""Ends a hook that takes too long: the agent gets an empty answer and goes on, whatever this process hangs on.

The watcher is a bare thread (`threading` costs 1 ms to import). Files and SQLite let it run while they wait.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LAST_WORDS_S, _LAST_WORDS_SHARE = 0.3, 0.15
"""The share is of the time that the answer had: who allows a slow machine more time allows it here too."""
_SHORTEST_S = 0.05


class Deadline:
    """Runs `late` and ends the process with status 0 unless the answer is claimed within `seconds`.

    Args:
        late: prints the empty answer and notes the event; what hangs in it is left behind after 0.3 s, or after 15 % of
            `seconds`.
    """

    __slots__ = ("_answered", "_began", "_late", "_over", "seconds")

    def __init__(self, seconds: float, late: Callable[[], None]) -> None:
        self.seconds = seconds
        """May be changed: the settings that say it are read while the watcher runs."""
        self._began = time.monotonic()
        self._late = late
        self._answered = allocate_lock()
        self._over = allocate_lock()
        self._over.acquire()
        start_new_thread(self._watch, ())

    def claim(self) -> bool:
        """Whether the caller may print its answer: once, and not when the time is over."""
        return self._answered.acquire(False)

    def over(self) -> None:
        """The work is done; the watcher goes."""
        self._over.release()

    def _watch(self) -> None:
        wait = _SHORTEST_S
        while wait > 0:
            if self._over.acquire(timeout=wait):
                return
            wait = self._began + self.seconds - time.monotonic()
        try:
            if self.claim():  # else the answer was out in time, and what comes after it (an event) hangs
                start_new_thread(_leave, (max(_LAST_WORDS_S, _LAST_WORDS_SHARE * self.seconds),))
                self._late()
        finally:
            os._exit(0)


def _leave(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(0)
