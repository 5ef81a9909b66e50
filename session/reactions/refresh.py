"""What memory has on the topic of a session that goes on (ADR-0204, change 2). Hot path.

A refresh comes when the context is half full, after a pause, and after half an hour; never in the first minutes of a
session. It gives memories on the session's topic that were written or changed since, and nothing that the agent knows.
A prompt that names a file or a function gets the memories about it.

A gateway works on all projects, for hours. It may also ask for a refresh ("what's happening?"), and gets a whole new
block each time, with what happened meanwhile, which replaces the block before. It never gets its own words again.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.clock import HOUR_MS, MINUTE_MS
from core.names import names_in_order
from core.quoting import clip, cost, one_line
from session import record, requests
from session.reactions import FAILED, HALF_FULL_PERCENT, NO_RESULTS, Reaction
from session.session import COOLDOWN_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from clients.base import HookEvent
    from core.records import Event, EventQuery, Hit
    from session.session import Session
    from session.state import Message, SessionState

LINE_CHARS = 120  # of an event, or of an entry of the log
# What joelclaw reports about itself is no news.
_OWN_COMPONENTS = (
    "session-lifecycle gateway-context memory-enforcer memory-feedback recall-cli knowledge-cli hook observe config"
    " home project store switch".split()
)


def react(event: HookEvent, session: Session) -> Reaction:
    """The text for a prompt, or for a context that became half full."""
    state, store = session.state, session.store
    message = event["messages"][-1].strip() if event["kind"] == "prompt" and event["messages"] else ""
    names, is_topic, trigger = _new_names(message, state), state.is_gateway and requests.is_topic(message), ""
    if session.config.get_float("refresh.minutes"):
        trigger = trigger_of(message, session) or ("named" if names or is_topic else "")
    if not trigger:
        return Reaction("not-due", about={"trigger": ""})
    is_general = trigger != "named"  # about the session's topic
    of_prompt = is_topic or (bool(names) and store.has_memory_naming(names))
    queries = [_topic_query([], message) or " ".join(names)] if of_prompt else []
    if is_general and (not queries or trigger == "asked"):  # "give me a status report" is about the earlier messages
        queries.append(_topic_query(state.messages, message))
    query, hits = _first_found(session, event["cwd"], queries)
    about = {"trigger": trigger, "query": query}
    if not query:
        return Reaction("no-seed", about=about)
    if hits is None:
        return Reaction(FAILED, about=about)

    from session.reactions.injection import fit, give, select, written_to_be_kept

    kept = written_to_be_kept(hits, state)
    changed = _changed(session, kept) if is_general else set()
    fresh = [hit for hit in kept if hit["id"] not in state.injected_memories]
    notes = _vault_notes(message, state) if is_topic else {}
    above = ["**In the vault:**", *notes.values()] if notes else []
    is_block = state.is_gateway and is_general
    if is_block:
        title, most = "**In memory:**", 3
        news, given = _gateway_block(session, kept, changed | {hit["id"] for hit in fresh})
        above = [*news, *above]
    else:
        given = [hit for hit in fresh if is_topic or hit["id"] in changed or _has_name(hit["observation"], names)]
        is_change = any(hit["id"] in changed for hit in given)
        title, most = ("**Changed in memory:**", 3) if is_change else ("**Noted about it:**", 2)
    content, shown = fit(
        "context-refresh", ["## Context Refresh", *above], title, select(given, state)[:most], mark="- [{category}] ",
        max_tokens=400 + cost("\n".join(notes.values())),
    )  # fmt: skip
    if is_general:  # a prompt that names something does not put the next refresh off
        state.last_refresh_at = session.now
        state.half_refreshed = state.half_refreshed or trigger == "half-full"
    if not content:
        return Reaction(NO_RESULTS, about=about)
    if is_block:
        state.injected_kinds = {**state.injected_kinds, "context-refresh": session.now}
    given_names = [name for name in names if any(_has_name(memory["text"], [name]) for memory in shown)]
    state.told_names = [*state.told_names, *notes, *given_names]
    return give(session, "context-refresh", content, shown, about=about, query=query)


def trigger_of(message: str, session: Session) -> str:
    """Why a refresh is due: "half-full", "asked" (of a gateway), "idle" or "interval"; "" if it is not."""
    state, now, last = session.state, session.now, session.state.last_refresh_at
    if session.is_cooling_down or (last is not None and 0 <= now - last < COOLDOWN_MS):
        return ""
    percent = session.usage["percent"]
    if percent is not None and percent >= HALF_FULL_PERCENT and not state.half_refreshed:
        return "half-full"
    if not message or now - state.started_at < 5 * MINUTE_MS:  # a session that has just begun knows what there is
        return ""
    if state.is_gateway and requests.asks_for_state(message):
        return "asked"
    before = session.before or state
    if now - max(before.updated_at, before.last_message_at or 0) >= 10 * MINUTE_MS:  # maybe back with something else
        return "idle"
    since = state.started_at if last is None or last > now else last
    return "interval" if now - since > session.config.get_float("refresh.minutes") * MINUTE_MS else ""


def _first_found(session: Session, cwd: str, queries: Sequence[str]) -> tuple[str, list[Hit] | None]:
    """The first query that finds memories, else the last, and what it finds; None if the store failed."""
    query, hits = "", None
    for query in filter(None, queries):
        hits = session.recall(query, session.project(cwd))
        if hits is None or hits:
            break
    return query, hits


def _topic_query(messages: Sequence[Message], typed: str) -> str:
    """The recall query of the topics among a state's messages, oldest first, and what was typed; "" without a topic.

    Behind other messages, a prompt that asks for the state of things is about these.
    """
    fresh = record.message(typed)
    every = {entry["hash"]: entry for entry in (*messages, *([fresh] if fresh else []))}.values()
    topics = [entry for entry in every if requests.is_topic(entry["text"])]
    about = [entry for entry in topics if not (messages and requests.asks_for_state(entry["text"]))]
    return record.task_query(about)


def _new_names(message: str, state: SessionState) -> list[str]:
    """The identifiers and file names in a person's prompt that are new to the session; none of URLs and options."""
    words = [word for word in requests.own_words(message).split() if "://" not in word and not word.startswith("-")]
    return [name for name, is_name in names_in_order(" ".join(words)) if is_name and name not in state.told_names][:60]


