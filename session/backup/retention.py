"""What is kept, and for how long: the settings `retention.*`, applied once a day by itself and by `store prune`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import apsw

from core import clock, home_files
from core.config import Config
from core.store import sqlite
from core.store.upkeep import completeness, retention, store_file
from otel import log

_PAUSE_S = 0.01
_MB = 1_000_000
_QUICK_BYTES = 64 * _MB
"""A file up to this size is written anew in the background: it takes .8 s, and hooks wait for 2 s."""
_WORTH_SHARE = 0.2
_WORTH_BYTES = 4 * _MB
"""So much must be free: the share in the background, the bytes by hand, too."""
_MERGE_AFTER = 500
_SESSIONS_AT_ONCE = 20
_PASSES_WITHOUT_GAIN = 3
"""After so many in a row that gave no room back, no more of a kind goes: a page is free when all on it is gone."""


class Retention:
    """One pruning.

    Args:
        background: nobody waits for it, and it may keep no hook waiting.
    """

    def __init__(self, db: apsw.Connection, config: Config, *, background: bool = False) -> None:
        self._db = db
        self._config = config
        self._background = background
        self._vectors = sqlite.load_vectors(db)
        self._now = clock.now_ms()
        self._events = self._by_size = self._episodes = self._calls = self._history = 0
        self._sessions: list[tuple[int, str]] = []

    def _before(self, name: str) -> int:
        """The time before which a setting lets things go; 0 where it is off."""
        days = self._config.get_int(name)
        return max(0, self._now - days * clock.DAY_MS) if days else 0

    def look(self) -> dict[str, Any]:
        """What would be dropped for its age and as too many events; of `store_mb` only how far the store is beyond it.

        How much goes for that shows only as it goes: what is dropped shares pages with what stays.
        """
        before, limit = self._before("retention.events_days"), self._config.get_int("retention.events_mb") * _MB
        self._events = retention.count_events(self._db, before)[0]
        self._by_size = len(retention.surplus_events(self._db, limit, before)) if limit else 0
        old = self._before("retention.episodes_days")
        if old:
            self._episodes = retention.count_episodes(self._db, old)
            self._calls = retention.count_calls(self._db, old)
        size = store_file.sizes(self._db)[0]
        return self._result(size, wiped=False, dry=True)

    def run(self) -> dict[str, Any]:
        """Drop it, and give the room back.

        Raises:
            Failure: the store cannot be written; what was dropped stays dropped.
        """
        size = store_file.sizes(self._db)[0]
        completeness.compare(self._db)
        home_files.sweep_temporary()
        self._prune_events()
        self._prune_episodes()
        self._prune_store()
        if self._episodes >= _MERGE_AFTER:
            store_file.merge(self._db, "lexicon")
        wiped = store_file.is_owed(self._db)
        if wiped:
            store_file.wipe(self._db)
        else:
            self._give_back()
        return self._result(size, wiped=wiped, dry=False)

    def _result(self, size: int, *, wiped: bool, dry: bool) -> dict[str, Any]:
        now, free = store_file.sizes(self._db)
        names = ("events_days", "events_mb", "episodes_days", "store_mb")
        return {
            "dryRun": dry,
            "events": {"byAge": self._events, "bySize": self._by_size, "all": retention.count_events(self._db, 0)[1]},
            "episodes": self._episodes,
            "toolCalls": self._calls,
            "hooksAndInjections": self._history,
            "bytes": {"before": size, "after": now, "free": free, "overLimit": self._over_limit()},
            "purgeFinished": wiped,
            "settings": {f"retention.{name}": self._config.get_int(f"retention.{name}") for name in names},
        }

    def _prune_events(self) -> None:
        before, limit = self._before("retention.events_days"), self._config.get_int("retention.events_mb") * _MB
        if before:
            self._events = log.prune(self._db, before)[0]
        if limit and retention.event_bytes(self._db) > limit:
            surplus = retention.surplus_events(self._db, limit)
            for start in range(0, len(surplus), retention.EVENTS_AT_ONCE):
                self._by_size += retention.drop_events(self._db, surplus[start : start + retention.EVENTS_AT_ONCE])
                time.sleep(_PAUSE_S)

    def _prune_episodes(self) -> None:
        before = self._before("retention.episodes_days")
        if not before:
            return
        while dropped := retention.drop_episodes(self._db, before, vectors=self._vectors):
            self._episodes += dropped
            time.sleep(_PAUSE_S)
        for _, session in retention.old_sessions(self._db, before):
            self._calls += retention.drop_session(self._db, session)
            time.sleep(_PAUSE_S)

    def _prune_store(self) -> None:
        """Drop debug events, the oldest turns and sessions, then other events, hooks and injected texts.

        Until what is used is within the limit, or nothing more is gained by it.
        """
        limit = self._config.get_int("retention.store_mb") * _MB
        if not limit or self._used() <= limit:
            return
        self._drop_until(limit, self._drop_debug)
        self._sessions = retention.old_sessions(self._db, self._now + 1)
        self._drop_until(limit, self._drop_oldest)
        self._drop_until(limit, self._drop_events)

    def _drop_until(self, limit: int, drop: Callable[[], int]) -> None:
        least, idle = self._used(), 0
        while least > limit and idle < _PASSES_WITHOUT_GAIN and drop():
            time.sleep(_PAUSE_S)
            used = self._used()
            idle = idle + 1 if used >= least else 0
            least = min(least, used)

    def _over_limit(self) -> int:
        """Bytes that are used beyond `store_mb`."""
        limit = self._config.get_int("retention.store_mb") * _MB
        return max(0, self._used() - limit) if limit else 0

    def _used(self) -> int:
        size, free = store_file.sizes(self._db)
        return size - free

    def _drop_debug(self) -> int:
        dropped = retention.drop_events(self._db, retention.oldest_events(self._db, debug=True))
        self._by_size += dropped
        return dropped

    def _drop_events(self) -> int:
        events = retention.drop_events(self._db, retention.oldest_events(self._db, debug=False))
        self._by_size += events
        first = retention.first_event(self._db)
        history = retention.drop_history(self._db, self._now + 1 if first is None else first)
        self._history += history
        return events + history

    def _drop_oldest(self) -> int:
        """Turns, and what those sessions did that were over before the first turn that is left."""
        turns = retention.drop_episodes(self._db, self._now, vectors=self._vectors)
        self._episodes += turns
        first = retention.first_episode(self._db, self._now)
        over = [one for one in self._sessions[:_SESSIONS_AT_ONCE] if first is None or one[0] < first]
        del self._sessions[: len(over)]
        for _, session in over:
            self._calls += retention.drop_session(self._db, session)
        return turns + len(over)

    def _give_back(self) -> None:
        """Page by page, where the file was made so; else it is written anew, if that is worth it and quick enough."""
        size, free = store_file.sizes(self._db)
        if store_file.give_back(self._db) or free < _WORTH_BYTES:
            return
        if not self._background or (free >= size * _WORTH_SHARE and size - free <= _QUICK_BYTES):
            store_file.rewrite(self._db)
