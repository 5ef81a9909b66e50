"""`joelclaw session list`, `joelclaw session show` and `joelclaw report`."""

from typing import Any

from cli.answer import Answer, quoted, step
from cli.parameter import session_around
from core import clock, config, files, project
from core.store import sqlite
from core.store.sqlite import apsw
from otel import log
from session import known_sessions
from session import report as reports
from session.state import stored_id

_CODE = "SESSION_INVALID_ARGS"


def list_(options: dict[str, Any]) -> Answer:
    """The sessions that are known, the one that did something last first."""
    client, hours = options["client"] or "", options["hours"]
    since = 0 if hours is None else int(clock.now_ms() - hours * clock.HOUR_MS)
    only = {"project": options["project"] or "", "client": client}
    rows, count = known_sessions.rows(_store(), config.load(), limit=options["limit"], since=since, **only)
    actions = []
    if rows:
        about = {"description": "its id, or its beginning", "value": rows[0]["sessionId"], "required": True}
        actions.append(step("joelclaw session show <id>", "one session in detail", {"id": about}))
    return Answer({"count": count, "sessions": rows}, actions)


def show(options: dict[str, Any]) -> Answer:
    """Show one session; without an id, the session around this command, else the newest one."""
    given, how = (options["id"] or "").strip(), "given"
    if not given:
        given, how = session_around(), "environment"
    db = _store()
    given = stored_id(given) if given else ""
    if given and (how == "given" or known_sessions.is_known(db, given)):
        session = known_sessions.resolve(db, given)
    else:
        session, how = known_sessions.newest(db, project.name_of(files.current_folder()))
    found = reports.session_report(db, session, config.load())
    result = {**found, "chosen": how, "full": bool(options["full"])}
    actions = []
    if not options["full"] and any(not turn["moments"] for turn in found["turns"]):
        actions.append(step(f"joelclaw session show {quoted(session)} --full", "every turn"))
    if found["compactions"]:
        actions.append(step(f"joelclaw lost {quoted(session)}", "what the last compaction dropped"))
    return Answer(result, actions)


def report(options: dict[str, Any]) -> Answer:
    """Report on all sessions of the last hours."""
    found = reports.hours_report(_store(), hours=options["hours"], now=clock.now_ms())
    hours = f"{found['hours']:g}"
    actions = []
    if found["errors"]["total"]:
        actions.append(step(f"joelclaw otel list --level error,fatal --hours {hours}", "the errors one by one"))
    return Answer(found, actions)


def _store() -> apsw.Connection:
    log.store_spooled()
    return sqlite.open_reading() or sqlite.open_in_memory()
