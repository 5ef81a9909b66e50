"""The state files: `$JOELCLAW_HOME/sessions/<id>.json`, read and replaced whole under a lock of the session.

A damaged file is set aside, never deleted, and the session goes on with an empty one. Locks lie in `sessions/.locks/`,
so that the folder lists sessions only.
"""

from __future__ import annotations

import errno
import os

from core import TYPE_CHECKING, files, json_text
from core.errors import Failure
from core.quoting import one_line
from session.state import schema

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from session.records import SessionState


SUFFIX = ".json"
_MAX_BYTES = 1_000_000
_LOCK_WAIT_S = 2.0
_LONGEST_ID = 200


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

    return redact(one_line(clean(role)))[0][: schema.ROLE_CHARS]


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
        return schema.read(parse(where), session_id)
    except FileNotFoundError:
        return None
    except schema.TooNew as newer:
        said = f"{where} has version {newer.args[0]}; this joelclaw knows {schema.VERSION}"
        fix = "upgrade joelclaw, or point JOELCLAW_HOME at another folder"
        raise Failure("STATE_TOO_NEW", said, fix) from None
    except schema.Damaged as damaged:
        fix = "the next `joelclaw checkpoint save` of this session sets it aside and starts anew"
        raise Failure("STATE_DAMAGED", f"{where} is damaged: {damaged.args[0]}", fix) from None
    except OSError as error:
        raise failure_of(error) from None


def write(state: SessionState) -> None:
    """Replace the state on disk. Call it within `locked`."""
    path = path_of(state["sessionId"])
    if not os.path.exists(path):
        from core import home_files

        home_files.sweep_temporary(files.home())  # once a session
    files.write_whole(path, json_text.dumps(state).encode())


def parse(where: str) -> Any:
    """The JSON value of a state file."""
    with open(where, "rb") as handle:
        data = handle.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise schema.Damaged("it is too long")
    try:
        return json_text.loads(data.decode())
    except (json_text.InvalidJSON, UnicodeDecodeError) as error:
        raise schema.Damaged(str(error)) from None


def failure_of(error: OSError) -> Failure:
    """What an error of the file system means to the user."""
    where = folder()
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Failure("STATE_FULL", f"the disk of {where} is full", "free some space; the previous state is intact")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        what = f"{where} cannot be used: {error.strerror}"
        return Failure("STATE_READ_ONLY", what, "check its permissions, or set JOELCLAW_HOME")
    return Failure("STATE_UNREADABLE", f"{where}: {error.strerror or error}", "check the folder, or set JOELCLAW_HOME")
