"""The types of hook events and answers, for the type checker only."""

from typing import Literal, TypedDict

from clients.entries import Entry

Kind = Literal[
    "start", "prompt", "tool", "turn", "before_compaction", "before_branch", "summary", "after_compaction", "end",
    "ignored",
]  # fmt: skip


class HookEvent(TypedDict):
    """What a client's hook says. Empty or None: it does not say."""

    kind: Kind
    name: str  # the client's own name of the event
    session: str
    source: str  # of a start: startup, resume, clear, compact …
    cwd: str
    transcript: str
    model: str
    messages: list[str]  # what the user typed, oldest first; at a prompt only that prompt
    files: list[str]  # files that a tool wrote or edited
    items: list[Entry]  # the messages of a client without a transcript
    summary: str  # what the client's summariser has written for a compaction in progress
    instructions: str  # what the user asks of the summary of a compaction
    said: int | None  # messages since the last compaction; None if there was none
    percent: float | None
    tokens: int | None
    window: int | None


class Text(TypedDict):
    """A text for the model."""

    customType: str
    content: str


class CompactionSettings(TypedDict):
    """What a client's own settings say about its compactions; None: nothing."""

    reserve: int | None  # tokens kept free for the answer
    keep: int | None  # tokens of the newest messages that stay unchanged
    enabled: bool  # it compacts by itself
    dropped: tuple[tuple[str, str], ...]  # a project's file that is ignored, and its fault
