"""`joelclaw otel …` and `o11y …`: emit, search, follow and export events.

`otel emit` is a hot command: `hot.py` runs it.
"""

import select
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from cli import shared
from cli.input import time_range
from cli.output import Answer, is_for_person, write_json
from core import background, clock, config, json_text
from core.errors import Failure
from core.store import sqlite
from otel import log
from otel import search as events
from session import known_sessions

if TYPE_CHECKING:
    from core.records import EventQuery

app = typer.Typer()
otel = shared.group(app, "otel", "Emit, search and follow events.")
o11y = shared.group(app, "o11y", "Show all events of a session or machine.")

Sources = Annotated[
    str | None, Option("--source", metavar="CSV", help="Sources", autocompletion=shared.stored("source"))
]
Components = Annotated[
    str | None, Option("--component", metavar="CSV", help="Components", autocompletion=shared.stored("component"))
]
Success = Annotated[str | None, Option("--success", metavar="true|false", help="Whether it succeeded")]
Limit = Annotated[int, shared.limit_option(200)]


@otel.command("emit")
def emit(
    action_word: Annotated[str | None, Argument(metavar="ACTION", help="Such as build.failed")] = None,
    action: Annotated[str | None, Option(help="The action")] = None,
    source: Annotated[str | None, Option(help="Where it comes from (default: cli)")] = None,
    component: Annotated[str | None, Option(help="The component (default: otel-cli)")] = None,
    level: Annotated[str | None, Option(metavar="|".join(log.LEVELS), help="Severity (default: info)")] = None,
    success: Success = None,
    metadata: Annotated[str | None, Option(metavar="JSON", help="A JSON object")] = None,
    id: Annotated[str | None, Option(help="Its id; the same is stored once")] = None,
    timestamp: Annotated[int | None, Option(min=0, max=253_402_300_799_999, help="In ms since the epoch")] = None,
    error: Annotated[str | None, Option(help="What went wrong")] = None,
    duration_ms: Annotated[float | None, Option(min=0, help="How long it took, in ms")] = None,
    session: Annotated[str | None, Option(metavar="ID", help="The session's id")] = None,
    stdin: shared.Stdin = False,
) -> None:
    """Record an event; without ACTION, the event on stdin."""


@otel.command("list", help="List the newest events.")
@otel.command("search", help="Find events by their words.")
def search(
    query: Annotated[list[str] | None, Argument(metavar="QUERY", help="Words; a|b means either")] = None,
    level: Annotated[str | None, Option(metavar="CSV", help="Severities", autocompletion=lambda: [*log.LEVELS])] = None,
    source: Sources = None,
    component: Components = None,
    session: shared.OnlySession = "",
    client: shared.OnlyClient = None,
    project: shared.OnlyProject = "",
    system: Annotated[str | None, Option(metavar="ID", help="Only this machine")] = None,
    success: Success = None,
    action: Annotated[str | None, Option(metavar="CSV", help="Actions", autocompletion=shared.stored("action"))] = None,
    since: shared.Since = None,
    hours: shared.Hours = 24,
    limit: Limit = 30,
    page: shared.Page = 1,
    invert: Annotated[bool, Option("--invert", "-v", help="Only what does not match")] = False,
    follow: Annotated[bool, Option("--follow", "-f", help="Keep printing new events")] = False,
    exit_code: shared.ExitCode = False,
) -> Answer | int:
    """List or find events."""
    text = " ".join(query) if query else None
    filters: dict[str, Any] = {**locals(), "query": text}
    if since:
        filters["since_ms"] = time_range(since, None)[0]
    log.store_spooled()
    with suppress(Failure):  # an event may name an unknown session
        filters["session"] = session and known_sessions.resolve(sqlite.open_or_empty(), session)

    def asked() -> "EventQuery":
        narrowed = None
        if client or project:
            known = known_sessions.of(sqlite.open_or_empty(), client=client or "", project=project)
            narrowed = [session.id for session in known]
        of_client = "" if project else client or ""
        return {**events.query(filters, clock.now_ms()), "sessions": narrowed, "client": of_client}

    if follow:
        return _follow(asked, limit)
    result = events.find(asked(), limit=limit, page=page, text=text)
    _add_origins(result["events"])
    return Answer(result, view="cli.views:events", exit_code=int(exit_code and not result["found"]))


def _add_origins(rows: list[dict[str, Any]]) -> None:
    """Add to each event the client, which a hook's event names and is else its session's, and the session's project."""
    db = sqlite.open_or_empty()
    sessions = {row["sessionId"]: known_sessions.with_id(db, row["sessionId"]) for row in rows}
    for row in rows:
        session = sessions[row["sessionId"]]
        named = str(row["metadata"].get("agent", "")) if row["component"] == "hook" else ""
        row |= {"client": named or session.client, "project": session.project}


def _follow(asked: "Callable[[], EventQuery]", limit: int) -> int:
    """Print matching events as they come, until Ctrl-C or until the reader goes away."""
    from cli import terminal, views

    on_terminal = is_for_person()
    reader = select.poll()
    reader.register(1, 0)  # reports only that the reading end of a pipe was closed
    with suppress(KeyboardInterrupt):
        log.store_spooled()
        for found in events.follow(asked, limit):
            rows = [events.event_row(event) for event in found]
            _add_origins(rows)
            if on_terminal:
                terminal.print_items(map(views.event, rows))
            elif not all(write_json(json_text.dumps(row)) for row in rows):
                break
            if reader.poll(250):  # milliseconds
                break
            log.store_spooled()
    return 0


@otel.command("stats")
def stats(source: Sources = None, component: Components = None, hours: shared.Hours = 24) -> Answer:
    """Count events and errors."""
    now = clock.now_ms()
    asked = events.query({"source": source, "component": component, "hours": hours, "all": True}, now)
    log.store_spooled()
    return Answer(events.stats(asked, hours=hours, now=now))


@otel.command("export")
def export(status: Annotated[bool, Option("--status", help="Only report pending events")] = False) -> Answer | int:
    """Send pending events to an OTLP collector (OTEL_* variables)."""
    from otel import export as exporting

    in_background = background.obey_limit()
    settings = config.load()
    if status:
        return Answer(exporting.status(sqlite.open_reading(), settings))
    if in_background:
        exporting.run_in_background(settings)
        return 0
    done = exporting.run(settings)
    return Answer({"disabled": done is None, "destinations": done or []})


@o11y.command("session")
def of_session(
    id: Annotated[str, shared.session_argument("The session's id")], hours: shared.Hours = 24, limit: Limit = 50
) -> Answer:
    """Show the events of a session."""
    return _events_of("session", id.strip(), hours, limit)


@o11y.command("system")
def of_system(
    id: Annotated[str, Argument(metavar="ID", help="The machine's id")], hours: shared.Hours = 24, limit: Limit = 50
) -> Answer:
    """Show the events of a machine."""
    return _events_of("system", id.strip(), hours, limit)


def _events_of(scope: str, name: str, hours: float, limit: int) -> Answer:
    log.store_spooled()
    found = events.find(events.query({"hours": hours, scope: name, "all": True}, clock.now_ms()), limit=limit, page=1)
    _add_origins(found["events"])
    hits = [{"collection": "otel_events", **event, "timestamp": event["ts"]} for event in found["events"]]
    result = {
        "windowHours": hours, "limit": limit, "returned": len(hits), "found": found["found"],
        "filterBy": {"otel_events": found["filterBy"]}, "scope": scope, f"{scope}Id": name,
        "collections": [{"collection": "otel_events", "found": found["found"]}], "hits": hits,
    }  # fmt: skip
    return Answer(result, view="cli.views:events")
