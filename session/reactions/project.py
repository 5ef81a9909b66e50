"""Memories about a file that an agent begins to edit, once for each file or scope (ADR-0204, change 4). Hot path.

If the settings table `[scopes]` has a folder that the file is in, its query is recalled. For any other file, the
memories are those that name it, else those that name the package or another folder around it.
"""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, words
from core.project import is_below, real_root
from core.quoting import one_line
from session.reactions import ALREADY, FAILED, NO_RESULTS, Reaction
from session.state import FILES_KEPT, stored_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal

    from clients.base import HookEvent
    from core.config import Config
    from core.records import Hit
    from session.session import Session


# Folders that only hold other folders, or that every project has: their names identify no part of the code.
_COMMON_FOLDERS = frozenset(
    "src lib libs dist build app apps package packages pkg cmd internal crates services modules test tests".split()
)


class Scope:
    """A file, a folder around it, or a folder that the settings name, and the query for it."""

    __slots__ = ("by", "name", "query")

    def __init__(self, name: str, query: str, by: Literal["settings", "file", "folder"]) -> None:
        self.name = name
        self.query = query
        self.by = by

    def is_named_in(self, hit: Hit) -> bool:
        """Whether a memory is about the scope; any is that the settings asked for."""
        if self.by == "file":
            return names_file(hit["observation"], self.name)
        return self.by == "settings" or _names_folder(hit, self.query)


def react(event: HookEvent, session: Session) -> Reaction:
    """Memories for the first edited file that was not looked up yet in this session, else for a folder around it."""
    began, state = time.perf_counter(), session.state
    cwd = session.folder(event["cwd"])
    scopes: dict[str, Scope] = {}
    for path in filter(None, event["files"][:FILES_KEPT] if cwd else ()):
        if found := scope_of(path, cwd, session.config):
            scopes.setdefault(found.name, found)
    reason, about = ALREADY if scopes else "no-scope", {"scope": next(iter(scopes), None)}
    for scope in scopes.values():
        if scope.name in state.injected_scopes:
            continue
        reason = NO_RESULTS
        for part in (scope, *_folders(scope)):
            reaction = _memories_on(part, session, event["cwd"], began)
            if reaction.texts or reaction.reason == FAILED:
                return reaction
    return Reaction(reason, about=about)


def _folders(scope: Scope) -> list[Scope]:
    """The folders around a file, the innermost first, but no common ones; none for a scope of the settings."""
    folders = scope.name.split("/")[:-1] if scope.by == "file" else []
    return [
        Scope("/".join(folders[:depth]), folders[depth - 1], "folder")
        for depth in range(len(folders), 0, -1)
        if folders[depth - 1].lower() not in _COMMON_FOLDERS and len(folders[depth - 1]) > 1
    ][:3]


def _memories_on(scope: Scope, session: Session, cwd: str, began: float) -> Reaction:
    state, project = session.state, session.project_in(cwd)
    about: dict[str, Any] = {"scope": scope.name, "query": scope.query, "by": scope.by}
    if scope.name in state.injected_scopes:
        return Reaction(ALREADY, about=about)

    is_known = scope.by == "settings" or session.store.has_memory_naming([scope.query])
    if scope.by == "file" and not is_known:  # a memory may still be written in this session
        return Reaction(FAILED if session.store.faults else NO_RESULTS, about=about)

    from session.reactions.injection import Injection, fit, give, of_project, select

    tagged: list[Hit] = []
    if scope.by == "folder":
        tagged = session.store.read("recall", lambda db: of_project(db, project, tag=scope.query.lower()), tagged)
    hits = session.store.recall(scope.query, project, everywhere=state.is_gateway) if is_known else []
    if hits is None or session.store.faults:
        return Reaction(FAILED, about=about)
    every = {hit["id"]: hit for hit in (*tagged, *hits)}
    fresh = [hit for hit in every.values() if hit["id"] not in state.injected_memories and scope.is_named_in(hit)]
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
    return Scope(name, query, "settings" if is_set else "file")


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


def _names_folder(hit: Hit, folder: str) -> bool:
    """Whether the text or a tag of a memory has the name of a folder: `system-bus` or "the system bus"."""
    name = " ".join(words.split(folder))
    texts = (hit["observation"], *hit["tags"])
    return bool(name) and any(f" {name} " in f" {' '.join(words.split(text))} " for text in texts)


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
