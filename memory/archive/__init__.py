"""The archive: transcripts become episodes, calls, names and places, so that all of a session can be found later."""

from __future__ import annotations


class Origin:
    """The session that is archived, and how."""

    __slots__ = ("agent", "cwd", "now", "session", "vectors")

    def __init__(self, agent: str, session: str, cwd: str, *, now: int, vectors: bool) -> None:
        self.agent = agent  # the client's name
        self.session = session  # the id under which the session is stored
        self.cwd = cwd  # the folder that it works in, "" if unknown
        self.now = now  # ms since the epoch, for messages without a time
        self.vectors = vectors  # sqlite-vec is loaded


class Limits:
    """How much of a transcript is read in a call."""

    __slots__ = ("least", "most", "until")

    def __init__(self, *, until: float | None = None, least: int = 0, most: int | None = None) -> None:
        self.until = until  # `time.monotonic()` after which no further piece is begun; None: to the end
        self.least = least  # bytes that must be new; fewer are left to the next call
        self.most = most  # bytes that are read at most, in whole pieces
