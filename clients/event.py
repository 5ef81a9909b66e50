"""What clients say, whichever it is: lines of a transcript as items, hooks as events; and what their modules offer."""

from collections.abc import Callable
from typing import Any, Literal, NotRequired, Protocol, TypedDict


class Tool(TypedDict):
    """A tool call."""

    call: str  # the id by which its outcome names it
    name: str
    files: list[str]  # those that it writes or edits
    command: str
    target: str  # the file that it works on, as the client names it, be it to read; "" where it names none
    given: str  # all texts of its input, a line each, but for those that a key names a secret
    process: NotRequired[str]  # the process in the background that it asks after: what it returns is that one's
    first: NotRequired[int]  # the line with which it begins to show its file, where it shows the lines as they are


class Said(TypedDict):
    """A message. `id` is unique over all sessions, "" where the client gives none; `at` in ms since the epoch."""

    kind: Literal["said"]
    id: str
    role: Literal["user", "assistant"]
    text: str
    tools: list[Tool]
    at: int | None


class Outcome(TypedDict):
    """What a tool call returned. One that was rejected or interrupted has none."""

    kind: Literal["outcome"]
    call: str
    text: str
    failed: bool
    process: NotRequired[str]  # its process, which goes on in the background: whether it fails is not known yet


class Hunk(TypedDict):
    """Neighbouring lines that an edit changed.

    `start` is the number of the first one as they are then; of each line `signs` holds "+", "-" or " ", in order;
    `text` holds those that are there then.
    """

    file: str
    start: int
    signs: str
    text: str


class Edited(TypedDict):
    """What a tool call changed in files."""

    kind: Literal["edited"]
    call: str
    hunks: list[Hunk]


class Ended(TypedDict):
    """A process in the background has ended; `failed` is None of one that was stopped."""

    kind: Literal["ended"]
    process: str
    text: str
    failed: bool | None


class TurnEnded(TypedDict):
    """The agent ended its turn, as the client notes it."""

    kind: Literal["turn_ended"]
    at: int | None
    stopped: NotRequired[bool]
    """By itself, with an answer or without; not set where the client tells that it was interrupted, or had one."""


class Queue(TypedDict):
    """What the user types while a turn runs, in a client that tells only what it does with it."""

    kind: Literal["queue"]
    operation: Literal["enqueue", "remove", "dequeue", "popAll"]
    """`text` waits behind the others; the first was handed to the model; it follows as a message; all is taken back"""
    text: str
    at: int | None


class Compaction(TypedDict):
    """The context was compacted here; `tokens` is its size afterwards, where the client says so."""

    kind: Literal["compaction"]
    tokens: int | None
    at: int | None


class Summary(TypedDict):
    """What the client keeps in place of the messages before a compaction."""

    kind: Literal["summary"]
    text: str
    at: int | None


class PlanStep(TypedDict):
    """A step of the plan; "" is as it was, and for an id: the client numbers by place."""

    id: str
    text: str
    status: str  # pending, in_progress, completed, or what the client says


class Plan(TypedDict):
    """The agent's plan: all of it, or, with `whole` False, steps that are added or changed."""

    kind: Literal["plan"]
    call: str
    whole: bool
    steps: list[PlanStep]


class Usage(TypedDict):
    """How full the context was: input, cache read and cache write of a request; the window where the client says it."""

    kind: Literal["usage"]
    tokens: int
    window: int | None
    model: str


class Started(TypedDict):
    """The session's id and the folder it works in."""

    kind: Literal["started"]
    session: str
    cwd: str


Item = Said | Outcome | Edited | Ended | TurnEnded | Queue | Compaction | Summary | Plan | Usage | Started
Kind = Literal[
    "start", "prompt", "tool", "turn", "before_compaction", "before_branch", "summary", "after_compaction", "end",
    "ignored",
]  # fmt: skip


class HookEvent(TypedDict):
    """What a client's hook says. Empty and None: it does not say."""

    kind: Kind
    name: str  # the client's own name of the event
    session: str
    source: str  # of a start: startup, resume, clear, compact …
    cwd: str
    transcript: str
    model: str
    messages: list[str]  # what the user said, oldest first: of a prompt that one alone
    files: list[str]  # files that a tool wrote or edited
    items: list[Item]  # what was said, from a client without a transcript file
    summary: str  # what the client's summariser has written for a compaction that goes on
    instructions: str  # what the user wants of the summary of a compaction
    said: int | None  # messages since the last compaction, where there was one
    percent: float | None
    tokens: int | None
    window: int | None


class Text(TypedDict):
    """A text for the model."""

    customType: str
    content: str


class Format(Protocol):
    """`transcript.py` of a client: what a line says, what context it takes, whether only this client writes such.

    A line without any of SAID_MARKS says nothing, has no outcome and no summary; one without any of CONTEXT_MARKS has
    neither usage nor compaction. May also have `window_of`, `snapshot_of` (`session.context_usage`), `kept_of`
    (`session.reactions.recovery`) and `is_subagents`.
    """

    SAID_MARKS: tuple[bytes, ...]
    CONTEXT_MARKS: tuple[bytes, ...]
    items: Callable[[object], list[Item]]
    files_of: Callable[[str, object], list[str]]
    context_characters: Callable[[dict[str, Any]], int]
    wrote: Callable[[dict[str, Any]], bool]


class CompactionSettings(TypedDict):
    """What a client's own settings say of its compactions; None where they do not say."""

    reserve: int | None  # tokens kept free for the answer
    keep: int | None  # tokens of the newest messages that stay as they are
    enabled: bool  # it compacts unasked
    dropped: tuple[tuple[str, str], ...]  # a project's file that was left out, and what is wrong with it
