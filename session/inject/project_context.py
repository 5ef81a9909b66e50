"""Memories on the part of a project that an agent begins to edit, once each (ADR-0204)."""

from __future__ import annotations

import os

from core.quoting import clip, cost, enclose, one_line
from session.inject import scope
from session.inject.runner import ALREADY, Decision
from session.state import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Hit
    from core.repository.project_file import Unusable
    from session.inject.runner import Situation
    from session.inject.scope import Scope
    from session.records import SessionState, Text

NAME = "project"
LEAST = "inject.min_score"
CUSTOM_TYPE = "project-context"
HEADING = "## Project Context: "
NO_SCOPE = "no-scope"
MAX_MEMORIES = 3
MAX_TOKENS = 250
TEXT_CHARS = 200


def due(state: SessionState, situation: Situation) -> Decision:
    """Where a file belongs to a scope that the session has not had; the first of them is the subject."""
    faults: list[Unusable] = []
    scopes = _scopes(situation, state, faults)
    unusable = [(one.path, one.reason) for one in faults]
    fresh = [found for found in scopes if found["name"] not in state["injectedScopes"]]
    if not fresh:
        name = scopes[0]["name"] if scopes else None
        return Decision(ALREADY if scopes else NO_SCOPE, about={"scope": name}, unusable=unusable)
    name, query = fresh[0]["name"], fresh[0]["query"]
    about = {"scope": name, "query": query}
    return Decision(query=query, subject=name, strictly=fresh[0]["foreign"], about=about, unusable=unusable)


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """Memories that the agent does not have before it: at most three within 250 estimated tokens, best first."""
    from session.inject.selection import kept_by_somebody, select

    memories = [memory for memory in select(kept_by_somebody(hits, state), state) if one_line(memory["text"])]
    memories = [memory for memory in memories if memory["id"] not in state["injectedMemories"]][:MAX_MEMORIES]
    heading = HEADING + clip(one_line(decision.subject), scope.NAME_CHARS, 40)
    for count in range(len(memories), 0, -1):
        for tokens in (TEXT_CHARS, TEXT_CHARS // 3, TEXT_CHARS // 4):
            lines = [f"- {clip(one_line(memory['text']), TEXT_CHARS, tokens)}" for memory in memories[:count]]
            content = enclose(CUSTOM_TYPE, (heading, *lines))
            if cost(content) <= MAX_TOKENS:
                return {
                    "content": content,
                    "memories": memories[:count],
                    "customType": CUSTOM_TYPE,
                    "event": "project.context.injected",
                    "about": {"hitCount": count},
                }
    return None


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """That the scope was looked up, with or without anything to tell."""
    return {**state, "injectedScopes": [*state["injectedScopes"], decision.subject]}


def _scopes(situation: Situation, state: SessionState, faults: list[Unusable]) -> list[Scope]:
    """The scopes of the files, each once."""
    cwd = situation.cwd or state["cwd"]
    try:
        cwd = cwd or os.getcwd()
    except OSError:  # it was removed
        return []
    found: dict[str, Scope] = {}
    for path in situation.files[: schema.FILES_KEPT]:
        known = scope.of_file(path, cwd, situation.context.config, faults) if path else None
        if known is not None:
            found.setdefault(known["name"], known)
    return list(found.values())
