"""`joelclaw otel list`, `search`, `stats`, `prune` and `export`."""

import select
from contextlib import suppress
from typing import Any

from cli.answer import Answer, is_for_person, quoted, step, write_json
from core import clock, config, files, home_files, json_text
from core.errors import usage
from core.process import background
from core.store import retention, sqlite
from otel import export as exporting
from otel import log
from otel import search as finding

_POLL_MS = 250


def list(options: dict[str, Any]) -> Answer:  # noqa: A001  # the command's name
    """The newest events."""
    return _page("list", options)


def search(options: dict[str, Any]) -> Answer | int:
    """Events that hold all the words; with `--follow`, those that come too."""
    return _follow(options) if options["follow"] else _page("search", options)


def _page(name: str, options: dict[str, Any]) -> Answer:
    limit, page = options["limit"], options["page"]
    text = options["query"] or "" if name == "search" else None
    asked = finding.query(_dated(options), clock.now_ms())
    log.store_spooled()
    result = finding.find(asked, limit=limit, page=page, text=text)
    steps = []
    if options["session"]:
        steps.append(step(f"joelclaw o11y session {quoted(options['session'])}", "all events of this session"))
    if result["found"] <= limit * page:
        return Answer(result, steps)
    params: dict[str, Any] = {"query": {"description": "the same words", "value": text}} if text else {}
    params["page"] = {"description": "which page", "value": page + 1, "default": 1}
    command = f"joelclaw otel {name}{' <query>' if text else ''} --page <page>"
    return Answer(result, [step(command, "older events, with the same filters", params), *steps])


def _dated(options: dict[str, Any]) -> dict[str, Any]:
    """The options, `--since` as a time."""
    if not options["since"]:
        return options
    from cli.recall import narrowed

    return {**options, "since_ms": narrowed.between(options["since"], None, "OTEL_INVALID_ARGS")[0]}


def of_session(options: dict[str, Any]) -> Answer:
    """What is known of a session: its events, newest first."""
    return _correlated("session", options)


def of_system(options: dict[str, Any]) -> Answer:
    """Likewise of a machine."""
    return _correlated("system", options)


def _correlated(scope: str, options: dict[str, Any]) -> Answer:
    hours, limit, whose = options["hours"], options["limit"], options["id"].strip()
    if not whose:
        raise usage("OTEL_INVALID_ARGS", "the id is empty", f"give it: joelclaw o11y {scope} ID")
    log.store_spooled()
    asked = finding.query({"hours": hours, scope: whose, "all": True}, clock.now_ms())
    found = finding.find(asked, limit=limit, page=1)
    hits = [{"collection": "otel_events", **event, "timestamp": event["ts"]} for event in found["events"]]
    result = {
        "windowHours": hours, "limit": limit, "returned": len(hits), "found": found["found"],
        "filterBy": {"otel_events": found["filterBy"]}, "scope": scope, f"{scope}Id": whose,
        "collections": [{"collection": "otel_events", "found": found["found"]}], "hits": hits,
    }  # fmt: skip
    return Answer(result, [step(f"joelclaw otel list --{scope} {quoted(whose)}", "the same, page by page")])


def _follow(options: dict[str, Any]) -> int:
    asked = finding.query(_dated(options), clock.now_ms())
    on_terminal = is_for_person()
    hung_up = select.poll()
    hung_up.register(1, 0)  # no events: only told when the reading end of a pipe is gone
    with suppress(KeyboardInterrupt):
        log.store_spooled()
        for found in finding.follow(asked, options["limit"]):
            if on_terminal and found:
                from cli.otel import view

                view.live(map(finding.event_row, found))
            elif not all(write_json(json_text.dumps(finding.event_row(event))) for event in found):
                break
            if hung_up.poll(_POLL_MS):
                break
            log.store_spooled()
    return 0


def stats(options: dict[str, Any]) -> Answer:
    """How many events and errors there are."""
    now = clock.now_ms()
    asked = finding.query({**options, "all": True}, now)
    log.store_spooled()
    result = finding.stats(asked, hours=options["hours"], now=now)
    return Answer(result, [step("joelclaw otel list --level error,fatal", "the errors of the last day")])


def prune(options: dict[str, Any]) -> Answer:
    """Drop events older than `--days`."""
    settings = config.load()
    days = options["days"]
    if days is None:
        days = settings.get_float("retention.events_days")
    before = max(0, clock.now_ms() - int(days * clock.DAY_MS)) if days or options["days"] is not None else 0
    deleted = kept = 0
    home_files.sweep_temporary(files.home())
    if sqlite.open_reading() is not None:  # nothing to drop where there is no store
        db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=False)
        deleted, kept = retention.prune_events(db, before)
    done = {"deleted": deleted, "kept": kept, "before": clock.iso(before), "days": int(days) if days % 1 == 0 else days}
    return Answer(done, [step("joelclaw otel stats", "what is left")])


def export(options: dict[str, Any]) -> Answer | int:
    """Send pending events, or report on them with `--status`; also run in the background of other commands."""
    in_background = background.obey_limit()
    settings = config.load()
    if options["status"]:
        about = exporting.status(sqlite.open_reading(), settings)
        return Answer(about, [step("joelclaw otel export", "send pending events now")])
    if in_background:
        exporting.run_in_background(settings)
        return 0
    done = exporting.run(settings)
    again = step("joelclaw otel export --status", "what is pending, and how the last attempts went")
    return Answer({"disabled": done is None, "destinations": done or []}, [again])
