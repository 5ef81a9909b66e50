"""The daily log: what each session was doing, written before a compaction, one Markdown file a day (UTC).

`$JOELCLAW_HOME/workspace/memory/YYYY-MM-DD.md`, or `memory/` below the setting `workspace.folder`. People write into it
too: it is only ever appended to.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, clock, files
from core.quoting import one_line
from core.store.sessions import call_rows
from session.faults import fault_boundary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.config import Config
    from session.records import SessionState
    from session.step import Context

_MOST_READ = 10
_READ_BYTES = 65_536
_MARK = " · session "


def path_of(now: int, config: Config) -> str:
    """The file of the day of `now` (ms since the epoch)."""
    folder = os.path.expanduser(config.get_str("workspace.folder").strip()) or "workspace"
    return os.path.join(files.home(), folder, "memory", clock.iso(now)[:10] + ".md")


def before_compaction(context: Context, state: SessionState) -> None:
    """Append what a session is doing, and what it read; nothing of an excluded folder."""
    if not context.is_excluded(state["cwd"]):
        read: list[str] = []
        with fault_boundary(context.faults, "work"):
            db, _ = context.store.reading()
            read = call_rows.files_read(db, state["sessionId"], _MOST_READ) if db is not None else []
        flush(state, context.now, context.config, project=context.project_of(state), read=read)


def flush(state: SessionState, now: int, config: Config, *, project: str = "", read: Sequence[str] = ()) -> bool:
    """Append what the session is doing, unless its last section of the day says the same; whether it was written."""
    body = _body(state, project, read)
    if not body:
        return False
    session, role = _short(state["sessionId"]), _plain(state["role"])
    heading = f"## {clock.iso(now)[11:16]} UTC{_MARK}{session} · {role} · compaction"
    try:
        where = path_of(now, config)
        before = _read(where)
        sections = ("\n" + before).split("\n#")
        own = [known.split("\n") for known in sections if is_of_session(known.partition("\n")[0], state["sessionId"])]
        if own and [line for line in map(str.rstrip, own[-1][1:]) if line] == body:
            return False
        start = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        append(where, (start + "\n".join((heading, *body)) + "\n").encode("utf-8", "replace"))
    except (OSError, ValueError):
        return False
    return True


def is_of_session(heading: str, session_id: str) -> bool:
    """Whether a heading is that of a section of this session."""
    return f"{_MARK}{_short(session_id)} · " in heading


def _body(state: SessionState, project: str, read: Sequence[str]) -> list[str]:
    checkpoint = state["checkpoint"]
    task, files = _plain(checkpoint["currentTask"]), ", ".join(map(_plain, reversed(checkpoint["filesModified"])))
    if not (task or files):
        return []
    queries = " | ".join(map(_plain, checkpoint["recallQueries"]))
    modified = checkpoint["filesModified"]
    only_read = ", ".join(_plain(path) for path in read if not any(f"/{one}".endswith(f"/{path}") for one in modified))
    told = {"Task": task, "Files modified": files, "Files read": only_read, "Recalled": queries}
    told["Project"] = _plain(project)
    percent, compaction = checkpoint["contextPercentAtCapture"], f"ompaction {checkpoint['compactionCount'] + 1}"
    usage = f"- C{compaction}" if percent is None else f"- Context {percent:.0f} %, c{compaction}"
    return [*(f"- {label}: {value}" for label, value in told.items() if value), usage]


def _plain(text: str) -> str:
    from core.redaction import redact
    from core.words import clean

    return one_line(redact(clean(text))[0])


def _short(session_id: str) -> str:
    """Enough of an id to know the session by: the start and the end, as ids by time begin alike."""
    plain = _plain(session_id).replace(" ", "-").replace("·", "-")
    return plain if len(plain) <= 16 else f"{plain[:8]}…{plain[-6:]}"


def _read(where: str) -> str:
    """The end of the file, from a line's start; "" where there is none."""
    if not os.path.exists(where):
        return ""
    if not os.path.isfile(where):
        raise OSError(f"{where} is not a file")
    with open(where, "rb") as file:
        begin = max(0, os.fstat(file.fileno()).st_size - _READ_BYTES)
        file.seek(begin)
        data = file.read()
    return (data.partition(b"\n")[2] if begin else data).decode("utf-8", "replace")


def append(where: str, data: bytes) -> None:
    """Write behind what others append at the same time; of nothing no file is made."""
    if data:
        files.private_folder(os.path.dirname(where))
        with open(os.open(where, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as file:
            file.write(data)
