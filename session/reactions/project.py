"""Memories about a file that an agent begins to edit, once for each file or scope (ADR-0204, change 4). Hot path.

If the settings table `[scopes]` has a folder that the file is in, its query is recalled. For any other
file, the memories are those that name it.
"""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING
from core.project import is_below, real_root
from core.quoting import one_line
from session.reactions import ALREADY, FAILED, NO_RESULTS, Reaction
from session.state import FILES_KEPT, stored_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clients.base import HookEvent
    from core.config import Config
    from session.session import Session


class Scope:
    """A file, or a folder that the settings name, and the query for it."""

    __slots__ = ("is_set", "name", "query")

    def __init__(self, name: str, query: str, *, is_set: bool) -> None:
        self.name = name
        self.query = query
        self.is_set = is_set
        """Whether the settings have it."""


def react(event: HookEvent, session: Session) -> Reaction:
    """Memories for the first edited file, or scope, that was not looked up yet in this session."""
    began, state, store = time.perf_counter(), session.state, session.store
    cwd = session.folder(event["cwd"])
    scopes: dict[str, Scope] = {}
    for path in filter(None, event["files"][:FILES_KEPT] if cwd else ()):
        if found := scope_of(path, cwd, session.config):
            scopes.setdefault(found.name, found)
    reason, about = ALREADY if scopes else "no-scope", {"scope": next(iter(scopes), None)}
    for scope in scopes.values():
        if scope.name in state.injected_scopes:
            continue
        if scope.is_set or store.has_memory_naming([scope.query]):
            return _memories_on(scope, session, event["cwd"], began)
        reason = FAILED if store.faults else NO_RESULTS
    return Reaction(reason, about=about)


def _memories_on(scope: Scope, session: Session, cwd: str, began: float) -> Reaction:
    state = session.state
    about: dict[str, Any] = {"scope": scope.name, "query": scope.query, "by": "settings" if scope.is_set else "file"}
    project = session.project_in(cwd)
    hits = session.store.recall(scope.query, project, everywhere=state.is_gateway)
    if hits is None:
        return Reaction(FAILED, about=about)

    from session.reactions.injection import Injection, fit, give, select

    fresh = [
        hit
        for hit in hits
        if hit["id"] not in state.injected_memories and (scope.is_set or names_file(hit["observation"], scope.name))
    ]
    head = ["## Project Context: " + one_line(scope.name)]
    content, shown = fit("project-context", head, select(fresh, state), mark="- ", most=3, max_tokens=250)
    state.injected_scopes = [*state.injected_scopes, scope.name]
    if not content:
        return Reaction(NO_RESULTS, about=about)
    about |= {"hitCount": len(shown)}
    injection = Injection("project-context", content, shown, "project.context.injected", about)
    injection.query = scope.query
    return give(injection, session, began)


def scope_of(path: str, cwd: str, config: Config) -> Scope | None:
    """The scope of a file, which need not exist; None for a file outside the project, or without a query."""
    try:
        folder = os.path.realpath(cwd)
        file = os.path.realpath(os.path.join(folder, path))
        root = real_root(folder)
    except (OSError, ValueError):
        return None
    if not is_below(file, root):
        return None
    name, query = _in_settings(file, (root, folder), config.scopes)
    is_set = bool(name)
    if not is_set:
        name, query = os.path.relpath(file, root), os.path.basename(file)
    name = stored_line(name[:2_000])[-80:]
    unsafe_in_quotes = {ord(character): " " for character in '"\\$`'}
    query, most = stored_line(query.translate(unsafe_in_quotes)[:2_000]), 120
    if len(query) > most:
        query = (query[: most + 1].rpartition(" ")[0] or query[:most]).rstrip()
    if not name or len(query) < 2:
        return None
    return Scope(name, query, is_set=is_set)


def names_file(text: str, path: str) -> bool:
    """Whether a text names a file: by its name, or by as much of its path as the text has."""
    from core.names import is_file, names_in_order

    file = path.rpartition("/")[2]
    if not is_file(file):  # Makefile
        return file in text.split()
    names = {name for name, _ in names_in_order(text)}
    paths = [name for name in names if name.endswith("/" + file)]
    if paths:
        return any(f"/{path}".endswith(f"/{name}") or f"/{name}".endswith(f"/{path}") for name in paths)
    return file in names


def _in_settings(path: str, bases: Sequence[str], scopes: Mapping[str, str]) -> tuple[str, str]:
    """The longest folder in `[scopes]` that the file is in, and its query; two empty texts if there is none."""
    best = "", ""
    for entry, query in scopes.items():
        folder = entry.strip().removeprefix("./")
        while folder.endswith(("/*", "/**", "/")):
            folder = folder.rstrip("*").rstrip("/")
        if not folder or folder.startswith("/") or ".." in folder.split("/"):
            continue
        if len(folder) > len(best[0]) and any(is_below(path + "/", os.path.join(base, folder)) for base in bases):
            best = folder, query
    return best
