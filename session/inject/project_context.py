"""Memories on the part of a project that an agent begins to edit, once each (ADR-0204)."""

from __future__ import annotations

import os

from core.quoting import clip, cost, enclose, one_line
from session.inject import scope
from session.inject.runner import ALREADY
from session.state import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.config import Config
    from core.records import Hit
    from core.repository.project_file import Unusable
    from session.inject.runner import Composed, Moment, Text
    from session.inject.scope import Scope
    from session.state.schema import Memory, SessionState


NAME = "project"
LEAST = "inject.min_score"
NEEDS_RECALL = True
CUSTOM_TYPE = "project-context"
HEADING = "## Project Context: "
NO_SCOPE = "no-scope"
MAX_MEMORIES = 3
MAX_TOKENS = 250
TEXT_CHARS = 200


def due(state: SessionState, moment: Moment) -> str:
    """Where a file belongs to a scope that the session has not had; the first of them is the subject."""
    faults: list[Unusable] = []
    scopes = _scopes(moment.files, moment.cwd or state["cwd"], moment.context.config, faults)
    if faults:
        from session import settings_faults

        moment.context.note(settings_faults.events([(one.path, one.reason) for one in faults], (), moment.context.now))
    fresh = [found for found in scopes if found["name"] not in state["injectedScopes"]]
    if not fresh:
        moment.about = {"scope": scopes[0]["name"] if scopes else None}
        return ALREADY if scopes else NO_SCOPE
    moment.subject, moment.foreign = fresh[0]["name"], fresh[0]["foreign"]
    moment.about = {"scope": fresh[0]["name"], "query": fresh[0]["query"]}
    return ""


def query(state: SessionState, moment: Moment) -> str:
    """The scope's own."""
    return str(moment.about["query"])


def compose(state: SessionState, moment: Moment, hits: Sequence[Hit]) -> Text | None:
    """Memories that the agent does not have before it."""
    from session.inject.selection import bearing, select

    already = frozenset(state["injectedMemories"])
    bear = bearing(hits, state, " ".join(moment.files))
    made = text_of(moment.subject, [memory for memory in select(bear, state) if memory["id"] not in already])
    if made is None:
        return None
    return {
        "content": made["content"],
        "memories": made["memories"],
        "customType": CUSTOM_TYPE,
        "event": "project.context.injected",
        "about": {"hitCount": len(made["memories"])},
    }


def apply(state: SessionState, moment: Moment, text: Text | None) -> SessionState:
    """That the scope was looked up, with or without anything to tell."""
    return {**state, "injectedScopes": [*state["injectedScopes"], moment.subject]}


def text_of(name: str, memories: Sequence[Memory]) -> Composed | None:
    """At most three bullets within 250 estimated tokens, best first; None without any."""
    entries = [(memory, one_line(memory["text"])) for memory in memories]
    entries = [entry for entry in entries if entry[1]][:MAX_MEMORIES]
    for count in range(len(entries), 0, -1):
        for tokens in (TEXT_CHARS, TEXT_CHARS // 3, TEXT_CHARS // 4):
            lines = [f"- {clip(text, TEXT_CHARS, tokens)}" for _, text in entries[:count]]
            content = enclose(CUSTOM_TYPE, (HEADING + clip(one_line(name), scope.NAME_CHARS, 40), *lines))
            if cost(content) <= MAX_TOKENS:
                return {"content": content, "memories": [memory for memory, _ in entries[:count]]}
    return None


def _scopes(files: Sequence[str], cwd: str, config: Config, faults: list[Unusable]) -> list[Scope]:
    """The scopes of the files, each once."""
    if not cwd:
        try:
            cwd = os.getcwd()
        except OSError:  # it was removed
            return []
    found: dict[str, Scope] = {}
    for path in files[: schema.FILES_KEPT]:
        known = scope.of_file(path, cwd, config, faults) if path else None
        if known is not None:
            found.setdefault(known["name"], known)
    return list(found.values())
