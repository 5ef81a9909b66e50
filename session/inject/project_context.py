"""Memories about a file that an agent begins to edit, once each (ADR-0204, change 4).

Where the configuration's table `[scopes]` has a folder that the file is in, the user has said what is recalled for it.
Of any other file the memories are those that name it.
"""

from __future__ import annotations

import os

from core.names import is_file, names_in_order
from core.project import is_below, real_root
from core.quoting import one_line
from session.inject.runner import ALREADY, FAILED, NO_RESULTS, Decision
from session.state import state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypedDict

    from core.config import Config
    from core.records import Hit
    from session.inject.runner import Situation
    from session.records import SessionState, Text

    class Scope(TypedDict):
        """A file, or the part of a project that it is in, and what is recalled for it."""

        name: str
        query: str
        is_set: bool
        """The settings have it."""


NAME = "project"
CUSTOM_TYPE = "project-context"
HEADING = "## Project Context: "
NO_SCOPE = "no-scope"
MAX_MEMORIES, MAX_TOKENS = 3, 250
NAME_CHARS, QUERY_CHARS = 80, 120
_UNSAFE = {ord(character): " " for character in '"\\$`'}


def due(state: SessionState, situation: Situation) -> Decision:
    """Where a file that a memory names, or a scope, was not looked up yet in the session; the first is the subject."""
    cwd = situation.context.directory(state, situation.cwd)
    scopes: dict[str, Scope] = {}
    for path in filter(None, situation.files[: state_file.FILES_KEPT] if cwd else ()):
        known = of_file(path, cwd, situation.context.config)
        if known is not None:
            scopes.setdefault(known["name"], known)
    store = situation.context.store
    reason = ALREADY if scopes else NO_SCOPE
    for name, found in scopes.items():
        if name in state["injectedScopes"]:
            continue
        if found["is_set"] or store.names([found["query"]]):
            about = {"scope": name, "query": found["query"], "by": "settings" if found["is_set"] else "file"}
            return Decision(query=found["query"], subject=name, about=about)
        reason = FAILED if store.faults else NO_RESULTS
    return Decision(reason, about={"scope": next(iter(scopes), None)})


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """Memories that the agent does not have before it: at most three within 250 estimated tokens, best first."""
    from session.inject.selection import fit, select

    is_set = decision.about["by"] == "settings"
    known = state["injectedMemories"]
    fresh = [
        hit for hit in hits if hit["id"] not in known and (is_set or tells_of(hit["observation"], decision.subject))
    ]
    head = [HEADING + one_line(decision.subject)]
    content, shown = fit(CUSTOM_TYPE, head, select(fresh, state), mark="- ", most=MAX_MEMORIES, max_tokens=MAX_TOKENS)
    if not content:
        return None
    return {
        "content": content, "memories": shown, "customType": CUSTOM_TYPE, "event": "project.context.injected",
        "about": {"hitCount": len(shown)},
    }  # fmt: skip


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """That it was looked up, with or without anything to tell."""
    return {**state, "injectedScopes": [*state["injectedScopes"], decision.subject]}


def of_file(path: str, cwd: str, config: Config) -> Scope | None:
    """The scope of a file, which need not exist yet; None for one outside the project, or of which nothing is asked."""
    try:
        folder = os.path.realpath(cwd)
        found = os.path.realpath(os.path.join(folder, path))
        root = real_root(folder)
    except (OSError, ValueError):
        return None
    if not is_below(found, root):
        return None
    entry, name, query = _mapped(found, (root, folder), config.scopes)
    if not entry:
        name, query = os.path.relpath(found, root), os.path.basename(found)
    name = _plain(name)[-NAME_CHARS:]
    query = _plain(query.translate(_UNSAFE))
    if len(query) > QUERY_CHARS:  # whole words if it can
        query = (query[: QUERY_CHARS + 1].rpartition(" ")[0] or query[:QUERY_CHARS]).rstrip()
    if not name or len(query) < 2:
        return None
    return {"name": name, "query": query, "is_set": bool(entry)}


def tells_of(text: str, path: str) -> bool:
    """Whether a text names a file: by its name, or by as much of its path as it has."""
    file = path.rpartition("/")[2]
    if not is_file(file):  # Makefile
        return file in text.split()
    names = {name for name, _ in names_in_order(text)}
    paths = [name for name in names if name.endswith("/" + file)]
    if paths:
        return any(f"/{path}".endswith(f"/{one}") or f"/{one}".endswith(f"/{path}") for one in paths)
    return file in names


def _mapped(path: str, bases: Sequence[str], scopes: Mapping[str, str]) -> tuple[str, str, str]:
    """The entry of the table with the longest folder that the file is in: its key, the folder and the query."""
    best = "", "", ""
    for entry, query in scopes.items():
        name = entry.strip().removeprefix("./")
        while name.endswith(("/*", "/**", "/")):
            name = name.rstrip("*").rstrip("/")
        if not name or name.startswith("/") or ".." in name.split("/"):
            continue
        if len(name) > len(best[1]) and any(is_below(path + "/", os.path.join(base, name)) for base in bases):
            best = entry, name, query
    return best


def _plain(text: str) -> str:
    from core.redaction import redact
    from core.words import clean

    return one_line(redact(clean(text[:2_000]))[0])
