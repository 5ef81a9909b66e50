"""Which session a command means, and its id as a shell takes it."""

from __future__ import annotations

import os

from core.errors import usage
from session.state import state_file

_ENVIRONMENT = ("JOELCLAW_SESSION_ID", "SLOG_SESSION_ID", "PI_SESSION_HANDLE")


def session_of(given: str | None, code: str) -> str:
    """The session that is meant: the one given, else that of the environment.

    Raises:
        Failure: `code`, exit 2, when neither names one.
    """
    for name in (given, *(os.environ.get(name) for name in _ENVIRONMENT)):
        if name and name.strip():
            return state_file.identity(name.strip())
    raise usage(code, "no session is named", "give --session ID, or set JOELCLAW_SESSION_ID")


def quoted(word: str) -> str:
    """A word as a shell takes it."""
    if word.replace("-", "").replace("_", "").replace(".", "").isalnum() and word.isascii() and word[0] != "-":
        return word
    return "'" + word.replace("'", "'\\''") + "'"