def _has_name(text: str, names: Sequence[str]) -> bool:
    return any(is_name and name in names for name, is_name in names_in_order(text[:200]))


def _changed(session: Session, hits: Sequence[Hit]) -> set[str]:
    """The ids of those that were written or changed since memory was last looked at, or since the session began."""
    from core.store import documents

    last = session.state.last_refresh_at
    since = session.state.started_at if last is None or last > session.now else int(last)
    identifiers = [hit["id"] for hit in hits]
    return session.store.read("recall", lambda db: documents.changed_since(db, identifiers, since), set())


def _gateway_block(session: Session, hits: Sequence[Hit], new: set[str]) -> tuple[list[str], list[Hit]]:
    """The lines above the memories of a refresh, and the memories; nothing if nothing is new since the last refresh.

    Args:
        hits: the memories on the topic.
        new: the ids of those that changed or that the agent does not have.
    """
    compacted_at = session.state.last_compaction_at or 0
    given_at = session.state.injected_kinds.get("context-refresh", 0)
    replaces = given_at > compacted_at
    lines, is_new = _news(session, given_at if replaces else compacted_at)
    shown = [hit for hit in hits if replaces or hit["id"] in new]
    if not is_new and all(hit["id"] not in new for hit in shown):
        return [], []
    return [*(["This replaces the one before."] if replaces else []), *lines], shown


def _news(session: Session, last: int) -> tuple[list[str], bool]:
    """What happened in the last two hours and today, as lines, and whether any of it is newer than `last` (ms)."""
    from core.store import events
    from session.reactions import daily_log

    def read(db: apsw.Connection) -> list[Event]:
        since = session.now - 2 * HOUR_MS
        levels: tuple[tuple[str, ...], ...] = (("error", "fatal", "warn"), ("info",))
        asked: list[EventQuery] = [
            {"since": since, "levels": names, "hidden_components": _OWN_COMPONENTS} for names in levels
        ]
        return [event for query in asked for event in events.newest(db, query, 100)]

    none: list[Event] = []
    session.store_events()
    found = session.store.read("events", read, none)
    entries = daily_log.entries_of_others(session.now, session.config)[-3:]
    of_events, of_log = _event_lines(found, session.now), [line for _, line in entries]
    lines = [
        line if line.startswith("**") else f"- {clip(one_line(line), LINE_CHARS)}"
        for title, group in (("**Last 2 hours:**", of_events), ("**Today:**", of_log))
        for line in ([title, *group] if group else ())
    ]
    is_new = any(event["timestamp"] > last for event in found) or any(at > last for at, _ in entries)
    return lines, is_new


def _event_lines(events: Sequence[Event], now: int) -> list[str]:
    """At most five lines: the faults, the newest first, then other actions, the most frequent first."""
    groups: dict[tuple[bool, str, str], list[Event]] = {}  # the newest of each is first
    for event in events:
        is_done = event["level"] == "info" and event["success"]
        groups.setdefault((is_done, event["action"], event["source"]), []).append(event)

    def rank(key: tuple[bool, str, str]) -> tuple[bool, int, int]:
        return key[0], -len(groups[key]) if key[0] else 0, -groups[key][0]["timestamp"]

    lines: list[str] = []
    for key in sorted(groups, key=rank)[:5]:
        is_done, action, source = key
        newest, times = groups[key][0], f" ×{len(groups[key])}" if len(groups[key]) > 1 else ""
        level = "" if is_done else "failed " if newest["level"] == "info" else f"{newest['level']} "
        error = newest.get("error") or ""
        why = "" if error in ("", "operation_failed") else f": {error}"
        age = max(0, now - newest["timestamp"]) // MINUTE_MS
        lines.append(f"{level}{action} ({source}){times}, {age} min ago{why}")
    return lines


def _vault_notes(message: str, state: SessionState) -> dict[str, str]:
    """By name, a line for each note of the vault that a prompt names by number or path, or asks for ("decisions …")."""
    words = [word.strip("`'\"()[],;:?!") for word in message.split()]
    paths = [word for word in words if word.endswith(".md") or "/Vault/" in word]
    if not (paths or any(word.lower().startswith(("adr", "decision")) for word in words)):
        return {}
    from contextlib import suppress

    from core.errors import Failure
    from memory.knowledge import vault

    lines: dict[str, str] = {}
    for reference in paths or [message]:
        with suppress(Failure):  # there is no vault, or nothing in it
            for match, note in vault.find(vault.root(), reference):
                name = match.path.rpartition("/")[2]
                heading = next((line for line in note["content"].splitlines() if line.startswith("# ")), name)
                if name not in state.told_names:
                    lines[name] = f"- {one_line(heading)}: {one_line(match.path)}"
    return dict(list(lines.items())[:3])
