"""The lines on what the last sessions of a project left: the last request, edits that were not run, a failure.

Only a project that has earlier sessions needs them, so a start imports this module only then. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, shell_command
from core.clock import DAY_MS, HOUR_MS
from core.quoting import clip, one_line
from core.store import calls as stored_calls
from core.store import places_and_names
from session.notes import command_runs, requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Call
    from core.records import Session as ArchivedSession

STALE_MS = 30 * DAY_MS
"""Work that was left longer ago than this is not open any more."""


def lines_left(db: apsw.Connection, sessions: Sequence[ArchivedSession], folder: str, now: int) -> list[str]:
    """What the last sessions of a project left. `sessions` begins with the latest.

    The lines are the last request, and the work of the latest session that worked in `folder` if it is still open.
    """
    lines: list[str] = []
    worked = [session for session in sessions if session["calls"]]  # the latest may only have talked
    for session in {session["id"]: session for session in (*sessions[:1], *worked[:1])}.values():
        if now - session["updated_at"] >= STALE_MS:
            continue
        calls = stored_calls.of_session(db, session["id"], last=200)
        if session in sessions[:1]:
            lines.append(_task_line(db, session, calls, now))
        if session in worked[:1] and session["folder"] == folder:
            lines += [_unrun_line(db, session, calls), _failing_line(db, session, calls)]
    return [line for line in lines if line]


def _task_line(db: apsw.Connection, session: ArchivedSession, calls: Sequence[Call], now: int) -> str:
    request = requests.open_request(db, session, calls)
    age = _age(max(0, now - session["updated_at"]))
    return f"**Task of the last session** ({age}): {request}" if request else ""


def _unrun_line(db: apsw.Connection, session: ArchivedSession, calls: Sequence[Call]) -> str:
    """The lines that were edited, and neither run nor committed since."""
    committed = next((call["number"] for call in reversed(calls) if _commits(call)), 0)
    edits = [edit for edit in places_and_names.edits(db, session["id"]) if edit["number"] > committed]
    ranges = command_runs.unrun(edits, calls) if edits else {}
    if not ranges:
        return ""
    places = places_and_names.places(db, session["id"], files=list(ranges))
    inside = {file: [place for place in places if place["file"] == file] for file in ranges}
    shown = command_runs.ranges_text(ranges, inside, {}, room=240)
    return f"**Edited, not run since:** {shown}" if shown else ""


def _commits(call: Call) -> bool:
    """Whether a call committed the edits, or put them away."""
    if call["outcome"] == "failed" or "git" not in call["command"]:
        return False
    return any(
        step["program"] == "git" and step["verb"] in ("commit", "stash", "checkout", "reset", "restore")
        for step in shell_command.steps(call["command"])
    )


def _failing_line(db: apsw.Connection, session: ArchivedSession, calls: Sequence[Call]) -> str:
    failure = command_runs.failing(calls, places_and_names.edits(db, session["id"]))
    return command_runs.failure_line(failure, clip(one_line(failure["error"]), 110)) if failure else ""


def _age(age_ms: int) -> str:
    if age_ms < HOUR_MS:
        return f"{age_ms // 60_000} min ago"
    return f"{age_ms // HOUR_MS} h ago" if age_ms < 2 * DAY_MS else f"{age_ms // DAY_MS} days ago"
