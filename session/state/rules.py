"""The rules of ADR-0203 as functions: what a session is doing, told from what the user said, and what a turn or a
compaction changes in its state and calls for.

The limits are those of the mirrored CLI: the last three messages make the task (200 characters each, 500 in all), the
last two the query (120 characters, at least 5). Below the warm zone a turn is only noted; in the warm zone memories are
recalled for the task, in the hot zone it is written to memory too, once per task, which its hash tells.
"""

from __future__ import annotations

from core.ids import fingerprint
from core.quoting import clip, one_line
from core.redaction import redact
from core.words import clean
from session.state.state_file import FILES_KEPT, HITS_KEPT, MESSAGE_CHARS, MESSAGES_KEPT, TASK_CHARS, bounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from core.config import Config
    from session.records import Memory, Message, Plan, Recalled, SessionState, Zone

MESSAGES_ASKED = 2
"""Of the user's messages, in a recall query."""
QUERY_CHARS, QUERY_LEAST = 120, 5
COOLDOWN_MS = 60_000  # no second injection within this time (CONTRACT)
HALF_PERCENT = 50  # context usage that brings a refresh, once per compaction
JOINT = " | "
_READ_CHARS = 4_000
_MARK = "[redacted:"
# What a shell would act on between double quotes.
_UNSAFE = {ord(character): " " for character in '"$\\!'}


def message(text: str) -> Message | None:
    """A user message as the state keeps it, as it begins and redacted; None for an empty one and for an injection come
    back."""
    from memory.gate import is_own

    text = clean(text).strip()
    if not text or is_own(text):
        return None
    # Of a pasted page the start and the length tell it from another.
    known = redact(text[:_READ_CHARS])[0]
    line = one_line(known)
    return {"text": clip(line, MESSAGE_CHARS), "hash": fingerprint(f"{len(text)}:{known}")} if line else None


def added(known: Sequence[Message], given: Sequence[Message]) -> list[Message]:
    """Those of `given` that are not known yet. A hook may hand over the whole conversation, its end, or what is new.

    The longest end of `known` that lies in `given` is where it goes on; the same message twice in a row is one.
    """
    hashes = [entry["hash"] for entry in known]
    best = start = 0
    for end in range(1, len(given) + 1):
        length = min(end, len(hashes))
        while length > best and [entry["hash"] for entry in given[end - length : end]] != hashes[-length:]:
            length -= 1
        if length > best and (length == end or length == len(hashes)):
            best, start = length, end
    fresh: list[Message] = []
    last = hashes[-1] if hashes else ""
    for entry in given[start:]:
        if entry["hash"] != last:
            fresh.append(entry)
        last = entry["hash"]
    return fresh


def text_of(messages: Sequence[Message]) -> str:
    """The task: the last three messages joined."""
    return clip(JOINT.join(entry["text"] for entry in messages[-MESSAGES_KEPT:]), TASK_CHARS)


