"""What an event says about a session, recorded in its state (ADR-0203). It reads no transcript. Hot path.

The limits are those of the mirrored CLI. The last three messages make the task (200 characters each, 500 in all); the
last two make the recall query (5 to 120 characters). Below the warm zone a turn is only recorded. In the warm zone,
memories are recalled for a new task; in the hot zone, the task is also written to memory.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING
from core.ids import fingerprint
from core.quoting import clip, clip_path, one_line
from core.redaction import redact
from core.words import clean
from session.session import TaskPlan
from session.state import FILE_CHARS, FILES_KEPT, HITS_KEPT, MESSAGE_CHARS, MESSAGES_KEPT, TASK_CHARS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.event import HookEvent, Kind
    from core.config import Config
    from session.session import ContextUsage, Session, Zone
    from session.state import Memory, Message, Recalled, SessionState

TURN_KINDS = ("prompt", "tool", "turn", "before_compaction")
"""Events that say what the session is doing."""
STATE_KINDS = (*TURN_KINDS, "start")
"""Events that begin a state file for a session that has none."""
IDLE_RUN = "JOELCLAW_IDLE_RUN"
"""Set in the environment of a compaction command: hooks that run inside it report no turn of the user."""
JOINT = " | "

_QUERY_CHARS = 120


def own_event(kind: Kind, **fields: Any) -> HookEvent:
    """An event for a command that a client calls instead of a hook; `fields` are those of `HookEvent`."""
    import clients

    event = clients.row("").event({}, kind)
    event["kind"] = kind
    event.update(fields)  # type: ignore[typeddict-item]  # the callers name its fields
    return event


def usage_of(event: HookEvent) -> ContextUsage:
    """The context usage that an event reports; the percentage from tokens and window if need be."""
    tokens, window, percent = event["tokens"], event["window"], event["percent"]
    if percent is None and tokens is not None and window:
        percent = round(tokens * 100 / window, 2)
    return {"tokens": tokens, "window": window, "percent": percent, "source": "usage"}


def record(event: HookEvent, session: Session) -> None:
    """Change `session.state` by what the event says, and plan what the task calls for (`session.plan`)."""
    state, kind = session.state, event["kind"]
    if kind == "start":
        session.must_save = True
    elif kind in TURN_KINDS:
        _record_turn(event, session)
    elif kind == "after_compaction" and session.before is not None and not asks_for_last_note(event, session):
        _record_compaction(state, session.now)
    if session.config.get_int("compaction.idle_trigger_minutes") and not os.environ.get(IDLE_RUN):
        if kind == "prompt":
            state.idle_timer, state.turn_began_at = None, session.now
        elif kind in ("turn", "end"):
            state.turn_began_at = None


def asks_for_last_note(event: HookEvent, session: Session) -> bool:
    """Whether an event after a compaction only asks again for the note of that compaction.

    The process that had the note may have ended, and taken the note along.
    """
    return event["source"] == "owed" and session.state.signpost is not None and session.is_cooling_down


def _record_turn(event: HookEvent, session: Session) -> None:
    state, kind, now = session.state, event["kind"], session.now
    messages = event["messages"]
    if session.is_excluded(event["cwd"]):
        messages = []
    elif len(messages) > 1 and session.was_off(event["cwd"]):
        messages = messages[-1:]  # the earlier ones may have been typed while the session was off
    if kind == "prompt" and event["messages"] and event["messages"][-1].strip():
        state.last_message_at = now
    # A hook may hand over the whole conversation; its end shows the new messages.
    fresh = new_messages(state.messages, [entry for text in messages[-12:] if (entry := message(text))])
    _record_messages(state, fresh)
    state.agent = session.agent or state.agent
    state.cwd = _path(event["cwd"]) or state.cwd
    paths = [path for given in event["files"][-FILES_KEPT:] if (path := _path(given))]
    state.files = list(dict.fromkeys([*reversed(paths), *reversed(state.files)]))[:FILES_KEPT][::-1]
    usage = session.usage
    if usage is not None:
        state.context_tokens = usage["tokens"] if usage["tokens"] is not None else state.context_tokens
        state.context_limit = usage["window"] if usage["window"] is not None else state.context_limit
        state.percent = usage["percent"] if usage["percent"] is not None else state.percent
    is_flush = kind == "before_compaction"
    state.counts["flushes" if is_flush else "saves"] += 1
    state.updated_at = now
    plan = plan_task(state, zone_of(usage["percent"] if usage is not None else None, session.config), is_flush=is_flush)
    if kind == "prompt":  # the next event handles the task, so that the prompt need not wait
        plan.recall_reason = plan.write_reason = "turn-begins"
    elif session.is_excluded(state.cwd):  # its task, if it has any, is from before
        plan.recall_reason = plan.write_reason = "excluded"
    state.warm_zone_entered = state.warm_zone_entered or "warm" in plan.entered
    state.hot_zone_entered = state.hot_zone_entered or "hot" in plan.entered
    session.plan = plan


def _record_messages(state: SessionState, fresh: Sequence[Message]) -> None:
    state.messages = [*state.messages, *fresh][-MESSAGES_KEPT:]
    state.counts["userMessages"] += len(fresh)
    state.task = task_text(state.messages)
    hashes = JOINT.join(entry["hash"] for entry in state.messages)
    state.task_hash = fingerprint(hashes) if hashes else ""


def _record_compaction(state: SessionState, now: int) -> None:
    """A compaction is over: the zones start anew, no timer runs, the recall cache stays, and a note is owed."""
    state.compaction_count += 1
    state.warm_zone_entered = state.hot_zone_entered = state.half_refreshed = False
    state.injected_memories = []
    state.idle_timer = None
    state.last_compaction_at = state.updated_at = now
    state.note_owed = True


def record_recall(state: SessionState, plan: TaskPlan, memories: Sequence[Memory], now: int) -> None:
    """Note that memories were recalled for the task; a query without results is not cached."""
    state.counts["recalls"] += 1
    state.recalled_hash = state.task_hash
    if memories:
        hits: list[Memory] = [{**memory, "text": memory["text"][:160]} for memory in memories[:HITS_KEPT]]
        others = [entry for entry in state.recall_cache if entry["query"] != plan.query]
        recalled: Recalled = {"query": plan.query, "hash": state.task_hash, "hits": hits, "at": now}
        state.recall_cache = [*others, recalled][-3:]


def record_task_memory(state: SessionState, memory_id: str) -> None:
    """Note that the task was written to memory."""
    state.counts["writes"] += 1
    state.written_hash = state.task_hash
    state.task_memory_ids = [*(known for known in state.task_memory_ids if known != memory_id), memory_id]


def plan_task(state: SessionState, zone: Zone, *, is_flush: bool) -> TaskPlan:
    """What the task calls for in a zone; before a compaction, a recall in any zone, unless there was one before."""
    query = task_query(state.messages)
    if not state.task_hash:
        recall = "no-task"
    elif state.task_hash == state.recalled_hash:
        recall = "unchanged"
    else:
        recall = "new-task" if query else "query-too-short"
    write = "unchanged" if state.task_hash == state.written_hash else "new-task"
    write = write if state.task else "no-task"
    entered: list[str] = []
    if is_flush:
        recall = "cached" if state.recall_cache else recall
    elif zone in ("cold", "unknown"):
        recall = write = "below-warm" if zone == "cold" else "percent-unknown"
    else:
        write = write if zone == "hot" else "not-hot"
        entered += [] if state.warm_zone_entered else ["warm"]
        entered += [] if state.hot_zone_entered or zone != "hot" else ["hot"]
    return TaskPlan(zone, entered, query, recall, write, is_flush=is_flush)


def zone_of(percent: float | None, config: Config) -> Zone:
    """The zone of a context usage in percent; "hot" if the settings of the two bounds are in the wrong order."""
    warm, hot = config.get_float("checkpoint.warm_percent"), config.get_float("checkpoint.hot_percent")
    if percent is None:
        return "unknown"
    return "hot" if percent >= hot else "warm" if percent >= warm else "cold"


def message(text: str) -> Message | None:
    """A prompt as the state has it, redacted; None for an empty text, and for a text that we injected."""
    from memory.gate import is_own

    text = clean(text).strip()
    if not text or is_own(text):
        return None
    known = redact(text[:4_000])[0]
    line = one_line(known)
    # The beginning and the length distinguish pasted pages.
    return {"text": clip(line, MESSAGE_CHARS), "hash": fingerprint(f"{len(text)}:{known}")} if line else None


def new_messages(known: Sequence[Message], given: Sequence[Message]) -> list[Message]:
    """The messages in `given` that are not known yet.

    A hook may hand over the whole conversation, its end, or only the new messages. The conversation goes on after the
    longest end of `known` that occurs in `given`. The same message twice in a row counts once.
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


