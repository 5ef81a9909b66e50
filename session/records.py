"""What goes between the modules of a session, types only: imported by type checkers alone."""

from typing import Any, Literal, NotRequired, TypedDict

Zone = Literal["cold", "warm", "hot", "unknown"]


class Message(TypedDict):
    """A user message: its first 200 characters as one line, and what tells it from others."""

    text: str
    hash: str


class Memory(TypedDict):
    """A recalled memory as the cache keeps it."""

    id: str
    text: str
    category: str
    score: float


class Recalled(TypedDict):
    """One recall that returned something; `at` in ms since the epoch."""

    query: str
    hash: str
    hits: list[Memory]
    at: int


class Pending(TypedDict):
    """A memory that was handed to the agent, and of which it is not yet known whether it was used."""

    id: str
    terms: list[str]
    used: int
    asked: bool
    turns: int


class IdleTimer(TypedDict):
    """When this session may be compacted if nothing is said until then; ms since the epoch."""

    scheduledAt: int
    dueAt: int
    ratio: float
    cwd: str
    transcript: str


class RecoveryNote(TypedDict):
    """What was handed out after the last compaction that brought one; its field is called `signpost`."""

    text: str
    memoryIds: list[str]


class TaskCheckpoint(TypedDict):
    """ADR-0203, stage 2."""

    currentTask: str
    filesModified: list[str]
    recallHits: list[str]
    recallQueries: list[str]
    compactionCount: int
    contextPercentAtCapture: float | None


class SessionState(TypedDict):
    """What is known of one session. Times are ms since the epoch; files are oldest first."""

    version: int
    sessionId: str
    role: str
    agent: str
    cwd: str
    checkpoint: TaskCheckpoint
    messages: list[Message]
    files: list[str]
    contextTokens: int | None
    contextLimit: int | None
    warmZoneEntered: bool
    hotZoneEntered: bool
    recallCache: list[Recalled]
    taskHash: str
    recalledHash: str
    writtenHash: str
    taskMemoryIds: list[str]
    lastCompactionAt: int | None
    lastInjectionAt: int | None
    injectedScopes: list[str]
    toldNames: list[str]
    injectedKinds: dict[str, int]
    injectedMemories: list[str]
    pendingFeedback: list[Pending]
    lastMessageAt: int | None
    lastRefreshAt: int | None
    halfRefreshed: bool
    noteOwed: bool
    signpost: RecoveryNote | None
    idleTimer: IdleTimer | None
    turnBeganAt: int | None
    counts: dict[str, int]
    startedAt: int
    updatedAt: int


class Plan(TypedDict):
    """What a turn calls for."""

    zone: Zone
    entered: list[str]
    recall: bool
    recallReason: str
    query: str
    hash: str
    write: bool
    writeReason: str


class Text(TypedDict):
    """A composed text."""

    content: str
    memories: list[Memory]
    customType: str
    event: str
    """The event that tells of it."""
    component: NotRequired[str]
    about: dict[str, Any]
    """What result and event say of it besides."""
    eventAbout: NotRequired[dict[str, Any]]
    """What only the event says."""
    names: NotRequired[list[str]]
    """Of files and functions that it tells of because a prompt named them."""


class ContextUsage(TypedDict):
    """Tokens in the context, the size of its window, their ratio in percent, and where the tokens come from."""

    tokens: int | None
    window: int | None
    percent: float | None
    source: Literal["usage", "boundary", "estimate", "none"]


class Fault(TypedDict):
    """What could not be done, and why."""

    step: str
    code: str
    message: str
