"""`joelclaw report`: all sessions of the last hours, in figures."""

from __future__ import annotations

from cli.answer import Answer, step
from cli.life import page_file
from core import clock
from core.store import sqlite
from core.store.sqlite import apsw
from session.life import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.envelope import NextAction


def run(options: dict[str, Any]) -> Answer | int:
    """The report; with `--html` as a page.

    Raises:
        Failure: PAGE_NOT_WRITTEN, or what the store says.
    """
    try:
        found = report.of_all(sqlite.open_reading(), hours=options["hours"], now=clock.now_ms())
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    if options["html"] or options["to"] is not None:
        from session.life import report_page

        return page_file.write(report_page.of(found), options["to"], "joelclaw-report.html")
    hours = f"{found['hours']:g}"
    actions: list[NextAction] = [step(f"joelclaw report --hours {hours} --html", "the same as a page for a browser")]
    if found["errors"]["total"]:
        actions.append(step(f"joelclaw otel list --level error --hours {hours}", "the errors one by one"))
    return Answer(found, actions)
