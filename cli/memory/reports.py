"""`joelclaw memory recent`, `scorecard` and `stats`: what there is."""

from __future__ import annotations

from cli.answer import Answer
from core import TYPE_CHECKING, clock
from core.store import sqlite
from memory import reports

if TYPE_CHECKING:
    from typing import Any

    import apsw


def recent(options: dict[str, Any]) -> Answer:
    """The newest observations of the last hours that were not forgotten, whatever the gate said of them."""
    hours, count = options["hours"], options["count"]
    observations = reports.recent(_store(), hours=hours, count=count, now=clock.now_ms())
    return Answer({"count": len(observations), "hours": hours, "observations": observations})


def scorecard(options: dict[str, Any]) -> Answer:
    """How well memory did in the last hours, of the events that wait in the spool, too."""
    from otel import log

    log.store_spooled()
    return Answer(reports.scorecard(_store(), hours=options["hours"], now=clock.now_ms()))


def stats(_options: dict[str, Any]) -> Answer:
    """How many memories there are, and which."""
    return Answer(reports.stats(_store()))


def _store() -> apsw.Connection:
    """The store; where there is none yet one in memory, which is empty."""
    return sqlite.open_reading() or sqlite.open_in_memory()
