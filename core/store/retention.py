"""What is kept, and for how long: the settings `retention.*`, applied once a day by itself and by `store prune`."""

import time
from collections.abc import Callable
from typing import Any

import apsw

from core import clock, files, home_files
from core.config import Config
from core.store import calls, documents, events, hook_calls, progress, sqlite, store_file
from core.store import sessions as stored_sessions
from core.store.cluster import outbox
from core.store.rows import row_range

AT_ONCE = 1_000
_EPISODES_AT_ONCE, _SESSIONS_AT_ONCE = 100, 20
_PAUSE_S = 0.01
_MB = 1_000_000
_QUICK_BYTES = 64 * _MB
"""A file up to this size is written anew in the background: it takes .8 s, and hooks wait for 2 s."""
_WORTH_SHARE, _WORTH_BYTES = 0.2, 4 * _MB
"""So much must be free: the share in the background, the bytes by hand, too."""
_MERGE_AFTER = 500
_JUMP_MS = 30 * clock.DAY_MS
"""Something is stored of so long before the last hour, or the clock may have jumped: in the background no age is
believed then; a day later it is."""
_LATELY = (
    "SELECT EXISTS (SELECT 1 FROM event WHERE timestamp BETWEEN ?1 AND ?2)"
    " OR EXISTS (SELECT 1 FROM document WHERE created_at BETWEEN ?1 AND ?2)"
)
# What an event takes: its texts, its other columns, and its entries in three indexes.
_EVENT_BYTES = "length(metadata) + length(search_text) + coalesce(length(error), 0) + 400"
_SURPLUS = (
    f"SELECT seq FROM (SELECT seq, sum({_EVENT_BYTES}) OVER (ORDER BY level = 'debug', timestamp DESC, seq DESC"
    " ROWS UNBOUNDED PRECEDING) AS bytes FROM event WHERE timestamp >= ?) WHERE bytes > ?"
)
_FIRST, _LAST = row_range("episodes")
# +rowid: by the index of times, of which the first few hundred are wanted, not of the whole collection. Not what still
# waits for a cluster: other machines would never get it.
_OLD_EPISODES = (
    f"FROM document WHERE +rowid BETWEEN {_FIRST} AND {_LAST} AND forgotten_at IS NULL AND created_at < ?"
    " AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.id = document.id)"
)
_OLD_SESSIONS = f"session WHERE updated_at < ? AND updated_at <> {stored_sessions.FORGOTTEN}"
_OLD_CALLS = f"SELECT count(*) FROM call WHERE outcome <> '{calls.FORGOTTEN}' AND session_id IN"


def prune_events(db: apsw.Connection, before: int) -> tuple[int, int]:
    """Drop events older than `before` (ms), and hook calls and injected texts; how many events went and are left."""
    deleted = 0
    while True:
        with sqlite.transaction(db):
            gone = events.delete_older(db, before, AT_ONCE)
            most = max(gone, hook_calls.delete_before(db, before, AT_ONCE))
            kept = events.count(db) if most < AT_ONCE else 0
        deleted += gone
        if most < AT_ONCE:
            return deleted, kept
        time.sleep(_PAUSE_S)


