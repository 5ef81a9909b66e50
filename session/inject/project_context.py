"""What `inject project` does: memories on the part of a project that an agent begins to edit, once each (ADR-0204)."""

from __future__ import annotations

import os
import time

from core import clock
from core.quoting import clip, cost, enclose, one_line
from session import session_event
from session.inject import refresh_rules, runner, scope
from session.state import schema, state_file, zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from core.config import Config
    from session.inject.scope import Scope
    from session.session_store import Store
    from session.state.schema import Memory, SessionState

    class ProjectText(TypedDict):
        """A project's text and the memories in it."""

        content: str
        memories: list[Memory]

    class Decided(TypedDict):
        """The scope to tell of, None where there is none, and why; `first` names the first of the files' scopes."""

        asked: Scope | None
        reason: str
        first: str | None

    class Prepared(TypedDict):
        """A text before it is handed out."""

        scope: Scope
        failed: bool
        """The store did not answer."""
        made: ProjectText | None
        began: float
        """By `time.perf_counter()`."""


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
    reached: Store | None = None,
) -> dict[str, Any]:
    """Memories on the scope of the first file whose scope the session has not had, or why there are none.

    Args:
        role: "" for the role the session has.
        files: what is written or edited, absolute or relative to `cwd`; they need not exist yet.
        cwd: where the agent works; "" for what the session's state knows, else the current folder.

    Raises:
        Failure: the state cannot be read or written (STATE_...).
    """
    now = clock.now_ms()
    role = state_file.role_name(role)
    with state_file.locked(session_id):
        known, set_aside = state_file.load(session_id)
        current = known or schema.blank(session_id, role or "interactive", now)
        current["role"] = role or current["role"]
        decided = decide(current, files, cwd, config, now)
        if decided["asked"] is not None and known is None:
            state_file.store(current)
    if reached is None:
        from session.session_store import Store

        reached = Store(config, now)
    if decided["asked"] is None:
        return {**runner.skipped(session_id, decided["reason"], reached, set_aside), "scope": decided["first"]}
    prepared = prepare(current, decided["asked"], reached)
    overtaken = False

    def change(known: SessionState) -> SessionState:
        nonlocal overtaken
        overtaken = is_known(known, prepared)
        return known if overtaken else settled({**known, "role": current["role"]}, prepared)

    # Without a mark of what is in flight: replacing the file costs 2 ms, and who comes second sees it here.
    runner.settle(current, reached, change)
    if overtaken:
        return {**runner.skipped(session_id, ALREADY, reached, set_aside), "scope": prepared["scope"]["name"]}
    return told(current, prepared, reached, set_aside)


def decide(current: SessionState, files: Sequence[str], cwd: str, config: Config, now: int) -> Decided:
    """Which scope is to be told of, by what `current` says; `now` in ms since the epoch, the others as of `inject`."""
    scopes = _scopes(files, cwd or current["cwd"], config)
    fresh = [found for found in scopes if found["name"] not in current["injectedScopes"]]
    busy = bool(fresh) and zones.is_busy(current["injectionInFlight"], now, state_file.is_alive)
    reason = NO_SCOPE if not scopes else "in-flight" if busy else ALREADY
    return {"asked": fresh[0] if fresh and not busy else None, "reason": reason, "first": _first(scopes)}


def prepare(current: SessionState, asked: Scope, reached: Store) -> Prepared:
    """Recall for a scope and put the text together. Nothing is noted, no lock is held."""
    began = time.perf_counter()
    found = reached.recall(asked["query"])
    made = None
    if found is not None:
        from session.inject.selection import select

        known_ids = refresh_rules.known_ids(current)
        made = compose(asked["name"], [memory for memory in select(found, current) if memory["id"] not in known_ids])
    return {"scope": asked, "failed": found is None, "made": made, "began": began}


def is_known(current: SessionState, prepared: Prepared) -> bool:
    """Whether the session has had the scope: another hook was faster."""
    return prepared["scope"]["name"] in current["injectedScopes"]


def settled(current: SessionState, prepared: Prepared) -> SessionState:
    """The state after the text was handed out, or nothing was found; as it was where recall failed."""
    if prepared["failed"]:
        return current
    asked, made = prepared["scope"], prepared["made"]
    current = {**current, "injectedScopes": [*current["injectedScopes"], asked["name"]]}
    return runner.handed_out(current, made["memories"], asked["query"]) if made is not None else current


def told(current: SessionState, prepared: Prepared, reached: Store, set_aside: str = "") -> dict[str, Any]:
    """The result of `inject`, and its events.

    Args:
        set_aside: where a damaged state was set aside to.
    """
    now = clock.now_ms()
    session_id, made = current["sessionId"], prepared["made"]
    noted = [session_event.set_aside_event(current["role"], session_id, set_aside, now)] if set_aside else []
    about = {"scope": prepared["scope"]["name"], "query": prepared["scope"]["query"]}
    if made is None:
        reached.note(noted)
        reason = "failed" if prepared["failed"] else "no-results"
        return {**runner.skipped(session_id, reason, reached, set_aside), **about}
    identifiers = [memory["id"] for memory in made["memories"]]
    handed = {
        **about,
        "hitCount": len(identifiers),
        "memoryIds": identifiers,
        "contentChars": len(made["content"]),
        "estimatedTokens": cost(made["content"]),
        "duration_ms": round((time.perf_counter() - prepared["began"]) * 1000, 2),
    }
    noted.append(session_event.event("project.context.injected", current["role"], session_id, handed, now))
    reached.note(noted, recalled=identifiers)
    return runner.injected(session_id, CUSTOM_TYPE, made["content"], handed, reached, set_aside)


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
    for path in files[: schema.FILES_KEPT]:
        known = scope.of_file(path, cwd, config.scopes) if path else None
        if known is not None:
            found.setdefault(known["name"], known)
    return list(found.values())


def _first(scopes: Sequence[Scope]) -> str | None:
    return scopes[0]["name"] if scopes else None
