"""Jobs that are due now and then (`store push`, `otel export`, `store prune`), each in a process of its own."""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, clock, files

if TYPE_CHECKING:
    from core.config import Config

SYNC, EXPORT = "store-sync", "otel-export"
SYNC_BUDGET_S = 10
"""A background sync begins nothing new after this many seconds."""
SYNC_EVERY_S = 30  # least time between two background syncs
EXPORT_EVERY_S = 60  # least time between two exports, as in the SDK
_SYNC_STOP_S = 40
"""It is killed after this many; what was not acknowledged is sent again."""
_EXPORT_STOP_S = 60
_PRUNE_STOP_S = 600
_DAY_S = 86_400
_RETENTION = ("retention.events_days", "retention.events_mb", "retention.episodes_days", "retention.store_mb")


def start_due(config: Config) -> None:
    """Start the jobs that are switched on and due; if none is, this costs a look at some settings and one file."""
    outbox = os.path.join(files.home(), "outbox.lock")  # its being there says that this home has a cluster
    if config.get_str("store.backend") == "typesense" and os.path.exists(outbox):
        _start(SYNC, outbox, ("store", "push"), SYNC_EVERY_S, _SYNC_STOP_S)
    if config.get_str("otel.export") == "auto":
        _start(EXPORT, export_lock(), ("otel", "export"), EXPORT_EVERY_S, _EXPORT_STOP_S)
    # The store's own lock file says when it was pruned: it is made with the store. That is a time of the file system,
    # so it is compared with the machine's clock.
    store, now = os.path.join(files.home(), "store.db.lock"), time.time()
    try:
        waited_s = now - os.stat(store).st_mtime
        if 0 <= waited_s < _DAY_S or not any(map(config.get_int, _RETENTION)):
            return
        os.utime(store, (now, now))
    except OSError:  # no store yet, or a home that is only read
        return
    if waited_s > 0:  # else a clock was wrong
        from core.process import background_process

        lock = os.path.join(files.home(), "cache", "store-prune.lock")
        background_process.begin(lock, ("store", "prune"), _PRUNE_STOP_S)


def export_lock() -> str:
    """The lock file of the exporter."""
    return os.path.join(files.home(), "cache", "otel-export.lock")


def postpone(job: str, until: int) -> None:
    """Start a job, `SYNC` or `EXPORT`, not before `until` (ms since the epoch)."""
    try:
        files.touch_private(_due_file(job))
        os.utime(_due_file(job), ns=(until * 1_000_000, until * 1_000_000))
    except OSError:
        pass  # a home that cannot be written has nothing new to send


def _due_file(job: str) -> str:
    return os.path.join(files.home(), "cache", job + ".due")


def _start(job: str, lock: str, words: tuple[str, str], every_s: int, stop_s: int) -> None:
    """Start `joelclaw WORDS...` if it is due, at most once in `every_s` seconds."""
    now = clock.now_ms()
    try:
        at = os.stat(_due_file(job)).st_mtime_ns // 1_000_000
    except OSError:
        at = 0
    if now < at <= now + _DAY_S * 1000:  # beyond that it is one of a clock that was wrong
        return
    from core.process import background_process

    postpone(job, now + every_s * 1000)
    background_process.begin(lock, words, stop_s)
