"""The state of one session: its fields, declared once, with their bounds, and its file `sessions/<id>.json`.

The file is read and replaced whole under a lock of the session. One that does not fit is damaged: it is set aside,
never deleted, and the session goes on with an empty one. Locks lie in `.locks/`, so the folder lists sessions only.
"""

from __future__ import annotations

import errno
import os

from core import TYPE_CHECKING, files, json_text
from core.errors import Failure
from core.quoting import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any

    from session.records import Memory, Recalled, SessionState

    Fields = Mapping[str, tuple[Any, Callable[[Any], Any]]]
    """By name what a field holds where nothing is known, and what keeps a value within its bound, or raises Damaged."""

SUFFIX = ".json"
_MAX_BYTES = 1_000_000
_LOCK_WAIT_S = 2.0
_LONGEST_ID = 200
VERSION = 1
GATEWAY = "gateway"
"""The role of a session that works on no project of its own."""
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
_ID_CHARS = 80
_WORD_CHARS = 40


class Damaged(Exception):
    """A value is not what its field holds."""


class TooNew(Exception):
    """A newer joelclaw wrote the file; `args[0]` is its version."""


def _checked(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise Damaged(f"no {kinds[0].__name__}")
    return value


def _text(most: int) -> tuple[Any, Callable[[Any], Any]]:
    return "", lambda value: _checked(value, str)[:most]


def _texts(most: int, characters: int) -> tuple[Any, Callable[[Any], Any]]:
    return [], lambda value: [_checked(item, str)[:characters] for item in _checked(value, list)[-most:]]


def _times(most: int, characters: int) -> tuple[Any, Callable[[Any], Any]]:
    def read(value: Any) -> Any:
        last = list(_checked(value, dict).items())[-most:]
        return {name[:characters]: _checked(at, int, float) for name, at in last}

    return {}, read


def _maybe_one(fields: Fields) -> tuple[Any, Callable[[Any], Any]]:
    return None, lambda value: None if value is None else _object(fields, value, whole=True)


def _many(most: int, fields: Fields) -> tuple[Any, Callable[[Any], Any]]:
    return [], lambda value: [_object(fields, item, whole=True) for item in _checked(value, list)[-most:]]


_FLAG = False, lambda value: _checked(value, bool)
_WHOLE = 0, lambda value: _checked(value, int)
_NUMBER = 0.0, lambda value: _checked(value, int, float)
_MAYBE_NUMBER = None, lambda value: None if value is None else _checked(value, int, float)
_CHECKPOINT: Fields = {
    "currentTask": _text(TASK_CHARS),
    "filesModified": _texts(FILES_SHOWN, FILE_CHARS),
    "recallHits": _texts(HITS_KEPT, 160),
    "recallQueries": _texts(QUERIES_KEPT, 160),
    "compactionCount": _WHOLE,
    "contextPercentAtCapture": _MAYBE_NUMBER,
}
_MEMORY: Fields = {"id": _text(_ID_CHARS), "text": _text(160), "category": _text(_WORD_CHARS), "score": _NUMBER}
_RECALLED: Fields = {"query": _text(160), "hash": _text(_ID_CHARS), "hits": _many(HITS_KEPT, _MEMORY), "at": _WHOLE}
_TERMS = _texts(TERMS_KEPT, _WORD_CHARS)
_PENDING: Fields = {"id": _text(_ID_CHARS), "terms": _TERMS, "used": _WHOLE, "asked": _FLAG, "turns": _WHOLE}
_PATH = _text(PATH_CHARS)
_IDLE_TIMER: Fields = {"scheduledAt": _WHOLE, "dueAt": _WHOLE, "ratio": _NUMBER, "cwd": _PATH, "transcript": _PATH}
_COUNTS = dict.fromkeys(("saves", "flushes", "recalls", "writes", "injections", "userMessages"), _WHOLE)
FIELDS: Fields = {
    "version": _WHOLE,
    "sessionId": _text(200),
    "role": _text(ROLE_CHARS),
    "agent": _text(_WORD_CHARS),
    "cwd": _text(400),
    "checkpoint": ({}, lambda value: _object(_CHECKPOINT, value)),
    "messages": _many(MESSAGES_KEPT, {"text": _text(240), "hash": _text(_ID_CHARS)}),
    "files": _texts(FILES_KEPT, FILE_CHARS),
    "contextTokens": _MAYBE_NUMBER,
    "contextLimit": _MAYBE_NUMBER,
    "warmZoneEntered": _FLAG,
    "hotZoneEntered": _FLAG,
    "recallCache": _many(CACHE_KEPT, _RECALLED),
    "taskHash": _text(_ID_CHARS),
    "recalledHash": _text(_ID_CHARS),
    "writtenHash": _text(_ID_CHARS),
    "taskMemoryIds": _texts(20, _ID_CHARS),
    "lastCompactionAt": _MAYBE_NUMBER,
    "lastInjectionAt": _MAYBE_NUMBER,
    "injectedScopes": _texts(40, _ID_CHARS),
    "toldNames": _texts(60, _ID_CHARS),
    "injectedKinds": _times(16, _WORD_CHARS),
    "injectedMemories": _texts(40, _ID_CHARS),
    "pendingFeedback": _many(PENDING_KEPT, _PENDING),
    "lastMessageAt": _MAYBE_NUMBER,
    "lastRefreshAt": _MAYBE_NUMBER,
    "halfRefreshed": _FLAG,
    "noteOwed": _FLAG,
    "signpost": _maybe_one({"text": _text(10_000), "memoryIds": _texts(HITS_KEPT, _ID_CHARS)}),
    "idleTimer": _maybe_one(_IDLE_TIMER),
    "turnBeganAt": _MAYBE_NUMBER,
    "counts": ({}, lambda value: _object(_COUNTS, value)),
    "startedAt": _WHOLE,
    "updatedAt": _WHOLE,
}
"""All times are ms since the epoch."""


def _object(fields: Fields, value: Any, *, whole: bool = False) -> Any:
    """The fields with the values of an object, each within its bound; where one is missing, as it is at first."""
    known = _checked(value, dict)
    if whole and not known.keys() >= fields.keys():
        raise Damaged("a field is missing")
    found: dict[str, Any] = {}
    for name, (first, read_one) in fields.items():
        try:
            found[name] = read_one(known.get(name, first))
        except Damaged as damaged:
            raise Damaged(f"{name}: {damaged}") from None
    return found


def blank(session_id: str, role: str, now: int) -> SessionState:
    """The state of a session of which nothing is known yet."""
    state: SessionState = _object(FIELDS, {"version": VERSION, "role": role, "startedAt": now, "updatedAt": now})
    state["sessionId"] = session_id
    return state


def state_of(value: Any, session_id: str) -> SessionState:
    """The state that a JSON value holds; a field it lacks is as at first, one that is not ours is dropped."""
    version = value.get("version") if isinstance(value, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise Damaged("it is not a session state")
    if version > VERSION:
        raise TooNew(version)
    if value.get("sessionId") != session_id:
        raise Damaged("it belongs to another session")
    return bounded(value)


def bounded(state: SessionState) -> SessionState:
    """The state with every list and text within its bound, and the checkpoint's lists made from what is known."""
    found: SessionState = _object(FIELDS, state)
    found["sessionId"] = state["sessionId"]  # never cut: it names the file
    cache = found["recallCache"]
    checkpoint = found["checkpoint"]
    checkpoint["filesModified"] = found["files"][-FILES_SHOWN:]
    checkpoint["recallHits"] = [memory["text"] for memory in memories(cache)]
    newest = dict.fromkeys(recalled["query"] for recalled in reversed(cache))
    checkpoint["recallQueries"] = list(newest)[:QUERIES_KEPT]
    return found


def memories(cache: list[Recalled]) -> list[Memory]:
    """The best memory of each recall, the newest recall first, then the second best of each, …; at most five."""
    seen: dict[str, Memory] = {}
    for rank in range(HITS_KEPT):
        for recalled in reversed(cache):
            for hit in recalled["hits"][rank : rank + 1]:
                seen.setdefault(hit["text"], hit)
    return list(seen.values())[:HITS_KEPT]


def identity(session_id: str) -> str:
    """The id under which a session is kept: its own, or, as in events, a hash of a long or secret-like one."""
    from core.redaction import redact
    from core.words import clean

    plain = clean(session_id)
    if len(plain) > _LONGEST_ID or redact(plain)[1]:
        from core.ids import fingerprint

        return "hash-" + fingerprint(session_id)
    return plain


def role_name(role: str) -> str:
    """A role as it is kept: one line without secrets, within its bound."""
    from core.redaction import redact
    from core.words import clean

    return redact(one_line(clean(role)))[0][:ROLE_CHARS]


def folder() -> str:
    """Where the state files lie."""
    return os.path.join(files.home(), "sessions")


def work_folder() -> str:
    """Where the locks of work on sessions lie, a folder for each kind of work."""
    return os.path.join(folder(), ".work")


def path_of(session_id: str) -> str:
    """The state file of a session."""
    return os.path.join(folder(), files.safe_name(session_id) + SUFFIX)


def exists(session_id: str) -> bool:
    """Whether there is a state file of a session."""
    return os.path.exists(path_of(session_id))


def stamp(session_id: str) -> tuple[int, int, int] | None:
    """What tells one state on disk from the next, which is another file; None where there is none."""
    try:
        status = os.stat(path_of(session_id))
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def unknown_session(session_id: str) -> Failure:
    """There is no state of that session."""
    return Failure("SESSION_NOT_FOUND", f"there is no session {session_id[:80]!r}", "see `joelclaw checkpoint list`")


class locked:  # noqa: N801  # reads as the statement it is
    """`with locked(session_id):` no other process reads or writes the state; what the disk says becomes a Failure."""

    def __init__(self, session_id: str) -> None:
        self._lock = files.FileLock(os.path.join(folder(), ".locks", files.safe_name(session_id)), _LOCK_WAIT_S)

    def __enter__(self) -> None:
        try:
            self._lock.__enter__()
        except files.LockTimeout:
            raise Failure("STATE_BUSY", "another process is writing this session's state", "try again") from None
        except OSError as error:
            raise failure_of(error) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.__exit__(kind, error, trace)
        if isinstance(error, OSError):
            raise failure_of(error) from None


def load(session_id: str) -> tuple[SessionState | None, str]:
    """The state on disk, within `locked`, and where a damaged file was set aside to ("" where none was)."""
    try:
        return peek(session_id), ""
    except Failure as failure:
        if failure.code != "STATE_DAMAGED":
            raise
    return None, files.set_aside(path_of(session_id))


def peek(session_id: str) -> SessionState | None:
    """The state on disk, only read; None where there is none."""
    where = path_of(session_id)
    try:
        return state_of(parse(where), session_id)
    except FileNotFoundError:
        return None
    except TooNew as newer:
        said = f"{where} has version {newer.args[0]}; this joelclaw knows {VERSION}"
        fix = "upgrade joelclaw, or point JOELCLAW_HOME at another folder"
        raise Failure("STATE_TOO_NEW", said, fix) from None
    except Damaged as damaged:
        fix = "the next `joelclaw checkpoint save` of this session sets it aside and starts anew"
        raise Failure("STATE_DAMAGED", f"{where} is damaged: {damaged.args[0]}", fix) from None
    except OSError as error:
        raise failure_of(error) from None


def write(state: SessionState) -> None:
    """Replace the state on disk. Call it within `locked`."""
    files.write_whole(path_of(state["sessionId"]), json_text.dumps(state).encode())


def parse(where: str) -> Any:
    """The JSON value of a state file."""
    with open(where, "rb") as handle:
        data = handle.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise Damaged("it is too long")
    try:
        return json_text.loads(data.decode())
    except (json_text.InvalidJSON, UnicodeDecodeError) as error:
        raise Damaged(str(error)) from None


def failure_of(error: OSError) -> Failure:
    """What an error of the file system means to the user."""
    where = folder()
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Failure("STATE_FULL", f"the disk of {where} is full", "free some space; the previous state is intact")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        what = f"{where} cannot be used: {error.strerror}"
        return Failure("STATE_READ_ONLY", what, "check its permissions, or set JOELCLAW_HOME")
    return Failure("STATE_UNREADABLE", f"{where}: {error.strerror or error}", "check the folder, or set JOELCLAW_HOME")
