"""The state of a session: its fields and their bounds. Hot path.

The state is stored as JSON (`session.state_file`). Times are ms since the epoch.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.quoting import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    class Message(TypedDict):
        """A prompt: its first 200 characters on one line, and a hash of all of it.

        `isShort`: it is so short that it surely holds no text of other people; then a note may print it as a query.
        """

        text: str
        hash: str
        isShort: bool

    class Memory(TypedDict):
        """A recalled memory as the cache stores it."""

        id: str
        text: str
        category: str
        score: float

    class Recalled(TypedDict):
        """A recall that returned something."""

        query: str
        hash: str
        hits: list[Memory]
        at: int

    class Pending(TypedDict):
        """A memory that the agent was given, while it is not known whether the agent uses it."""

        id: str
        terms: list[str]
        used: int
        asked: bool
        turns: int

    class IdleTimer(TypedDict):
        """When the session may be compacted if nothing is said until then."""

        scheduledAt: int
        dueAt: int
        ratio: float
        cwd: str
        transcript: str

    class GivenNote(TypedDict):
        """The recovery note that was given after the last compaction."""

        text: str
        memoryIds: list[str]

    Reader = Callable[[Any], Any]


VERSION = 1
GATEWAY = "gateway"
"""The role of a session that works on all projects."""

MESSAGES_KEPT = 3
MESSAGE_CHARS = 200
TASK_CHARS = 500
FILES_KEPT = 20
FILES_SHOWN = 10
FILE_CHARS = 200
HITS_KEPT = 5
TERMS_KEPT = 12
PATH_CHARS = 1_000  # a path that is used must not lose its start
_LONGEST_ID = 200
_ROLE_CHARS = 60


class Damaged(Exception):
    """A value does not fit its field."""


class TooNew(Exception):
    """A newer joelclaw wrote the file; `args[0]` is its version."""


def _checked(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise Damaged(f"it is not of type {kinds[0].__name__}")
    return value


def _text(most: int) -> Reader:
    return lambda value: "" if value is None else _checked(value, str)[:most]


def _texts(most: int, characters: int) -> Reader:
    return lambda value: [_checked(item, str)[:characters] for item in _checked(value or [], list)[-most:]]


def _times(value: Any) -> Any:
    last = list(_checked(value or {}, dict).items())[-16:]
    return {name[:40]: _checked(at, int, float) for name, at in last}


def _texts_by_kind(value: Any) -> Any:
    texts = list(_checked(value or {}, dict).items())[-5:]
    # a text in part would lose the end of its frame
    return {kind[:40]: text for kind, text in texts if len(_checked(text, str)) <= 4_000}


def _flag(value: Any) -> Any:
    return False if value is None else _checked(value, bool)


def _whole(value: Any) -> Any:
    return 0 if value is None else _checked(value, int)


def _number(value: Any) -> Any:
    return None if value is None else _checked(value, int, float)


def _object(fields: dict[str, Reader]) -> Reader:
    def read(value: Any) -> Any:
        known = _checked(value or {}, dict)
        found: dict[str, Any] = {}
        for name, read_field in fields.items():
            try:
                found[name] = read_field(known.get(name))
            except Damaged as damaged:
                raise Damaged(f"{name}: {damaged}") from None
        return found

    return read


def _object_or_none(fields: dict[str, Reader]) -> Reader:
    read = _object(fields)
    return lambda value: None if value is None else read(value)


def _objects(most: int, fields: dict[str, Reader]) -> Reader:
    read = _object(fields)
    return lambda value: [read(item) for item in _checked(value or [], list)[-most:]]


# What reads each field of the file: it cuts a value to its bound, or raises Damaged; None is a field that is missing.
_MEMORY = {"id": _text(80), "text": _text(160), "category": _text(40), "score": _number}
_FIELDS: dict[str, Reader] = {
    "version": _whole,
    "sessionId": _text(_LONGEST_ID),
    "role": _text(_ROLE_CHARS),
    "agent": _text(40),
    "cwd": _text(400),
    "checkpoint": _object(
        {
            "currentTask": _text(TASK_CHARS),
            "filesModified": _texts(FILES_SHOWN, FILE_CHARS),
            "recallHits": _texts(HITS_KEPT, 160),
            "recallQueries": _texts(3, 160),
            "compactionCount": _whole,
            "contextPercentAtCapture": _number,
        }
    ),
    "messages": _objects(MESSAGES_KEPT, {"text": _text(240), "hash": _text(80), "isShort": _flag}),
    "files": _texts(FILES_KEPT, FILE_CHARS),
    "contextTokens": _number,
    "contextLimit": _number,
    "warmZoneEntered": _flag,
    "hotZoneEntered": _flag,
    "recallCache": _objects(
        3, {"query": _text(160), "hash": _text(80), "hits": _objects(HITS_KEPT, _MEMORY), "at": _whole}
    ),
    "taskHash": _text(80),
    "recalledHash": _text(80),
    "writtenHash": _text(80),
    "taskMemoryIds": _texts(20, 80),
    "lastCompactionAt": _number,
    "lastInjectionAt": _number,
    "injectedScopes": _texts(40, 80),
    "toldNames": _texts(60, 80),
    "injectedKinds": _times,
    "givenTexts": _texts_by_kind,
    "injectedMemories": _texts(40, 80),
    "pendingFeedback": _objects(
        16, {"id": _text(80), "terms": _texts(TERMS_KEPT, 40), "used": _whole, "asked": _flag, "turns": _whole}
    ),
    "lastMessageAt": _number,
    "lastRefreshAt": _number,
    "halfRefreshed": _flag,
    "noteOwed": _flag,
    "signpost": _object_or_none({"text": _text(10_000), "memoryIds": _texts(HITS_KEPT, 80)}),
    "idleTimer": _object_or_none(
        {
            "scheduledAt": _whole,
            "dueAt": _whole,
            "ratio": _number,
            "cwd": _text(PATH_CHARS),
            "transcript": _text(PATH_CHARS),
        }
    ),
    "turnBeganAt": _number,
    "counts": _object(dict.fromkeys(("saves", "flushes", "recalls", "writes", "injections", "userMessages"), _whole)),
    "startedAt": _whole,
    "updatedAt": _whole,
}
# The attribute of each field: `warm_zone_entered` for warmZoneEntered.
_ATTRIBUTES = {key: "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key) for key in _FIELDS}


class SessionState:
    """The state of a session. Files and messages are oldest first.

    `task`, `percent` and `compaction_count` are stored below `checkpoint`, together with the lists that the properties
    derive from `files` and `recall_cache`.
    """

    __slots__ = ({*_ATTRIBUTES.values()} - {"checkpoint"}) | {"compaction_count", "percent", "task"}

    version: int
    session_id: str
    role: str
    agent: str
    cwd: str
    task: str
    percent: float | None
    """Context usage as last reported, 0 to 100."""
    compaction_count: int
    messages: list[Message]
    files: list[str]
    context_tokens: int | None
    context_limit: int | None
    warm_zone_entered: bool
    hot_zone_entered: bool
    recall_cache: list[Recalled]
    task_hash: str
    recalled_hash: str
    written_hash: str
    task_memory_ids: list[str]
    last_compaction_at: int | None
    last_injection_at: int | None
    injected_scopes: list[str]
    told_names: list[str]
    injected_kinds: dict[str, int]
    given_texts: dict[str, str]
    """By kind, what the agent is given in every turn, if its client forgets our texts after a turn."""
    injected_memories: list[str]
    pending_feedback: list[Pending]
    last_message_at: int | None
    last_refresh_at: int | None
    half_refreshed: bool
    note_owed: bool
    signpost: GivenNote | None
    idle_timer: IdleTimer | None
    turn_began_at: int | None
    counts: dict[str, int]
    started_at: int
    updated_at: int

    def __init__(self, session_id: str, role: str = "interactive", now: int = 0) -> None:
        self._fill({"version": VERSION, "role": role, "startedAt": now, "updatedAt": now})
        self.session_id = session_id

    @classmethod
    def from_json(cls, value: Any, session_id: str) -> SessionState:
        """The state that a JSON value holds; a missing field has its first value. Raises Damaged or TooNew."""
        version = value.get("version") if isinstance(value, dict) else None
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise Damaged("it is not a session state")
        if version > VERSION:
            raise TooNew(version)
        if value.get("sessionId") != session_id:
            raise Damaged("it belongs to another session")
        state = cls.__new__(cls)
        state._fill(value)
        state.session_id = session_id  # never cut: it names the file
        return state

    def to_json(self) -> dict[str, Any]:
        """The state as its file has it, every list and text within its bound."""
        value: dict[str, Any] = {}
        for key, read in _FIELDS.items():
            value[key] = read(getattr(self, _ATTRIBUTES[key]))
        value["sessionId"] = self.session_id  # never cut: it names the file
        return value

    def copy(self) -> SessionState:
        """A copy, which later changes do not reach."""
        return SessionState.from_json(self.to_json(), self.session_id)

    def without_texts(self) -> SessionState:
        """A copy without anything that was said, edited or recalled."""
        bare = self.copy()
        bare.task, bare.signpost = "", None
        bare.given_texts = {}
        bare.messages, bare.files, bare.recall_cache, bare.told_names, bare.pending_feedback = [], [], [], [], []
        return bare

    @property
    def checkpoint(self) -> dict[str, Any]:
        """The task, files, recalls and context usage, as the file has them below `checkpoint`."""
        return {
            "currentTask": self.task,
            "filesModified": self.files_modified,
            "recallHits": [memory["text"] for memory in self.recalled_memories],
            "recallQueries": self.recall_queries,
            "compactionCount": self.compaction_count,
            "contextPercentAtCapture": self.percent,
        }

    @checkpoint.setter
    def checkpoint(self, value: dict[str, Any]) -> None:
        self.task, self.percent = value["currentTask"], value["contextPercentAtCapture"]
        self.compaction_count = value["compactionCount"]

    @property
    def files_modified(self) -> list[str]:
        """The newest of `files`."""
        return self.files[-FILES_SHOWN:]

    @property
    def recall_queries(self) -> list[str]:
        """The queries of `recall_cache`, newest first."""
        return list(dict.fromkeys(recalled["query"] for recalled in reversed(self.recall_cache)))[:3]

    @property
    def recalled_memories(self) -> list[Memory]:
        """The best memory of each recall, the newest recall first, then the second best of each, …; at most five."""
        by_text: dict[str, Memory] = {}
        for rank in range(HITS_KEPT):
            for recalled in reversed(self.recall_cache):
                for hit in recalled["hits"][rank : rank + 1]:
                    by_text.setdefault(hit["text"], hit)
        return list(by_text.values())[:HITS_KEPT]

    @property
    def is_gateway(self) -> bool:
        """Whether the session works on all projects."""
        return self.role == GATEWAY

    @property
    def compaction_metadata(self) -> dict[str, int]:
        """The number of compactions, under the key that the mirrored events have for it."""
        return {"gwCompactionCount" if self.is_gateway else "compactionCount": self.compaction_count}

    def compaction_event(self, name: str) -> str:
        """The name of an event about compactions; a gateway's is `gateway.` and the name (ADR-0203)."""
        return f"gateway.{name}" if self.is_gateway else name

    def _fill(self, value: dict[str, Any]) -> None:
        for key, read in _FIELDS.items():
            try:
                setattr(self, _ATTRIBUTES[key], read(value.get(key)))
            except Damaged as damaged:
                raise Damaged(f"{key}: {damaged}") from None


def stored_id(session_id: str) -> str:
    """The id under which a session is kept: the client's own, or a hash if it is long or looks like a secret."""
    from core.redaction import redact
    from core.words import clean

    plain = clean(session_id)
    if len(plain) > _LONGEST_ID or redact(plain)[1]:
        from core.words import fingerprint

        return "hash-" + fingerprint(session_id)
    return plain


def role_name(role: str) -> str:
    """A role for the state, within its bound."""
    return stored_line(role)[:_ROLE_CHARS]


def stored_line(text: str) -> str:
    """A text on one line without secrets."""
    from core.redaction import redact
    from core.words import clean

    known = redact(clean(text))[0]
    line = one_line(known)
    return line if line == known else redact(line)[0]  # joining lines may complete a secret
