"""`joelclaw otel search --follow`: print events as they come, until Ctrl-C or until nobody reads."""

from __future__ import annotations

import os
import select
import sys

from cli.answer import write_json
from core import json_text
from otel import follow, search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.records import Event, EventQuery

POLL_MS = 250


def run(asked: EventQuery, limit: int) -> int:
    """Print until the reader has enough; returns the exit code, 0.

    Raises:
        Failure: the store can no longer be read.
    """
    try:
        follower = follow.Follower(asked, limit)
        show = _live if os.isatty(1) and "--json" not in sys.argv else _lines
        hung_up = select.poll()
        hung_up.register(1, 0)  # no events: only told when the reading end of a pipe is gone
        while True:
            found = follower.poll()
            if found and not show(found):
                break
            if hung_up.poll(POLL_MS):
                break
    except KeyboardInterrupt:
        pass
    return 0


def _lines(events: list[Event]) -> bool:
    return all(write_json(json_text.dumps(search.shown(event))) for event in events)


def _live(events: list[Event]) -> bool:
    from cli.otel.view import live

    live(events)
    return True