def task_text(messages: Sequence[Message]) -> str:
    """The task: the last three messages joined."""
    return clip(JOINT.join(entry["text"] for entry in messages[-MESSAGES_KEPT:]), TASK_CHARS)


def task_query(messages: Sequence[Message]) -> str:
    """The recall query: the last two messages, safe between double quotes of a shell; "" if they are too short."""
    parts = [part for entry in messages[-2:] if (part := _searchable(entry["text"]))]
    if len(parts) == 2 and len(parts[0]) + len(parts[1]) >= _QUERY_CHARS:
        room = max(_QUERY_CHARS // 2, _QUERY_CHARS - 1 - len(parts[0]))
        parts[1] = _cut_at_word(parts[1], room)
        parts[0] = _cut_at_word(parts[0], _QUERY_CHARS - 1 - len(parts[1]))
    query = _searchable(_cut_at_word(" ".join(part for part in parts if part), _QUERY_CHARS))
    return query if len(query) >= 5 else ""


def _searchable(text: str) -> str:
    """A text that is safe between double quotes of a shell, without redacted words."""
    text = " ".join(word for word in text.split() if "[redacted:" not in word)
    line = one_line(text.translate({ord(character): " " for character in '"$\\!'}))
    return line.lstrip("-").lstrip().removesuffix("…")


def _cut_at_word(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    head = text[:characters]
    if text[characters] != " " and " " in head[characters // 2 :]:
        head = head[: head.rindex(" ")]
    return head.rstrip()


def _path(path: str) -> str:
    if not path:
        return ""
    known = redact(clean(path))[0]
    line = one_line(known)
    if line != known:  # a line break separates some secrets from prose, and splits others
        line = redact(line)[0]
    return clip_path(line, FILE_CHARS)
