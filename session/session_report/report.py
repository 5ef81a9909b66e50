"""One session in detail, its turns in order, and a report over all: what hooks cost, what was used, what failed.

A moment of a turn has `at` (ISO), `kind` and `text`, a line that says it; where known `ms`, `tokens` and, of an
injection, `customType`, `content` as the agent got it, and `memories`: id, text, outcome (echo, fizzle, open) of each.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import apsw

from core import clock
from core.config import Config
from core.quoting import DELIMITER, clip
from core.store import calls as stored_calls
from core.store import documents, hook_calls, overview, sessions
from memory.gate import is_own
from memory.reports import LEAST
from session.record import zone_of
from session.session_report import listing

_MEMORY_CHARS = 160
_MOST_ERRORS = 12
_OUTCOMES = ("ok", "degraded", "failed", "late")
"""Of a hook; `late` gave the empty answer at the deadline."""
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


def of_session(db: apsw.Connection, session: str, config: Config) -> dict[str, Any]:
    """What is known of a session."""
    archived = sessions.by_id(db, session)
    about = listing.Known(session, 0, archived, hooks=hook_calls.extent(db, session)).read()
    state = about.state
    hooks, events = hook_calls.of_session(db, session), overview.session_events(db, session)
    injected = hook_calls.injections(db, session)
    prompts = [one for one in sessions.timed_prompts(db, session) if one["text"].strip() and not is_own(one["text"])]
    calls = stored_calls.times(db, session)
    named = [name for one in injected for name in one["memories"]]
    named += [name for event in events if isinstance(name := event["metadata"].get("memoryId"), str)]
    texts = documents.beginnings(db, named, _MEMORY_CHARS)
    moments = of_events(events, injected, texts)
    moments += of_compactions(events, sessions.compactions(db, session)) + of_hooks(hooks)
    turns = turns_of(hooks, prompts, calls, moments, zone_of=lambda percent: zone_of(percent, config))
    times = [one["at"] for kind in (hooks, events, prompts) for one in kind] + [at for at, _, _ in calls]
    times += [state.started_at, state.updated_at] if state else []
    times = [at for at in (*times, archived["updated_at"] if archived else 0) if at > 0]
    row = listing.row(db, about, config)
    percent = row["contextPercent"]
    if percent is None:
        percent = next((one["percent"] for one in reversed(hooks) if one["percent"] is not None), None)
    happened = [one for turn in turns for one in turn["moments"]]
    kinds = [one["kind"] for one in happened]
    outcomes: dict[str, str] = {}
    for handed in (memory for one in happened for memory in one.get("memories", ())):
        if outcomes.get(handed["id"]) != "echo":
            outcomes[handed["id"]] = handed["outcome"]
    became = list(outcomes.values())
    return {
        **row,
        "role": state.role if state else "",
        "folder": (archived["folder"] if archived else "") or (state.cwd if state else ""),
        "startedAt": clock.iso(min(times, default=None)),
        "updatedAt": clock.iso(max(times, default=None)),
        "contextPercent": percent,
        "zone": zone_of(percent, config),
        "turnCount": sum(turn["number"] > 0 for turn in turns),
        "toolCalls": len(calls),
        "failedCalls": sum(failed for _, _, failed in calls),
        "compactions": max(row["compactions"], kinds.count("compaction")),
        "recalls": sum(event["action"] in RECALLS for event in events),
        "injections": {
            "count": kinds.count("injection"),
            "tokens": sum(one["tokens"] for one in injected),
            "chars": sum(len(one["text"]) for one in injected),
        },
        "memories": {"injected": len(became), **{name: became.count(name) for name in ("echo", "fizzle", "open")}},
        "hooks": _figures(hooks),
        "hooksByEvent": _by(hooks, "event"),
        "problem": about.problem,
        "turns": turns,
    }


def of_all(db: apsw.Connection, *, hours: float, now: int) -> dict[str, Any]:
    """The report on the last `hours`; `now` in ms since the epoch."""
    since = max(0, int(now - hours * clock.HOUR_MS))
    actions: dict[str, int] = {}
    for action, number in overview.event_counts(db, since).items():
        action = action.removeprefix("gateway.")
        actions[action] = actions.get(action, 0) + number
    echo, fizzle = actions.get("memory.echo", 0), actions.get("memory.fizzle", 0)
    recalls, hooks = overview.recalls(db, since), hook_calls.of_session(db, since=since)
    figures = _figures(hooks)
    hits = sum(returned > 0 for returned, _ in recalls)
    names = ("customType", "count", "tokens", "memories")
    given = [dict(zip(names, row, strict=True)) for row in overview.injections_by_kind(db, since)]
    errors = overview.errors(db, since)
    return {
        "hours": hours,
        "since": clock.iso(since),
        "computedAt": clock.iso(now),
        "leastCounted": LEAST,
        "sessions": len({one["session"] for one in hooks if one["outcome"] in ("ok", "degraded")}),
        "compactions": actions.get("compaction.before", 0),
        "hooks": {
            **figures,
            "answeredRate": rate(figures["ok"] + figures["degraded"], figures["count"]),
            "byEvent": _by(hooks, "client", "event"),
        },
        "recalls": {
            **cost(ms for _, ms in recalls),
            "count": len(recalls),
            "withHits": hits,
            "hitRate": rate(hits, len(recalls)),
        },
        "injections": {**{name: sum(row[name] for row in given) for name in names[1:]}, "byType": given},
        "feedback": {"judged": echo + fizzle, "echo": echo, "fizzle": fizzle, "echoRate": rate(echo, echo + fizzle)},
        "errors": {
            "total": sum(one["count"] for one in errors),
            "latest": [{**one, "at": clock.iso(one["at"])} for one in errors[:_MOST_ERRORS]],
        },
    }


def cost(durations: Iterable[float | None]) -> dict[str, Any]:
    """The figures of durations in ms, in any order, unknown ones left out; None where there are none."""
    ordered = sorted(one for one in durations if one is not None)
    return {
        "count": len(ordered),
        "totalMs": round(sum(ordered), 1),
        "p50": percentile(ordered, 50),
        "p95": percentile(ordered, 95),
        "max": round(ordered[-1], 1) if ordered else None,
    }


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The smallest value of ascending ones that so many percent do not exceed (nearest rank); None without any."""
    rank = -(-len(ordered) * percent // 100)
    return round(ordered[max(0, rank - 1)], 1) if ordered else None


def rate(part: int, whole: int) -> float | None:
    """A share, 0 to 1; None of fewer than `memory.reports.LEAST`."""
    return round(part / whole, 4) if whole >= LEAST else None


def _figures(hooks: Sequence[Any]) -> dict[str, Any]:
    became = {name: sum(one["outcome"] == name for one in hooks) for name in _OUTCOMES}
    return {**cost(one["ms"] for one in hooks), "count": len(hooks), **became}


def _by(hooks: Sequence[Any], *names: str) -> list[dict[str, Any]]:
    groups: dict[tuple[str, ...], list[Any]] = {}
    for one in hooks:
        groups.setdefault(tuple(one[name] for name in names), []).append(one)
    rows = [{**dict(zip(names, key, strict=True)), **_figures(group)} for key, group in groups.items()]
    return sorted(rows, key=lambda one: (one.get("client", ""), -one["totalMs"], one["event"]))


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
