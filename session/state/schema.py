"""The JSON state of one session: its fields, its bounds, and what counts as damaged.

Every list and text is bounded, so that the file stays below 64 KB whatever comes in.
"""

from __future__ import annotations

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
HIT_CHARS = 160
QUERIES_KEPT = 3
TASK_MEMORIES_KEPT = 20
SCOPES_KEPT = 24
KINDS_KEPT = 16
PENDING_KEPT = 16
TERMS_KEPT = 12
_NAME_CHARS = 80
_WORD_CHARS = 40
_CWD_CHARS = 400
SIGNPOST_CHARS = 10_000
PATH_CHARS = 1_000
"""Of a path that is used, and so is not cut at its start."""


class Damaged(Exception):
    """The file does not hold a state of this session."""


class TooNew(Exception):
    """A newer joelclaw wrote the file; `args[0]` is its version."""


def blank(session_id: str, role: str, now: int) -> SessionState:
    """The state of a session of which nothing is known yet."""
    return {
        "version": VERSION,
        "sessionId": session_id,
        "role": role,
        "agent": "",
        "cwd": "",
        "checkpoint": {
            "currentTask": "",
            "filesModified": [],
            "recallHits": [],
            "recallQueries": [],
            "compactionCount": 0,
            "contextPercentAtCapture": None,
        },
        "messages": [],
        "files": [],
        "contextTokens": None,
        "contextLimit": None,
        "warmZoneEntered": False,
        "hotZoneEntered": False,
        "recallCache": [],
        "taskHash": "",
        "recalledHash": "",
        "writtenHash": "",
        "taskMemoryIds": [],
        "lastCompactionAt": None,
        "lastInjectionAt": None,
        "injectedScopes": [],
        "injectedKinds": {},
        "pendingFeedback": [],
        "lastMessageAt": None,
        "lastRefreshAt": None,
        "halfRefreshed": False,
        "signpost": None,
        "idleTimer": None,
        "idleInFlight": None,
        "turnBeganAt": None,
        "counts": {"saves": 0, "flushes": 0, "recalls": 0, "writes": 0, "injections": 0, "userMessages": 0},
        "startedAt": now,
        "updatedAt": now,
    }


def read(value: Any, session_id: str) -> SessionState:
    """The state that a JSON value holds; a field it lacks gets its default.

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
    state = _like(blank(session_id, "", 0), value, "")
    for name, entry in (("messages", _MESSAGE), ("recallCache", _RECALLED), ("pendingFeedback", _PENDING)):
        state[name] = [_like(entry, item, name, whole=True) for item in state[name]]
    for recalled in state["recallCache"]:
        recalled["hits"] = [_like(_MEMORY, hit, "hits", whole=True) for hit in recalled["hits"]]
    for pending in state["pendingFeedback"]:
        if not all(isinstance(term, str) for term in pending["terms"]):
            raise Damaged("terms holds something that is no text")
    for name, pattern in _OBJECTS.items():
        if state[name] is not None:
            state[name] = _like(pattern, state[name], name, whole=True)
    return bounded(state)  # type: ignore[arg-type]  # every field was held against the blank state


_MESSAGE: Message = {"text": "", "hash": ""}
_MEMORY: Memory = {"id": "", "text": "", "category": "", "score": 0.0}
_RECALLED: Recalled = {"query": "", "hash": "", "hits": [], "at": 0}
_PENDING: Pending = {"id": "", "terms": [], "used": 0, "asked": False, "turns": 0}
_IN_FLIGHT: InFlight = {"hash": "", "pid": 0, "startedAt": 0}
_IDLE_TIMER: IdleTimer = {"scheduledAt": 0, "dueAt": 0, "ratio": 0.0, "cwd": "", "transcript": ""}
_SIGNPOST: Signpost = {"text": "", "memoryIds": []}
_OBJECTS: dict[str, Any] = {
    "signpost": _SIGNPOST,
    "idleInFlight": _IN_FLIGHT,
    "idleTimer": _IDLE_TIMER,
}
"""Those that may be there or not."""
_STRING_LISTS = frozenset(
    ("filesModified", "recallHits", "recallQueries", "files", "taskMemoryIds", "injectedScopes", "memoryIds")
)
_MAYBE_NUMBERS = frozenset(
    (
        *("contextPercentAtCapture", "contextTokens", "contextLimit", "lastCompactionAt", "lastInjectionAt"),
        *("lastMessageAt", "lastRefreshAt", "turnBeganAt"),
    )
)


def _like(pattern: Any, value: Any, where: str, *, whole: bool = False) -> dict[str, Any]:
    """The fields of `pattern` with the values of `value`, each of the pattern's type; with `whole` none may lack."""
    if not isinstance(value, dict):
        raise Damaged(f"{where} is no object")
    fields: dict[str, Any] = {}
    for name, default in pattern.items():
        if name not in value:
            if whole:
                raise Damaged(f"{where} lacks {name}")
            fields[name] = default
        else:
            fields[name] = _field(name, default, value[name])
    return fields


