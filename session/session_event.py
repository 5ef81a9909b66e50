"""Events about one agent session: log records of `otel` with the session's id and role."""

from __future__ import annotations

import os

from session.state import compacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.store.interface import Event


def event(
    name: str,
    role: str,
    session_id: str,
    about: Mapping[str, Any],
    now: int,
    *,
    component: str = compacted.COMPONENT,
    level: str = "info",
) -> Event:
    """An event of this session."""
    from otel.event import new_event

    role = role or "interactive"
    return new_event(
        name,
        source=role,
        component=component,
        level=level,
        metadata=about,
        duration_ms=about.get("duration_ms"),
        session=session_id,
        role=role,
        now=now,
    )


def set_aside_event(role: str, session_id: str, set_aside: str, now: int) -> Event:
    """That a damaged state file was set aside."""
    about = {"file": os.path.basename(set_aside)}
    return event("session.state.set_aside", role, session_id, about, now, level="warn")