class Retention:
    """One pruning. `background`: nobody waits for it, and it may keep no hook waiting."""

    def __init__(self, db: apsw.Connection, config: Config, *, background: bool = False) -> None:
        self._db = db
        self._config = config
        self._background = background
        self._vectors = sqlite.load_vectors(db)
        self._now = clock.now_ms()
        self._size = store_file.sizes(db)[0]
        self._events = self._by_size = self._episodes = self._calls = self._history = 0
        self._sessions: list[tuple[int, str]] = []
        self._is_believed = not background or bool(self._one(_LATELY, self._now - _JUMP_MS, self._now - clock.HOUR_MS))

    def _before(self, name: str) -> int:
        days = self._config.get_int(name)
        return max(0, self._now - days * clock.DAY_MS) if days and self._is_believed else 0

    def _limit(self, name: str) -> int:
        return self._config.get_int(name) * _MB

    def _one(self, query: str, *values: int) -> Any:
        return self._db.execute(query, values).get

    def look(self) -> dict[str, Any]:
        """What would be dropped for its age and as too many events; of `store_mb` how far the store is beyond it."""
        before = self._before("retention.events_days")
        self._events = self._one("SELECT count(*) FROM event WHERE timestamp < ?", before)
        self._by_size = len(self._surplus(before))
        if old := self._before("retention.episodes_days"):
            self._episodes = self._one(f"SELECT count(*) {_OLD_EPISODES}", old)
            self._calls = self._one(f"{_OLD_CALLS} (SELECT id FROM {_OLD_SESSIONS})", old)
        return self._result(wiped=False, dry=True)

    def run(self) -> dict[str, Any]:
        """Drop it, and give the room back."""
        home_files.sweep_temporary(files.home())
        if before := self._before("retention.events_days"):
            self._events = prune_events(self._db, before)[0]
        surplus = self._surplus(0)
        for start in range(0, len(surplus), AT_ONCE):
            self._drop_events(surplus[start : start + AT_ONCE])
            time.sleep(_PAUSE_S)
        if before := self._before("retention.episodes_days"):
            while self._drop_episodes(before):
                time.sleep(_PAUSE_S)
            self._drop_sessions(self._old_sessions(before))
        self._prune_store()
        if self._episodes >= _MERGE_AFTER:
            store_file.merge(self._db, "lexicon")
        wiped = store_file.is_owed(self._db)
        if wiped:
            store_file.wipe(self._db)
        else:
            self._give_back()
        return self._result(wiped=wiped, dry=False)

    def _result(self, *, wiped: bool, dry: bool) -> dict[str, Any]:
        size, free = store_file.sizes(self._db)
        limit = self._limit("retention.store_mb")
        over = max(0, size - free - limit) if limit else 0
        names = ("events_days", "events_mb", "episodes_days", "store_mb")
        return {
            "dryRun": dry,
            "events": {"byAge": self._events, "bySize": self._by_size, "all": events.count(self._db)},
            "episodes": self._episodes,
            "toolCalls": self._calls,
            "hooksAndInjections": self._history,
            "bytes": {"before": self._size, "after": size, "free": free, "overLimit": over},
            "purgeFinished": wiped,
            "settings": {f"retention.{name}": self._config.get_int(f"retention.{name}") for name in names},
        }

    def _surplus(self, since: int) -> list[int]:
        limit = self._limit("retention.events_mb")
        return [int(seq) for (seq,) in self._db.execute(_SURPLUS, (since, limit))] if limit else []

    def _oldest_events(self, which: str) -> list[int]:
        rows = self._db.execute(f"SELECT seq FROM event WHERE {which} ORDER BY timestamp LIMIT {AT_ONCE}")
        return [int(seq) for (seq,) in rows]

    def _drop_events(self, numbers: list[int]) -> int:
        with sqlite.transaction(self._db):
            self._db.executemany("DELETE FROM event WHERE seq = ?", [(seq,) for seq in numbers])
        self._by_size += len(numbers)
        return len(numbers)

    def _drop_episodes(self, before: int) -> int:
        """Some of the oldest, from this file alone: a cluster, and the machines that share it, keep theirs."""
        with sqlite.transaction(self._db):
            signatures = self._vectors and documents.has_signatures(self._db)
            # by time: rows are numbered as they were read, and who archives all sessions at once reads the newest first
            query = f"SELECT rowid, session_id {_OLD_EPISODES} ORDER BY created_at, rowid LIMIT {_EPISODES_AT_ONCE}"
            rows: list[Any] = self._db.execute(query, (before,)).fetchall()
            with outbox.quiet(self._db):
                for rowid, _ in rows:
                    documents.remove(self._db, rowid, signatures=signatures)
            for session in {session for _, session in rows if session}:
                progress.renew_segments(self._db, session)
        self._episodes += len(rows)
        return len(rows)

    def _old_sessions(self, before: int) -> list[tuple[int, str]]:
        rows = self._db.execute(f"SELECT updated_at, id FROM {_OLD_SESSIONS} ORDER BY 1, 2", (before,))
        return [(int(at), str(one)) for at, one in rows]

    def _drop_sessions(self, sessions: list[tuple[int, str]]) -> None:
        for _, session in sessions:
            with sqlite.transaction(self._db):
                self._calls += stored_sessions.drop(self._db, session)
            time.sleep(_PAUSE_S)

    def _prune_store(self) -> None:
        limit = self._limit("retention.store_mb")
        if not limit or self._used() <= limit:
            return
        self._sessions = self._old_sessions(self._now + 1)
        steps: tuple[Callable[[], int], ...] = (
            lambda: self._drop_events(self._oldest_events("level = 'debug'")),
            self._drop_oldest,
            self._drop_history,
        )
        for drop in steps:
            while self._used() > limit and drop():
                time.sleep(_PAUSE_S)

    def _used(self) -> int:
        size, free = store_file.sizes(self._db)
        return size - free

    def _drop_oldest(self) -> int:
        """Turns, and what those sessions did that were over before the first turn that is left."""
        turns = self._drop_episodes(self._now)
        first = self._one(f"SELECT created_at {_OLD_EPISODES} ORDER BY created_at LIMIT 1", self._now)
        over = [one for one in self._sessions[:_SESSIONS_AT_ONCE] if first is None or one[0] < first]
        del self._sessions[: len(over)]
        self._drop_sessions(over)
        return turns + len(over)

    def _drop_history(self) -> int:
        dropped = self._drop_events(self._oldest_events("true"))
        first = self._one("SELECT min(timestamp) FROM event")
        with sqlite.transaction(self._db):
            more = hook_calls.delete_before(self._db, self._now + 1 if first is None else first, AT_ONCE)
        self._history += more
        return dropped + more

    def _give_back(self) -> None:
        """Page by page, where the file was made so; else it is written anew, if that is worth it and quick enough."""
        size, free = store_file.sizes(self._db)
        if store_file.give_back(self._db) or free < _WORTH_BYTES:
            return
        if not self._background or (free >= size * _WORTH_SHARE and size - free <= _QUICK_BYTES):
            store_file.rewrite(self._db)
