"""What `inject project` does: memories on the part of a project that an agent begins to edit, once each (ADR-0204)."""

from __future__ import annotations

import os
import time

from core import clock
from session import injection, refresh, scope, session_event, shape, state, zones
from session.frame import enclose
from session.text import clip, cost, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from core.config import Config
    from session.scope import Scope
    from session.shape import Memory, SessionState
    from session.store import Store

    class ProjectText(TypedDict):
        """A project's text and the memories in it."""

        content: str
        memories: list[Memory]


CUSTOM_TYPE = "project-context"
HEADING = "## Project Context: "
NO_SCOPE = "no-scope"
ALREADY = "already-injected"
MAX_MEMORIES = 3
MAX_TOKENS = 250
TEXT_CHARS = 200


def inject(
    session_id: str,
    role: str,
    config: Config,
    *,
    files: Sequence[str],
    cwd: str = "",
    known: SessionState | None = None,
    reached: Store | None = None,
) -> dict[str, Any]:
    """Memories on the scope of the first file whose scope the session has not had, or why there are none.

    Args:
        role: "" for the role the session has.
        files: what is written or edited, absolute or relative to `cwd`; they need not exist yet.
        cwd: where the agent works; "" for what the session's state knows, else the current folder.
        known: the state as it was just written; None to read it.

    Raises:
        Failure: the state cannot be read or written (STATE_...).
    """
    began = time.perf_counter()
    now = clock.now_ms()
    role = state.role_name(role)
    set_aside, is_new = "", False
    if known is None:
        with state.locked(session_id):
            known, set_aside = state.load(session_id)
        is_new = known is None
    current = known or shape.blank(session_id, role or "interactive", now)
    current["role"] = role or current["role"]
    scopes = _scopes(files, cwd or current["cwd"], config)
    fresh = [found for found in scopes if found["name"] not in current["injectedScopes"]]
    busy = bool(fresh) and zones.is_busy(current["injectionInFlight"], now, state.is_alive)
    asked = fresh[0] if fresh and not busy else None
    if asked is not None and is_new:
        with state.locked(session_id):
            state.store(current)
    if reached is None:
        from session.store import Store

        reached = Store(config, now)
    if asked is None:
        reason = NO_SCOPE if not scopes else "in-flight" if busy else ALREADY
        return {**injection.skipped(session_id, reason, reached, set_aside), "scope": _first(scopes)}
    found = reached.recall(asked["query"], meanwhile=injection.import_ahead)
    made = None
    if found is not None:
        from session.selection import select

        known_ids = refresh.known_ids(current)
        made = compose(asked["name"], [memory for memory in select(found, current) if memory["id"] not in known_ids])
    name = asked["name"]
    overtaken = False

    def change(known: SessionState) -> SessionState:
        nonlocal overtaken
        overtaken = name in known["injectedScopes"]
        if overtaken or found is None:
            return known
        known = {**known, "role": current["role"], "injectedScopes": [*known["injectedScopes"], name]}
        return injection.handed_out(known, made["memories"], asked["query"]) if made is not None else known

    # Without a mark of what is in flight: replacing the file costs 2 ms, and who comes second sees it here.
    injection.settle(current, reached, change)
    if overtaken:
        return {**injection.skipped(session_id, ALREADY, reached, set_aside), "scope": name}
    noted = [session_event.set_aside_event(current["role"], session_id, set_aside, now)] if set_aside else []
    about = {"scope": asked["name"], "query": asked["query"]}
    if made is None:
        reached.note(noted)
        reason = "no-results" if found is not None else "failed"
        return {**injection.skipped(session_id, reason, reached, set_aside), **about}
    identifiers = [memory["id"] for memory in made["memories"]]
    told = {
        **about,
        "hitCount": len(identifiers),
        "memoryIds": identifiers,
        "contentChars": len(made["content"]),
        "estimatedTokens": cost(made["content"]),
        "duration_ms": round((time.perf_counter() - began) * 1000, 2),
    }
    noted.append(session_event.event("project.context.injected", current["role"], session_id, told, now))
    reached.note(noted, recalled=identifiers)
    return injection.injected(session_id, CUSTOM_TYPE, made["content"], told, reached, set_aside)


def compose(name: str, memories: Sequence[Memory]) -> ProjectText | None:
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


def _scopes(files: Sequence[str], cwd: str, config: Config) -> list[Scope]:
    """The scopes of the files, each once."""
    if not cwd:
        try:
            cwd = os.getcwd()
        except OSError:  # it was removed
            return []
    found: dict[str, Scope] = {}
    for path in files[: shape.FILES_KEPT]:
        known = scope.of_file(path, cwd, config.scopes) if path else None
        if known is not None:
            found.setdefault(known["name"], known)
    return list(found.values())


def _first(scopes: Sequence[Scope]) -> str | None:
    return scopes[0]["name"] if scopes else None
