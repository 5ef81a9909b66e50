"""The JSON state of one session: its fields, declared once, with their bounds; a file that does not fit is damaged.

Every list and text is bounded, so that the file stays below 64 KB whatever comes in. FIELDS makes `docs/state.md`.
"""

from __future__ import annotations

from session.state.field import (
    Damaged,
    flag,
    many,
    maybe_number,
    maybe_one,
    number,
    one,
    read_object,
    text,
    texts,
    times,
    whole,
)
from session.state.field import (
    blank as _blank,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

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
        """Distinctive words of it that neither the agent nor the user has said since."""
        used: int
        """How many more there were, which the agent has said."""
        asked: bool
        """Whether the user has said something that the agent has not answered yet."""
        turns: int

    class InFlight(TypedDict):
        """Who compacts the session right now; void when the process is gone."""

        hash: str
        pid: int
        startedAt: int

    class IdleTimer(TypedDict):
        """When this session may be compacted if nothing is said until then; ms since the epoch."""

        scheduledAt: int
        dueAt: int
        ratio: float
        """Share of the context window in use when it was scheduled."""
        cwd: str
        transcript: str

    class Signpost(TypedDict):
        """What was handed out after the last compaction that brought one."""

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

    class Counts(TypedDict):
        """How often what happened."""

        saves: int
        flushes: int
        recalls: int
        writes: int
        injections: int
        userMessages: int

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
        injectedKinds: dict[str, int]
        injectedMemories: list[str]
        pendingFeedback: list[Pending]
        lastMessageAt: int | None
        lastRefreshAt: int | None
        halfRefreshed: bool
        signpost: Signpost | None
        idleTimer: IdleTimer | None
        idleInFlight: InFlight | None
        turnBeganAt: int | None
        counts: Counts
        startedAt: int
        updatedAt: int


VERSION = 1
MESSAGES_KEPT = 3
MESSAGE_CHARS = 200
TASK_CHARS = 500
ROLE_CHARS = 60
FILES_KEPT = 20
FILES_SHOWN = 10
FILE_CHARS = 200
CACHE_KEPT = 3
HITS_KEPT = 5
QUERIES_KEPT = 3
PENDING_KEPT = 16
TERMS_KEPT = 12
PATH_CHARS = 1_000
"""Of a path that is used, and so is not cut at its start."""
_HASH_CHARS = _ID_CHARS = 80
_WORD_CHARS = 40

CHECKPOINT = {
    "currentTask": text(TASK_CHARS, "the last three messages"),
    "filesModified": texts(FILES_SHOWN, FILE_CHARS, "the newest of `files`"),
    "recallHits": texts(HITS_KEPT, 160, "the best of `recallCache`"),
    "recallQueries": texts(QUERIES_KEPT, 2 * _ID_CHARS, "the queries of `recallCache`, newest first"),
    "compactionCount": whole("compactions so far"),
    "contextPercentAtCapture": maybe_number("context usage when it was last told, 0 to 100"),
}
MEMORY = {
    "id": text(_ID_CHARS, "its id"),
    "text": text(160, "its start"),
    "category": text(_WORD_CHARS, "without `jc:`"),
    "score": number("0 to 1"),
}
RECALLED = {
    "query": text(2 * _ID_CHARS, "the query"),
    "hash": text(_HASH_CHARS, "the task's"),
    "hits": many(HITS_KEPT, MEMORY, "what it returned, best first", first_ones=True),
    "at": whole("when"),
}
PENDING = {
    "id": text(_ID_CHARS, "the memory's id"),
    "terms": texts(TERMS_KEPT, _WORD_CHARS, "distinctive words that nobody has said since"),
    "used": whole("how many more there were, which the agent has said"),
    "asked": flag("whether the user has said something that the agent has not answered yet"),
    "turns": whole("turns since"),
}
IN_FLIGHT = {
    "hash": text(_HASH_CHARS, "what it is at"),
    "pid": whole("the process"),
    "startedAt": whole("since when"),
}
IDLE_TIMER = {
    "scheduledAt": whole("when it was set"),
    "dueAt": whole("when it comes due"),
    "ratio": number("share of the context window in use then"),
    "cwd": text(PATH_CHARS, "where the session works"),
    "transcript": text(PATH_CHARS, "the client's own file"),
}
SIGNPOST = {
    "text": text(10_000, "as it was injected"),
    "memoryIds": texts(HITS_KEPT, _ID_CHARS, "the memories in it"),
}
_COUNTS = {name: whole("how often") for name in ("saves", "flushes", "recalls", "writes", "injections", "userMessages")}
FIELDS = {
    "version": whole(f"of this schema: {VERSION}"),
    "sessionId": text(200, "the client's own id, or a hash of a long or secret-like one"),
    "role": text(ROLE_CHARS, "`interactive`, `gateway`, or another role's name"),
    "agent": text(_WORD_CHARS, "the client"),
    "cwd": text(400, "where the agent works"),
    "checkpoint": one(CHECKPOINT, "what a signpost is made of (ADR-0203, stage 2)"),
    "messages": many(
        MESSAGES_KEPT,
        {"text": text(240, "its first 200 characters as one line"), "hash": text(_HASH_CHARS, "of the whole")},
        "the last messages of the user",
    ),
    "files": texts(FILES_KEPT, FILE_CHARS, "files that were written or edited, the newest last"),
    "contextTokens": maybe_number("tokens in the context when last told"),
    "contextLimit": maybe_number("the window in tokens"),
    "warmZoneEntered": flag("whether `checkpoint.warm_percent` was reached since the last compaction"),
    "hotZoneEntered": flag("the same of `checkpoint.hot_percent`"),
    "recallCache": many(CACHE_KEPT, RECALLED, "recalls that returned something, oldest first; survives compactions"),
    "taskHash": text(_HASH_CHARS, "of the task as it is now"),
    "recalledHash": text(_HASH_CHARS, "of the task that was last recalled for"),
    "writtenHash": text(_HASH_CHARS, "of the task that was last written to memory"),
    "taskMemoryIds": texts(20, _ID_CHARS, "the session's own task memories, which are not handed back to it"),
    "lastCompactionAt": maybe_number("when the last compaction was"),
    "lastInjectionAt": maybe_number("when the last signpost was injected"),
    "injectedScopes": texts(24, _ID_CHARS, "parts of the project that were looked up"),
    "injectedKinds": times(16, _WORD_CHARS, "kinds of text that are injected once, and when they were"),
    "injectedMemories": texts(
        40, _ID_CHARS, "memories in the context: injected since the last compaction, or left by it"
    ),
    "pendingFeedback": many(PENDING_KEPT, PENDING, "injected memories of which it is not known yet if they are used"),
    "lastMessageAt": maybe_number("when the user last said something"),
    "lastRefreshAt": maybe_number("when a refresh was last looked at"),
    "halfRefreshed": flag("whether a refresh came at `refresh.percent` since the last compaction"),
    "signpost": maybe_one(SIGNPOST, "what was injected after the last compaction"),
    "idleTimer": maybe_one(IDLE_TIMER, "when the session may be compacted if nothing is said until then"),
    "idleInFlight": maybe_one(IN_FLIGHT, "who compacts it right now; void when that process is gone"),
    "turnBeganAt": maybe_number("when the running turn began"),
    "counts": one(_COUNTS, "how often what happened"),
    "startedAt": whole("when the session was first seen"),
    "updatedAt": whole("when it last did something"),
}
"""The fields; all times are ms since the epoch."""


class TooNew(Exception):
    """A newer joelclaw wrote the file; `args[0]` is its version."""


def blank(session_id: str, role: str, now: int) -> SessionState:
    """The state of a session of which nothing is known yet."""
    known = {"version": VERSION, "sessionId": session_id, "role": role, "startedAt": now, "updatedAt": now}
    return {**_blank(FIELDS), **known}  # type: ignore[typeddict-item]  # a test holds FIELDS against the type


def read(value: Any, session_id: str) -> SessionState:
    """The state that a JSON value holds; a field it lacks is as at first, one that is not ours is dropped.

    Raises:
        TooNew: a newer version wrote it.
        Damaged: it is no object, belongs to another session, or a field has the wrong type.
    """
    version = value.get("version") if isinstance(value, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise Damaged("it holds no session state")
    if version > VERSION:
        raise TooNew(version)
    if value.get("sessionId") != session_id:
        raise Damaged("it belongs to another session")
    return bounded(value)


def bounded(state: SessionState) -> SessionState:
    """The state with every list and text within its bound, and the checkpoint's lists made from what is known.

    Raises:
        Damaged: a field has the wrong type.
    """
    identity = state["sessionId"]
    found: SessionState = read_object(FIELDS, state)  # type: ignore[assignment]  # as in `blank`
    found["sessionId"] = identity  # never cut: it names the file
    cache = found["recallCache"]
    checkpoint = found["checkpoint"]
    checkpoint["filesModified"] = found["files"][-FILES_SHOWN:]
    checkpoint["recallHits"] = [memory["text"] for memory in memories(cache)]
    checkpoint["recallQueries"] = queries(cache)
    return found


def memories(cache: list[Recalled]) -> list[Memory]:
    """The best memory of each recall, the newest recall first, then the second best of each, …; at most five."""
    seen: dict[str, Memory] = {}
    for rank in range(HITS_KEPT):
        for recalled in reversed(cache):
            for hit in recalled["hits"][rank : rank + 1]:
                seen.setdefault(hit["text"], hit)
    return list(seen.values())[:HITS_KEPT]


def queries(cache: list[Recalled]) -> list[str]:
    """The queries that returned something, newest first, each once; at most three."""
    return list({recalled["query"]: None for recalled in reversed(cache)})[:QUERIES_KEPT]
