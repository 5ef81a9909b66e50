"""The state of a session: its fields and their bounds, its file `sessions/<id>.json`, and its lock. Hot path.

The file is replaced as a whole, and only while the lock is held; lists of sessions read it without. A file that does
not fit is renamed, never deleted, and the session goes on with an empty state. Times are ms since the epoch.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files, json_text
from core.errors import Failure, os_failure, reported
from core.quoting import one_line
from core.redaction import redact
from core.words import clean, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    Form = Callable[[Any, str], Any]

    class Message(TypedDict):
        """A prompt: its first 200 characters on one line, and a hash of all of it.

        `isShort`: it is a short line that quotes no other author, so that a recovery note may print it as a query.
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
        """A memory that the agent was given, until it has used it (echo) or not (fizzle)."""

        id: str
        terms: list[str]  # its distinctive words that were not used yet
        used: int  # how many of its words the agent has used
        asked: bool  # a prompt came, and the agent has not answered it yet
        turns: int  # how many prompts the agent has answered since

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
SUFFIX = ".json"
FORGOTTEN = ".forgotten"  # after the name of the state of a forgotten session
TIMERS = "timers"  # the folder of the marks of sessions with an idle timer
LOCK_WAIT_S = 5.0  # a hook may hold the lock until its deadline, usually 2 s
_MAX_BYTES = 1_000_000
_LONGEST_ID = 200


class Damaged(Exception):
    """A value does not fit its field."""


# The forms of values: each returns a value within its bounds, and raises Damaged if it has another type. `name` is the
# field, for the message. None is a value that is missing.


def _value(empty: Any, *kinds: type) -> Form:
    return lambda value, name: empty if value is None else _checked(value, name, *kinds)


def _text(most: int) -> Form:
    """A text, cut to `most` characters."""
    return lambda value, name: _checked("" if value is None else value, name, str)[:most]


def _list(most: int, form: Form) -> Form:
    """A list, cut to its last `most` values."""
    return lambda value, name: [form(item, name) for item in _checked(value or [], name, list)[-most:]]


def _object(forms: dict[str, Form], *, or_null: bool = False) -> Form:
    """An object with these fields. `or_null`: null if it is missing, else its fields are."""

    def fitted(value: Any, name: str) -> dict[str, Any] | None:
        if value is None and or_null:
            return None
        known = _checked(value or {}, name, dict)
        return {key: form(known.get(key), key) for key, form in forms.items()}

    return fitted


def _by_name(form: Form) -> Form:
    """An object with any names, the last 16 being kept. A text that is too long is left out: cut, it loses its end."""

    def fitted(value: Any, name: str) -> dict[str, Any]:
        known = _checked(value or {}, name, dict)
        values = {key[:40]: form(item, name) for key, item in [*known.items()][-16:]}
        return {key: item for key, item in values.items() if item == known.get(key, item)}

    return fitted


