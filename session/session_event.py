"""Events about one agent session: log records of `otel` with the session's id and role (ADR-0203)."""

from __future__ import annotations

import os

from session.state.state_file import GATEWAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.records import Event
    from session.records import SessionState

COMPONENT = "session-lifecycle"


def event(
    name: str,
    role: str,
    session_id: str,
    about: Mapping[str, Any],
    now: int,
    *,
    component: str = COMPONENT,
    level: str = "info",
) -> Event:
    """An event of this session."""
    from otel.event import new_event

    role = role or "interactive"
    component = "gateway-context" if (role, component) == (GATEWAY, COMPONENT) else component
    return new_event(
        name, source=role, component=component, level=level, metadata=about, duration_ms=about.get("duration_ms"),
        session=session_id, role=role, now=now,
    )  # fmt: skip


def of_state(name: str, state: SessionState, about: Mapping[str, Any], now: int) -> Event:
    """An event of the session that a state is of; a gateway's are told apart (`gateway.compaction.inject`)."""
    return event(by_role(name, state["role"]), state["role"], state["sessionId"], about, now)


def injected(kind: str, text: str) -> dict[str, str]:
    """What the event of an injection carries of its text into the store, redacted: what agents are told is made of
    redacted texts, and two of them may make a secret."""
    from core.redaction import redact

    return {"kind": kind, "text": redact(text)[0]}


def by_role(name: str, role: str) -> str:
    """The name of an event about compactions: a gateway's has a prefix."""
    return f"gateway.{name}" if role == GATEWAY else name


def compaction_count(state: SessionState) -> dict[str, Any]:
    """The number of compactions under the key that the mirrored events have for it."""
    key = "gwCompactionCount" if state["role"] == GATEWAY else "compactionCount"
    return {key: state["checkpoint"]["compactionCount"]}


def set_aside(name: str, role: str, session_id: str, path: str, now: int) -> Event:
    """That a damaged file was set aside to this path, and what it said is not known any more."""
    return event(name, role, session_id, {"file": os.path.basename(path)}, now, level="warn")
