"""`otel.export = "auto"`: what waits goes out in a process of its own, beside the commands that agents run."""

from __future__ import annotations

import os

from core import files
from core.process import due

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config

STOP_S = 60
"""The export is killed after so many seconds; what it had not noted goes again."""


def begin_due(config: Config) -> bool:
    """Start the export where it is switched on and due; whether one runs now."""
    if config.text("otel.export") != "auto":
        return False
    return due.begin(_due(), lock(), ["otel", "export"], every_s=config.whole("otel.export_seconds"), stop_s=STOP_S)


def postpone(until: int) -> None:
    """No export in the background before `until` (ms since the epoch)."""
    due.postpone(_due(), until)


def lock() -> str:
    """The lock file of the export: who holds it sends, one process at a time."""
    return os.path.join(files.home(), "cache", "otel-export.lock")


def _due() -> str:
    return os.path.join(files.home(), "cache", "otel-export.due")
