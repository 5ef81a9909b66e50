"""What the event log tells of a client's hooks: when they were last called, which failed, which were late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clients import registry
from core import clock
from core.repository import switches
from memory.archive import known_files
from session.doctor.finding import Finding, error, note, warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.registry import Client
    from core.repository.switches import Silence
    from core.store.upkeep.called_hooks import Called
    from session.doctor.hooks import Condition

PERIOD_MS = clock.DAY_MS
_SILENCE_MS = clock.HOUR_MS
"""A session in which no hook is called for so long has none."""
_ERROR_CHARS = 200


def events(client: Client, calls: Sequence[Called]) -> list[dict[str, Any]]:
    """For each event that a hook is entered for, and each that was called: when it last was, and how it went."""
    known = {one.event: one for one in calls if one.agent == client.name}
    names = dict.fromkeys((*client.hooks().KINDS, *known))
    return [_row(name, known.get(name)) for name in names]


def _row(name: str, called: Called | None) -> dict[str, Any]:
    if called is None:
        return {"event": name, "lastAt": None, "calls24h": 0, "failed24h": 0, "late24h": 0, "lastError": None}
    return {
        "event": name,
        "lastAt": clock.iso(called.last),
        "calls24h": called.count,
        "failed24h": called.failed,
        "late24h": called.late,
        "lastError": called.error or None,
    }


def findings(client: Client, calls: Sequence[Called], condition: Condition, silences: list[Silence]) -> list[Finding]:
    """Hooks that failed or were late in the last day, and those that were not called though the client was used.

    Args:
        silences: when anything was switched off: that no event is known of a session of then says nothing.
    """
    own = [one for one in calls if one.agent == client.name]
    found = []
    for called in own:
        ending = f"; the last error: {' '.join(called.error.split())[:_ERROR_CHARS]}" if called.error else ""
        fix = "joelclaw otel search hook --level warn,error"
        if called.failed:
            about = f"its hook for {called.event or '?'} failed {_times(called.failed)} in 24 h{ending}"
            found.append(warning("HOOK_FAILED", client.name, about, fix))
        if called.late:
            about = f"its hook for {called.event or '?'} was late {_times(called.late)} in 24 h: no answer{ending}"
            found.append(warning("HOOK_LATE", client.name, about, fix))
    if condition.installed:
        broken = any(one.severity == "error" for one in condition.findings)
        found += [one for one in _uncalled(client, own, condition, silences) if one.severity != "note" or not broken]
    return found


def _uncalled(client: Client, own: Sequence[Called], condition: Condition, silences: list[Silence]) -> list[Finding]:
    last = max((one.last for one in own), default=None)
    newest = _newest_transcript(client)
    if newest is not None and switches.is_silent(silences, newest):
        return []
    fix = f"start {client.title} anew and use it; see that it is told of in `joelclaw otel search hook`"
    if last is not None:
        if newest is not None and newest - max(last, condition.since or 0) > _SILENCE_MS:
            about = f"no hook was called since {clock.iso(last)}, though a session was written at {clock.iso(newest)}"
            return [warning("HOOKS_SILENT", client.name, about, fix)]
        return []
    if newest is not None and newest > (condition.since or newest):
        about = f"no hook was ever called, though a session was written at {clock.iso(newest)}"
        return [error("HOOK_NEVER_CALLED", client.name, about, fix)]
    return [note("HOOK_NEVER_CALLED", client.name, "no hook was called yet", f"use {client.title} once")]


def _newest_transcript(client: Client) -> int | None:
    """When a session file of the client was last written, in ms; None without one."""
    if client.name not in registry.KEEPING_FILES:
        return None
    times = [file.changed // 1_000_000 for file in known_files.find((), client.name, every=True)]
    return max(times, default=None)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
