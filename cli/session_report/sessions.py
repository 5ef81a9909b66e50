"""`joelclaw session list`, `joelclaw session show` and `joelclaw report`."""

import os
import sys
import tempfile
import webbrowser
from typing import Any
from urllib.parse import quote

from cli.answer import Answer, quoted, step
from cli.parameter import session_around
from cli.stdout import is_terminal, write_out
from core import clock, config, files, home_files, project
from core.errors import Failure
from core.store import apsw, migrate, sqlite
from otel import unstored
from session.session_report import listing
from session.session_report import report as reports
from session.state import state_file

_CODE = "SESSION_INVALID_ARGS"
_HEAD_BYTES = 1_024


def list_(options: dict[str, Any]) -> Answer:
    """The sessions that are known, the one that did something last first."""
    client, hours = options["client"] or "", options["hours"]
    since = 0 if hours is None else int(clock.now_ms() - hours * clock.HOUR_MS)
    only = {"project": options["project"] or "", "client": client}
    rows, count = listing.sessions(_store(), config.load(), limit=options["limit"], since=since, **only)
    actions = []
    if rows:
        about = {"description": "its id, or its beginning", "value": rows[0]["sessionId"], "required": True}
        actions.append(step("joelclaw session show <id>", "one session in detail", {"id": about}))
    return Answer({"count": count, "sessions": rows}, actions)


def show(options: dict[str, Any]) -> Answer | int:
    """One session's life; with `--html` as a page. Of a session around of which nothing is kept it is the newest."""
    given, how = (options["id"] or "").strip(), "given"
    if not given:
        given, how = session_around(), "environment"
    db = _store()
    given = state_file.identity(given) if given else ""
    if given and (how == "given" or listing.is_known(db, given)):
        session = listing.meant(db, given)
    else:
        session, how = listing.newest(db, project.name_of(files.current_folder()))
    found = reports.of_session(db, session, config.load())
    result = {**found, "chosen": how, "full": bool(options["full"])}
    if options["html"] or options["to"] is not None:
        from cli.session_report import view

        page = view.page(view.draw_session, {**result, "full": True}, f"Session {session}")
        return _page(page, options["to"], f"joelclaw-session-{session[:8]}.html")
    actions = [step(f"joelclaw session show {quoted(session)} --html", "the same as a page for a browser")]
    if not options["full"] and any(not turn["moments"] for turn in found["turns"]):
        actions.insert(0, step(f"joelclaw session show {quoted(session)} --full", "every turn"))
    if found["compactions"]:
        actions.append(step(f"joelclaw lost {quoted(session)}", "what the last compaction dropped"))
    return Answer(result, actions)


def report(options: dict[str, Any]) -> Answer | int:
    """All sessions of the last hours, in figures; with `--html` as a page."""
    found = reports.of_all(_store(), hours=options["hours"], now=clock.now_ms())
    hours = f"{found['hours']:g}"
    if options["html"] or options["to"] is not None:
        from cli.session_report import view

        page = view.page(view.draw_report, found, f"joelclaw: the last {hours} hours")
        return _page(page, options["to"], "joelclaw-report.html")
    actions = [step(f"joelclaw report --hours {hours} --html", "the same as a page for a browser")]
    if found["errors"]["total"]:
        actions.append(step(f"joelclaw otel list --level error,fatal --hours {hours}", "the errors one by one"))
    return Answer(found, actions)


def _store() -> apsw.Connection:
    unstored.store_waiting()
    return sqlite.open_reading() or migrate.in_memory()


def _page(page: str, to: str | None, name: str) -> Answer | int:
    """Write a page to a file that only the user reads, by default `name` in a new temporary folder; print it for `-`.

    On a terminal the default is opened, where there is a screen for a browser.
    Raises Failure: PAGE_NOT_WRITTEN; what was there stays.
    """
    if to == "-":
        write_out(page)
        return 0
    from cli.session_report.view import POLICY

    path = os.path.join(tempfile.mkdtemp(prefix="joelclaw-"), files.safe_name(name)) if to is None else to
    path = os.path.abspath(path)
    data = page.encode("utf-8", "replace")
    fix = "give --to a file in a folder that can be written"
    if home_files.is_in_home(path, files.home()) or os.path.islink(path) or not os.path.isdir(os.path.dirname(path)):
        raise Failure("PAGE_NOT_WRITTEN", f"{path} is a link, has no folder, or is one of joelclaw's own files", fix)
    try:
        if os.path.exists(path) and os.path.getsize(path) and POLICY not in files.start_of(path, _HEAD_BYTES):
            raise Failure("PAGE_NOT_WRITTEN", f"{path} is not a page of joelclaw", "name another file")
        home_files.sweep_beside(path)
        files.write_whole(path, data)
    except OSError as error:
        raise Failure("PAGE_NOT_WRITTEN", f"{path}: {error.strerror}", fix) from None
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    opened = to is None and bool(screen) and is_terminal() and webbrowser.open(f"file://{quote(path)}")
    return Answer({"file": path, "bytes": len(data), "opened": opened})
