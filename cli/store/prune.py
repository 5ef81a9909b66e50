"""`joelclaw store prune`: what is old or too much goes; by hand, and once a day in the background."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, step
from core import clock, config
from core.errors import Failure
from core.process import background_process
from core.store import sqlite
from session.backup.retention import Retention

if TYPE_CHECKING:
    import apsw


def run(options: dict[str, Any]) -> Answer | int:
    """Drop it, or say what would be dropped."""
    background = background_process.LIMIT in os.environ
    background_process.stop_in_time()
    settings = config.load()
    if sqlite.open_reading() is None:
        raise Failure("STORE_EMPTY", "nothing is stored yet", "see joelclaw status")
    try:
        db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=False)
        pruning = Retention(db, settings, background=background)
        if options["dry_run"]:
            would = pruning.look()
            due = would["events"]["byAge"] or would["events"]["bySize"] or would["episodes"] or would["toolCalls"]
            due = due or would["bytes"]["overLimit"]
            return Answer(would, [step("joelclaw store prune", "drop it")] if due else [])
        result = pruning.run()
        _note(db, settings, result)
    except Failure:
        if background:
            return 0
        raise
    return 0 if background else Answer(result, [step("joelclaw status", "what is left")])


def _note(db: apsw.Connection, settings: config.Config, result: dict[str, Any]) -> None:
    """An event, where something went."""
    about = {"events": result["events"]["byAge"] + result["events"]["bySize"], "episodes": result["episodes"]}
    about |= {name: result[name] for name in ("toolCalls", "hooksAndInjections")}
    freed = result["bytes"]["before"] - result["bytes"]["after"]
    if not any(about.values()) and freed <= 0:
        return
    from otel import log
    from otel.event import new_event

    event = new_event("store.pruned", component="store", metadata={**about, "bytes": freed}, now=clock.now_ms())
    log.try_append(db, [event], settings)
