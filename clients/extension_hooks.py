"""pi and OpenCode: our own extension and plugin send the payload and deliver each text themselves."""

from __future__ import annotations

from clients import content, moment
from clients import payload as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from clients.event import HookEvent, Item, Kind, Text, Tool

KINDS: dict[str, Kind] = {
    "session_start": "start",
    "prompt": "prompt",
    "tool": "tool",
    "turn_end": "turn",
    "before_compaction": "before_compaction",
    "before_branch": "before_branch",
    "after_compaction": "after_compaction",
    "session_end": "end",
}
NOTICE = "compaction-notice"
"""The kind of text that the extension shows to the user (`session.compaction.client_compaction`)."""
CANCEL = "compaction-cancelled"
"""Of one that is the reason why the client is to leave the compaction out (`session.compaction.client_compaction`)."""
SUMMARY = "compaction-summary"
"""Of one that lets the extension ask for a summary of ours: how long it may wait, in ms."""
_FIELDS = {NOTICE: "notice", CANCEL: "cancel", SUMMARY: "summary"}
"""Those that are no texts for the model, and the fields in which they stand."""
_MOST_ENTRIES = 400
_LONGEST_ID = 200
_LONGEST_INPUT = 4_000


def reader(agent: str) -> Callable[[dict[str, Any], str], HookEvent]:
    """What reads a payload of our extension in a client; its name makes the ids of messages unique."""

    def read(payload: dict[str, Any], name: str) -> HookEvent:
        event = fields.event(payload, name, KINDS.get(name, "ignored"))
        prompt = fields.text(payload, "prompt")
        event["messages"] = [*fields.texts(payload, "messages"), *((prompt,) if prompt else ())]
        event["files"] = fields.texts(payload, "files")
        event["percent"] = fields.number(payload, "percent")
        event["tokens"] = fields.whole(payload, "tokens")
        event["window"] = fields.whole(payload, "window")
        event["said"] = fields.whole(payload, "said")
        event["instructions"] = fields.text(payload, "instructions")
        entries = payload.get("entries")
        for entry in entries[-_MOST_ENTRIES:] if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                event["items"] += _items(entry, agent)
        return event

    return read


def answer(_event: HookEvent, texts: Sequence[Text]) -> str:
    """One line of JSON, with an empty list where nothing is to be said; the other fields are for the extension."""
    from core import json_text

    told = {_FIELDS[text["customType"]]: text["content"] for text in reversed(texts) if text["customType"] in _FIELDS}
    messages = [{**text, "display": False} for text in texts if text["customType"] not in _FIELDS]
    return json_text.dumps({"messages": messages, **told})


def _items(entry: dict[str, Any], agent: str) -> list[Item]:
    role = entry.get("role")
    said = fields.text(entry, "text")
    identifier = fields.text(entry, "id")[:_LONGEST_ID]
    if role not in ("user", "assistant"):
        return []
    tools: list[Tool] = []
    outcomes: list[Item] = []
    plans: list[Item] = []
    given = entry.get("tools")
    for number, tool in enumerate(given if isinstance(given, list) else ()):
        if not isinstance(tool, dict):
            continue
        call = f"{identifier}/{number}"
        tools.append(
            {
                "call": call,
                "name": fields.text(tool, "name"),
                "files": fields.texts(tool, "files"),
                "command": fields.text(tool, "command"),
                "target": fields.text(tool, "target") or next(iter(fields.texts(tool, "files")), ""),
                "given": _given(tool),
            }
        )
        outcome = fields.text(tool, "outcome")
        if tool.get("done", bool(outcome)) is True:
            outcomes.append(content.outcome(call, outcome, tool.get("failed") is True))
        plan = content.plan(tool.get("plan"), ("text",))
        if plan:
            plans.append(plan)
    at = moment.ms(entry.get("at"))
    unique = f"{agent}:{identifier}" if identifier else ""
    return [{"kind": "said", "id": unique, "role": role, "text": said, "tools": tools, "at": at}, *outcomes, *plans]


def _given(tool: dict[str, Any]) -> str:
    """All texts of a tool's input, of a long one both ends: of an object with its names, or as one text."""
    given = tool.get("given")
    if isinstance(given, str):
        return fields.text(tool, "given")
    text = content.given_text(given)
    half = _LONGEST_INPUT // 2
    return text if len(text) <= _LONGEST_INPUT else f"{text[:half]}\n{text[-half:]}"
