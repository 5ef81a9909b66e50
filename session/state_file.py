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
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Any

SUFFIX = ".json"
FORGOTTEN = ".forgotten"  # after the name of the state of a forgotten session
TIMERS = "timers"  # the folder of the marks of sessions with an idle timer
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


def _lock_path(session_id: str) -> str:
    return os.path.join(states_folder(), ".locks", files.safe_name(session_id))


class state_lock:  # noqa: N801  # reads as the statement it is
    """`with state_lock(session_id):` no other process reads or writes the state.

    Raises Failure: STATE_BUSY after `wait_s` seconds, or what an error of the file system means.
    """

    def __init__(self, session_id: str, wait_s: float = LOCK_WAIT_S) -> None:
        self._lock = files.FileLock(_lock_path(session_id), wait_s)

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
    if state.idle_timer is not None:
        _mark_timer(state.session_id)
    path, updated_ns = state_path(state.session_id), state.updated_at * 1_000_000
    files.write_whole(path, (text or json_text.dumps(state.to_json())).encode())
    os.utime(path, ns=(updated_ns, updated_ns))  # so that lists can be sorted without reading the files
    if state.idle_timer is None:
        files.remove(work_lock(state.session_id, TIMERS))


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
    """Delete a session's state, readable or not, and its lock files; returns whether there was a state."""
    if not has_state(session_id):
        return False
    with state_lock(session_id):
        try:
            os.unlink(state_path(session_id))
        except FileNotFoundError:
            return False
        _remove_locks(session_id)
    return True


def hide_state(session_id: str) -> None:
    """Rename the state of a session that was forgotten, so that only `bring_back_state` and a purge find it.

    The new file, empty if there was no state, marks the session as forgotten for the next hooks. Call it within
    `state_lock`.
    """
    path = state_path(session_id)
    if os.path.exists(path) and not is_hidden(session_id):
        os.rename(path, path + FORGOTTEN)
    files.remove(path)
    _remove_locks(session_id)
    files.touch_private(path + FORGOTTEN)


def bring_back_state(session_id: str) -> None:
    """Undo `hide_state`. What hooks have written meanwhile says nothing of the session. Call it within `state_lock`."""
    hidden = state_path(session_id) + FORGOTTEN
    if is_hidden(session_id):
        os.rename(hidden, state_path(session_id)) if os.stat(hidden).st_size else os.unlink(hidden)
        _mark_timer(session_id)


def is_hidden(session_id: str) -> bool:
    """Whether a session was forgotten or purged, so that nothing of it may be kept."""
    return os.path.exists(state_path(session_id) + FORGOTTEN)


def expire_states(before: int, *, dry_run: bool) -> int:
    """Remove the states of sessions without an event since a time (ms), and their lock files; returns how many.

    A session stays while its recovery note is owed or its idle timer runs, and if its state cannot be read.
    """
    expired = 0
    for path in state_times() if before else ():
        try:
            if updated_at(files.read_file(path)) >= before:
                continue
            state = state_in(path)
            if not _is_over(state, before):
                continue
            if not dry_run:
                with state_lock(state.session_id, 0):
                    if not _is_over(state_in(path), before):
                        continue
                    os.unlink(path)
                    _remove_locks(state.session_id)
            expired += 1
        except (OSError, Damaged, TooNew, Failure):  # it is in use, removed, or of a newer version
            pass
    return expired


def state_times() -> dict[str, int]:
    """The path of each state file, and its time in ms: that of `updatedAt`, or later if it was copied."""
    try:
        with os.scandir(states_folder()) as entries:
            names = [entry for entry in entries if entry.name.endswith(SUFFIX)]
            return {entry.path: entry.stat(follow_symlinks=False).st_mtime_ns // 1_000_000 for entry in names}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise state_failure(error) from None


def session_of(path: str) -> str:
    """The session whose state has this path. Only a name that was too long for a file needs a look into it."""
    name = os.path.basename(path).removesuffix(SUFFIX)
    if "~" in name:
        return str(_summary(path, name)["sessionId"])
    from urllib.parse import unquote

    return unquote(name)


def list_states(paths: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """A summary of every session with a state file (of `paths`), newest first; those that cannot be read are last."""
    found = [
        _summary(path, os.path.basename(path).removesuffix(SUFFIX))
        for path in (state_times() if paths is None else paths)
    ]
    return sorted(found, key=lambda entry: (-entry["updatedAt"], entry["sessionId"]))


def sessions_with_timers() -> list[str]:
    """The paths of the states that may have an idle timer. There is a mark for each, so that not all are read."""
    folder = os.path.join(work_folder(), TIMERS)
    if not os.path.isdir(folder):  # of an older version: look once
        times = state_times()
        if not times or files.is_read_only:
            return list(times)
        files.private_folder(folder)
        for path in times:
            if _has_timer(path):
                files.touch_private(os.path.join(folder, os.path.basename(path).removesuffix(SUFFIX)))
    return [os.path.join(states_folder(), name + SUFFIX) for name in os.listdir(folder)]


def _mark_timer(session_id: str) -> None:
    """Mark a session that may have an idle timer; before the first search for timers, there are no marks."""
    mark = work_lock(session_id, TIMERS)
    if os.path.isdir(os.path.dirname(mark)):
        files.touch_private(mark)


def _has_timer(path: str) -> bool:
    try:
        return b'"idleTimer": null' not in files.read_file(path)
    except OSError:
        return False


def updated_at(data: bytes) -> int:
    """The time of the last turn (ms) in the text of a state, without parsing it; 0 if it is not as we write it."""
    digits = data.rpartition(b'"updatedAt": ')[2][:20].partition(b"}")[0].partition(b",")[0]
    return int(digits) if digits.isdigit() else 0


def _is_over(state: SessionState, before: int) -> bool:
    """Whether a session has had no event since a time (ms), and has nothing open."""
    events = (state.last_message_at, state.last_injection_at, state.last_compaction_at)
    last = max(state.updated_at, state.started_at, *(at or 0 for at in events))
    is_open = state.note_owed or state.idle_timer is not None or _has_work(state.session_id)
    return 0 < last < before and not is_open


def _has_work(session_id: str) -> bool:
    """Whether background work waits for a session: a file with content, unlike a lock."""
    kinds = os.listdir(work_folder()) if os.path.isdir(work_folder()) else []
    paths = [path for kind in kinds if os.path.isfile(path := work_lock(session_id, kind))]
    return any(map(os.path.getsize, paths))


def _remove_locks(session_id: str) -> None:
    """Remove a session's lock files and marks, within its lock: who waits for it takes a new file."""
    for kind in os.listdir(work_folder()) if os.path.isdir(work_folder()) else ():
        files.remove(work_lock(session_id, kind))
    files.remove(_lock_path(session_id))


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