def _checked(value: Any, name: str, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise Damaged(f"{name} is not of type {kinds[0].__name__}")
    return value


_whole = _value(0, int)
_number = _value(None, float, int)
_flag = _value(False, bool)
_MEMORY: dict[str, Form] = {"id": _text(80), "text": _text(160), "category": _text(40), "score": _number}
# A new field needs a line here and its annotation in SessionState; a line in `without_texts` if it quotes anything.
_FIELDS: dict[str, Form] = {
    "version": _whole,
    "sessionId": _text(_LONGEST_ID),
    "role": _text(60),
    "agent": _text(40),
    "cwd": _text(400),
    "checkpoint": _object({
        "currentTask": _text(TASK_CHARS),
        "filesModified": _list(FILES_SHOWN, _text(FILE_CHARS)),
        "recallHits": _list(HITS_KEPT, _text(160)),
        "recallQueries": _list(3, _text(160)),
        "compactionCount": _whole,
        "contextPercentAtCapture": _number,
    }),
    "messages": _list(MESSAGES_KEPT, _object({"text": _text(240), "hash": _text(80), "isShort": _flag})),
    "files": _list(FILES_KEPT, _text(FILE_CHARS)),
    "contextTokens": _number,
    "contextLimit": _number,
    "warmZoneEntered": _flag,
    "hotZoneEntered": _flag,
    "recallCache": _list(3, _object({
        "query": _text(160), "hash": _text(80), "hits": _list(HITS_KEPT, _object(_MEMORY)), "at": _whole,
    })),
    "taskHash": _text(80),
    "recalledHash": _text(80),
    "writtenHash": _text(80),
    "taskMemoryIds": _list(20, _text(80)),
    "lastCompactionAt": _number,
    "lastInjectionAt": _number,
    "injectedScopes": _list(40, _text(80)),
    "toldNames": _list(60, _text(80)),
    "injectedKinds": _by_name(_number),
    "givenTexts": _by_name(_text(4_000)),
    "injectedMemories": _list(40, _text(80)),
    "pendingFeedback": _list(16, _object({
        "id": _text(80), "terms": _list(TERMS_KEPT, _text(40)), "used": _whole, "asked": _flag, "turns": _whole,
    })),
    "lastMessageAt": _number,
    "lastRefreshAt": _number,
    "halfRefreshed": _flag,
    "noteOwed": _flag,
    "signpost": _object({"text": _text(10_000), "memoryIds": _list(HITS_KEPT, _text(80))}, or_null=True),
    "idleTimer": _object({
        "scheduledAt": _whole, "dueAt": _whole, "ratio": _number,
        "cwd": _text(PATH_CHARS), "transcript": _text(PATH_CHARS),
    }, or_null=True),
    "turnBeganAt": _number,
    "archivedTo": _whole,
    "counts": _object(dict.fromkeys(("saves", "flushes", "recalls", "writes", "injections", "userMessages"), _whole)),
    "startedAt": _whole,
    "updatedAt": _whole,
}  # fmt: skip
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
    """The last recovery note."""
    idle_timer: IdleTimer | None
    turn_began_at: int | None
    archived_to: int
    """The offset in the transcript up to which the hooks of turns have archived it."""
    counts: dict[str, int]
    started_at: int
    updated_at: int

    def __init__(self, session_id: str, role: str = "interactive", now: int = 0) -> None:
        self._fill({"version": VERSION, "role": role, "startedAt": now, "updatedAt": now})
        self.session_id = session_id

    @classmethod
    def from_json(cls, value: Any) -> SessionState:
        """The state that a JSON value holds; a missing field has its first value.

        Raises Damaged, or Failure STATE_TOO_NEW if a newer joelclaw wrote it.
        """
        known = value if isinstance(value, dict) else {}
        version, session = known.get("version"), known.get("sessionId")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1 or not isinstance(session, str):
            raise Damaged("it is not a session state")
        if version > VERSION:
            message = f"the state of session {session[:80]} has version {version}; this joelclaw knows {VERSION}"
            fix = "upgrade joelclaw, or point JOELCLAW_HOME at another folder"
            raise Failure("STATE_TOO_NEW", message, fix)
        state = cls.__new__(cls)
        state._fill(known)
        state.session_id = session  # never cut: it names the file
        return state

    def to_json(self) -> dict[str, Any]:
        """The state as its file has it, every list and text within its bound."""
        value = {key: form(getattr(self, _ATTRIBUTES[key]), key) for key, form in _FIELDS.items()}
        return {**value, "sessionId": self.session_id}  # never cut: it names the file

    def copy(self) -> SessionState:
        """A copy, which later changes do not reach; entries of lists are replaced, never changed."""
        twin = SessionState.__new__(SessionState)
        for name in self.__slots__:
            value = getattr(self, name)
            setattr(twin, name, value.copy() if isinstance(value, (list, dict)) else value)
        return twin

    def equals(self, other: SessionState) -> bool:
        """Whether another state has the same values."""
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def without_texts(self) -> SessionState:
        """A copy without anything that was said, edited or recalled."""
        bare = self.copy()
        bare.task, bare.signpost = "", None
        bare.given_texts = {}
        bare.messages, bare.files, bare.recall_cache, bare.told_names, bare.pending_feedback = [], [], [], [], []
        bare.injected_scopes = [_scope_mark(scope) for scope in self.injected_scopes]
        return bare

    def has_scope(self, scope: str) -> bool:
        """Whether memories on a file, a folder or an error were looked up before."""
        return scope in self.injected_scopes or _scope_mark(scope) in self.injected_scopes

    @property
    def checkpoint(self) -> dict[str, Any]:
        """The task, files, recalls and context usage, as the file has them below `checkpoint`."""
        return {
            "currentTask": self.task, "filesModified": self.files_modified,
            "recallHits": [memory["text"] for memory in self.recalled_memories],
            "recallQueries": self.recall_queries, "compactionCount": self.compaction_count,
            "contextPercentAtCapture": self.percent,
        }  # fmt: skip

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
        for key, form in _FIELDS.items():
            setattr(self, _ATTRIBUTES[key], form(value.get(key), key))


def _scope_mark(scope: str) -> str:
    """What replaces a scope in the state of an excluded session: a hash after `//`, with which no scope begins."""
    return scope if scope.startswith("//") else f"//{fingerprint(scope)[:12]}"


def states_folder() -> str:
    """The folder of the state files."""
    return os.path.join(files.home(), "sessions")


def state_path(session_id: str) -> str:
    """The state file of a session."""
    return os.path.join(states_folder(), files.safe_name(session_id) + SUFFIX)


def has_state(session_id: str) -> bool:
    """Whether a session has a state file."""
    return os.path.lexists(state_path(session_id))


def work_folder() -> str:
    """The folder of the locks of background work on sessions, with a folder for each kind of work."""
    return os.path.join(states_folder(), ".work")


def work_lock(session_id: str, kind: str) -> str:
    """The lock file of a kind of background work for a session."""
    return os.path.join(work_folder(), kind, files.safe_name(session_id))


def lock_path(session_id: str) -> str:
    """The file of a session's lock."""
    return os.path.join(states_folder(), ".locks", files.safe_name(session_id))


class state_lock(files.FileLock):  # noqa: N801  # reads as the statement it is
    """`with state_lock(session_id):` no other process changes the state.

    Raises Failure: STATE_BUSY after `wait_s` seconds, or what an error of the file system means.
    """

    def __init__(self, session_id: str, wait_s: float = LOCK_WAIT_S) -> None:
        super().__init__(lock_path(session_id), wait_s)

    def __enter__(self) -> files.FileLock:
        try:
            with reported("STATE", states_folder()):
                return super().__enter__()
        except files.LockTimeout:
            raise Failure("STATE_BUSY", "another process is writing this session's state", "try again") from None

    def __exit__(self, *about: object) -> None:
        super().__exit__()
        if isinstance(about[1], OSError):
            raise os_failure(about[1], "STATE", states_folder()) from None


def read_state(session_id: str) -> SessionState | None:
    """The state on disk, None if there is none. Raises as `state_in` does."""
    return state_in(state_path(session_id)) if has_state(session_id) else None


def state_in(path: str) -> SessionState:
    """The state in a state file. Raises Failure: STATE_TOO_NEW, STATE_DAMAGED or STATE_UNREADABLE."""
    with reported("STATE", states_folder()):
        data = files.read_file(path, _MAX_BYTES + 1)
    try:
        state = SessionState.from_json(json_text.loads(data.decode()) if len(data) <= _MAX_BYTES else None)
        if state_path(state.session_id) != path:
            raise Damaged("it belongs to another session")
    except (json_text.InvalidJSON, UnicodeDecodeError, Damaged) as error:
        fix = "the next `joelclaw checkpoint save` of this session sets it aside and starts anew"
        raise Failure("STATE_DAMAGED", f"{path} is damaged: {error}", fix) from None
    return state


def load_state(session_id: str) -> tuple[SessionState | None, str]:
    """The state on disk, and the path to which a file was renamed that is damaged or cannot be read, or "".

    Call it within `state_lock`. A hook that ran as root leaves a file that its user cannot read.
    """
    try:
        return read_state(session_id), ""
    except Failure as failure:
        if failure.code == "STATE_TOO_NEW":
            raise
    return None, files.set_aside(state_path(session_id))


def write_state(state: SessionState) -> None:
    """Replace the state on disk. Call it within `state_lock`."""
    path, mark = state_path(state.session_id), work_lock(state.session_id, TIMERS)
    updated_ns = state.updated_at * 1_000_000
    if state.idle_timer is not None:
        files.touch_private(mark)
    files.write_whole(path, json_text.dumps(state.to_json()).encode())
    os.utime(path, ns=(updated_ns, updated_ns))  # so that lists can be sorted without reading the files
    if state.idle_timer is None:
        files.remove(mark)


def is_hidden(session_id: str) -> bool:
    """Whether a session was forgotten or purged, so that nothing of it may be kept."""
    return os.path.exists(state_path(session_id) + FORGOTTEN)


def stored_id(session_id: str) -> str:
    """The id under which a session is kept: the client's own, or a hash if it is long or looks like a secret."""
    plain = clean(session_id)
    return "hash-" + fingerprint(session_id) if len(plain) > _LONGEST_ID or redact(plain)[1] else plain


def stored_line(text: str) -> str:
    """A text on one line without secrets."""
    known = redact(clean(text))[0]
    line = one_line(known)
    return line if line == known else redact(line)[0]  # joining lines may complete a secret
