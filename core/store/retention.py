"""Retention: what is older or more than the settings `retention.*` allow is deleted, daily and by `store prune`."""

import time
from typing import Any

import apsw

from core import clock, files, home_files
from core.config import Config
from core.store import documents, events, progress, sessions, sqlite, store_file
from core.store.calls import FORGOTTEN
from core.store.cluster import outbox
from core.store.rows import row_range

AT_ONCE = 1_000  # events per transaction
EPISODES_AT_ONCE = 100
PAUSE_S = 0.01  # between transactions, for other writers
MB = 1_000_000
WORTH_BYTES = 4 * MB  # free pages that make it worth rewriting the file


def prune_events(db: apsw.Connection, before: int) -> tuple[int, int]:
    """Delete events, hook calls and injected texts older than `before` (ms); the numbers of deleted and left events."""
    deleted = 0
    while True:
        with sqlite.transaction(db):
            gone = events.delete_older(db, before, AT_ONCE)
            most = max(gone, events.delete_hook_calls(db, before, AT_ONCE))
            left = events.count(db) if most < AT_ONCE else 0
        deleted += gone
        if most < AT_ONCE:
            return deleted, left
        time.sleep(PAUSE_S)


class Retention:
    """One run. In the background, no hook may have to wait for it."""

    def __init__(self, db: apsw.Connection, config: Config, *, background: bool = False) -> None:
        self._db = db
        self._config = config
        self._background = background
        self._vectors = sqlite.load_vectors(db)
        self._now = clock.now_ms()
        self._size = store_file.sizes(db)[0]
        self._events = self._by_size = self._episodes = self._calls = 0
        self._may_age = not background or self._is_clock_plausible()

    def look(self) -> dict[str, Any]:
        """The numbers of what would be deleted."""
        before = self._before("retention.events_days")
        self._events = self._count("SELECT count(*) FROM event WHERE timestamp < ?", before)
        self._by_size = len(self._surplus_events(before))
        if old := self._before("retention.episodes_days"):
            self._episodes = self._count(f"SELECT count(*) {_OLD_EPISODES}", old)
            self._calls = self._count(f"SELECT count(*) FROM call WHERE {_OLD_CALLS}", old)
        return self._result(wiped=False, dry=True)

    def run(self) -> dict[str, Any]:
        """Delete it, and return free pages to the disk."""
        home_files.sweep_temporary(files.home())
        if before := self._before("retention.events_days"):
            self._events = prune_events(self._db, before)[0]
        surplus = self._surplus_events(0)
        for start in range(0, len(surplus), AT_ONCE):
            self._delete_events(surplus[start : start + AT_ONCE])
            time.sleep(PAUSE_S)
        if before := self._before("retention.episodes_days"):
            while self._delete_episodes(before):
                time.sleep(PAUSE_S)
            self._delete_sessions(before)
        if self._episodes >= documents.MERGE_AFTER:
            store_file.merge(self._db, "lexicon")
        wiped = store_file.is_owed(self._db)
        if wiped:
            store_file.wipe(self._db)
        else:
            self._give_back()
        return self._result(wiped=wiped, dry=False)

    def _is_clock_plausible(self) -> bool:
        """If anything was stored in the last 30 days but not in the last hour.

        Otherwise the clock may have jumped, and ages are not believed; a day later they are.
        """
        between = (self._now - 30 * clock.DAY_MS, self._now - clock.HOUR_MS)
        return bool(
            self._db.execute(
                "SELECT EXISTS (SELECT 1 FROM event WHERE timestamp BETWEEN ?1 AND ?2)"
                " OR EXISTS (SELECT 1 FROM document WHERE created_at BETWEEN ?1 AND ?2)",
                between,
            ).get
        )

    def _before(self, name: str) -> int:
        days = self._config.get_int(name)
        return max(0, self._now - days * clock.DAY_MS) if days and self._may_age else 0

    def _count(self, query: str, *values: int) -> int:
        return int(self._db.execute(query, values).get)

    def _result(self, *, wiped: bool, dry: bool) -> dict[str, Any]:
        size, free = store_file.sizes(self._db)
        names = ("events_days", "events_mb", "episodes_days")
        return {
            "dryRun": dry,
            "events": {"byAge": self._events, "bySize": self._by_size, "all": events.count(self._db)},
            "episodes": self._episodes,
            "toolCalls": self._calls,
            "bytes": {"before": self._size, "after": size, "free": free},
            "purgeFinished": wiped,
            "settings": {f"retention.{name}": self._config.get_int(f"retention.{name}") for name in names},
        }

    def _surplus_events(self, since: int) -> list[int]:
        """The numbers of the events that exceed `events_mb`: debug events first, then the oldest."""
        limit = self._config.get_int("retention.events_mb") * MB
        # 400: the other columns, and the entries in three indexes
        size = "length(metadata) + length(search_text) + coalesce(length(error), 0) + 400"
        query = (
            f"SELECT seq FROM (SELECT seq, sum({size}) OVER (ORDER BY level = 'debug', timestamp DESC, seq DESC"
            " ROWS UNBOUNDED PRECEDING) AS bytes FROM event WHERE timestamp >= ?) WHERE bytes > ?"
        )
        return [int(seq) for (seq,) in self._db.execute(query, (since, limit))] if limit else []

    def _delete_events(self, numbers: list[int]) -> None:
        with sqlite.transaction(self._db):
            self._db.executemany("DELETE FROM event WHERE seq = ?", [(seq,) for seq in numbers])
        self._by_size += len(numbers)

    def _delete_episodes(self, before: int) -> int:
        """Delete some of the oldest episodes from this file; a cluster, and its other machines, keep theirs."""
        with sqlite.transaction(self._db):
            signatures = self._vectors and documents.has_signatures(self._db)
            # by time: `memory archive --all` reads the newest sessions first, so rows are in another order
            query = f"SELECT rowid, session_id {_OLD_EPISODES} ORDER BY created_at, rowid LIMIT {EPISODES_AT_ONCE}"
            rows: list[Any] = self._db.execute(query, (before,)).fetchall()
            with outbox.quiet(self._db):
                for rowid, _ in rows:
                    documents.remove(self._db, rowid, signatures=signatures)
            for session in {session for _, session in rows if session}:
                progress.renew_segments(self._db, session)
        self._episodes += len(rows)
        return len(rows)

    def _delete_sessions(self, before: int) -> None:
        for (session,) in self._db.execute(f"SELECT id FROM {_OLD_SESSIONS}", (before,)).fetchall():
            with sqlite.transaction(self._db):
                self._calls += sessions.drop(self._db, str(session))
            time.sleep(PAUSE_S)

    def _give_back(self) -> None:
        """Return free pages one by one if the file was created that way; else rewrite it if nothing waits for it."""
        free = store_file.sizes(self._db)[1]
        if not store_file.give_back(self._db) and free >= WORTH_BYTES and not self._background:
            store_file.rewrite(self._db)


# `+rowid` makes SQLite use the index of times, not walk the collection. What waits for a cluster stays, because other
# machines would never get it.
_OLD_EPISODES = (
    "FROM document WHERE +rowid BETWEEN {} AND {} AND forgotten_at IS NULL AND created_at < ?"
    " AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.id = document.id)"
).format(*row_range("episodes"))
_OLD_SESSIONS = f"session WHERE updated_at < ? AND updated_at <> {sessions.FORGOTTEN}"
_OLD_CALLS = f"outcome <> '{FORGOTTEN}' AND session_id IN (SELECT id FROM {_OLD_SESSIONS})"
