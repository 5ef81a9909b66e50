"""Events about one agent session: log records of `otel` with the session's id and role (ADR-0203)."""

from __future__ import annotations

import os

from session.state import GATEWAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.records import Event
    from session.state import SessionState

COMPONENT = "session-lifecycle"


def event(
    name: str, role: str, session_id: str, about: Mapping[str, Any], now: int, *, component: str = COMPONENT,
    level: str = "info",
) -> Event:  # fmt: skip
    """An event about a session; `about` is its metadata."""
    from otel.event import new_event

    role = role or "interactive"
    component = "gateway-context" if (role, component) == (GATEWAY, COMPONENT) else component
    return new_event(
        name, source=role, component=component, level=level, metadata=about, duration_ms=about.get("duration_ms"),
        session=session_id, role=role, now=now,
    )  # fmt: skip


def by_role(name: str, role: str) -> str:
    """The name of an event about compactions: a gateway's has a prefix (`gateway.compaction.inject`)."""
    return f"gateway.{name}" if role == GATEWAY else name


def compaction_count(state: SessionState) -> dict[str, Any]:
    """The number of compactions, under the key that the mirrored events have for it."""
    return {"gwCompactionCount" if state.is_gateway else "compactionCount": state.compaction_count}


def injected(kind: str, text: str) -> dict[str, str]:
    """An injected text for the store. It is redacted again: two redacted texts side by side may form a secret."""
    from core.redaction import redact

    return {"kind": kind, "text": redact(text)[0]}


def set_aside(name: str, role: str, session_id: str, path: str, now: int) -> Event:
    """A damaged file was renamed to `path`, and what it said is lost."""
    return event(name, role, session_id, {"file": os.path.basename(path)}, now, level="warn")
