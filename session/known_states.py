"""The states of many sessions: listed, expired, hidden when a session is forgotten, and removed."""

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from core import files
from core.errors import Failure, os_failure
from session import state as states


def state_times() -> dict[str, int]:
    """The path of each state file, and its time in ms: that of `updatedAt`, or later if it was copied."""
    try:
        with os.scandir(states.states_folder()) as entries:
            names = [entry for entry in entries if entry.name.endswith(states.SUFFIX)]
            return {entry.path: entry.stat(follow_symlinks=False).st_mtime_ns // 1_000_000 for entry in names}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise os_failure(error, "STATE", states.states_folder()) from None


def session_of(path: str) -> str:
    """The session whose state has this path. Only a name that was too long for a file needs a look into it."""
    name = os.path.basename(path).removesuffix(states.SUFFIX)
    if "~" in name:
        return str(_summary(path)["sessionId"])
    from urllib.parse import unquote

    return unquote(name)


def list_states(paths: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """A summary of every session with a state file (of `paths`), newest first; those that cannot be read are last."""
    found = map(_summary, state_times() if paths is None else paths)
    return sorted(found, key=lambda entry: (-entry["updatedAt"], entry["sessionId"]))


def sessions_with_timers() -> list[str]:
    """The paths of the states that have an idle timer: there is a mark for each, so that not all are read."""
    folder = os.path.join(states.work_folder(), states.TIMERS)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [os.path.join(states.states_folder(), name + states.SUFFIX) for name in names]


def remove_state(session_id: str) -> None:
    """Delete a session's state, readable or not, and its lock files."""
    with states.state_lock(session_id):
        with suppress(FileNotFoundError):  # another process has removed it
            os.unlink(states.state_path(session_id))
        _remove_locks(session_id)


def hide_state(session_id: str) -> None:
    """Rename the state of a session that was forgotten, so that only `bring_back_state` and a purge find it.

    The new file, empty if there was no state, marks the session as forgotten for the next hooks. Call it within
    `state_lock`.
    """
    path = states.state_path(session_id)
    if os.path.exists(path) and not states.is_hidden(session_id):
        os.rename(path, path + states.FORGOTTEN)
    files.remove(path)
    _remove_locks(session_id)
    files.touch_private(path + states.FORGOTTEN)


def bring_back_state(session_id: str) -> None:
    """Undo `hide_state`. What hooks have written meanwhile says nothing of the session. Call it within `state_lock`."""
    hidden = states.state_path(session_id) + states.FORGOTTEN
    if states.is_hidden(session_id):
        os.rename(hidden, states.state_path(session_id)) if os.stat(hidden).st_size else os.unlink(hidden)


def expire_states(before: int, *, dry_run: bool) -> int:
    """Remove the states of sessions without an event since a time (ms), and their lock files; returns how many.

    A session stays while its recovery note is owed or its idle timer runs, and if its state cannot be read.
    """
    expired = 0
    for path, at in state_times().items():
        with suppress(OSError, Failure):  # it is in use, removed, or of a newer version
            if at >= before or not _is_over(states.state_in(path), before):
                continue
            if not dry_run:
                session_id = session_of(path)
                with states.state_lock(session_id, 0):
                    if not _is_over(states.state_in(path), before):
                        continue
                    os.unlink(path)
                    _remove_locks(session_id)
            expired += 1
    return expired


def _is_over(state: states.SessionState, before: int) -> bool:
    """Whether a session has had no event since a time (ms), and has nothing open."""
    events = (state.last_message_at, state.last_injection_at, state.last_compaction_at)
    last = max(state.updated_at, state.started_at, *(at or 0 for at in events))
    return 0 < last < before and not state.note_owed and state.idle_timer is None


def _remove_locks(session_id: str) -> None:
    """Remove a session's lock files and marks, within its lock: a process that waits for it takes a new file."""
    for kind in os.listdir(states.work_folder()) if os.path.isdir(states.work_folder()) else ():
        files.remove(states.work_lock(session_id, kind))
    files.remove(states.lock_path(session_id))


def _summary(path: str) -> dict[str, Any]:
    state, problem = states.SessionState(os.path.basename(path).removesuffix(states.SUFFIX), ""), {}
    try:
        state = states.state_in(path)
    except Failure as failure:
        problem = {"problem": failure.code.removeprefix("STATE_").lower().replace("_", " ")}
    return {
        "sessionId": state.session_id, "role": state.role, "task": state.task, "percent": state.percent,
        "compactionCount": state.compaction_count, "updatedAt": state.updated_at,
        "bytes": os.path.getsize(path) if os.path.exists(path) else 0, **problem,
    }  # fmt: skip
