"""What a gateway's refresh holds besides memories: events, the daily log, notes of the vault (ADR-0204, 2 and 3).

A gateway works on all projects, for hours. It wants to know what happened meanwhile, and never its own words again:
the sections of gateways in the log, and automated messages in those of others, are left out. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.clock import HOUR_MS, MINUTE_MS
from core.quoting import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    import apsw

    from core.records import Event, EventQuery, Hit
    from session.session import Session
    from session.state import Memory, SessionState

LINE_CHARS = 120  # of an event, or of an entry of the log
# What joelclaw reports about itself is no news.
_OWN_COMPONENTS = (
    "session-lifecycle gateway-context memory-enforcer memory-feedback recall-cli knowledge-cli hook observe config"
    " home project store switch".split()
)


def block(session: Session, hits: Sequence[Hit], new: Container[str]) -> tuple[list[str], list[Memory]]:
    """The lines above the memories of a refresh, and the memories; nothing if nothing is new since the last refresh.

    Args:
        hits: the memories on the topic.
        new: the ids of those that changed or that the agent does not have.
    """
    from session.reactions.injection import select

    state = session.state
    compacted_at = state.last_compaction_at or 0
    given_at = state.injected_kinds.get("context-refresh", 0)
    replaces = given_at > compacted_at
    lines, is_new = news(session, given_at if replaces else compacted_at)
    shown = [hit for hit in hits if replaces or hit["id"] in new]
    if not is_new and all(hit["id"] not in new for hit in shown):
        return [], []
    return [*(["This replaces the one before."] if replaces else []), *lines], select(shown, state)


def news(session: Session, last: int) -> tuple[list[str], bool]:
    """What happened in the last two hours and today, as lines, and whether any of it is newer than `last` (ms)."""
    from core.store import events
    from session.reactions import daily_log

    def read(db: apsw.Connection) -> list[Event]:
        since = session.now - 2 * HOUR_MS
        levels: tuple[tuple[str, ...], ...] = (("error", "fatal", "warn"), ("info",))
        asked: list[EventQuery] = [
            {"since": since, "levels": names, "hidden_components": _OWN_COMPONENTS} for names in levels
        ]
        return [event for query in asked for event in events.newest(db, query, 100)]

    none: list[Event] = []
    found = session.store.read("events", read, none)
    entries = daily_log.entries_of_others(session.now, session.config)[-3:]
    lines = ["**Last 2 hours:**", *map(_bullet, event_lines(found, session.now))] if found else []
    lines += ["**Today:**", *(_bullet(line) for _, line in entries)] if entries else []
    is_new = any(event["timestamp"] > last for event in found) or any(at > last for at, _ in entries)
    return lines, is_new


def event_lines(events: Iterable[Event], now: int) -> list[str]:
    """At most five lines: what failed, the newest first, then what was done, the most frequent first."""
    failures: dict[tuple[str, str], list[Event]] = {}
    successes: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        groups = successes if event["level"] == "info" and event["success"] else failures
        groups.setdefault((event["action"], event["source"]), []).append(event)
    by_time = sorted(failures.values(), key=lambda found: -found[0]["timestamp"])
    by_count = sorted(successes.values(), key=lambda found: (-len(found), -found[0]["timestamp"]))
    return [_event_line(found, now) for found in [*by_time, *by_count][:5]]


def _event_line(found: Sequence[Event], now: int) -> str:
    """A line for events of the same kind, the newest first."""
    newest = found[0]
    is_plain = newest["level"] == "info"
    level = "" if is_plain and newest["success"] else "failed " if is_plain else f"{newest['level']} "
    times = f" ×{len(found)}" if len(found) > 1 else ""
    error = newest.get("error") or ""
    why = "" if error in ("", "operation_failed") else f": {error}"
    age = max(0, now - newest["timestamp"]) // MINUTE_MS
    return f"{level}{newest['action']} ({newest['source']}){times}, {age} min ago{why}"


def _bullet(line: str) -> str:
    return f"- {clip(one_line(line), LINE_CHARS)}"


def vault_notes(message: str, state: SessionState) -> dict[str, str]:
    """By name, a line for each note of the vault that a prompt names by number or path, or asks for ("decisions …")."""
    words = [word.strip("`'\"()[],;:?!") for word in message.split()]
    paths = [word for word in words if word.endswith(".md") or "/Vault/" in word]
    if not (paths or any(word.lower().startswith(("adr", "decision")) for word in words)):
        return {}
    from contextlib import suppress

    from core.errors import Failure
    from memory.knowledge import vault

    lines: dict[str, str] = {}
    for reference in paths or [message]:
        with suppress(Failure):  # there is no vault, or nothing in it
            for match, note in vault.find(vault.root(), reference):
                name = match.path.rpartition("/")[2]
                heading = next((line for line in note["content"].splitlines() if line.startswith("# ")), name)
                if name not in state.told_names:
                    lines[name] = f"- {one_line(heading)}: {one_line(match.path)}"
    return dict(list(lines.items())[:3])
