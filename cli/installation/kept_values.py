"""`joelclaw completion`: the script of a shell; with `--values` what it offers of a kind, from the store."""

import re
from typing import Any

from cli.answer import Answer
from core import ids
from core.errors import Failure
from core.store import overview, sqlite

_MOST = 100
_SAFE = re.compile(r"[\w./:@+,=-]+")
"""A shell expands what it is offered: other words, which a stranger may have written, are left out."""


def run(options: dict[str, Any]) -> Answer | int:
    """The script as text, or the values, one a line; none where the store cannot be read."""
    if not options["values"]:
        from cli.installation import completion

        return completion.run(options)
    try:
        db = sqlite.open_reading()
        found = overview.newest(db, options["values"], _MOST) if db is not None else []
    except (Failure, sqlite.StoreError):
        found = []
    shown = map(ids.shown, found) if options["values"] == "sessions" else found
    return Answer(None, text="\n".join(one for one in shown if _SAFE.fullmatch(one)))
