"""Jobs that are due now and then, each started in a background process of its own beside the commands that agents run.

Three of them: `store sync` (memories to a cluster), `otel export` (events to a collector) and, once a day,
`store prune` (what is old). When a job is due is the time of change of a file, so that asking costs one `stat`. Who
runs a job holds its lock.
"""

from __future__ import annotations

import os
import time

from core import clock, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config

SYNC_BUDGET_S = 10
"""A sync in the background begins nothing new after so many seconds."""
_SYNC_STOP_S = 40
"""It is killed after so many; what was not acknowledged goes again."""
_EXPORT_STOP_S = 60
_PRUNE_STOP_S = 600
_DAY_S = 86_400
_RETENTION = ("retention.events_days", "retention.events_mb", "retention.episodes_days", "retention.store_mb")


def start_due(config: Config) -> None:
    """Start the jobs that are switched on and due; where none is, that is a look at some settings and one file."""
    start_sync(config)
    start_export(config)
    start_prune(config)


def start_sync(config: Config) -> bool:
    """Start a sync where the cluster is in use and a sync is due; whether one runs now."""
    if config.get_str("store.backend") != "typesense" or not os.path.exists(sync_lock()):
        return False
    every_s = config.get_int("store.sync_seconds")
    return _start("store-sync", sync_lock(), ("store", "sync"), every_s, _SYNC_STOP_S)


def start_export(config: Config) -> bool:
    """Start an export where it is switched on and due; whether one runs now."""
    if config.get_str("otel.export") != "auto":
        return False
    every_s = config.get_int("otel.export_seconds")
    return _start("otel-export", export_lock(), ("otel", "export"), every_s, _EXPORT_STOP_S)


def start_prune(config: Config) -> bool:
    """Start `store prune` where something is to be dropped by age or size, once a day; whether it was started.

    The store's own lock file says when: it is made with the store, and its time is set at each start. That is a time of
    the file system, so it is compared with the machine's clock.
    """
    lock = os.path.join(files.home(), "store.db.lock")
    now = time.time()
    try:
        waited_s = now - os.stat(lock).st_mtime
        if 0 <= waited_s < _DAY_S or not any(map(config.get_int, _RETENTION)):
            return False
        os.utime(lock, (now, now))
    except OSError:  # no store yet, or a home that is only read
        return False
    if waited_s < 0:  # a clock that was wrong
        return False
    from core.process import background_process

    return background_process.begin(prune_lock(), ("store", "prune"), _PRUNE_STOP_S)


def prune_lock() -> str:
    """The lock file of whoever prunes."""
    return os.path.join(files.home(), "cache", "store-prune.lock")


def sync_lock() -> str:
    """The lock file of whoever sends to the cluster. Its being there says that this home has a cluster."""
    return os.path.join(files.home(), "outbox.lock")


def export_lock() -> str:
    """The lock file of whoever exports events."""
    return os.path.join(files.home(), "cache", "otel-export.lock")


def postpone_sync(until: int) -> None:
    """Start no sync before `until` (ms since the epoch)."""
    _postpone("store-sync", until)


def postpone_export(until: int) -> None:
    """Start no export before `until` (ms since the epoch)."""
    _postpone("otel-export", until)


def _due_file(job: str) -> str:
    return os.path.join(files.home(), "cache", job + ".due")


def _start(job: str, lock: str, words: tuple[str, str], every_s: int, stop_s: int) -> bool:
    """Start `joelclaw WORDS...` where it is due, not again for `every_s` seconds; whether one runs now."""
    now = clock.now_ms()
    try:
        at = os.stat(_due_file(job)).st_mtime_ns // 1_000_000
    except OSError:
        at = 0
    if now < at <= now + _DAY_S * 1000:  # beyond that it is one of a clock that was wrong
        return False
    from core.process import background_process

    _postpone(job, now + every_s * 1000)
    return background_process.begin(lock, words, stop_s)


def _postpone(job: str, until: int) -> None:
    try:
        files.touch_private(_due_file(job))
        os.utime(_due_file(job), ns=(until * 1_000_000, until * 1_000_000))
    except OSError:
        pass  # a home that cannot be written has nothing new to send
