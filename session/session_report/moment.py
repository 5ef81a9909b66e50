"""What happened in a session at one moment, as a plain record: from its events, injections, compactions and hooks.

A moment has `at` (ISO), `kind` (start, zone, recall, checkpoint, compaction, injection, skipped, feedback, error,
event) and `text`, a line that says it; where known `ms`, `tokens` and, of an injection, `customType`, `content` as the
agent got it, and `memories`: id, text and outcome (echo, fizzle, or open while neither is known) of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core import clock
from core.quoting import DELIMITER, clip
from core.records import Compaction, HookCall, Injected, Told

Moment = dict[str, Any]
Timed = tuple[int, Moment]
"""A moment with its time in ms since the epoch."""

_SKIPPED = {
    "rapid-recompaction": "the last one was less than the cooldown before",
    "no-checkpoint": "nothing was known of the session",
    "no-results": "nothing bore on it",
    "failed": "the store could not be used",
}
_OWN = ("session-lifecycle", "memory-enforcer", "memory-feedback", "recall-cli")
_COMPACTION_MS = 120_000
"""A client writes its compaction into the transcript so long after its hook, or before."""
_VALUE_CHARS = 80


def of_events(events: Sequence[Told], injected: Sequence[Injected], texts: Mapping[str, str]) -> list[Timed]:
    """What a session's events tell, but for those of hooks and of its compactions.

    Args:
        injected: the texts that are kept of its injections.
        texts: memories by their ids.
    """
    verdicts = [one for one in events if one["action"] in ("memory.echo", "memory.fizzle")]
    found = [_injection(one, verdicts, texts) for one in injected]
    kept = {one["id"] for one in injected}
    is_hot = False
    for event in events:
        action, about = event["action"].removeprefix("gateway."), event["metadata"]
        is_hot = is_hot and action != "compaction.before"
        if event["id"] in kept or event["component"] == "hook" or action == "compaction.before":
            continue
        if event["component"] not in _OWN:
            found.append(_other(event))
        elif "contentChars" in about:  # before texts were kept
            line = f"{action}: {_count(about, 'contentChars')} characters, of which no text is kept"
            found.append(_timed(event["at"], "injection", line))
        elif action in ("compaction.extract.warm", "compaction.extract.hot"):
            at = _percent(about.get("percent"))
            if is_hot:  # told once more when the task goes into memory
                found.append(_timed(event["at"], "checkpoint", f"the task is written to memory, at {at}"))
            else:
                found.append(_timed(event["at"], "zone", f"{action.rpartition('.')[2]} from {at} on"))
            is_hot = is_hot or action.endswith("hot")
        elif action == "compaction.checkpoint":
            parts = [f"task of {_count(about, 'taskChars')} characters", f"{_count(about, 'filesCount')} files"]
            parts += [f"{_count(about, 'recallHits')} memories", f"{_count(about, 'queriesCount')} queries"]
            line = ", ".join(parts) + ("; the task is in memory" if about.get("written") else "")
            found.append(_timed(event["at"], "checkpoint", line))
        elif action in ("memory.recall.completed", "task.recalled"):
            of = " memories for the task" if action == "task.recalled" else f" of {_count(about, 'found')} memories"
            asked = f": “{about['query']}”" if about.get("query") else ""  # none of a session in an excluded folder
            line = f"{_count(about, 'returned')}{of}{asked}"
            found.append(_timed(event["at"], "recall", line, ms=event["ms"]))
        elif action in ("memory.echo", "memory.fizzle"):
            outcome, identifier = action.rpartition(".")[2], str(about.get("memoryId", ""))
            said = f"the agent said {_count(about, 'termsMatched')} of its words" if outcome == "echo" else "not used"
            line = f"{outcome}: {texts.get(identifier) or identifier} ({said})"
            found.append(_timed(event["at"], "feedback", line))
        elif action == "compaction.inject.skipped":
            why = str(about.get("reason", ""))
            found.append(_timed(event["at"], "skipped", f"no note: {_SKIPPED.get(why, why)}"))
        elif action != "memory.recall.started":
            found.append(_other(event))
    return found


def of_compactions(events: Sequence[Told], archived: Sequence[Compaction]) -> list[Timed]:
    """The compactions of a session: as its hooks told of them, with what the transcript says of each."""
    left = list(archived)
    found = []
    for event in events:
        if event["action"].removeprefix("gateway.") != "compaction.before":
            continue
        about = event["metadata"]
        fitting = [one for one in left if not one["at"] or abs(one["at"] - event["at"]) <= _COMPACTION_MS]
        line = f"at {_percent(about.get('contextPercent'))}"
        tokens, window = about.get("contextTokens"), about.get("contextLimit")
        if isinstance(tokens, int):
            line += f", {tokens:,} tokens" + (f" of {window:,}" if isinstance(window, int) else "")
        if fitting:
            left.remove(fitting[0])
            line += _summary(fitting[0])
        found.append(_timed(event["at"], "compaction", line))
    return found + [_timed(one["at"], "compaction", f"told by the transcript{_summary(one)}") for one in left]


def of_hooks(hooks: Sequence[HookCall]) -> list[Timed]:
    """Where a session began or was taken up again, and hooks that were late, failed or did a part of their work."""
    found = []
    for one in hooks:
        if one["kind"] == "start" and one["outcome"] == "ok":
            found.append(_timed(began(one), "start", f"the client starts ({one['event']})", ms=one["ms"]))
        if one["outcome"] != "ok":
            line = f"hook {one['event'] or 'of an unknown event'} {one['outcome']}: {one['error']}"
            found.append(_timed(one["at"], "error", line, ms=one["ms"]))
    return found


def began(hook: HookCall) -> int:
    """When a hook began, in ms since the epoch: what it tells of itself it tells at its end."""
    return hook["at"] - int(hook["ms"] or 0)


def _timed(at: int, kind: str, text: str, *, ms: float | None = None, **more: Any) -> Timed:
    moment = {"at": clock.iso(at or None), "kind": kind, "text": " ".join(text.split())}
    return at, {**moment, **({} if ms is None else {"ms": ms}), **more}


def _injection(one: Injected, verdicts: Sequence[Told], texts: Mapping[str, str]) -> Timed:
    """What the agent was given, without the frame around it, and what became of the memories in it."""
    inside = [line for line in one["text"].split("\n") if not line.startswith((f"<{DELIMITER}", f"</{DELIMITER}"))]
    heading = next((line for line in inside if line.strip()), "").lstrip("# ")
    memories = [
        {"id": name, "text": texts.get(name, ""), "outcome": _outcome(verdicts, name, one["at"])}
        for name in one["memories"]
    ]
    more = {"customType": one["kind"], "tokens": one["tokens"], "content": "\n".join(inside), "memories": memories}
    return _timed(one["at"], "injection", heading, ms=one["ms"], **more)


def _outcome(verdicts: Sequence[Told], memory: str, since: int) -> str:
    of_it = [one for one in verdicts if one["at"] >= since and one["metadata"].get("memoryId") == memory]
    return of_it[0]["action"].rpartition(".")[2] if of_it else "open"


def _other(event: Told) -> Timed:
    """An event that somebody sent with this session's id, or a fault."""
    said = ", ".join(f"{key} {clip(str(value), _VALUE_CHARS)}" for key, value in event["metadata"].items())
    why = f": {event['error']}" if event["error"] else f" ({said})" if said else ""
    kind = "error" if event["level"] in ("warn", "error", "fatal") else "event"
    return _timed(event["at"], kind, f"{event['action']}{why}", ms=event["ms"])


def _summary(one: Compaction) -> str:
    return f"; the summary has {len(one['summary']):,} characters" if one["summary"] else ""


def _percent(value: object) -> str:
    is_known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:.0f} %" if is_known else "a context of unknown size"


def _count(about: Mapping[str, Any], name: str) -> str:
    value = about.get(name)
    return f"{value:,}" if isinstance(value, int) else "0"
