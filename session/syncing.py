"""Carrying to a cluster in a process of its own, beside the commands that agents run.

A command asks `begin_due` at its end, where the home has a cluster at all (`cli.main` looks for the lock's file). That
is one `stat` of a file whose time of change says when the next run is due, and once in `store.sync_seconds` the start
of a process. After a failure it is due when the outbox says so, however many hooks ask.
"""

from __future__ import annotations

import os

from core import clock, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config

BUDGET_S = 10
"""It begins nothing new after so many seconds."""
STOP_S = 40
"""It is killed after so many; what was not acknowledged goes again."""
_MARK = "outbox.lock"
_FURTHEST_MS = clock.HOUR_MS
"""A due time beyond this is one of a clock that was wrong."""


def begin_due(config: Config) -> bool:
    """Start a run where the cluster is in use and a run is due; whether one runs now."""
    if config.text("store.backend") != "typesense":
        return False
    now = clock.now_ms()
    try:
        due = os.stat(_due()).st_mtime_ns // 1_000_000
    except OSError:
        due = 0
    if now < due <= now + _FURTHEST_MS:
        return False
    from session import detached

    postpone(now + config.whole("store.sync_seconds") * 1000)
    return detached.begin(lock(), ["store", "sync"], STOP_S)


def postpone(until: int) -> None:
    """No run in the background before `until` (ms since the epoch)."""
    try:
        files.touch_private(_due())
        os.utime(_due(), ns=(until * 1_000_000, until * 1_000_000))
    except OSError:
        pass  # a home that cannot be written has nothing new to send


def lock() -> str:
    """The lock file: who holds it sends, one process at a time. Its being there is the mark of a cluster."""
    return os.path.join(files.home(), _MARK)


def _due() -> str:
    return os.path.join(files.home(), "cache", "store-sync.due")
