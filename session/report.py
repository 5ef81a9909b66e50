"""`session show`: a session turn by turn.

A moment is something that happened in a turn: its time, kind and text, and if known its duration, tokens and, for an
injection, the text as the agent got it and the memories in it with their outcome (echo, fizzle or open).
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from core import clock
from core.config import Config
from core.quoting import DELIMITER, clip, counted
from core.store import calls as stored_calls
from core.store import documents, hook_calls, overview, sessions
from memory.gate import is_own
from session import known_sessions
from session.known_sessions import KnownSession
from session.record import zone_of

PROMPT_CHARS = 240
SAME_PROMPT_MS = 30_000  # between a hook's time for a prompt and the transcript's
SAME_COMPACTION_MS = 120_000  # between a hook before a compaction and its entry in the transcript
RECALLS = ("memory.recall.completed", "task.recalled")

Row = dict[str, Any]
Moment = tuple[int, Row]
"""The time in ms since the epoch, and what is printed."""


def session_report(db: apsw.Connection, session: str, config: Config) -> Row:
    """Everything that is known about a session."""
    archived = sessions.by_id(db, session)
    known = KnownSession(session, 0, archived, hooks=hook_calls.extent(db, session)).read()
    state = known.state
    hooks, events = hook_calls.of_session(db, session), overview.session_events(db, session)
    injections = hook_calls.injections(db, session)
    prompts = [
        prompt
        for prompt in sessions.timed_prompts(db, session)
        if prompt["text"].strip() and not is_own(prompt["text"])
    ]
    calls = stored_calls.times(db, session)
    moments = _event_moments(events, injections, _texts(db, events, injections))
    moments += _compaction_moments(events, sessions.compactions(db, session)) + _hook_moments(hooks)
    turns = _turns(hooks, prompts, calls, moments)
    for turn in turns:
        turn["zone"] = zone_of(turn["contextPercent"], config)
    times = [row["at"] for rows in (hooks, events, prompts) for row in rows] + [at for at, _, _ in calls]
    times += [state.started_at, state.updated_at] if state else []
    times = [at for at in (*times, archived["updated_at"] if archived else 0) if at > 0]
    row = known_sessions.row(db, known, config)
    percents = [row["contextPercent"], *(hook["percent"] for hook in reversed(hooks))]
    percent = next((percent for percent in percents if percent is not None), None)
    kinds = [moment["kind"] for _, moment in moments]
    outcomes = _memory_outcomes(moments)
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
            "tokens": sum(injection["tokens"] for injection in injections),
            "chars": sum(len(injection["text"]) for injection in injections),
        },
        "memories": {
            "injected": len(outcomes),
            **{name: outcomes.count(name) for name in ("echo", "fizzle", "open")},
        },
        "hooks": _hook_figures(hooks),
        "problem": known.problem,
        "turns": turns,
    }


def _hook_figures(hooks: Sequence[Row]) -> Row:
    """The durations (ms) and outcomes of hooks; `late`: the empty answer was given at the deadline."""
    outcomes = [hook["outcome"] for hook in hooks]
    counts = {name: outcomes.count(name) for name in ("ok", "degraded", "failed", "late")}
    times = sorted(hook["ms"] for hook in hooks if hook["ms"] is not None)
    median = round(times[(len(times) - 1) // 2], 1) if times else None
    return {"count": len(hooks), "totalMs": round(sum(times), 1), "p50": median, **counts}


def _texts(db: apsw.Connection, events: Sequence[Row], injections: Sequence[Row]) -> dict[str, str]:
    """The beginnings of the memories that were injected or judged, by id."""
    ids = [memory for injection in injections for memory in injection["memories"]]
    ids += [memory for event in events if isinstance(memory := event["metadata"].get("memoryId"), str)]
    return documents.beginnings(db, ids, 160)


def _memory_outcomes(moments: Sequence[Moment]) -> list[str]:
    """The outcome of each injected memory: echo, if it was used after any of its injections."""
    outcomes: dict[str, str] = {}
    for _, moment in moments:
        for memory in moment.get("memories", ()):
            if outcomes.get(memory["id"]) != "echo":
                outcomes[memory["id"]] = memory["outcome"]
    return list(outcomes.values())


def _event_moments(events: Sequence[Row], injections: Sequence[Row], texts: Mapping[str, str]) -> list[Moment]:
    """The moments of a session's events and injections, without hooks and compactions."""
    verdicts = [event for event in events if event["action"] in ("memory.echo", "memory.fizzle")]
    moments = [_injection_moment(injection, verdicts, texts) for injection in injections]
    injected = {injection["id"] for injection in injections}
    is_hot = False
    for event in events:
        action = event["action"].removeprefix("gateway.")
        if action == "compaction.before":
            is_hot = False
        elif event["id"] not in injected and event["component"] != "hook":
            kind, text = _describe(event, texts, is_hot=is_hot)
            is_hot = is_hot or action == "compaction.extract.hot"
            if kind:
                ms = None if kind in ("zone", "checkpoint", "feedback", "skipped") else event["ms"]
                moments.append(_moment(event["at"], kind, text, ms=ms))
    return moments


