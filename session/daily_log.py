"""The daily log: what each session was doing, written before a compaction, one Markdown file a day (UTC).

`$JOELCLAW_HOME/workspace/memory/YYYY-MM-DD.md`, or `memory/` below the setting `workspace.folder`. People write into it
too: it is only ever appended to, and read with care.
"""

from __future__ import annotations

import os
import stat

from core import clock, files
from core.quoting import clip, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config
    from session.records import SessionState

_READ_BYTES = 65_536
_MARK = " · session "
_ENTRY_CHARS = 160
_TASK, _FILES, _PROJECT = "- Task: ", "- Files modified: ", "- Project: "


def path_of(now: int, config: Config) -> str:
    """The file of the day of `now` (ms since the epoch)."""
    folder = os.path.expanduser(config.get_str("workspace.folder").strip()) or "workspace"
    return os.path.join(files.home(), folder, "memory", clock.iso(now)[:10] + ".md")


def flush(state: SessionState, now: int, config: Config, *, project: str = "") -> bool:
    """Append what the session is doing; whether it was written.

    Not where nothing is known of it, nor where the session's last section of the day says the same. A file or
    folder that cannot be written is no error: what was asked for is a log.

    Args:
        project: what the session works on, "" where that is not known.
    """
    body = _body(state, project)
    if not body:
        return False
    session, role = _short(state["sessionId"]), _plain(state["role"])
    heading = f"## {clock.iso(now)[11:16]} UTC{_MARK}{session} · {role} · compaction"
    try:
        where = path_of(now, config)
        before = _read(where)
        own = [known for known in _sections(before) if is_of_session(known[0], state["sessionId"])]
        if own and own[-1][1:] == body:
            return False
        start = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        _append(where, start + "\n".join((heading, *body)) + "\n")
    except (OSError, ValueError):
        return False
    return True


def today(
    now: int,
    most: int,
    config: Config,
    *,
    without: str = "",
    project: str = "",
    apart: bool = False,
    since: int = 0,
    notes: bool = True,
) -> list[str]:
    """The last entries of today's log, oldest first, a line each; [] where it cannot be read.

    Args:
        most: how many at most.
        without: a session whose own entries are left out.
        project: sessions' entries are of this one; "" for all.
        apart: "" for none.
        since: they are not older (ms since the epoch).
        notes: what people wrote is told of the whole day.
    """
    try:
        sections = _sections(_read(path_of(now, config)))
    except (OSError, ValueError):
        return []
    after = clock.iso(since)[11:16] if since and clock.iso(since)[:10] == clock.iso(now)[:10] else ""
    found: list[str] = []
    for lines in sections:
        ours = _MARK in lines[0]
        if ours and ((without and is_of_session(lines[0], without)) or _is_of_others(lines, project, apart=apart)):
            continue
        stamp = lines[0].lstrip("# ")[:5]
        at = stamp if len(stamp) == 5 and stamp[2] == ":" and (stamp[:2] + stamp[3:]).isdigit() else ""
        if not (ours or not notes) or at >= after:
            found.append(_entry(lines))
    return [line for line in found if line][-most:] if most else []


def is_of_session(heading: str, session_id: str) -> bool:
    """Whether a heading is that of a section of this session."""
    return f"{_MARK}{_short(session_id)} · " in heading


def _is_of_others(lines: list[str], project: str, *, apart: bool) -> bool:
    """Whether a session's section is not of a project; one that names none is of another day's form, or a gateway's."""
    from core.project import own_names

    named = _value(lines, _PROJECT)
    return bool(project or apart) and not (named and named in own_names(project, (named,)))


def _value(lines: list[str], label: str) -> str:
    return next((line[len(label) :] for line in lines if line.startswith(label)), "")


def _body(state: SessionState, project: str) -> list[str]:
    checkpoint = state["checkpoint"]
    told = (
        (_TASK, _plain(checkpoint["currentTask"])),
        (_FILES, ", ".join(filter(None, map(_plain, reversed(checkpoint["filesModified"]))))),
        ("- Recalled: ", " | ".join(filter(None, map(_plain, checkpoint["recallQueries"])))),
        (_PROJECT, _plain(project)),
    )
    if not (told[0][1] or told[1][1]):
        return []
    percent, compaction = checkpoint["contextPercentAtCapture"], f"ompaction {checkpoint['compactionCount'] + 1}"
    usage = f"- C{compaction}" if percent is None else f"- Context {percent:.0f} %, c{compaction}"
    return [*(label + value for label, value in told if value), usage]


def _plain(text: str) -> str:
    from core.redaction import redact
    from core.words import clean

    return one_line(redact(clean(text))[0])


def _short(session_id: str) -> str:
    """Enough of an id to know the session by: the start and the end, as ids by time begin alike."""
    plain = _plain(session_id).replace(" ", "-").replace("·", "-")
    return plain if len(plain) <= 16 else f"{plain[:8]}…{plain[-6:]}"


def _sections(text: str) -> list[list[str]]:
    """The lines of each section, its heading first; what stands before the first heading is one too."""
    sections: list[list[str]] = []
    for line in map(str.rstrip, text.splitlines()):
        if line.startswith("#") or (line and not sections):
            sections.append([line])
        elif line:
            sections[-1].append(line)
    return sections


def _entry(lines: list[str]) -> str:
    """A section as one line: of ours the time, the task and the files, of others the heading and what follows."""
    heading = lines[0].lstrip("# ")
    if _MARK in heading:
        task, changed = _value(lines, _TASK), _value(lines, _FILES)
        what = [clip(_plain(task), _ENTRY_CHARS * 2 // 3)] if task else []
        what += [f"files {_plain(changed)}"] if changed else []
        heading = f"{heading[:5]} {heading.split(' · ')[-2]}: {'; '.join(what)}"
    elif len(lines) > 1:
        heading = f"{heading}: {'; '.join(line.lstrip('-*# ') for line in lines[1:4])}"
    return clip(_plain(heading), _ENTRY_CHARS)


def _read(where: str) -> str:
    """The end of the file, from a line's start; "" where there is none."""
    try:
        descriptor = os.open(where, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        begin = max(0, _size(descriptor, where) - _READ_BYTES)
        data = os.pread(descriptor, _READ_BYTES, begin)
    finally:
        os.close(descriptor)
    return (data.partition(b"\n")[2] if begin else data).decode("utf-8", "replace")


def _append(where: str, text: str) -> None:
    files.private_folder(os.path.dirname(where))
    descriptor = os.open(where, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        if not _size(descriptor, where):
            os.fchmod(descriptor, 0o600)
        data = text.encode("utf-8", "replace")
        if os.write(descriptor, data) != len(data):
            raise OSError("the disk is full")
    finally:
        os.close(descriptor)


def _size(descriptor: int, where: str) -> int:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{where} is no file")
    return status.st_size
