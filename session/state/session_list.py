"""All sessions with a state file, and the end of one: what people ask for, and no hook does."""

from __future__ import annotations

import os

from core import files
from session.state import schema, state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from session.records import Summary


def remove(session_id: str) -> bool:
    """Delete the state on disk, readable or not, and the session's lock files of work; whether there was one."""
    if not state_file.exists(session_id):
        return False
    with state_file.locked(session_id):
        try:
            os.unlink(state_file.path_of(session_id))
        except FileNotFoundError:
            return False
        for kind in os.listdir(state_file.work_folder()) if os.path.isdir(state_file.work_folder()) else ():
            try:
                os.unlink(os.path.join(state_file.work_folder(), kind, files.safe_name(session_id)))
            except OSError:
                pass  # there is none
    return True


def every() -> list[Summary]:
    """All sessions, newest first, those with a file that cannot be read last."""
    try:
        names = [name for name in os.listdir(state_file.folder()) if name.endswith(state_file.SUFFIX)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise state_file.failure_of(error) from None
    found = [_summary(os.path.join(state_file.folder(), name), name.removesuffix(state_file.SUFFIX)) for name in names]
    return sorted(found, key=lambda entry: (-entry["updatedAt"], entry["sessionId"]))


def _summary(where: str, name: str) -> Summary:
    size, problem = 0, ""
    state = schema.blank(name, "", 0)
    try:
        size = os.stat(where).st_size
        value = state_file.parse(where)
        identifier = value.get("sessionId") if isinstance(value, dict) else None
        if isinstance(identifier, str) and files.safe_name(identifier) != name:
            raise schema.Damaged("it belongs to another session")
        state = schema.read(value, identifier if isinstance(identifier, str) else "")
    except schema.Damaged:
        problem = "damaged"
    except schema.TooNew as newer:
        problem = f"written by a newer joelclaw (version {newer.args[0]})"
    except OSError as error:
        problem = f"unreadable: {error.strerror}"
    summary: Summary = {
        "sessionId": state["sessionId"],
        "role": state["role"],
        "task": state["checkpoint"]["currentTask"],
        "percent": state["checkpoint"]["contextPercentAtCapture"],
        "compactionCount": state["checkpoint"]["compactionCount"],
        "updatedAt": state["updatedAt"],
        "bytes": size,
    }
    return {**summary, "problem": problem} if problem else summary
