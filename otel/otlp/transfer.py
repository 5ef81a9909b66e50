"""Taking events to their OTLP destinations: in batches, each signal with a cursor of its own.

A cursor moves when its receiver has answered 2xx to the whole batch. A process that dies at any moment skips nothing;
what it had sent without recording it is sent again, with the same ids (`log.record.uid`, span ids).
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.store import events as stored
from core.store import export_cursor, sqlite
from otel.otlp.destination import Delivered
from otel.otlp.sender import FAILED, REFUSED, Outcome, Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from core.records import Event
    from core.store.export_cursor import Cursor
    from otel.otlp.destination import Destination

BATCH = 512
BATCH_BYTES = 1_000_000
_LARGEST_BATCH = 10_000
_MOST_ALONE = 5
"""Events that a receiver refuses each alone are passed over once it takes another; more of them in a row are a fault
of the receiver, and nothing is passed over."""
_LONGEST_BACKOFF_S = 300.0
_NOTHING = Outcome("nothing")
"""Events of which this signal tells nothing."""


def run(
    db: apsw.Connection, destinations: Sequence[Destination], *, now: Callable[[], int], due_only: bool
) -> list[Delivered]:
    """Send what waits, up to the newest event of this moment.

    Only for whoever holds the lock of the export (`otel.export`): two at once would send everything twice.

    Args:
        now: the clock, in ms since the epoch.
        due_only: leave out destinations that failed and whose next try is not due.

    Raises:
        Failure: the store cannot be read or written.
    """
    upto = stored.last_seq(db)
    done = []
    for destination in destinations:
        cursor = _cursor(db, destination)
        if due_only and cursor.next_try_at > now():
            continue
        if cursor.reached >= upto:
            done.append(Delivered(destination.signal, destination.shown))
            continue
        done.append(_Transfer(db, destination, cursor, upto, now).run())
    return done


def batch_size(signal: str) -> int:
    """Events in a batch: 512, or what the variables of the SDK's batch processors say."""
    name = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE" if signal == "traces" else "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE"
    given = os.environ.get(name, "").strip()
    return max(1, min(int(given), _LARGEST_BATCH)) if given.isascii() and given.isdigit() else BATCH


def backoff_s(failures: int, asked_s: float = 0.0) -> float:
    """How long to wait after so many failures in a row: doubling from a second to five minutes, a random part of it.

    Args:
        asked_s: what the receiver asked for at least.
    """
    longest = min(_LONGEST_BACKOFF_S, 2.0 ** min(failures, 10))
    return max(asked_s, longest * random.uniform(0.5, 1.0))  # noqa: S311  # no secret


def _cursor(db: apsw.Connection, destination: Destination) -> Cursor:
    cursor = export_cursor.read(db, destination.key)
    return cursor or export_cursor.Cursor(destination.key, destination.signal, destination.shown)


class _Transfer:
    """One destination, from its cursor to the newest event."""

    def __init__(
        self, db: apsw.Connection, destination: Destination, cursor: Cursor, upto: int, now: Callable[[], int]
    ) -> None:
        self._db = db
        self._destination = destination
        self._cursor = cursor
        self._upto = upto
        self._now = now
        self._begun = cursor
        self._sender: Sender | None = None
        self._alone = 0  # events refused since the last that was taken
        self._warning = ""
        self._failed: Outcome | None = None

    def run(self) -> Delivered:
        try:
            self._batches()
        finally:
            if self._sender is not None:
                self._sender.close()
        if self._failed is not None:
            self._record_failure(self._failed)
        return Delivered(
            self._destination.signal,
            self._destination.shown,
            self._cursor.exported - self._begun.exported,
            self._cursor.rejected - self._begun.rejected,
            export_cursor.waiting(self._db, self._cursor.reached),
            self._failed.message if self._failed else "",
            self._warning,
            self._failed.status if self._failed else 0,
            self._cursor.next_try_at,
        )

    def _batches(self) -> None:
        most = size = batch_size(self._destination.signal)
        at = self._cursor.reached
        refusal: Outcome | None = None
        while True:
            events, last = export_cursor.batch(self._db, at, self._upto, size, BATCH_BYTES)
            if not events:
                break
            items = self._items(events)
            outcome = self._send(items) if items else _NOTHING
            if outcome.kind == FAILED:
                self._failed = outcome
                return
            if outcome.kind == REFUSED:
                if len(events) > 1:
                    size = len(events) // 2
                    continue
                self._alone += 1
                refusal = outcome
                if self._alone > _MOST_ALONE:
                    break
            elif items or not self._alone:
                self._advance(len(items), last, outcome)
                refusal = None
                size = min(size * 2, most)
            at = last
        self._failed = refusal

    def _items(self, events: Sequence[Event]) -> Sequence[Any]:
        from otel.otlp import records

        if self._destination.signal == "logs":
            return records.log_records(events)
        return records.spans(events)

    def _send(self, batch: Any) -> Outcome:
        if self._sender is None:
            self._sender = Sender(self._destination)
        return self._sender.send(batch)

    def _advance(self, count: int, reached: int, outcome: Outcome) -> None:
        """Move the cursor: the one moment at which events count as exported."""
        if outcome is _NOTHING:
            self._write(replace(self._cursor, reached=reached))
            return
        rejected = outcome.rejected + self._alone
        if outcome.message:
            self._warning = outcome.message
        self._write(
            replace(
                self._cursor,
                reached=reached,
                exported=self._cursor.exported + count - min(count, outcome.rejected),
                rejected=self._cursor.rejected + rejected,
                exported_at=self._now(),
                failures=0,
                error=f"rejected {rejected}: {outcome.message or 'refused alone'}" if rejected else "",
                next_try_at=0,
            )
        )
        self._alone = 0

    def _record_failure(self, outcome: Outcome) -> None:
        failures = self._cursor.failures + 1
        now = self._now()
        self._write(
            replace(
                self._cursor,
                failures=failures,
                error=outcome.message,
                failed_at=now,
                next_try_at=now + int(backoff_s(failures, outcome.wait_s) * 1000),
            )
        )

    def _write(self, cursor: Cursor) -> None:
        with sqlite.transaction(self._db):
            export_cursor.write(self._db, cursor)
        self._cursor = cursor
