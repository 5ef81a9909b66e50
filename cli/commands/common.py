"""Parameters that several commands take."""

from __future__ import annotations

from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

COLLECTIONS = "observations, episodes, knowledge (comma-separated; default all)"
SESSION = P("session", ("--session",), "session id", metavar="ID")
HITS = P("limit", ("--limit", "-n"), "most hits to return (default 5, at most 100)", kind="whole", low=1, high=100)
RAW = P("raw", ("--raw",), "print the text alone, no JSON", kind="flag")
HOURS = P("hours", ("--hours",), "how far back, in hours", kind="number", default=24, low=0, high=876_000)
