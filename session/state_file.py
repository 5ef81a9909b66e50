"""The file of a session's state, `sessions/<id>.json`, and the lock of the session. Hot path.

The file is read and replaced as a whole while the lock is held. A file that does not fit is renamed, never deleted, and
the session goes on with an empty state. Locks are in `.locks/`, so that the folder lists sessions only.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files, json_text
from core.errors import Failure, os_failure
from session.state import VERSION, Damaged, SessionState, TooNew

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

SUFFIX = ".json"
FORGOTTEN = ".forgotten"  # after the name of the state of a forgotten session
LOCK_WAIT_S = 5.0  # twice the usual deadline of a hook, which may hold the lock
_MAX_BYTES = 1_000_000


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


class state_lock:  # noqa: N801  # reads as the statement it is
    """`with state_lock(session_id):` no other process reads or writes the state.

    Raises Failure: STATE_BUSY after `wait_s` seconds, or what an error of the file system means.
    """

    def __init__(self, session_id: str, wait_s: float = LOCK_WAIT_S) -> None:
        self._lock = files.FileLock(os.path.join(states_folder(), ".locks", files.safe_name(session_id)), wait_s)

    def __enter__(self) -> None:
        try:
            self._lock.__enter__()
        except files.LockTimeout:
            raise Failure("STATE_BUSY", "another process is writing this session's state", "try again") from None
        except OSError as error:
            raise state_failure(error) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.__exit__(kind, error, trace)
        if isinstance(error, OSError):
            raise state_failure(error) from None


def read_state(session_id: str) -> SessionState | None:
    """The state on disk, None if there is none. Raises Failure: STATE_TOO_NEW, STATE_DAMAGED or STATE_UNREADABLE."""
    path = state_path(session_id)
    try:
        return SessionState.from_json(_parsed(path), session_id)
    except FileNotFoundError:
        return None
    except TooNew as newer:
        message = f"{path} has version {newer.args[0]}; this joelclaw knows {VERSION}"
        fix = "upgrade joelclaw, or point JOELCLAW_HOME at another folder"
        raise Failure("STATE_TOO_NEW", message, fix) from None
    except Damaged as damaged:
        fix = "the next `joelclaw checkpoint save` of this session sets it aside and starts anew"
        raise Failure("STATE_DAMAGED", f"{path} is damaged: {damaged.args[0]}", fix) from None
    except OSError as error:
        raise state_failure(error) from None


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


def write_state(state: SessionState, text: str = "") -> None:
    """Replace the state on disk; `text` is its JSON, if the caller has it. Call it within `state_lock`."""
    files.write_whole(state_path(state.session_id), (text or json_text.dumps(state.to_json())).encode())


def state_in(path: str) -> SessionState:
    """The state in a file of the sessions' folder. Raises Damaged, TooNew or OSError."""
    value = _parsed(path)
    session = value.get("sessionId") if isinstance(value, dict) else None
    if not isinstance(session, str) or state_path(session) != path:
        raise Damaged("it belongs to another session")
    return SessionState.from_json(value, session)


def _parsed(path: str) -> Any:
    data = files.read_file(path, _MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise Damaged("it is too long")
    try:
        return json_text.loads(data.decode())
    except (json_text.InvalidJSON, UnicodeDecodeError) as error:
        raise Damaged(str(error)) from None


def remove_state(session_id: str) -> bool:
    """Delete a session's state, readable or not, and its lock files of work; returns whether there was a state."""
    return _take_away(session_id, os.unlink)


def hide_state(session_id: str) -> None:
    """Rename the state of a session that is forgotten, so that only `bring_back_state` and a purge find it.

    The new file, empty if there was no state, marks the session as forgotten for the next hooks.
    """
    hidden = state_path(session_id) + FORGOTTEN
    _take_away(session_id, lambda state: os.unlink(state) if os.path.exists(hidden) else os.rename(state, hidden))
    files.touch_private(hidden)


def bring_back_state(session_id: str) -> None:
    """Undo `hide_state`. What hooks have written meanwhile says nothing of the session."""
    hidden = state_path(session_id) + FORGOTTEN
    if is_hidden(session_id):
        with state_lock(session_id):
            os.rename(hidden, state_path(session_id)) if os.stat(hidden).st_size else os.unlink(hidden)


def is_hidden(session_id: str) -> bool:
    """Whether a session was forgotten or purged, so that nothing of it may be kept."""
    return os.path.exists(state_path(session_id) + FORGOTTEN)


def _take_away(session_id: str, take: Callable[[str], None]) -> bool:
    if not has_state(session_id):
        return False
    with state_lock(session_id):
        try:
            take(state_path(session_id))
        except FileNotFoundError:
            return False
        for kind in os.listdir(work_folder()) if os.path.isdir(work_folder()) else ():
            files.remove(work_lock(session_id, kind))
    return True


def list_states() -> list[dict[str, Any]]:
    """A summary of every session with a state file, newest first; those that cannot be read are last."""
    try:
        names = [name for name in os.listdir(states_folder()) if name.endswith(SUFFIX)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise state_failure(error) from None
    found = [_summary(os.path.join(states_folder(), name), name.removesuffix(SUFFIX)) for name in names]
    return sorted(found, key=lambda entry: (-entry["updatedAt"], entry["sessionId"]))


def _summary(path: str, name: str) -> dict[str, Any]:
    size, problem = 0, ""
    state = SessionState(name, "")
    try:
        size = os.stat(path).st_size
        state = state_in(path)
    except Damaged:
        problem = "damaged"
    except TooNew as newer:
        problem = f"written by a newer joelclaw (version {newer.args[0]})"
    except OSError as error:
        problem = f"unreadable: {error.strerror}"
    summary = {
        "sessionId": state.session_id, "role": state.role, "task": state.task, "percent": state.percent,
        "compactionCount": state.compaction_count, "updatedAt": state.updated_at, "bytes": size,
    }  # fmt: skip
    return {**summary, "problem": problem} if problem else summary


def unknown_session(session_id: str) -> Failure:
    """The failure of a command that was given a session without a state."""
    return Failure("SESSION_NOT_FOUND", f"there is no session {session_id[:80]!r}", "see `joelclaw checkpoint show`")


def state_failure(error: OSError) -> Failure:
    """What an error of the file system means to the user."""
    return os_failure(error, "STATE", states_folder())
