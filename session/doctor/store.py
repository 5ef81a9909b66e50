"""The store: whether its file is whole, how large it and its log are, whether its times can be."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import Failure
from core.store import sqlite
from core.store.upkeep import called_hooks, integrity
from session.doctor.finding import Finding, error, note, warning
from session.doctor.history import PERIOD_MS

if TYPE_CHECKING:
    import apsw

    from core.store.upkeep.called_hooks import Called

_LARGE_LOG = 16_000_000
"""Bytes. Each write folds a log of more than 1 MB, so this one was held by a reader, or its folding fails."""
_FREE_SHARE, _FREE_LEAST = 0.5, 50_000_000
_AHEAD_MS = 5 * 60_000


class Store:
    """The store of this home, opened once for all that is asked of it."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.facts: dict[str, Any] = {"path": sqlite.path(), "exists": os.path.exists(sqlite.path())}
        self.calls: list[Called] = []
        self._db: apsw.Connection | None = None
        try:
            self._db = sqlite.open_reading()
            if self._db is not None:
                self._look(self._db)
        except Failure as failure:
            self.findings.append(error(failure.code, "store", failure.message, failure.fix))

    def _look(self, db: apsw.Connection) -> None:
        faults = integrity.faults(db)
        if faults:
            where = sqlite.path()
            about = f"{where} is damaged: {'; '.join(faults)}"
            fix = (
                "with a backup: `joelclaw restore FILE --force` (what is here is kept aside); without one save what is "
                f"left with `joelclaw memory export`, move {where} away, and import it again"
            )
            self.findings.append(error("STORE_DAMAGED", "store", about, fix))
        figures = integrity.figures(db)
        self.facts |= {**asdict(figures), "newest": None if figures.newest is None else clock.iso(figures.newest)}
        if figures.log > _LARGE_LOG:
            about = f"the write-ahead log has {_mb(figures.log)}: each command reads all of it when it starts"
            self.findings.append(warning("WAL_LARGE", "store", about, "joelclaw doctor --fix"))
        if figures.free > max(_FREE_LEAST, _FREE_SHARE * figures.size):
            about = (
                f"{_mb(figures.free)} of the {_mb(figures.size)} of the file hold nothing; new memories fill them first"
            )
            self.findings.append(note("STORE_MOSTLY_FREE", "store", about, "joelclaw store prune"))
        ahead = (figures.newest or 0) - clock.now_ms()
        if ahead > _AHEAD_MS:
            at = clock.iso(figures.newest or 0)
            about = f"the clock is behind: something was stored at {at}, {_span(ahead)} from now"
            fix = "set the clock; where it was ahead before, what was stored then stays the newest until that time"
            self.findings.append(warning("CLOCK_BEHIND", "store", about, fix))
        self.calls = called_hooks.every(db, clock.now_ms() - PERIOD_MS)


def _mb(count: int) -> str:
    return f"{count / 1_000_000:,.1f} MB"


def _span(ms: int) -> str:
    minutes = ms // 60_000
    return (
        f"{minutes} min" if minutes < 120 else f"{minutes // 60} h" if minutes < 2_880 else f"{minutes // 1_440} days"
    )
