"""Work that is due now and then: a file whose time of change says when, so that asking costs one `stat`."""

from __future__ import annotations

import os

from core import clock, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FURTHEST_MS = 24 * clock.HOUR_MS
"""A due time beyond this is one of a clock that was wrong."""


def begin(path: str, lock: str, words: Sequence[str], *, every_s: int, stop_s: int) -> bool:
    """Start `joelclaw WORDS...` in a process of its own where it is due; whether one runs now.

    Args:
        path: the file that says when.
        lock: the lock file that the process holds: one at a time.
        every_s: it is not due again for so many seconds, unless it says otherwise itself (`postpone`).
        stop_s: the process is killed after so many.
    """
    now = clock.now_ms()
    try:
        due = os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        due = 0
    if now < due <= now + _FURTHEST_MS:
        return False
    from core.process import background_process

    postpone(path, now + every_s * 1000)
    return background_process.begin(lock, words, stop_s)


def postpone(path: str, until: int) -> None:
    """Not before `until` (ms since the epoch)."""
    try:
        files.touch_private(path)
        os.utime(path, ns=(until * 1_000_000, until * 1_000_000))
    except OSError:
        pass  # a home that cannot be written has nothing new to send
