"""Carrying to a cluster in a process of its own, beside the commands that agents run.

After a failure it is due when the outbox says so, however many hooks ask.
"""

from __future__ import annotations

import os

from core import files
from core.process import due

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config

BUDGET_S = 10
"""It begins nothing new after so many seconds."""
STOP_S = 40
"""It is killed after so many; what was not acknowledged goes again."""


def begin_due(config: Config) -> bool:
    """Start a run where the cluster is in use and a run is due; whether one runs now."""
    if config.text("store.backend") != "typesense" or not os.path.exists(lock()):
        return False
    return due.begin(_due(), lock(), ["store", "sync"], every_s=config.whole("store.sync_seconds"), stop_s=STOP_S)


def postpone(until: int) -> None:
    """No run in the background before `until` (ms since the epoch)."""
    due.postpone(_due(), until)


def lock() -> str:
    """The lock file: who holds it sends, one process at a time. Where it is, the home was given a cluster."""
    return os.path.join(files.home(), "outbox.lock")


def _due() -> str:
    return os.path.join(files.home(), "cache", "store-sync.due")
