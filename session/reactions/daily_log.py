"""The daily log: what each session was doing, written before a compaction, one Markdown file a day (UTC).

The file is `$JOELCLAW_HOME/workspace/memory/YYYY-MM-DD.md`, or in `memory/` below the setting `workspace.folder`.
People write into it too, so text is only ever appended.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, clock, files
from core.store import calls
from session.reactions import Reaction
from session.state import GATEWAY, stored_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.base import HookEvent
    from core.config import Config
    from session.session import Session
    from session.state import SessionState

_MARK = " · session "


def react(event: HookEvent, session: Session) -> Reaction:  # noqa: ARG001  # as every reaction
    """Append what the session is doing and which files it read; nothing of an excluded folder."""
    state = session.state
    if session.is_excluded(state.cwd):
        return Reaction()
    read: list[str] = session.store.read("work", lambda db: calls.files_read(db, session.id, 10), [])
    append_section(state, session.now, session.config, project=session.project(), read=read)
    return Reaction()


def log_path(now: int, config: Config) -> str:
    """The file of the day of `now` (ms since the epoch)."""
    folder = os.path.expanduser(config.get_str("workspace.folder").strip()) or "workspace"
    return os.path.join(files.home(), folder, "memory", clock.iso(now)[:10] + ".md")


def append_section(
    state: SessionState, now: int, config: Config, *, project: str = "", read: Sequence[str] = ()
) -> bool:
    """Append a section, unless the session's last one of the day says the same; returns whether it was written."""
    body = _body(state, project, read)
    if not body:
        return False
    heading = (
        f"## {clock.iso(now)[11:16]} UTC{_MARK}{_short_id(state.session_id)} · {stored_line(state.role)} · compaction"
    )
    try:
        path = log_path(now, config)
        before = _tail(path)
        sections = [section.split("\n") for section in ("\n" + before).split("\n#")]
        own = [lines for lines in sections if is_of_session(lines[0], state.session_id)]
        if own and [line for line in map(str.rstrip, own[-1][1:]) if line] == body:
            return False
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        append(path, (gap + "\n".join((heading, *body)) + "\n").encode("utf-8", "replace"))
    except (OSError, ValueError):
        return False
    return True


def entries_of_others(now: int, config: Config) -> list[tuple[int, str]]:
    """Today's entries, oldest first, as lines with their times in ms (0: unknown), without those of gateways."""
    from session.record import JOINT
    from session.requests import last_request

    try:
        text = _tail(log_path(now, config))
    except (OSError, ValueError):
        return []
    entries: list[tuple[int, str]] = []
    for section in f"\n{text}".split("\n#"):
        heading, *lines = [line.strip() for line in section.lstrip("# ").splitlines() if line.strip()] or [""]
        at, _, about = heading.partition(" UTC" + _MARK)
        fields = dict(line.removeprefix("- ").partition(": ")[::2] for line in lines)
        if heading and not about:  # a person wrote it
            entries.append((0, ": ".join([heading, *lines[:3]])))
        elif about and about.split(" · ")[1:2] != [GATEWAY]:
            task = last_request(fields.get("Task", "").split(JOINT)) or f"files {fields.get('Files modified', '')}"
            written_at = clock.parse_iso(f"{clock.iso(now)[:10]}T{at}:00.000Z") or 0
            entries.append((written_at, f"{at} {task}"))
    return entries


def is_section(heading: str) -> bool:
    """Whether a heading begins a section of any session."""
    return heading.startswith("## ") and _MARK in heading


def is_of_session(heading: str, session_id: str) -> bool:
    """Whether a heading begins a section of this session."""
    return f"{_MARK}{_short_id(session_id)} · " in heading


def append(path: str, data: bytes) -> None:
    """Append to a private file while others do the same; without data no file is created."""
    if data:
        files.private_folder(os.path.dirname(path))
        with open(files.open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as file:
            file.write(data)


def _body(state: SessionState, project: str, read: Sequence[str]) -> list[str]:
    modified = state.files_modified
    task, modified_text = stored_line(state.task), ", ".join(map(stored_line, reversed(modified)))
    if not (task or modified_text):
        return []
    only_read = [path for path in read if not any(f"/{edited}".endswith(f"/{path}") for edited in modified)]
    fields = {
        "Task": task,
        "Files modified": modified_text,
        "Files read": ", ".join(map(stored_line, only_read)),
        "Recalled": " | ".join(map(stored_line, state.recall_queries)),
        "Project": stored_line(project),
    }
    compaction = f"ompaction {state.compaction_count + 1}"
    usage = f"- C{compaction}" if state.percent is None else f"- Context {state.percent:.0f} %, c{compaction}"
    return [*(f"- {label}: {value}" for label, value in fields.items() if value), usage]


def _short_id(session_id: str) -> str:
    """The start and the end of an id: ids that are made from the time begin alike."""
    plain = stored_line(session_id).replace(" ", "-").replace("·", "-")
    return plain if len(plain) <= 16 else f"{plain[:8]}…{plain[-6:]}"


def _tail(path: str) -> str:
    """The last 64 KB of a file, from the start of a line; "" if there is no file."""
    if not os.path.lexists(path):
        return ""
    with open(files.open_file(path), "rb") as file:
        begin = max(0, os.fstat(file.fileno()).st_size - 65_536)
        file.seek(begin)
        data = file.read()
    return (data.partition(b"\n")[2] if begin else data).decode("utf-8", "replace")
