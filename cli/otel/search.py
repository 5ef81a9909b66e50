"""`joelclaw otel list`, `search`, `stats` and `prune`."""

from __future__ import annotations

import os
import select
import sys

from cli.answer import Answer, write_json
from core import clock, config, home_files, json_text
from core.errors import usage
from core.store import sqlite
from core.store.upkeep import retention
from otel import log
from otel import search as finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from typing import Any

    from core.config import Config
    from core.envelope import NextAction
    from core.records import Event, EventQuery


_POLL_MS = 250


def list(options: dict[str, Any]) -> Answer:  # noqa: A001  # the command's name
    """The newest events."""
    asked = _query(options)
    log.store_waiting()
    return _page("list", asked, options, None)


def search(options: dict[str, Any]) -> Answer | int:
    """Events that hold all the words; with `--follow`, those that come too."""
    asked = _query(options)
    log.store_waiting()
    if options["follow"]:
        if options["backend"] == "typesense":
            raise usage("OTEL_INVALID_ARGS", "--follow reads the local file", "leave out --follow, or --backend")
        return follow(asked, options["limit"])
    return _page("search", asked, options, options["query"] or "")


def follow(asked: EventQuery, limit: int) -> int:
    """Print events as they come, until Ctrl-C or until nobody reads; returns the exit code, 0."""
    try:
        show = _live if os.isatty(1) and "--json" not in sys.argv else _lines
        hung_up = select.poll()
        hung_up.register(1, 0)  # no events: only told when the reading end of a pipe is gone
        for found in finding.follow(asked, limit):
            if (found and not show(found)) or hung_up.poll(_POLL_MS):
                break
    except KeyboardInterrupt:
        pass
    return 0


def _lines(events: builtins.list[Event]) -> bool:
    return all(write_json(json_text.dumps(finding.shown(event))) for event in events)


def _live(events: builtins.list[Event]) -> bool:
    from cli.otel.view import live

    live(events)
    return True


def stats(options: dict[str, Any]) -> Answer:
    """How many events and errors there are."""
    now = clock.now_ms()
    asked = _query(options, now)
    log.store_waiting()
    result = finding.stats(asked, hours=options["hours"], now=now, cluster=_cluster(options))
    return Answer(
        result, [{"command": "joelclaw otel list --level error,fatal", "description": "the errors of the last day"}]
    )


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
        deleted, kept = retention.prune_events(db, before)
    return Answer(
        {
            "deleted": deleted,
            "kept": kept,
            "before": clock.iso(before),
            "days": int(days) if days == int(days) else days,
        },
        [{"command": "joelclaw otel stats", "description": "what is left"}],
    )


def _cluster(options: dict[str, Any]) -> Config | None:
    return config.load() if options["backend"] == "typesense" else None


def _query(options: dict[str, Any], now: int | None = None) -> EventQuery:
    return finding.query(
        options.get("query") or "",
        level=options.get("level") or "",
        source=options["source"] or "",
        component=options["component"] or "",
        session=options.get("session") or "",
        system=options.get("system") or "",
        success=options.get("success"),
        hours=options["hours"],
        now=clock.now_ms() if now is None else now,
    )


def _page(name: str, asked: EventQuery, options: dict[str, Any], text: str | None) -> Answer:
    limit, page = options["limit"], options["page"]
    result = finding.find(asked, limit=limit, page=page, text=text, cluster=_cluster(options))
    actions: builtins.list[NextAction] = []
    if result["found"] > limit * page:
        actions.append(
            {
                "command": f"joelclaw otel {name}{' <query>' if text else ''} --page <page>",
                "description": "older events, with the same filters",
                "params": {
                    **({"query": {"description": "the same words", "value": text}} if text else {}),
                    "page": {"description": "which page", "value": page + 1, "default": 1},
                },
            }
        )
    return Answer(result, actions)
