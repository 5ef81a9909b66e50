"""`joelclaw otel search --follow`: print events as they come, until Ctrl-C or until nobody reads."""

from __future__ import annotations

import os
import select
import sys

from core import json_text
from core.output.shown import escaped
from otel import follow, search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.store.interface import Event, EventQuery

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
            if found:
                show(found)
            if hung_up.poll(POLL_MS):
                break
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes stdout once more at exit
    return 0


def _lines(events: list[Event]) -> None:
    for event in events:
        view = memoryview((escaped(json_text.dumps(search.shown(event))) + "\n").encode("utf-8", "replace"))
        while view:
            view = view[os.write(1, view) :]


def _live(events: list[Event]) -> None:
    from cli.otel.view import live

    live(events)
