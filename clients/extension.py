"""Clients in which our own extension runs (pi, OpenCode): it sends the payloads and delivers the texts. Hot path."""

from __future__ import annotations

from clients.base import NOTICE, Client, text_field
from clients.content import as_objects, given_text, parse_timestamp
from clients.entries import Entry, call_entry, diff_entries, plan_entries, result_entry
from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clients.base import HookEvent, Kind, Text

# Kinds of texts that are not for the model (`session.compaction`).
CANCEL = "compaction-cancelled"  # why the client should leave the compaction out
SUMMARY = "compaction-summary"  # the extension should ask for a summary of ours: how long it may wait, in ms
FIELDS = {NOTICE: "notice", CANCEL: "cancel", SUMMARY: "summary"}


class ExtensionClient(Client):
    """A client whose extension sends a payload of ours, takes each text as a message, and shows notices."""

    extension = True
    shows_notices = True
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
        """Read a payload of our extension."""
        event = self.event(payload, name)
        prompt = text_field(payload, "prompt")
        event["messages"] = [*texts_of(payload, "messages"), *((prompt,) if prompt else ())]
        event["files"] = texts_of(payload, "files")
        event["percent"] = number_or_none(payload.get("percent"))
        event["tokens"] = number_or_none(payload.get("tokens"))
        event["window"] = number_or_none(payload.get("window"))
        event["leaf"] = text_field(payload, "leaf")
        event["instructions"] = text_field(payload, "instructions")
        if removed := text_field(payload, "removed"):
            event["items"].append(Entry("rollback", rewound_to=removed))
        for message in as_objects(payload.get("entries"))[-400:]:
            event["items"] += message_entries(message, self.name)
        return event

    def answer(self, event: HookEvent, texts: Sequence[Text]) -> str:  # noqa: ARG002  # it is the same at any event
        """One line of JSON: messages for the model, and fields for the extension itself."""
        from core import json_text

        fields = {
            FIELDS[text["customType"]]: text["content"] for text in reversed(texts) if text["customType"] in FIELDS
        }
        messages = [{**text, "display": False} for text in texts if text["customType"] not in FIELDS]
        return json_text.dumps({"messages": messages, **fields})


def message_entries(message: dict[str, Any], agent: str) -> list[Entry]:
    """A message with the tools that it called; the agent's name makes its id unique over all clients."""
    role = message.get("role")
    if role not in ("user", "assistant"):
        return []
    identifier = text_field(message, "id")[:200]
    said = Entry("prompt" if role == "user" else "answer", parse_timestamp(message.get("at")))
    said.text = text_field(message, "text").strip()
    said.id = identifier
    said.stable_id = f"{agent}:{identifier}" if identifier else ""
    calls, others = [], []
    for number, tool in enumerate(as_objects(message.get("tools"))):
        files, given = texts_of(tool, "files"), given_text(tool.get("given"))
        call = call_entry(f"{identifier}/{number}", text_field(tool, "name"), given, files, text_field(tool, "command"))
        if target := text_field(tool, "target"):
            call.read_files = [] if files else [target]
        call.at = said.at
        calls.append(call)
        outcome = text_field(tool, "outcome")
        if tool.get("done", bool(outcome)) is True:
            others.append(result_entry(call.call, outcome, tool.get("failed") is True))
        others += diff_entries(call.call, text_field(tool, "target") or call.target, text_field(tool, "diff"))
        if tool.get("plan") or call.tool == "todowrite":  # the plugin sends an empty plan with other tools
            others += plan_entries(call.call, tool.get("plan"), "text")
    return [said, *calls, *others]


def texts_of(payload: dict[str, Any], key: str, most: int = 32) -> list[str]:
    """A list of strings; the last ones of a long list."""
    given = payload.get(key)
    given = given[-most:] if isinstance(given, list) else []
    return [text for value in given if (text := text_field({key: value}, key))]


def number_or_none(value: Any) -> Any:
    """A number that is not negative, else None."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e12 else None
