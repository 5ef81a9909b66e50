"""A session's turns in order: what the user asked, how full the context was, what the hooks cost, what happened.

A moment has `at` (ISO), `kind` and `text`, a line that says it; where known `ms`, `tokens` and, of an injection,
`customType`, `content` as the agent got it, and `memories`: id, text, and outcome (echo, fizzle, open) of each.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core import clock
from core.quoting import DELIMITER, clip

Moment = dict[str, Any]
Timed = tuple[int, Moment]
"""A moment with its time in ms since the epoch."""

PROMPT_CHARS = 240
_SAME_MS = 30_000
"""A hook tells of a prompt so long before the transcript's time of it, or after, at most."""
_COMPACTION_MS = 120_000
"""A client writes its compaction into the transcript so long after its hook, or before."""
_READ_CHARS, _VALUE_CHARS = 4_000, 80
_ORDER = {"start": 0, "compaction": 2, "skipped": 3, "injection": 3}
"""Of what has the same time; the rest stands between."""
_OWN = ("session-lifecycle", "gateway-context", "memory-enforcer", "memory-feedback", "recall-cli")
RECALLS = ("memory.recall.completed", "task.recalled")


def of_events(events: Sequence[Moment], injected: Sequence[Moment], texts: Mapping[str, str]) -> list[Timed]:
    """What a session's events tell, and its injections; not hooks and compactions. `texts`: memories by their ids."""
    verdicts = [one for one in events if one["action"] in ("memory.echo", "memory.fizzle")]
    found = [_injection(one, verdicts, texts) for one in injected]
    kept = {one["id"] for one in injected}
    is_hot = False
    for event in events:
        action, about = event["action"].removeprefix("gateway."), event["metadata"]
        is_hot = is_hot and action != "compaction.before"
        if event["id"] in kept or event["component"] == "hook" or action == "compaction.before":
            continue
        kind, line = "", ""
        if event["component"] not in _OWN:
            pass
        elif action in ("compaction.extract.warm", "compaction.extract.hot"):
            at = _percent(about.get("percent"))
            kind, line = "zone", f"{action.rpartition('.')[2]} from {at} on"
            if is_hot:  # told once more when the task goes into memory
                kind, line = "checkpoint", f"the task is written to memory, at {at}"
            is_hot = is_hot or action.endswith("hot")
        elif action == "compaction.checkpoint":
            parts = [f"task of {_count(about, 'taskChars')} characters", f"{_count(about, 'filesCount')} files"]
            parts += [f"{_count(about, 'recallHits')} memories", f"{_count(about, 'queriesCount')} queries"]
            kind, line = "checkpoint", ", ".join(parts) + ("; the task is in memory" if about.get("written") else "")
        elif action in RECALLS and (about.get("returned") or action != "task.recalled"):
            of = " memories for the task" if action == "task.recalled" else f" of {_count(about, 'found')} memories"
            asked = f": “{about['query']}”" if about.get("query") else ""  # none of a session in an excluded folder
            kind, line = "recall", f"{_count(about, 'returned')}{of}{asked}"
        elif action in ("memory.echo", "memory.fizzle"):
            identifier = str(about.get("memoryId", ""))
            used = f"used, the agent said {_count(about, 'termsMatched')} of its words"
            outcome = used if action == "memory.echo" else "ignored"
            kind, line = "feedback", f"{outcome}: {texts.get(identifier) or identifier}"
        elif action == "compaction.inject.skipped":
            kind, line = "skipped", f"no note: {about.get('reason', '')}"
        elif action in ("memory.recall.started", "task.recalled"):
            continue
        ms = event["ms"] if kind == "recall" else None
        found.append(_timed(event["at"], kind, line, ms=ms) if kind else _other(event))
    return found


def of_compactions(events: Sequence[Moment], archived: Sequence[Moment]) -> list[Timed]:
    """The compactions of a session: as its hooks told of them, with what the transcript says of each."""
    left = list(archived)
    found = []
    for event in events:
        if event["action"].removeprefix("gateway.") != "compaction.before":
            continue
        about = event["metadata"]
        line = f"at {_percent(about.get('contextPercent'))}"
        tokens, window = about.get("contextTokens"), about.get("contextLimit")
        if isinstance(tokens, int):
            line += f", {tokens:,} tokens" + (f" of {window:,}" if isinstance(window, int) else "")
        fitting = [one for one in left if not one["at"] or abs(one["at"] - event["at"]) <= _COMPACTION_MS]
        if fitting:
            left.remove(fitting[0])
            line += _summary(fitting[0])
        found.append(_timed(event["at"], "compaction", line))
    return found + [_timed(one["at"], "compaction", f"(from the transcript){_summary(one)}") for one in left]


def of_hooks(hooks: Sequence[Moment]) -> list[Timed]:
    """Where a session began or was taken up again, and hooks that were late, failed or did a part of their work."""
    found = []
    for one in hooks:
        if one["outcome"] != "ok":
            line = f"hook {one['event'] or 'of an unknown event'} {one['outcome']}: {one['error']}"
            found.append(_timed(one["at"], "error", line, ms=one["ms"]))
        elif one["kind"] == "start":
            found.append(_timed(began(one), "start", f"the client starts ({one['event']})", ms=one["ms"]))
    return found