def _describe(event: Row, texts: Mapping[str, str], *, is_hot: bool) -> tuple[str, str]:
    """The kind and the text of an event; ("", "") for an event that is not shown."""
    action, about = event["action"].removeprefix("gateway."), event["metadata"]
    ours = ("session-lifecycle", "gateway-context", "memory-enforcer", "memory-feedback", "recall-cli")
    if event["component"] not in ours:
        pass
    elif action == "compaction.extract.hot" and is_hot:  # the second one in a row
        return "checkpoint", f"the task is written to memory, at {_percent(about.get('percent'))}"
    elif action in ("compaction.extract.warm", "compaction.extract.hot"):
        return "zone", f"{action.rpartition('.')[2]} from {_percent(about.get('percent'))} on"
    elif action == "compaction.checkpoint":
        counts = (
            f"task of {counted(_number(about, 'taskChars'), 'character')}",
            counted(_number(about, "filesCount"), "file"),
            counted(_number(about, "recallHits"), "memory"),
            counted(_number(about, "queriesCount"), "query"),
        )
        return "checkpoint", ", ".join(counts) + ("; the task is in memory" if about.get("written") else "")
    elif action in RECALLS and (about.get("returned") or action != "task.recalled"):
        returned, found = _number(about, "returned"), counted(_number(about, "found"), "memory")
        what = f"{counted(returned, 'memory')} for the task" if action == "task.recalled" else f"{returned} of {found}"
        query = f": “{about['query']}”" if about.get("query") else ""  # missing for an excluded folder
        return "recall", f"{what}{query}"
    elif action in ("memory.echo", "memory.fizzle"):
        memory = str(about.get("memoryId", ""))
        used = f"used, the agent said {_number(about, 'termsMatched')} of its words"
        return "feedback", f"{used if action == 'memory.echo' else 'ignored'}: {texts.get(memory) or memory}"
    elif action == "compaction.inject.skipped":
        return "skipped", f"no note: {about.get('reason', '')}"
    elif action in ("memory.recall.started", "task.recalled"):
        return "", ""
    values = ", ".join(f"{key} {clip(str(value), 80)}" for key, value in about.items())
    details = f": {event['error']}" if event["error"] else f" ({values})" if values else ""
    return "error" if event["level"] in ("warn", "error", "fatal") else "event", f"{event['action']}{details}"


def _injection_moment(injection: Row, verdicts: Sequence[Row], texts: Mapping[str, str]) -> Moment:
    frame = (f"<{DELIMITER}", f"</{DELIMITER}")
    lines = [line for line in injection["text"].split("\n") if not line.startswith(frame)]
    heading = next((line for line in lines if line.strip()), "").lstrip("# ")
    outcomes: dict[str, str] = {}
    for verdict in verdicts:
        if verdict["at"] >= injection["at"]:
            outcomes.setdefault(str(verdict["metadata"].get("memoryId")), verdict["action"].rpartition(".")[2])
    details = {
        "customType": injection["kind"],
        "tokens": injection["tokens"],
        "content": "\n".join(lines),
        "memories": [
            {"id": memory, "text": texts.get(memory, ""), "outcome": outcomes.get(memory, "open")}
            for memory in injection["memories"]
        ],
    }
    return _moment(injection["at"], "injection", heading, ms=injection["ms"], **details)


def _compaction_moments(events: Sequence[Row], archived: Sequence[Row]) -> list[Moment]:
    """The compactions that hooks reported, each with its entry in the transcript, and those only in the transcript."""
    unmatched = list(archived)
    moments = []
    for event in events:
        if event["action"].removeprefix("gateway.") != "compaction.before":
            continue
        about = event["metadata"]
        text = f"at {_percent(about.get('contextPercent'))}"
        tokens, window = about.get("contextTokens"), about.get("contextLimit")
        if isinstance(tokens, int):
            text += f", {tokens:,} tokens" + (f" of {window:,}" if isinstance(window, int) else "")
        for row in unmatched:
            if not row["at"] or abs(row["at"] - event["at"]) <= SAME_COMPACTION_MS:
                unmatched.remove(row)
                text += _summary_size(row)
                break
        moments.append(_moment(event["at"], "compaction", text))
    return moments + [
        _moment(row["at"], "compaction", f"(from the transcript){_summary_size(row)}") for row in unmatched
    ]


