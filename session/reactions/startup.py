"""What a new session is given, once: what the project's last sessions left, memories and knowledge. Hot path.

The memories are those that match `inject.query`; if none has a word of it, the pinned or the newest ones (ADR-0204,
change 1). Each matching file of knowledge is one line, in a text of its own.
"""

from __future__ import annotations

import time

from core import TYPE_CHECKING, shell_command, words
from core.clock import DAY_MS, HOUR_MS
from core.project import folder_of
from core.quoting import clip, enclose, one_line
from core.store import sessions as stored_sessions
from core.store.branches import History
from session.reactions import ALREADY, FAILED, NO_RESULTS, Reaction
from session.reactions.injection import Injection, fit, give, of_project, select
from session.state import HITS_KEPT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from clients.base import HookEvent
    from core.records import Call, Hit
    from core.records import Session as ArchivedSession
    from session.session import Session

COMPONENT = "memory-enforcer"  # of the events about starts
STALE_MS = 30 * DAY_MS
"""Work that was left longer ago than this is not open any more."""


def react(event: HookEvent, session: Session, *, query: str = "", project: str = "") -> Reaction:
    """The text for a session that starts; `query` and `project` replace those of the settings and of the folder."""
    began, state, asked = time.perf_counter(), session.state, query
    of_gateway = "gateway daemon telegram redis session routing compaction"
    query = query or (of_gateway if state.is_gateway else session.config.get_str("inject.query"))
    about: dict[str, Any] = {"query": query}
    if "memory-recall" in state.injected_kinds:
        return Reaction(ALREADY, about=about)
    project = project or session.project_in(event["cwd"])
    everywhere = state.is_gateway and not project
    # The query is broad, so a good memory matches few of its words.
    hits = session.store.recall(query, project, everywhere=everywhere, min_score=0.1)
    if hits is None:
        return Reaction(FAILED, about=about)
    files = [hit for hit in hits if hit["collection"] == "knowledge" and hit["path"]]
    memories = [hit for hit in hits if hit not in files]
    if not (asked or state.is_gateway or any(_has_word(hit, query) for hit in memories)):
        memories = session.store.read("memories", lambda db: of_project(db, project), [])
    folder = folder_of(session.folder(event["cwd"]))

    def read_lines(db: apsw.Connection) -> list[str]:
        sessions = stored_sessions.last_of_project(db, project, folder, without=session.id)
        return lines_left(db, sessions, folder, session.now)

    left: list[str] = session.store.read("work", read_lines, [])
    state.updated_at, session.must_save = session.now, True
    above = ["## Where This Project Was Left", *left] if left else []
    content, shown = fit(
        "memory-recall", [*above, "## Relevant Memory (auto-retrieved)"], select(memories, state),
        mark="{number}. [{category}] ", most=HITS_KEPT, max_tokens=400,
    )  # fmt: skip
    about |= {"result_count": len(shown), "left": len(left)}
    known = _knowledge_lines(files, session.config.get_float("inject.min_score"))
    if content or left:
        content = content or enclose("memory-recall", above)
        injection = Injection("memory-recall", content, shown, "memory.recall.injected", about)
        injection.component, injection.query = COMPONENT, query
        reaction = give(injection, session, began)
    else:
        session.queue_event(session.event("memory.recall.injected", about, component=COMPONENT))
        reaction = Reaction(NO_RESULTS, about=about)
    if known:
        content = enclose("system-knowledge", ["## System Knowledge (auto-retrieved)", *known])
        injection = Injection("system-knowledge", content, [], "system_knowledge.injected", {"query": query})
        injection.component, injection.event_about = COMPONENT, {"result_count": len(known)}
        given = give(injection, session, began)
        reaction = Reaction(
            given.reason, texts=[*reaction.texts, *given.texts], about={**given.about, **reaction.about}
        )
    if reaction.texts:
        state.injected_kinds = {**state.injected_kinds, "memory-recall": session.now}
    return reaction


def _has_word(hit: Hit, query: str) -> bool:
    """Whether a memory has a word of the query, and not only a similar meaning."""
    text = hit["observation"]
    return not {*words.split(text), *words.parts(text).split()}.isdisjoint(words.query_terms(query))


def _knowledge_lines(hits: Sequence[Hit], min_score: float) -> list[str]:
    """`- heading: path` for up to three files of knowledge."""
    lines: dict[str, str] = {}
    for hit in hits:
        if hit["score"] >= min_score:
            heading = hit["title"] or hit["observation"]
            lines.setdefault(hit["path"], f"- {clip(one_line(heading), 100)}: {one_line(hit['path'])}")
    return list(lines.values())[:3]


def lines_left(db: apsw.Connection, sessions: Sequence[ArchivedSession], folder: str, now: int) -> list[str]:
    """What the last sessions of a project left. `sessions` begins with the latest.

    The lines are the last request, and the work of the latest session that worked in `folder` if it is still open.
    """
    lines: list[str] = []
    worked = [session for session in sessions if session["calls"]]  # the latest may only have talked
    for session in {session["id"]: session for session in (*sessions[:1], *worked[:1])}.values():
        if now - session["updated_at"] >= STALE_MS:
            continue
        history = History(db, session["id"])
        calls = history.calls(200)
        if session in sessions[:1]:
            lines.append(_task_line(db, session, calls, now))
        if session in worked[:1] and session["folder"] == folder:
            lines += _open_work(history, calls)
    return [line for line in lines if line]


def _task_line(db: apsw.Connection, session: ArchivedSession, calls: Sequence[Call], now: int) -> str:
    from session.requests import open_request

    request = open_request(db, session, calls)
    age = _age(max(0, now - session["updated_at"]))
    return f"**Task of the last session** ({age}): {request}" if request else ""


def _open_work(history: History, calls: Sequence[Call]) -> list[str]:
    """The lines that were edited, and neither run nor committed since; and the failure that is still open."""
    from session import command_runs

    committed = next((call["number"] for call in reversed(calls) if _commits(call)), 0)
    edits = history.edits()
    uncommitted = [edit for edit in edits if edit["number"] > committed]
    failure = command_runs.failing(calls, edits)
    return [
        command_runs.unrun_line(history, uncommitted, calls, {}, room=240),
        command_runs.failure_line(failure, 110) if failure else "",
    ]


def _commits(call: Call) -> bool:
    """Whether a call committed the edits, or put them away."""
    if call["outcome"] == "failed" or "git" not in call["command"]:
        return False
    return any(
        step["program"] == "git" and step["verb"] in ("commit", "stash", "checkout", "reset", "restore")
        for step in shell_command.steps(call["command"])
    )


def _age(age_ms: int) -> str:
    if age_ms < HOUR_MS:
        return f"{age_ms // 60_000} min ago"
    return f"{age_ms // HOUR_MS} h ago" if age_ms < 2 * DAY_MS else f"{age_ms // DAY_MS} days ago"
