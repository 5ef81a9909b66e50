"""pi and OpenCode: our own extension and plugin send the payload and deliver each text themselves. Hot path."""

from __future__ import annotations

from clients import Client, content, text_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clients.event import HookEvent, Item, Kind, Text, Tool

# Kinds of texts that are not for the model (`session.compaction.client_compaction`), and their fields.
NOTICE = "compaction-notice"  # the extension shows it to the user
CANCEL = "compaction-cancelled"  # why the client is to leave the compaction out
SUMMARY = "compaction-summary"  # the extension is to ask for a summary of ours: how long it may wait, in ms
_FIELDS = {NOTICE: "notice", CANCEL: "cancel", SUMMARY: "summary"}
_MOST_ENTRIES = 400
_MOST_TEXTS = 32
_LONGEST_ID = 200
_LONGEST_INPUT = 4_000


class ExtensionClient(Client):
    """One in which our own extension runs: it sends a payload of ours, takes each text as a message, shows notices."""

    extension = True
    empty_answer = '{"messages": []}'
    events: Mapping[str, Kind] = {
        "session_start": "start",
        "prompt": "prompt",
        "tool": "tool",
        "turn_end": "turn",
        "before_compaction": "before_compaction",
        "before_branch": "before_branch",
        "after_compaction": "after_compaction",
        "session_end": "end",
    }

    def read(self, payload: dict[str, Any], name: str) -> HookEvent:
        """What a payload says; the client's name makes the ids of its messages unique."""
        event = self.event(payload, name)
        prompt = text_field(payload, "prompt")
        event["messages"] = [*_texts(payload, "messages"), *((prompt,) if prompt else ())]
        event["files"] = _texts(payload, "files")
        event["percent"] = _number(payload.get("percent"))
        event["tokens"] = _number(payload.get("tokens"))
        event["window"] = _number(payload.get("window"))
        event["said"] = _number(payload.get("said"))
        event["instructions"] = text_field(payload, "instructions")
        for entry in content.rows(payload.get("entries"))[-_MOST_ENTRIES:]:
            event["items"] += _items(entry, self.name)
        return event

    def answer(self, event: HookEvent, texts: Sequence[Text]) -> str:  # noqa: ARG002  # it is the same at any event
        """One line of JSON, with an empty list where nothing is to be said; the other fields are for the extension."""
        from core import json_text

        told = {
            _FIELDS[text["customType"]]: text["content"] for text in reversed(texts) if text["customType"] in _FIELDS
        }
        messages = [{**text, "display": False} for text in texts if text["customType"] not in _FIELDS]
        return json_text.dumps({"messages": messages, **told})


def _items(entry: dict[str, Any], agent: str) -> list[Item]:
    role = entry.get("role")
    if role not in ("user", "assistant"):
        return []
    identifier = text_field(entry, "id")[:_LONGEST_ID]
    tools: list[Tool] = []
    behind: list[Item] = []
    for number, tool in enumerate(content.rows(entry.get("tools"))):
        call = f"{identifier}/{number}"
        wanted = content.tool(call, text_field(tool, "name"), _texts(tool, "files"), text_field(tool, "command"), "")
        wanted["target"] = text_field(tool, "target") or wanted["target"]
        wanted["given"] = given = content.given_text(tool.get("given"))
        if len(given) > _LONGEST_INPUT:
            wanted["given"] = f"{given[: _LONGEST_INPUT // 2]}\n{given[-_LONGEST_INPUT // 2 :]}"
        tools.append(wanted)
        outcome = text_field(tool, "outcome")
        if tool.get("done", bool(outcome)) is True:
            behind.append(content.outcome(call, outcome, tool.get("failed") is True))
        if diff := text_field(tool, "diff"):
            from clients import edits

            behind += edits.edited(call, edits.of_unified(wanted["target"], diff))
        behind += content.plan(call, tool.get("plan"), "text")
    at = content.parse_timestamp(entry.get("at"))
    unique = f"{agent}:{identifier}" if identifier else ""
    text = text_field(entry, "text")
    return [{"kind": "said", "id": unique, "role": role, "text": text, "tools": tools, "at": at}, *behind]


def _texts(payload: dict[str, Any], key: str) -> list[str]:
    """A list of strings; of many the last ones."""
    given = payload.get(key)
    given = given[-_MOST_TEXTS:] if isinstance(given, list) else []
    return [text for one in given if (text := text_field({key: one}, key))]


def _number(value: Any) -> Any:
    """A number that is not negative, else None."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e12 else None