def _hook_moments(hooks: Sequence[Row]) -> list[Moment]:
    """Starts of the session, and hooks that did not do all their work."""
    moments = []
    for hook in hooks:
        if hook["outcome"] != "ok":
            text = f"hook {hook['event'] or 'of an unknown event'} {hook['outcome']}: {hook['error']}"
            moments.append(_moment(hook["at"], "error", text, ms=hook["ms"]))
        elif hook["kind"] == "start":
            text = f"the client starts ({hook['event']})"
            moments.append(_moment(_start_of(hook), "start", text, ms=hook["ms"]))
    return moments


def _moment(at: int, kind: str, text: str, *, ms: float | None = None, **details: Any) -> Moment:
    row = {"at": clock.iso(at or None), "kind": kind, "text": " ".join(text.split())}
    return at, {**row, **({} if ms is None else {"ms": ms}), **details}


def _turns(
    hooks: Sequence[Row], prompts: Sequence[Row], calls: Sequence[tuple[int, int, bool]], moments: Sequence[Moment]
) -> list[Row]:
    """The turns, oldest first: a prompt and what followed it. Turn 0 is what came before the first prompt."""
    starts = [(0, ""), *_prompt_times(hooks, prompts)]
    times = [at for at, _ in starts]
    turns: list[Row] = [{"hooks": [], "calls": [], "moments": []} for _ in starts]

    def turn_at(at: int) -> Row:
        return turns[max(0, bisect_right(times, at) - 1)]

    for hook in hooks:
        turn_at(_start_of(hook))["hooks"].append(hook)
    for at, prompt, failed in calls:
        (turn_at(at) if at else turns[min(prompt, len(turns) - 1)])["calls"].append(failed)
    order = {"start": 0, "compaction": 2, "skipped": 3, "injection": 3}  # of moments with the same time
    for at, moment in sorted(moments, key=lambda moment: (moment[0], order.get(moment[1]["kind"], 1))):
        turn_at(at)["moments"].append(moment)
    end = max([hook["at"] for hook in hooks[-1:]] + [at for at, _, _ in calls[-1:]] + times[-1:])
    rows = []
    for number, ((start, text), turn) in enumerate(zip(starts, turns, strict=True)):
        if number == 0 and not any(turn.values()):
            continue
        at = start or (_start_of(turn["hooks"][0]) if turn["hooks"] else 0)
        until = times[number + 1] if number + 1 < len(times) else end
        percents = [hook["percent"] for hook in turn["hooks"] if hook["percent"] is not None]
        rows.append(
            {
                "number": number,
                "at": clock.iso(at) if at else (turn["moments"][0]["at"] if turn["moments"] else "unknown"),
                "seconds": round(max(0, until - at) / 1000, 1) if at else None,
                "prompt": text,
                "contextPercent": round(percents[-1], 1) if percents else None,
                "toolCalls": len(turn["calls"]),
                "failedCalls": sum(turn["calls"]),
                "hooks": len(turn["hooks"]),
                "hookMs": round(sum(hook["ms"] or 0 for hook in turn["hooks"]), 1),
                "moments": turn["moments"],
            }
        )
    return rows


def _prompt_times(hooks: Sequence[Row], prompts: Sequence[Row]) -> list[tuple[int, str]]:
    """The time and the text of each prompt. A hook's prompt and an archived one close to it are the same."""
    from_hooks = [_start_of(hook) for hook in hooks if hook["kind"] == "prompt"]
    texts: dict[int, str] = dict.fromkeys(from_hooks, "")
    for prompt in prompts:
        close = [at for at in from_hooks if abs(at - prompt["at"]) <= SAME_PROMPT_MS and not texts[at]]
        at = min(close, key=lambda at: abs(at - prompt["at"])) if close else prompt["at"]
        if not texts.get(at):
            texts[at] = clip(" ".join(prompt["text"][: 20 * PROMPT_CHARS].split()), PROMPT_CHARS)
    return sorted(texts.items())


def _start_of(hook: Row) -> int:
    """When a hook began, in ms since the epoch. Its event is made at its end."""
    return int(hook["at"]) - int(hook["ms"] or 0)


def _summary_size(compaction: Row) -> str:
    return f"; the summary has {len(compaction['summary']):,} characters" if compaction["summary"] else ""


def _percent(value: object) -> str:
    is_known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:.0f} %" if is_known else "a context of unknown size"


def _number(about: Mapping[str, Any], name: str) -> int:
    value = about.get(name)
    return value if isinstance(value, int) else 0
