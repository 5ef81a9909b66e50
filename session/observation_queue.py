"""Sessions that wait to be observed by themselves: those that were compacted or have ended. Hot path.

A hook leaves a file for the session in `sessions/.work/observe-waiting/` and starts a background job, of which at most
`AT_ONCE` run. A job takes the session that has waited longest and that nobody observes, and when it is done frees its
place and starts the next one where any wait. So each session is observed once after its last event, by one process at
a time, and however many end together, two models work. Without a model nothing of this happens.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files
from core.process import background
from session.state import stored_id
from session.state_file import work_folder, work_lock

if TYPE_CHECKING:
    from typing import Literal

    from core.config import Config

    Trigger = Literal["compaction", "session-end"]

AT_ONCE = 2  # models that work at the same time, for sessions that nobody asked to observe
OBSERVE_S = 300  # longest run of one `memory observe`
SLACK_S = 60  # of a job beyond OBSERVE_S: for the store before, and the end of the model's command
LOCK = "observe"
_WAITING = "observe-waiting"
_LINES = 4
_LOOK_S = 0.05  # longer than another takes to look whether the lock is free


def session_name(session: str) -> str:
    """A session's id as its episodes are kept under (`memory.archive.session_archive`)."""
    return " ".join(stored_id(session).split())


def is_on(config: Config) -> bool:
    """Whether sessions are observed by themselves: there is a model, and `observe.auto` is not off."""
    return bool(config.get_str("model.command").strip()) and config.get_bool("observe.auto")


def add(session: str, trigger: Trigger, *, agent: str, transcript: str) -> None:
    """Let a session be observed in the background, for the event that is told; call it where `is_on`."""
    name = session_name(session)
    path = os.path.join(work_folder(), _WAITING, files.safe_name(name))
    files.touch_private(path)
    lines = name, trigger, agent, os.path.abspath(transcript) if transcript else ""
    with open(path, "wb") as file:
        file.write("\n".join(lines).encode("utf-8", "replace"))
    if background.wait_for_lock(work_lock(name, LOCK), 0):  # else the job that observes it takes it once it has ended
        begin()


def begin() -> None:
    """Start a job where fewer than `AT_ONCE` run."""
    places = [os.path.join(files.home(), "cache", f"observe-{number}.lock") for number in range(1, AT_ONCE + 1)]
    background.start(["background", "observe"], OBSERVE_S + SLACK_S, *places)


def take() -> tuple[list[str], files.FileLock] | None:
    """The session that has waited longest and that nobody observes, and its lock, which is held."""
    for path in _paths():
        lock = files.FileLock(_lock_of(path), _LOOK_S)
        try:
            lock.__enter__()
        except files.LockTimeout:
            continue
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                said = file.read().split("\n", _LINES - 1)
            if any(said):  # else it is only being written
                os.unlink(path)  # an event that is told from here on is a reason to observe the session once more
            if len(said) == _LINES:
                return said, lock
        except OSError:  # another has taken it
            pass
        lock.__exit__(None, None, None)
    return None


def any_wait() -> bool:
    """Whether a session waits that nobody observes."""
    return any(background.wait_for_lock(_lock_of(path), 0) for path in _paths())


def clear() -> None:
    """Let none wait any longer."""
    files.remove(*_paths())


def _lock_of(path: str) -> str:
    """The lock of the session whose file this is."""
    return os.path.join(work_folder(), LOCK, os.path.basename(path))


def _paths() -> list[str]:
    """The files of those that wait, the first one first."""
    try:
        with os.scandir(os.path.join(work_folder(), _WAITING)) as entries:
            found = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.stat().st_size]
    except OSError:
        return []
    return [path for _, path in sorted(found)]
