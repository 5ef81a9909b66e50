"""Memories for a session that starts, once, and for a file that an agent begins to edit, once for each file or scope
(ADR-0204, changes 1 and 4); and for an error, what got an earlier session out of it. Hot path.

At a start, the memories are those with a word of `inject.query`, then the newest ones; pinned ones come first.
What the project's last sessions left comes before them, and each matching file of knowledge is a line after them. At an
edit, the query is that of the folder in the settings table `[scopes]`; for any other file, the memories are those that
name it, else the package or another folder around it.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, words
from core.clock import DAY_MS, HOUR_MS
from core.project import folder_of, is_below, real_root
from core.quoting import CUT, clip, enclose, one_line
from session.reactions import ALREADY, FAILED, NO_RESULTS, Reaction
from session.state import FILES_KEPT, stored_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import apsw

    from clients.base import HookEvent
    from core.config import Config
    from core.records import Call, Hit
    from core.records import Session as ArchivedSession
    from core.store.branches import History
    from session.session import Session

OPEN_WORK_MS = 30 * DAY_MS
"""Work that was left longer ago than this is not open any more."""
# Folders that only hold other folders, or that every project has: their names identify no part of the code.
_COMMON_FOLDERS = frozenset(
    "src lib libs dist build app apps package packages pkg cmd internal crates services modules test tests".split()
)


def at_start(event: HookEvent, session: Session, *, query: str = "", project: str = "") -> Reaction:
    """The text for a session that starts; `query` and `project` replace those of the settings and of the folder."""
    from session.reactions.injection import EVENTS, fit, give, of_project, select

    state, asked = session.state, query
    of_gateway = "gateway daemon telegram redis session routing compaction"
    query = query or (of_gateway if state.is_gateway else session.config.get_str("inject.query"))
    about: dict[str, Any] = {"query": query}
    if "memory-recall" in state.injected_kinds:
        return Reaction(ALREADY, about=about)
    project = project or session.project(event["cwd"])
    # The query is broad, so a good memory matches few of its words.
    # A memory without a word of it has nothing to do with this session.
    hits = session.recall(query, project, min_score=0.1, by_meaning=bool(asked))
    if hits is None:
        return Reaction(FAILED, about=about)
    files = [hit for hit in hits if hit["collection"] == "knowledge" and hit["path"]]
    memories = [hit for hit in hits if hit not in files]
    if not (asked or state.is_gateway):
        memories += session.store.read("memories", lambda db: of_project(db, project), [])
    folder = folder_of(session.folder(event["cwd"]))

    def read_lines(db: apsw.Connection) -> list[str]:
        from core.store import sessions as stored_sessions

        sessions = stored_sessions.last_of_project(db, project, folder, without=session.id)
        return lines_left(db, sessions, folder, session.now)

    left: list[str] = session.store.read("work", read_lines, [])
    state.updated_at = session.now
    above = ["## Where This Project Was Left", *left] if left else []
    content, shown = fit(
        "memory-recall", above, "## Relevant Memory (auto-retrieved)", select(memories, state),
        mark="{number}. [{category}] ", max_tokens=400,
    )  # fmt: skip
    about |= {"result_count": len(shown), "left": len(left)}
    reaction = Reaction(NO_RESULTS, about=about)
    if content:
        reaction = give(session, "memory-recall", content, shown, about=about, query=query)
    else:
        name, component = EVENTS["memory-recall"]
        session.queue_event(session.event(name, about, component=component))
    known: dict[str, str] = {}
    for hit in files:
        if hit["score"] >= session.config.get_float("inject.min_score"):
            heading = clip(one_line(hit["title"] or hit["observation"]), 100)
            known.setdefault(hit["path"], f"- {heading}: {one_line(hit['path'])}")
    if known:
        known_lines = [*known.values()][:3]
        content = enclose("system-knowledge", ["## System Knowledge (auto-retrieved)", *known_lines])
        given = give(session, "system-knowledge", content, about={"query": query, "result_count": len(known_lines)})
        reaction.texts = [*reaction.texts, *given.texts]
        reaction.reason, reaction.about = given.reason, {**given.about, **reaction.about}
    if reaction.texts:
        state.injected_kinds = {**state.injected_kinds, "memory-recall": session.now}
    return reaction


def lines_left(db: apsw.Connection, sessions: Sequence[ArchivedSession], folder: str, now: int) -> list[str]:
    """What the last sessions of a project left. `sessions` begins with the latest.

    The lines are the last request, and the work of the latest session that worked in `folder` if it is still open.
    """
    lines: list[str] = []
    worked = [session for session in sessions if session["calls"]]  # the latest may only have talked
    for session in {session["id"]: session for session in (*sessions[:1], *worked[:1])}.values():
        if now - session["updated_at"] >= OPEN_WORK_MS:
            continue
        from core.store.branches import History

        history = History(db, session["id"])
        calls = history.calls(200)
        if session in sessions[:1]:
            from session.requests import open_request

            request = open_request(history, session, calls)
            age = _age(max(0, now - session["updated_at"]))
            lines += [f"**Task of the last session** ({age}): {request}"] if request else []
        if session in worked[:1] and session["folder"] == folder:
            lines += _open_work(history, calls, folder)
    return [line for line in lines if line]


def _open_work(history: History, calls: Sequence[Call], folder: str) -> list[str]:
    """The lines that were edited, and neither run nor committed since; and the failure that is still open."""
    from session import command_runs

    edits = history.edits()
    failure = command_runs.failing(calls, edits)
    return [
        command_runs.unrun_line(history, edits, calls, {}, room=240),
        command_runs.failure_line(failure, folder, 110) if failure else "",
    ]


def _age(age_ms: int) -> str:
    if age_ms < HOUR_MS:
        return f"{age_ms // 60_000} min ago"
    return f"{age_ms // HOUR_MS} h ago" if age_ms < 2 * DAY_MS else f"{age_ms // DAY_MS} days ago"


class Scope:
    """A file, a folder around it, or a folder that the settings name, and the query for it.

    `by` is what it was found by: file, folder or settings.
    """

    __slots__ = ("by", "name", "query")

    def __init__(self, name: str, query: str, by: str) -> None:
        self.name = name
        self.query = query
        self.by = by

    def is_named_in(self, hit: Hit) -> bool:
        """Whether a memory is about the scope. Whatever the query of the settings finds is."""
        if self.by == "settings":
            return True
        if self.by == "file":
            return names_file(hit["observation"], self.name)
        name = " ".join(words.split(self.query))  # of a folder: `system-bus`, or "the system bus"
        texts = (hit["observation"], *hit["tags"])
        return bool(name) and any(f" {name} " in f" {' '.join(words.split(text))} " for text in texts)


def at_edit(event: HookEvent, session: Session) -> Reaction:
    """Memories for the first edited file that was not looked up yet in this session, else for a folder around it."""
    cwd, state = session.folder(event["cwd"]), session.state
    scopes: dict[str, Scope] = {}
    for path in filter(None, event["files"][:FILES_KEPT] if cwd else ()):
        if found := scope_of(path, cwd, session.config):
            scopes.setdefault(found.name, found)
    reason, about = ALREADY if scopes else "no-scope", {"scope": next(iter(scopes), None)}
    for scope in [scope for scope in scopes.values() if not state.has_scope(scope.name)]:
        reason = NO_RESULTS
        for part in (scope, *_folders(scope)):
            reaction = _memories_on(part, session, event["cwd"])
            if reaction.texts or reaction.reason == FAILED:
                return reaction
    return Reaction(reason, about=about)


def at_failure(event: HookEvent, session: Session) -> Reaction:
    """What got an earlier session out of the very same error; once for each error."""
    from session import past_runs
    from session.reactions.injection import give

    error, state, project = event["error"], session.state, session.project(event["cwd"])
    scope = f"error {words.fingerprint(error)[:12]}"
    if state.has_scope(scope):
        return Reaction(ALREADY)
    lines = session.store.read("fix", lambda db: past_runs.way_out(db, error, project, without=session.id), None)
    if not lines:
        return Reaction(NO_RESULTS)
    state.injected_scopes = [*state.injected_scopes, scope]
    return give(session, "known-fix", enclose("known-fix", lines), about={})


def _folders(scope: Scope) -> list[Scope]:
    """The folders around a file, the innermost first, but no common ones; none for a scope of the settings."""
    folders = scope.name.split("/")[:-1] if scope.by == "file" else []
    return [
        Scope("/".join(folders[:depth]), folders[depth - 1], "folder")
        for depth in range(len(folders), 0, -1)
        if folders[depth - 1].lower() not in _COMMON_FOLDERS and len(folders[depth - 1]) > 1
    ][:3]


def _memories_on(scope: Scope, session: Session, cwd: str) -> Reaction:
    state, store = session.state, session.store
    about = {"scope": scope.name, "query": scope.query, "by": scope.by}
    if state.has_scope(scope.name):
        return Reaction(ALREADY, about=about)
    is_known = scope.by == "settings" or store.has_memory_naming([scope.query])
    if scope.by == "file" and not is_known:  # a memory may still be written in this session
        return Reaction(FAILED if store.faults else NO_RESULTS, about=about)

    from session.reactions.injection import fit, give, of_project, select

    project = session.project(cwd)
    tagged: list[Hit] = []
    if scope.by == "folder":
        tagged = store.read("recall", lambda db: of_project(db, project, tag=scope.query.lower()), tagged)
    hits = session.recall(scope.query, project) if is_known else []
    if hits is None or store.faults:
        return Reaction(FAILED, about=about)
    every = {hit["id"]: hit for hit in (*tagged, *hits)}
    fresh = [hit for hit in every.values() if hit["id"] not in state.injected_memories and scope.is_named_in(hit)]
    title = "## Project Context: " + one_line(scope.name)
    content, shown = fit("project-context", [], title, select(fresh, state)[:3], mark="- ", max_tokens=250)
    state.injected_scopes = [*state.injected_scopes, scope.name]
    if not content:
        return Reaction(NO_RESULTS, about=about)
    return give(session, "project-context", content, shown, about={**about, "hitCount": len(shown)}, query=scope.query)


def scope_of(path: str, cwd: str, config: Config) -> Scope | None:
    """The scope of a file, which need not exist; None for a file outside the project, or without a query."""
    try:
        folder = os.path.realpath(cwd)
        file = os.path.realpath(os.path.join(folder, path))
        root = real_root(folder)
    except (OSError, ValueError):
        return None
    if file == root or not is_below(file, root):
        return None
    name, query = _in_settings(file, (root, folder), config.scopes)
    by = "settings" if name else "file"
    if not name:
        name, query = os.path.relpath(file, root), os.path.basename(file)
    unsafe_in_quotes = {ord(character): " " for character in '"\\$`'}
    query = clip(stored_line(query.translate(unsafe_in_quotes)[:2_000]), 120).removesuffix(CUT)
    return Scope(stored_line(name[:2_000])[-80:], query, by) if len(query) >= 2 else None


def names_file(text: str, path: str) -> bool:
    """Whether a text names a file: by its name, or by as much of its path as the text has."""
    from core.names import is_file, names_in_order

    file = path.rpartition("/")[2]
    names = [name for name, _ in names_in_order(text)] if is_file(file) else text.split()  # Makefile
    paths = [name for name in names if name.endswith(f"/{file}")] or names
    return any(f"/{path}".endswith(f"/{name}") or f"/{name}".endswith(f"/{path}") for name in paths)


def _in_settings(path: str, bases: Sequence[str], scopes: Mapping[str, str]) -> tuple[str, str]:
    """The longest folder in `[scopes]` that the file is in, and its query; two empty texts if there is none."""
    found = [
        (folder, query)
        for entry, query in scopes.items()
        if (folder := entry.strip().removeprefix("./").rstrip("/*"))
        and not folder.startswith("/")
        and ".." not in folder.split("/")
        and any(is_below(path, os.path.join(base, folder)) for base in bases)
    ]
    return max(found, key=lambda pair: len(pair[0]), default=("", ""))
