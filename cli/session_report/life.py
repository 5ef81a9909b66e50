"""`joelclaw session list`, `joelclaw session show` and `joelclaw report`."""

from __future__ import annotations

import os

from cli.answer import Answer, quoted, step
from cli.parameter import session_around
from cli.session_report import page_file
from core import clock, config, project
from core.errors import usage
from core.store import sqlite
from core.store.sqlite import apsw
from session.session_report import chosen, life, listing
from session.state import state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.envelope import NextAction

CODE = "SESSION_INVALID_ARGS"


def list_(options: dict[str, Any]) -> Answer:
    """The sessions that are known, the one that did something last first.

    Raises:
        Failure: SESSION_INVALID_ARGS for a client that there is not; or what the store and the states say.
    """
    client, hours = options["client"] or "", options["hours"]
    if client:
        _check_client(client)
    since = 0 if hours is None else int(clock.now_ms() - hours * clock.HOUR_MS)
    try:
        rows, count = listing.sessions(
            sqlite.open_reading(),
            config.load(),
            limit=options["limit"],
            project=options["project"] or "",
            client=client,
            since=since,
        )
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    actions: list[NextAction] = []
    if rows:
        about = {"description": "its id, or its beginning", "value": rows[0]["sessionId"], "required": True}
        actions.append(step("joelclaw session show <id>", "one session's life", {"id": about}))
    return Answer({"count": count, "sessions": rows}, actions)


def _check_client(client: str) -> None:
    from clients import registry

    if client not in registry.CLIENTS:
        raise usage(CODE, f"there is no client {client[:40]!r}", f"give --client {registry.either(registry.CLIENTS)}")


def show(options: dict[str, Any]) -> Answer | int:
    """One session's life; with `--html` as a page. Of a session around of which nothing is kept it is the newest.

    Raises:
        Failure: SESSION_NOT_FOUND, SESSION_AMBIGUOUS, PAGE_NOT_WRITTEN, or what the store says.
    """
    try:
        db = sqlite.open_reading()
        given, how = _given(options["id"])
        if given and (how == "given" or chosen.is_known(db, given)):
            session = chosen.meant(db, given)
        else:
            session, how = chosen.newest(db, project.name_of(_here()))
        found = life.of_session(db, session, config.load())
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    if options["html"] or options["to"] is not None:
        from session.session_report import session_page

        return page_file.write(session_page.of(found), options["to"], f"joelclaw-session-{session[:8]}.html")
    actions = [step(f"joelclaw session show {quoted(session)} --html", "the same as a page for a browser")]
    if found["compactions"]:
        actions.append(step(f"joelclaw lost {quoted(session)}", "what the last compaction dropped"))
    return Answer({**found, "chosen": how, "full": bool(options["full"])}, actions)


def report(options: dict[str, Any]) -> Answer | int:
    """All sessions of the last hours, in figures; with `--html` as a page.

    Raises:
        Failure: PAGE_NOT_WRITTEN, or what the store says.
    """
    from session.session_report import report as reports

    try:
        found = reports.of_all(sqlite.open_reading(), hours=options["hours"], now=clock.now_ms())
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    if options["html"] or options["to"] is not None:
        from session.session_report import report_page

        return page_file.write(report_page.of(found), options["to"], "joelclaw-report.html")
    hours = f"{found['hours']:g}"
    actions: list[NextAction] = [step(f"joelclaw report --hours {hours} --html", "the same as a page for a browser")]
    if found["errors"]["total"]:
        actions.append(step(f"joelclaw otel list --level error,fatal --hours {hours}", "the errors one by one"))
    return Answer(found, actions)


def _given(session: str | None) -> tuple[str, str]:
    """The session that is named, and by whom: "given" or "environment"."""
    if session and session.strip():
        return state_file.identity(session.strip()), "given"
    around = session_around()
    return (state_file.identity(around), "environment") if around else ("", "")


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return ""
