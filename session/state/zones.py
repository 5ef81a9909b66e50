"""The zone rules of ADR-0203, as functions from state to state: what a turn or a compaction changes and calls for.

Below the warm zone a turn is only noted. In the warm zone memories are recalled for the task, in the hot zone the task
is written to memory too, once per task, which its hash tells. A compaction starts the zones anew.
"""

from __future__ import annotations

from session.state import task
from session.state.schema import FILES_KEPT, HITS_KEPT, MESSAGES_KEPT, bounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from session.records import Outcome, Plan, Recalled, SessionState, Turn, Zone


def zone_of(percent: float | None, *, warm: float, hot: float) -> Zone:
    """The zone of a context usage in percent; `hot` wins where the two bounds cross."""
    if percent is None:
        return "unknown"
    return "hot" if percent >= hot else "warm" if percent >= warm else "cold"


def record_turn(state: SessionState, turn: Turn) -> SessionState:
    """The state after a turn: new messages, files (each once, the newest last) and the context usage."""
    fresh = task.added(state["messages"], turn["messages"])
    messages = [*state["messages"], *fresh][-MESSAGES_KEPT:]
    files = list(dict.fromkeys([*reversed(turn["files"]), *reversed(state["files"])]))[:FILES_KEPT]
    percent = turn["percent"]
    checkpoint = state["checkpoint"]
    return bounded(
        {
            **state,
            "role": turn["role"] or state["role"],
            "agent": turn["agent"] or state["agent"],
            "cwd": turn["cwd"] or state["cwd"],
            "messages": messages,
            "files": files[::-1],
            "taskHash": task.hash_of(messages),
            "contextTokens": turn["tokens"] if turn["tokens"] is not None else state["contextTokens"],
            "contextLimit": turn["window"] if turn["window"] is not None else state["contextLimit"],
            "checkpoint": {
                **checkpoint,
                "currentTask": task.text_of(messages),
                "contextPercentAtCapture": percent if percent is not None else checkpoint["contextPercentAtCapture"],
            },
            "counts": {**state["counts"], "userMessages": state["counts"]["userMessages"] + len(fresh)},
        }
    )


def plan_save(state: SessionState, percent: float | None, *, warm: float, hot: float) -> Plan:
    """What the end of a turn calls for."""
    zone = zone_of(percent, warm=warm, hot=hot)
    if zone in ("cold", "unknown"):
        reason = "below-warm" if zone == "cold" else "percent-unknown"
        return _plan(state, zone, [], reason, reason)
    entered = [] if state["warmZoneEntered"] else ["warm"]
    write = "not-hot"
    if zone == "hot":
        entered += [] if state["hotZoneEntered"] else ["hot"]
        write = _write_reason(state)
    return _plan(state, zone, entered, _recall_reason(state), write)


def plan_flush(state: SessionState, percent: float | None, *, warm: float, hot: float) -> Plan:
    """What a coming compaction calls for: one recall if the cache is empty, and the task if it is not yet in memory."""
    recall = "cached" if state["recallCache"] else _recall_reason(state)
    return _plan(state, zone_of(percent, warm=warm, hot=hot), [], recall, _write_reason(state))


def enter(state: SessionState, plan: Plan) -> SessionState:
    """The state with the zones that the plan says are entered."""
    return {
        **state,
        "warmZoneEntered": state["warmZoneEntered"] or "warm" in plan["entered"],
        "hotZoneEntered": state["hotZoneEntered"] or "hot" in plan["entered"],
    }


def finish(state: SessionState, outcome: Outcome, *, now: int) -> SessionState:
    """The state with what was recalled and written for a task."""
    counts = state["counts"].copy()
    cache = list(state["recallCache"])
    recalled_hash, written_hash = state["recalledHash"], state["writtenHash"]
    identifiers = state["taskMemoryIds"]
    hits = outcome["hits"]
    if hits is not None:
        counts["recalls"] += 1
        recalled_hash = outcome["hash"]
        if hits:
            entry: Recalled = {
                "query": outcome["query"],
                "hash": outcome["hash"],
                "hits": list(hits[:HITS_KEPT]),
                "at": now,
            }
            cache = [known for known in cache if known["query"] != entry["query"]]
            cache = [*cache, entry]
    if outcome["memoryId"] is not None:
        counts["writes"] += 1
        written_hash = outcome["hash"]
        identifiers = [known for known in identifiers if known != outcome["memoryId"]]
        identifiers.append(outcome["memoryId"])
    return bounded(
        {
            **state,
            "recallCache": cache,
            "recalledHash": recalled_hash,
            "writtenHash": written_hash,
            "taskMemoryIds": identifiers,
            "counts": counts,
        }
    )


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


def is_rapid(state: SessionState, now: int, cooldown_ms: float) -> bool:
    """Whether the last injection is so recent that its text is still in the context; not after the clock went back."""
    last = state["lastInjectionAt"]
    return last is not None and 0 <= now - last < cooldown_ms


def _plan(state: SessionState, zone: Zone, entered: list[str], recall: str, write: str) -> Plan:
    return {
        "zone": zone,
        "entered": entered,
        "recall": recall == "new-task",
        "recallReason": recall,
        "query": task.query_of(state["messages"]),
        "hash": state["taskHash"],
        "write": write == "new-task",
        "writeReason": write,
    }


def _recall_reason(state: SessionState) -> str:
    if not state["taskHash"]:
        return "no-task"
    if state["taskHash"] == state["recalledHash"]:
        return "unchanged"
    return "new-task" if task.query_of(state["messages"]) else "query-too-short"


def _write_reason(state: SessionState) -> str:
    if not state["checkpoint"]["currentTask"]:
        return "no-task"
    return "unchanged" if state["taskHash"] == state["writtenHash"] else "new-task"