def began(hook: Moment) -> int:
    """When a hook began, in ms since the epoch: what it tells of itself it tells at its end."""
    return int(hook["at"]) - int(hook["ms"] or 0)


def _timed(at: int, kind: str, text: str, *, ms: float | None = None, **more: Any) -> Timed:
    moment = {"at": clock.iso(at or None), "kind": kind, "text": " ".join(text.split())}
    return at, {**moment, **({} if ms is None else {"ms": ms}), **more}


def _injection(one: Moment, verdicts: Sequence[Moment], texts: Mapping[str, str]) -> Timed:
    inside = [line for line in one["text"].split("\n") if not line.startswith((f"<{DELIMITER}", f"</{DELIMITER}"))]
    heading = next((line for line in inside if line.strip()), "").lstrip("# ")
    outcomes: dict[str, str] = {}
    for verdict in verdicts:
        if verdict["at"] >= one["at"]:
            outcomes.setdefault(str(verdict["metadata"].get("memoryId")), verdict["action"].rpartition(".")[2])
    memories = [
        {"id": name, "text": texts.get(name, ""), "outcome": outcomes.get(name, "open")} for name in one["memories"]
    ]
    more = {"customType": one["kind"], "tokens": one["tokens"], "content": "\n".join(inside), "memories": memories}
    return _timed(one["at"], "injection", heading, ms=one["ms"], **more)


def _other(event: Moment) -> Timed:
    said = ", ".join(f"{key} {clip(str(value), _VALUE_CHARS)}" for key, value in event["metadata"].items())
    why = f": {event['error']}" if event["error"] else f" ({said})" if said else ""
    kind = "error" if event["level"] in ("warn", "error", "fatal") else "event"
    return _timed(event["at"], kind, f"{event['action']}{why}", ms=event["ms"])


def _summary(one: Moment) -> str:
    return f"; the summary has {len(one['summary']):,} characters" if one["summary"] else ""


def _percent(value: object) -> str:
    is_known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:.0f} %" if is_known else "a context of unknown size"


def _count(about: Mapping[str, Any], name: str) -> str:
    value = about.get(name)
    return f"{value:,}" if isinstance(value, int) else "0"


def turns_of(
    hooks: Sequence[Moment],
    prompts: Sequence[Moment],
    calls: Sequence[tuple[int, int, bool]],
    moments: Sequence[Timed],
    *,
    zone_of: Callable[[float | None], str],
) -> list[Moment]:
    """The turns, oldest first: each a message of the user and what followed it; turn 0 is what was before the first."""
    starts = [(0, ""), *_starts(hooks, prompts)]
    begins = [at for at, _ in starts]
    hooks_of: list[list[Moment]] = [[] for _ in starts]
    calls_of: list[list[bool]] = [[] for _ in starts]
    moments_of: list[list[Moment]] = [[] for _ in starts]
    for hook in hooks:
        hooks_of[_index(begins, began(hook))].append(hook)
    for at, prompt, failed in calls:
        calls_of[_index(begins, at) if at else min(prompt, len(starts) - 1)].append(failed)
    for at, moment in sorted(moments, key=lambda timed: (timed[0], _ORDER.get(timed[1]["kind"], 1))):
        moments_of[_index(begins, at)].append(moment)
    last = max([one["at"] for one in hooks[-1:]] + [at for at, _, _ in calls[-1:]] + begins[-1:])
    found = []
    for number, (start, text) in enumerate(starts):
        own, made, happened = hooks_of[number], calls_of[number], moments_of[number]
        if not (number or own or made or happened):
            continue
        at = start or (began(own[0]) if own else 0)
        until = begins[number + 1] if number + 1 < len(begins) else last
        percent = next((hook["percent"] for hook in reversed(own) if hook["percent"] is not None), None)
        found.append(
            {
                "number": number,
                "at": clock.iso(at) if at else (happened[0]["at"] if happened else "unknown"),
                "seconds": round(max(0, until - at) / 1000, 1) if at else None,
                "prompt": text,
                "contextPercent": None if percent is None else round(percent, 1),
                "zone": zone_of(percent),
                "toolCalls": len(made),
                "failedCalls": sum(made),
                "hooks": len(own),
                "hookMs": round(sum(hook["ms"] or 0 for hook in own), 1),
                "moments": happened,
            }
        )
    return found


def _starts(hooks: Sequence[Moment], prompts: Sequence[Moment]) -> list[tuple[int, str]]:
    """When each turn began, and its prompt: what a hook told and what is archived are one where their times agree."""
    told = [began(one) for one in hooks if one["kind"] == "prompt"]
    texts: dict[int, str] = dict.fromkeys(told, "")
    for prompt in prompts:
        near = [at for at in told if abs(at - prompt["at"]) <= _SAME_MS and not texts[at]]
        at = min(near, key=lambda one: abs(one - prompt["at"])) if near else prompt["at"]
        if not texts.get(at):
            texts[at] = clip(" ".join(prompt["text"][:_READ_CHARS].split()), PROMPT_CHARS)
    return sorted(texts.items())


def _index(begins: Sequence[int], at: int) -> int:
    return max(0, bisect_right(begins, at) - 1)