def query_of(messages: Sequence[Message]) -> str:
    """The recall query: the last two messages, safe between double quotes of a shell; empty where too short."""
    parts = [part for part in (_searchable(entry["text"]) for entry in messages[-MESSAGES_ASKED:]) if part]
    if len(parts) == 2 and len(parts[0]) + len(parts[1]) >= QUERY_CHARS:
        newest = max(QUERY_CHARS // 2, QUERY_CHARS - 1 - len(parts[0]))
        parts[1] = _cut(parts[1], newest)
        parts[0] = _cut(parts[0], QUERY_CHARS - 1 - len(parts[1]))
    query = _searchable(_cut(" ".join(part for part in parts if part), QUERY_CHARS))
    return query if len(query) >= QUERY_LEAST else ""


def zone_of(percent: float | None, config: Config) -> Zone:
    """The zone of a context usage in percent by the settings in force; `hot` wins where their two bounds cross."""
    warm, hot = config.get_float("checkpoint.warm_percent"), config.get_float("checkpoint.hot_percent")
    if percent is None:
        return "unknown"
    return "hot" if percent >= hot else "warm" if percent >= warm else "cold"


def record_turn(state: SessionState, turn: Mapping[str, Any]) -> SessionState:
    """The state after a turn: new messages, files (each once, the newest last) and the context usage."""
    fresh = added(state["messages"], turn["messages"])
    messages = [*state["messages"], *fresh][-MESSAGES_KEPT:]
    files = list(dict.fromkeys([*reversed(turn["files"]), *reversed(state["files"])]))[:FILES_KEPT]
    percent, checkpoint = turn["percent"], state["checkpoint"]
    asked = JOINT.join(entry["hash"] for entry in messages)
    return bounded(
        {
            **state,
            "role": turn["role"] or state["role"],
            "agent": turn["agent"] or state["agent"],
            "cwd": turn["cwd"] or state["cwd"],
            "messages": messages,
            "files": files[::-1],
            "taskHash": fingerprint(asked) if messages else "",
            "contextTokens": turn["tokens"] if turn["tokens"] is not None else state["contextTokens"],
            "contextLimit": turn["window"] if turn["window"] is not None else state["contextLimit"],
            "checkpoint": {
                **checkpoint,
                "currentTask": text_of(messages),
                "contextPercentAtCapture": percent if percent is not None else checkpoint["contextPercentAtCapture"],
            },
            "counts": {**state["counts"], "userMessages": state["counts"]["userMessages"] + len(fresh)},
        }
    )


def plan_of(state: SessionState, zone: Zone, *, flush: bool) -> Plan:
    """What the end of a turn calls for; before a compaction in any zone one recall, unless there was one."""
    query = query_of(state["messages"])
    recall = "no-task" if not state["taskHash"] else "new-task" if query else "query-too-short"
    recall = "unchanged" if recall != "no-task" and state["taskHash"] == state["recalledHash"] else recall
    write = "unchanged" if state["taskHash"] == state["writtenHash"] else "new-task"
    write = write if state["checkpoint"]["currentTask"] else "no-task"
    entered: list[str] = []
    if flush:
        recall = "cached" if state["recallCache"] else recall
    elif zone in ("cold", "unknown"):
        recall = write = "below-warm" if zone == "cold" else "percent-unknown"
    else:
        write = write if zone == "hot" else "not-hot"
        entered += [] if state["warmZoneEntered"] else ["warm"]
        entered += [] if state["hotZoneEntered"] or zone != "hot" else ["hot"]
    return {
        "zone": zone,
        "entered": entered,
        "recall": recall == "new-task",
        "recallReason": recall,
        "query": query,
        "hash": state["taskHash"],
        "write": write == "new-task",
        "writeReason": write,
    }


def enter(state: SessionState, plan: Plan) -> SessionState:
    """The state with the zones that the plan says are entered."""
    return {
        **state,
        "warmZoneEntered": state["warmZoneEntered"] or "warm" in plan["entered"],
        "hotZoneEntered": state["hotZoneEntered"] or "hot" in plan["entered"],
    }


def finish(
    state: SessionState, plan: Plan, hits: Sequence[Memory] | None, memory_id: str | None, *, now: int
) -> SessionState:
    """The state with what was recalled and written for a task; None where that was not done, or failed."""
    state = {**state, "counts": {**state["counts"]}}
    if hits is not None:
        state["counts"]["recalls"] += 1
        state["recalledHash"] = plan["hash"]
    if hits:
        query = plan["query"]
        entry: Recalled = {"query": query, "hash": plan["hash"], "hits": list(hits[:HITS_KEPT]), "at": now}
        state["recallCache"] = [*(one for one in state["recallCache"] if one["query"] != query), entry]
    if memory_id is not None:
        state["counts"]["writes"] += 1
        state["writtenHash"] = plan["hash"]
        state["taskMemoryIds"] = [*(one for one in state["taskMemoryIds"] if one != memory_id), memory_id]
    return bounded(state)


def compact(state: SessionState, now: int) -> SessionState:
    """The state after a compaction: one more, the zones start anew, no timer waits, the recall cache stays."""
    checkpoint = state["checkpoint"]
    return {
        **state,
        "warmZoneEntered": False,
        "hotZoneEntered": False,
        "halfRefreshed": False,
        "injectedMemories": [],
        "idleTimer": None,
        "lastCompactionAt": now,
        "checkpoint": {**checkpoint, "compactionCount": checkpoint["compactionCount"] + 1},
        "updatedAt": now,
    }


def is_rapid(state: SessionState, now: int) -> bool:
    """Whether the last injection is so recent that its text is still in the context; not after the clock went back."""
    last = state["lastInjectionAt"]
    return last is not None and 0 <= now - last < COOLDOWN_MS


def _searchable(text: str) -> str:
    if _MARK in text:
        text = " ".join(word for word in text.split() if _MARK not in word)
    line = one_line(text.translate(_UNSAFE))
    return line.lstrip("-").lstrip().removesuffix("…")


def _cut(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    head = text[:characters]
    if text[characters] != " " and " " in head[characters // 2 :]:
        head = head[: head.rindex(" ")]
    return head.rstrip()
