"""`joelclaw otel list`, `search`, `stats` and `prune`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from cli import bulk
from cli.answer import Answer, step
from core import clock, config, home_files
from core.config import Config
from core.errors import usage
from core.records import EventQuery
from core.store import sqlite
from otel import log
from otel import search as finding

_POLL_S = 0.25


def list(options: dict[str, Any]) -> Answer:  # noqa: A001  # the command's name
    """The newest events."""
    return _page("list", finding.query(options, clock.now_ms()), options)


def search(options: dict[str, Any]) -> Answer | int:
    """Events that hold all the words; with `--follow`, those that come too."""
    asked = finding.query(options, clock.now_ms())
    if not options["follow"]:
        return _page("search", asked, options)
    if options["backend"] == "typesense":
        raise usage("OTEL_INVALID_ARGS", "--follow reads the local file", "leave out --follow, or --backend")
    log.store_waiting()
    return bulk.follow(_coming(asked, options["limit"]), _live)


def _coming(asked: EventQuery, limit: int) -> Iterator[dict[str, Any] | None]:
    for found in finding.follow(asked, limit):
        yield from map(finding.shown, found)
        yield None
        time.sleep(_POLL_S)


def _live(event: dict[str, Any]) -> None:
    from cli.otel import view

    view.live(event)


def stats(options: dict[str, Any]) -> Answer:
    """How many events and errors there are."""
    now = clock.now_ms()
    asked = finding.query(options, now)
    log.store_waiting()
    result = finding.stats(asked, hours=options["hours"], now=now, cluster=_cluster(options))
    return Answer(result, [step("joelclaw otel list --level error,fatal", "the errors of the last day")])


def prune(options: dict[str, Any]) -> Answer:
    """Drop events older than `--days`."""
    settings = config.load()
    days = options["days"]
    if days is None:
        days = settings.get_float("retention.events_days")
    before = max(0, clock.now_ms() - int(days * clock.DAY_MS)) if days or options["days"] is not None else 0
    deleted = kept = 0
    home_files.sweep_temporary()
    if sqlite.open_reading() is not None:  # nothing to drop where there is no store
        db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=False)
        deleted, kept = log.prune(db, before)
    done = {"deleted": deleted, "kept": kept, "before": clock.iso(before), "days": int(days) if days % 1 == 0 else days}
    return Answer(done, [step("joelclaw otel stats", "what is left")])


def _cluster(options: dict[str, Any]) -> Config | None:
    return config.load() if options["backend"] == "typesense" else None


def _page(name: str, asked: EventQuery, options: dict[str, Any]) -> Answer:
    limit, page = options["limit"], options["page"]
    text = options["query"] or "" if name == "search" else None
    log.store_waiting()
    result = finding.find(asked, limit=limit, page=page, text=text, cluster=_cluster(options))
    if result["found"] <= limit * page:
        return Answer(result)
    params: dict[str, Any] = {"query": {"description": "the same words", "value": text}} if text else {}
    params["page"] = {"description": "which page", "value": page + 1, "default": 1}
    command = f"joelclaw otel {name}{' <query>' if text else ''} --page <page>"
    return Answer(result, [step(command, "older events, with the same filters", params)])
