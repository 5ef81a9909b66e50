"""`otel.export = "auto"`: what waits goes out in a process of its own, beside the commands that agents run.

A command asks `begin_due` at its end. Off, that is a look at a setting; on, one `stat` of a file whose time of change
says when the next export is due, and once in `otel.export_seconds` the start of a process.
"""

from __future__ import annotations

import os

from core import clock, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config

STOP_S = 60
"""The export is killed after so many seconds; what it had not noted goes again."""
_FURTHEST_MS = 24 * clock.HOUR_MS
"""A due time beyond this is one of a clock that was wrong."""


def begin_due(config: Config) -> bool:
    """Start the export where it is switched on and due; whether one runs now."""
    if config.text("otel.export") != "auto":
        return False
    now = clock.now_ms()
    try:
        due = os.stat(_due()).st_mtime_ns // 1_000_000
    except OSError:
        due = 0
    if now < due <= now + _FURTHEST_MS:
        return False
    from session import detached

    postpone(now + config.whole("otel.export_seconds") * 1000)
    return detached.begin(lock(), ["otel", "export"], STOP_S)


def postpone(until: int) -> None:
    """No export in the background before `until` (ms since the epoch)."""
    try:
        files.touch_private(_due())
        os.utime(_due(), ns=(until * 1_000_000, until * 1_000_000))
    except OSError:
        pass  # a home that cannot be written has nothing new to send


def lock() -> str:
    """The lock file of the export: who holds it sends, one process at a time."""
    return os.path.join(files.home(), "cache", "otel-export.lock")


def _due() -> str:
    return os.path.join(files.home(), "cache", "otel-export.due")
