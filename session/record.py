"""Record in a session's state what an event says, and plan what to do for its task. It reads no transcript. Hot path.

The task is the last three prompts (200 characters each, 500 in all); the recall query is made from the last two (5 to
120 characters). Below the warm zone a turn is only recorded. In the warm zone, memories are recalled for a new task; in
the hot zone, the task is also written to memory. Zones and limits are those of ADR-0203 (docs/mirrored.md).
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files
from core.quoting import clip, clip_path, one_line
from core.redaction import redact
from core.words import clean, fingerprint, is_only_redacted
from session.session import NEW_TASK, TaskPlan
from session.state import FILE_CHARS, FILES_KEPT, MESSAGE_CHARS, MESSAGES_KEPT, TASK_CHARS, stored_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from clients.base import HookEvent, Kind
    from core.config import Config
    from session.session import ContextUsage, Session, Zone
    from session.state import Message, SessionState

TURN_KINDS = ("prompt", "tool", "turn", "before_compaction")
"""Events that happen within a turn."""
STATE_KINDS = (*TURN_KINDS, "start", "failure")
"""Events that create the state file of a new session."""
IDLE_RUN = "JOELCLAW_IDLE_RUN"
"""Environment variable that `idle run` sets for the client it starts: hooks in it do not change idle timers."""
JOINT = " | "
"""Between the messages of a task."""


def record(event: HookEvent, session: Session) -> None:
    """Change `session.state` by what the event says; at an event of a turn, set `session.plan`."""
    state, kind = session.state, event["kind"]
    if kind in TURN_KINDS:
        _record_turn(event, session)
    elif kind == "after_compaction" and session.before is not None and not asks_for_last_note(event, session):
        _record_compaction(state, session.now)
    if os.environ.get(IDLE_RUN):
        return
    if kind in TURN_KINDS and any(map(str.strip, event["messages"])):
        state.idle_timer = None  # a script may have set it, whatever the settings say
    if session.config.get_int("compaction.idle_trigger_minutes"):
        if kind == "prompt":
            state.idle_timer, state.turn_began_at = None, session.now
        elif kind in ("turn", "end"):
            state.turn_began_at = None


def asks_for_last_note(event: HookEvent, session: Session) -> bool:
    """Whether the event asks again for the note of the last compaction, because the process that got it has ended."""
    return event["source"] == "owed" and session.state.signpost is not None and session.is_cooling_down


def _record_turn(event: HookEvent, session: Session) -> None:
    state, kind, now = session.state, event["kind"], session.now
    messages = event["messages"]
    if session.is_excluded(event["cwd"]):
        messages = []
    elif files.has_switches():
        messages = messages[-1:]  # the earlier ones may have been typed while it was off, or in an excluded folder
    if kind == "prompt" and event["messages"] and event["messages"][-1].strip():
        state.last_message_at = now
    # A hook may send the whole conversation. Its end has the new messages.
    sent = [entry for text in messages[-12:] if (entry := message(text))]
    if new := new_messages(state.messages, sent):
        _record_messages(state, new)
    state.agent = session.agent or state.agent
    state.cwd = _path(event["cwd"]) or state.cwd
    paths = [path for given in event["files"][-FILES_KEPT:] if (path := _path(given))]
    state.files = list(dict.fromkeys([*reversed(paths), *reversed(state.files)]))[:FILES_KEPT][::-1]
    usage = session.usage  # figures that are not known stay as they were
    state.context_tokens = state.context_tokens if usage["tokens"] is None else usage["tokens"]
    state.context_limit = state.context_limit if usage["window"] is None else usage["window"]
    state.percent = state.percent if usage["percent"] is None else usage["percent"]
    state.counts["flushes" if kind == "before_compaction" else "saves"] += 1
    state.updated_at = now
    session.plan = _plan(event, session)
    state.warm_zone_entered = state.warm_zone_entered or "warm" in session.plan.entered
    state.hot_zone_entered = state.hot_zone_entered or "hot" in session.plan.entered


def _record_messages(state: SessionState, new: Sequence[Message]) -> None:
    """Keep the last three messages; if all of them are short ("go on"), the first is the last request before them."""
    messages = [*state.messages, *new]
    state.messages = messages[-MESSAGES_KEPT:]
    if len(messages) > MESSAGES_KEPT and all(len(entry["text"]) < MESSAGE_CHARS for entry in state.messages):
        from session.requests import WHOLE_LETTERS, is_request

        asked = [entry for entry in messages if is_request(entry["text"], WHOLE_LETTERS)]
        if asked and asked[-1] not in state.messages:
            state.messages[0] = asked[-1]
    state.counts["userMessages"] += len(new)
    state.task = task_text(state.messages)
    hashes = JOINT.join(entry["hash"] for entry in state.messages)
    state.task_hash = fingerprint(hashes) if hashes else ""


def _record_compaction(state: SessionState, now: int) -> None:
    """A compaction is over: a note is owed, and the injected memories left the context. The recall cache stays."""
    state.compaction_count += 1
    state.warm_zone_entered = False
    state.hot_zone_entered = False
    state.half_refreshed = False
    state.injected_memories = []
    state.idle_timer = None
    state.last_compaction_at = now
    state.updated_at = now
    state.note_owed = True


def _plan(event: HookEvent, session: Session) -> TaskPlan:
    """What to do for the task; `session.state` has it already."""
    state, is_flush = session.state, event["kind"] == "before_compaction"
    zone = zone_of(session.usage["percent"], session.config)
    entered: list[str] = []
    if not is_flush and zone in ("warm", "hot") and not state.warm_zone_entered:
        entered.append("warm")
    if not is_flush and zone == "hot" and not state.hot_zone_entered:
        entered.append("hot")
    query = task_query(state.messages)
    if event["kind"] == "prompt":  # the next event handles the task, so that the user need not wait
        recall_reason = write_reason = "turn-begins"
    elif session.is_excluded(state.cwd):  # a task in the state was recorded in another folder
        recall_reason = write_reason = "excluded"
    elif not is_flush and zone in ("cold", "unknown"):
        recall_reason = write_reason = "below-warm" if zone == "cold" else "percent-unknown"
    else:
        recall_reason = _recall_reason(state, query, is_flush=is_flush)
        write_reason = _write_reason(state, zone, is_flush=is_flush)
    return TaskPlan(zone, entered, query, recall_reason, write_reason)


def _recall_reason(state: SessionState, query: str, *, is_flush: bool) -> str:
    """Recall for a new task, and before a compaction only if nothing was recalled so far."""
    if is_flush and state.recall_cache:
        return "cached"
    if not state.task_hash:
        return "no-task"
    if state.task_hash == state.recalled_hash:
        return "unchanged"
    return NEW_TASK if query else "query-too-short"


def _write_reason(state: SessionState, zone: Zone, *, is_flush: bool) -> str:
    """Write a new task in the hot zone, and before a compaction."""
    if not is_flush and zone != "hot":
        return "not-hot"
    if not state.task:
        return "no-task"
    return "unchanged" if state.task_hash == state.written_hash else NEW_TASK


def zone_of(percent: float | None, config: Config) -> Zone:
    """The zone of a context usage in percent; "hot" if the settings of the two bounds are in the wrong order."""
    warm, hot = config.get_float("checkpoint.warm_percent"), config.get_float("checkpoint.hot_percent")
    if percent is None:
        return "unknown"
    return "hot" if percent >= hot else "warm" if percent >= warm else "cold"


def leave_out_abandoned(session: Session, db: apsw.Connection, asked: Sequence[str]) -> None:
    """The user went back: remove the abandoned part from the state. `asked`: prompts that may not be archived yet."""
    from core.project import relative
    from core.store import sessions
    from core.store.branches import History

    state = session.state
    known = sessions.by_id(db, session.id)
    folder = known["folder"] if known else ""
    history = History(db, session.id)
    said = [entry for _, text in history.conversation(4_000) if (entry := message(text))][-MESSAGES_KEPT:]
    new = new_messages(said, [entry for text in asked if (entry := message(text))])
    state.messages = [*said, *new][-MESSAGES_KEPT:]
    _record_messages(state, [])
    files = history.files()
    state.files = [path for path in state.files if relative(path, folder) in files]
    state.recall_cache = []
    state.recalled_hash = ""
    session.plan.query = task_query(state.messages)


def own_event(kind: Kind, **fields: Any) -> HookEvent:
    """An event for a command that takes the place of a hook, such as `checkpoint save`; `fields` as in `HookEvent`."""
    import clients

    event = clients.by_name("").event({}, kind)
    event["kind"] = kind
    event.update(fields)  # type: ignore[typeddict-item]  # the callers name its fields
    return event


def usage_of(event: HookEvent) -> ContextUsage:
    """The context usage that an event reports; a missing percentage is computed from tokens and window."""
    tokens, window, percent = event["tokens"], event["window"], event["percent"]
    if percent is None and tokens is not None and window:
        percent = round(tokens * 100 / window, 2)
    return {"tokens": tokens, "window": window, "percent": percent, "source": "usage"}


def message(text: str) -> Message | None:
    """A prompt as the state stores it, redacted; None if it is empty, only a secret, or a text that we injected."""
    from memory.gate import is_own

    text = clean(text).strip()
    known = redact(text[:4_000])[0]
    line = one_line(known)
    if not line or is_only_redacted(known) or is_own(text):
        return None
    # A long prompt is identified by its beginning and its length.
    identity = fingerprint(f"{len(text)}:{known}")
    return {"text": clip(line, MESSAGE_CHARS), "hash": identity, "isShort": _is_short_without_quotation(text)}


def _is_short_without_quotation(text: str) -> bool:
    """Whether a prompt is a line of at most 120 characters that quotes no other author.

    Up to three words in quotation marks count as a name, and so do six characters of a script without spaces.
    """
    if "\n" in text or len(text) > 120 or text.startswith((">", "<", "@")):
        return False
    quoted = text.translate(dict.fromkeys(map(ord, "“”„«»‹›「」『』《》‘‚`"), '"'))
    for apostrophe in ("’ ", " '", "' ", "(' ", "',"):  # but not that of "don't"
        quoted = quoted.replace(apostrophe, ' " ')
    after_name = quoted.replace("：", ": ").partition(": ")[2]  # "Robin: …" quotes without quotation marks
    return all(
        len(part.split()) <= 3 and sum(sign >= "\u2e80" for sign in part) <= 6
        for part in (after_name, *quoted.split('"')[1::2])
    )


def new_messages(known: Sequence[Message], sent: Sequence[Message]) -> list[Message]:
    """The messages in `sent` that are not known yet. The same message twice in a row counts once.

    A hook may send the whole conversation, its end, or only new messages. With a, b and c known, each of these has d as
    its new message: `x a b c d` (all known messages occur), `c d` (it begins with the last known ones), and `d`.
    """
    known_hashes, sent_hashes = ([entry["hash"] for entry in messages] for messages in (known, sent))
    # The first of three may be an older request (see `_record_messages`): the last two may be anywhere, too.
    fewest_anywhere = len(known) - (len(known) == MESSAGES_KEPT)
    ends = (
        (count, end)
        for count in range(len(known), 0, -1)
        for end in (range(count, len(sent) + 1) if count >= fewest_anywhere else [count])
    )
    start = next((end for count, end in ends if sent_hashes[end - count : end] == known_hashes[-count:]), 0)
    before = [*(known_hashes[-1:] or [""]), *sent_hashes[start:]]
    return [entry for entry, last in zip(sent[start:], before, strict=False) if entry["hash"] != last]


def task_text(messages: Sequence[Message]) -> str:
    """The task: the last three messages joined."""
    return clip(JOINT.join(entry["text"] for entry in messages[-MESSAGES_KEPT:]), TASK_CHARS)


def task_query(messages: Sequence[Message]) -> str:
    """The recall query: the last two messages, safe between double quotes of a shell; "" if they are too short."""
    parts = [part for entry in messages[-2:] if (part := searchable(entry["text"]))]
    longest = 120
    if len(parts) == 2 and len(parts[0]) + len(parts[1]) >= longest:  # both get half, or what the other leaves
        parts[1] = searchable(clip(parts[1], max(longest // 2, longest - 1 - len(parts[0]))))
        parts[0] = searchable(clip(parts[0], longest - 1 - len(parts[1])))
    query = searchable(clip(" ".join(filter(None, parts)), longest))
    return query if len(query) >= 5 else ""


def searchable(text: str) -> str:
    """A text that is safe between double quotes of a shell, without redacted words."""
    text = " ".join(word for word in text.split() if "[redacted:" not in word)
    line = one_line(text.translate({ord(character): " " for character in '"$\\!'}))
    return line.lstrip("-").lstrip().removesuffix("…")


def _path(path: str) -> str:
    return clip_path(stored_line(path), FILE_CHARS) if path else ""
