"""What happened in a session at one moment, as a plain record: from its events, injections, compactions and hooks."""

from __future__ import annotations

from core import clock
from core.quoting import DELIMITER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, NotRequired, TypedDict

    from core.records import Compaction, HookCall, Injected, Told

    Kind = Literal[
        "start", "zone", "recall", "checkpoint", "compaction", "injection", "skipped", "feedback", "error", "event"
    ]

    class Handed(TypedDict):
        """A memory that was in an injection. `outcome`: echo, fizzle, or open while neither is known."""

        id: str
        text: str
        outcome: str

    class Moment(TypedDict):
        """One thing that happened. `text` says it in a line; an injection has `content`, as the agent got it."""

        at: str
        kind: Kind
        text: str
        ms: NotRequired[float]
        tokens: NotRequired[int]
        customType: NotRequired[str]
        content: NotRequired[str]
        memories: NotRequired[list[Handed]]

    Timed = tuple[int, Moment]
    """A moment with its time in ms since the epoch."""

_GATEWAY = "gateway."
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
    verdicts = _verdicts(events)
    found = [_injection(one, verdicts, texts) for one in injected]
    is_hot = False
    kept = {one["id"] for one in injected}
    for event in events:
        action, about = event["action"].removeprefix(_GATEWAY), event["metadata"]
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
            found.append(_timed(event["at"], "checkpoint", _checkpoint(about)))
        elif action in ("memory.recall.completed", "task.recalled"):
            found.append(_recall(event, action == "task.recalled"))
        elif action in ("memory.echo", "memory.fizzle"):
            found.append(_timed(event["at"], "feedback", _feedback(action.rpartition(".")[2], about, texts)))
        elif action == "compaction.inject.skipped":
            why = str(about.get("reason", ""))
            found.append(_timed(event["at"], "skipped", f"no signpost: {_SKIPPED.get(why, why)}"))
        elif action != "memory.recall.started":
            found.append(_other(event))
    return found


def of_compactions(events: Sequence[Told], archived: Sequence[Compaction]) -> list[Timed]:
    """The compactions of a session: as its hooks told of them, with what the transcript says of each."""
    begun = [event for event in events if event["action"].removeprefix(_GATEWAY) == "compaction.before"]
    left = list(archived)
    found = []
    for event in begun:
        about = event["metadata"]
        fitting = [one for one in left if not one["at"] or abs(one["at"] - event["at"]) <= _COMPACTION_MS]
        summary = 0
        if fitting:
            left.remove(fitting[0])
            summary = len(fitting[0]["summary"])
        line = f"at {_percent(about.get('contextPercent'))}"
        tokens, window = about.get("contextTokens"), about.get("contextLimit")
        if isinstance(tokens, int):
            line += f", {tokens:,} tokens" + (f" of {window:,}" if isinstance(window, int) else "")
        line += f"; the summary has {summary:,} characters" if summary else ""
        found.append(_timed(event["at"], "compaction", line))
    for one in left:
        size = f"; the summary has {len(one['summary']):,} characters" if one["summary"] else ""
        found.append(_timed(one["at"], "compaction", f"told by the transcript{size}"))
    return found


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


def _timed(at: int, kind: Kind, text: str, *, ms: float | None = None) -> Timed:
    moment: Moment = {"at": clock.iso(at or None), "kind": kind, "text": " ".join(text.split())}
    if ms is not None:
        moment["ms"] = ms
    return at, moment


def _injection(one: Injected, verdicts: Mapping[str, Sequence[tuple[int, str]]], texts: Mapping[str, str]) -> Timed:
    """What the agent was given, without the frame around it, and what became of the memories in it."""
    lines = one["text"].split("\n")
    inside = [line for line in lines if not line.startswith((f"<{DELIMITER}", f"</{DELIMITER}"))]
    at, moment = _timed(one["at"], "injection", _heading(inside), ms=one["ms"])
    moment["customType"], moment["tokens"], moment["content"] = one["kind"], one["tokens"], "\n".join(inside)
    moment["memories"] = [
        {"id": name, "text": texts.get(name, ""), "outcome": _outcome(verdicts.get(name, ()), one["at"])}
        for name in one["memories"]
    ]
    return at, moment


def _heading(lines: Sequence[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    return first.lstrip("# ")


def _verdicts(events: Sequence[Told]) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}
    for event in events:
        identifier = event["metadata"].get("memoryId")
        if event["action"] in ("memory.echo", "memory.fizzle") and isinstance(identifier, str):
            found.setdefault(identifier, []).append((event["at"], event["action"].rpartition(".")[2]))
    return found


def _outcome(verdicts: Sequence[tuple[int, str]], since: int) -> str:
    return next((outcome for at, outcome in verdicts if at >= since), "open")


def _checkpoint(about: Mapping[str, Any]) -> str:
    parts = [f"task of {_count(about, 'taskChars')} characters", f"{_count(about, 'filesCount')} files"]
    parts += [f"{_count(about, 'recallHits')} memories", f"{_count(about, 'queriesCount')} queries"]
    written = "; the task is in memory" if about.get("written") else ""
    return f"{', '.join(parts)}{written}"


def _recall(event: Told, own: bool) -> Timed:
    about = event["metadata"]
    of = "" if own else f" of {_count(about, 'found')}"
    asked = f": “{about['query']}”" if about.get("query") else ""  # none of a session in an excluded folder
    line = f"{_count(about, 'returned')}{of} memories{' for the task' * own}{asked}"
    return _timed(event["at"], "recall", line, ms=event["ms"])


def _feedback(outcome: str, about: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    identifier = str(about.get("memoryId", ""))
    did = f"the agent said {_count(about, 'termsMatched')} of its words" if outcome == "echo" else "not used"
    return f"{outcome}: {texts.get(identifier) or identifier} ({did})"


def _other(event: Told) -> Timed:
    """An event that somebody sent with this session's id, or a fault."""
    kind: Kind = "error" if event["level"] in ("warn", "error", "fatal") else "event"
    said = ", ".join(f"{key} {_value(value)}" for key, value in event["metadata"].items())
    why = f": {event['error']}" if event["error"] else f" ({said})" if said else ""
    return _timed(event["at"], kind, f"{event['action']}{why}", ms=event["ms"])


def _value(value: object) -> str:
    text = str(value)
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


def _percent(value: object) -> str:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:.0f} %" if known else "a context of unknown size"


def _count(about: Mapping[str, Any], name: str) -> str:
    value = about.get(name)
    return f"{value:,}" if isinstance(value, int) else "0"
