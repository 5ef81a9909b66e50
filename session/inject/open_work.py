"""What the last sessions of a project left: the request of the last, what is open of its work, the checks that work."""

from __future__ import annotations

from core import TYPE_CHECKING, shell_command
from core.clock import DAY_MS, HOUR_MS
from core.quoting import as_code, clip, one_line
from core.store.sessions import call_rows, place_rows, session_rows
from session.inject import checks, task

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Call, Session

STALE_MS = 30 * DAY_MS
"""What was left so long ago is not open any more."""
_CALLS = 200
"""That are looked at, of each session."""
_EDITED_CHARS, _ERROR_CHARS, _WORKS_CHARS = 240, 110, 200
_LEAST_SESSIONS, _MOST_CHECKS = 2, 3
_KNOWN = ("ok", "failed", "printed")  # outcomes


def left_of(db: apsw.Connection, sessions: Sequence[Session], folder: str, now: int) -> list[str]:
    """What the last of these sessions of a project left, by them, the one to go on from first: its request, what is
    open of its work; and the checks that worked in more than one of them."""
    last, worked = sessions[:1], [one for one in sessions if one["calls"]]  # the last may only have talked
    fresh = {one["id"]: one for one in (*last, *worked[:1]) if now - one["updated_at"] < STALE_MS}
    lines: list[str] = []
    for one in fresh.values():
        done = call_rows.calls(db, one["id"], last=_CALLS)
        told = [_task(db, one, done, now)] if one in last else []
        if one in worked[:1] and one["folder"] == folder:
            told += [_unrun(db, one, done), _failing(db, one, done)]
        lines += filter(None, told)
    return [*lines, *_checks([call_rows.outcomes(db, one["id"], last=_CALLS) for one in worked])]


def _task(db: apsw.Connection, about: Session, calls: Sequence[Call], now: int) -> str:
    """What was asked for last."""
    said, ended = session_rows.said(db, about["id"], task.READ_CHARS), about.get("ended_at", 0)
    request = task.quoted(said, calls, ended, lambda until: session_rows.last_words(db, about["id"], until))
    return f"**Task of the last session** ({_ago(max(0, now - about['updated_at']))}): {request}" if request else ""


def _unrun(db: apsw.Connection, about: Session, calls: Sequence[Call]) -> str:
    """What was edited, and neither run nor committed since."""
    committed = next((call["number"] for call in reversed(calls) if _commits(call)), 0)
    edits = [edit for edit in place_rows.edits(db, about["id"]) if edit["number"] > committed]
    if not edits:
        return ""
    ranges = checks.unrun(edits, calls)
    places = place_rows.places(db, about["id"], files=list(ranges)) if ranges else []
    inside = {file: [place for place in places if place["file"] == file] for file in ranges}
    told = checks.told_ranges(ranges, inside, {}, _EDITED_CHARS)
    return f"**Edited, not run since:** {told}" if told else ""


def _commits(call: Call) -> bool:
    return (
        call["outcome"] != "failed" and "git" in call["command"] and any(
            step["program"] == "git" and step["verb"] in ("commit", "stash", "checkout", "reset", "restore")
            for step in shell_command.steps(call["command"])
        )
    )  # fmt: skip


def _failing(db: apsw.Connection, about: Session, calls: Sequence[Call]) -> str:
    """The failure that stands."""
    failure = checks.failing(calls, place_rows.edits(db, about["id"]))
    return checks.failure_line(failure, clip(one_line(failure["error"]), _ERROR_CHARS)) if failure else ""


def _checks(sessions: Sequence[Sequence[tuple[int, str, str]]]) -> list[str]:
    """The checks that worked word for word in more than one of these sessions, which are newest first; those of most
    sessions go first, of what does the same one, and none of which a part may have failed since."""
    worked: dict[str, set[int]] = {}
    last: dict[str, tuple[int, int, bool]] = {}  # of each command, sorted the newest first; whether it worked
    for at, ran in enumerate(sessions):
        known = [(number, command, outcome == "ok") for number, command, outcome in ran if outcome in _KNOWN]
        last = {command: (at, -number, is_ok) for number, command, is_ok in known} | last
        for _, command, is_ok in known:
            if is_ok:
                worked.setdefault(command, set()).add(at)
    red = {command: run for command, run in last.items() if not run[2]}
    shown: dict[frozenset[str], str] = {}
    for command in sorted(worked, key=lambda command: -len(worked[command])):
        if len(worked[command]) < _LEAST_SESSIONS or len(shown) == _MOST_CHECKS:
            break
        code = as_code(command)
        if not (code and checks.is_check(command) and checks.is_form(command, shell_command.steps(command))):
            continue
        subjects = _subjects(command)
        since = any(run <= last[command] and not subjects.isdisjoint(_subjects(other)) for other, run in red.items())
        if not since and sum(map(len, (*shown.values(), code))) <= _WORKS_CHARS:
            shown.setdefault(subjects, code)
    return [f"**Works:** {', '.join(shown.values())}"] if shown else []


def _subjects(command: str) -> frozenset[str]:
    steps = filter(shell_command.does, shell_command.steps(command))
    return frozenset(subject for step in steps for subject in checks.subjects_of(step))


def _ago(age: int) -> str:
    if age < HOUR_MS:
        return f"{age // 60_000} min ago"
    return f"{age // HOUR_MS} h ago" if age < 2 * DAY_MS else f"{age // DAY_MS} days ago"