def _field(name: str, default: Any, found: Any) -> Any:
    if default is None:
        right = (
            found is None
            or (name in _MAYBE_NUMBERS and _is_number(found))
            or (name in _OBJECTS and isinstance(found, dict))
        )
    elif name == "injectedKinds":
        right = isinstance(found, dict) and all(_is_number(at) for at in found.values())
    elif isinstance(default, dict):
        return _like(default, found, name)
    elif isinstance(default, list):
        right = isinstance(found, list) and (name not in _STRING_LISTS or all(isinstance(item, str) for item in found))
    elif isinstance(default, float):
        right = _is_number(found)
    else:
        right = type(found) is type(default)
    if not right:
        raise Damaged(f"{name} has the wrong type")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def bounded(state: SessionState) -> SessionState:
    """The state with every list and text within its bound, and the checkpoint's lists made from what is known."""
    checkpoint = state["checkpoint"]
    files = [path[:FILE_CHARS] for path in state["files"][-FILES_KEPT:]]
    cache: list[Recalled] = [
        {
            "query": recalled["query"][: _NAME_CHARS * 2],
            "hash": recalled["hash"][:_NAME_CHARS],
            "hits": [
                {
                    "id": hit["id"][:_NAME_CHARS],
                    "text": hit["text"][:HIT_CHARS],
                    "category": hit["category"][:_WORD_CHARS],
                    "score": hit["score"],
                }
                for hit in recalled["hits"][:HITS_KEPT]
            ],
            "at": recalled["at"],
        }
        for recalled in state["recallCache"][-CACHE_KEPT:]
    ]
    messages: list[Message] = [
        {"text": entry["text"][: _NAME_CHARS * 3], "hash": entry["hash"][:_NAME_CHARS]}
        for entry in state["messages"][-MESSAGES_KEPT:]
    ]
    timer = state["idleTimer"]
    if timer is not None:
        timer = {**timer, "cwd": timer["cwd"][:PATH_CHARS], "transcript": timer["transcript"][:PATH_CHARS]}
    signpost = state["signpost"]
    if signpost is not None:
        known = [identifier[:_NAME_CHARS] for identifier in signpost["memoryIds"][:HITS_KEPT]]
        signpost = {"text": signpost["text"][:SIGNPOST_CHARS], "memoryIds": known}
    kinds = {kind[:_WORD_CHARS]: at for kind, at in list(state["injectedKinds"].items())[-KINDS_KEPT:]}
    return {
        **state,
        "role": state["role"][:ROLE_CHARS],
        "agent": state["agent"][:_WORD_CHARS],
        "cwd": state["cwd"][:_CWD_CHARS],
        "checkpoint": {
            **checkpoint,
            "currentTask": checkpoint["currentTask"][:TASK_CHARS],
            "filesModified": files[-FILES_SHOWN:],
            "recallHits": [memory["text"] for memory in memories(cache)],
            "recallQueries": queries(cache),
        },
        "messages": messages,
        "files": files,
        "recallCache": cache,
        "taskHash": state["taskHash"][:_NAME_CHARS],
        "recalledHash": state["recalledHash"][:_NAME_CHARS],
        "writtenHash": state["writtenHash"][:_NAME_CHARS],
        "taskMemoryIds": [identifier[:_NAME_CHARS] for identifier in state["taskMemoryIds"][-TASK_MEMORIES_KEPT:]],
        "injectedScopes": [scope[:_NAME_CHARS] for scope in state["injectedScopes"][-SCOPES_KEPT:]],
        "injectedKinds": kinds,
        "signpost": signpost,
        "idleTimer": timer,
        "pendingFeedback": [
            {
                "id": pending["id"][:_NAME_CHARS],
                "terms": [term[:_WORD_CHARS] for term in pending["terms"][:TERMS_KEPT]],
                "used": pending["used"],
                "asked": pending["asked"],
                "turns": pending["turns"],
            }
            for pending in state["pendingFeedback"][-PENDING_KEPT:]
        ],
    }


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
