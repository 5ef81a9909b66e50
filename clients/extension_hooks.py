"""pi and OpenCode: our own extension and plugin send the payload and deliver each text themselves. Hot path."""

from __future__ import annotations

from clients import content, hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.client import Client
    from clients.event import HookEvent, Item, Text, Tool

NOTICE = "compaction-notice"
"""The kind of text that the extension shows to the user (`session.compaction.client_compaction`)."""
CANCEL = "compaction-cancelled"
"""Of one that is the reason why the client is to leave the compaction out (`session.compaction.client_compaction`)."""
SUMMARY = "compaction-summary"
"""Of one that lets the extension ask for a summary of ours: how long it may wait, in ms."""
_FIELDS = {NOTICE: "notice", CANCEL: "cancel", SUMMARY: "summary"}
"""Those that are no texts for the model, and the fields in which they stand."""
_MOST_ENTRIES = 400
_MOST_TEXTS = 32
_LONGEST_ID = 200
_LONGEST_INPUT = 4_000


def read(client: Client, payload: dict[str, Any], name: str) -> HookEvent:
    """What a payload says; the client's name makes the ids of its messages unique."""
    event = hooks.event(client, payload, name)
    prompt = hooks.text(payload, "prompt")
    event["messages"] = [*_texts(payload, "messages"), *((prompt,) if prompt else ())]
    event["files"] = _texts(payload, "files")
    event["percent"] = _number(payload.get("percent"))
    event["tokens"] = _whole(payload.get("tokens"))
    event["window"] = _whole(payload.get("window"))
    event["said"] = _whole(payload.get("said"))
    event["instructions"] = hooks.text(payload, "instructions")
    for entry in content.rows(payload.get("entries"))[-_MOST_ENTRIES:]:
        event["items"] += _items(entry, client.name)
    return event


def answer(texts: Sequence[Text]) -> str:
    """One line of JSON, with an empty list where nothing is to be said; the other fields are for the extension."""
    from core import json_text

    told = {_FIELDS[text["customType"]]: text["content"] for text in reversed(texts) if text["customType"] in _FIELDS}
    messages = [{**text, "display": False} for text in texts if text["customType"] not in _FIELDS]
    return json_text.dumps({"messages": messages, **told})


def _items(entry: dict[str, Any], agent: str) -> list[Item]:
    role = entry.get("role")
    if role not in ("user", "assistant"):
        return []
    identifier = hooks.text(entry, "id")[:_LONGEST_ID]
    tools: list[Tool] = []
    behind: list[Item] = []
    for number, tool in enumerate(content.rows(entry.get("tools"))):
        call = f"{identifier}/{number}"
        files = _texts(tool, "files")
        tools.append(
            {
                "call": call,
                "name": hooks.text(tool, "name"),
                "files": files,
                "command": hooks.text(tool, "command"),
                "target": hooks.text(tool, "target") or next(iter(files), ""),
                "given": _given(tool.get("given")),
            }
        )
        outcome = hooks.text(tool, "outcome")
        if tool.get("done", bool(outcome)) is True:
            behind.append(content.outcome(call, outcome, tool.get("failed") is True))
        plan = content.plan(tool.get("plan"), ("text",))
        if plan:
            behind.append(plan)
    text = hooks.text(entry, "text")
    at = content.parse_timestamp(entry.get("at"))
    unique = f"{agent}:{identifier}" if identifier else ""
    return [{"kind": "said", "id": unique, "role": role, "text": text, "tools": tools, "at": at}, *behind]


def _given(given: object) -> str:
    """All texts of a tool's input, an object with its names or one text; of a long one both ends."""
    text = content.given_text(given)
    half = _LONGEST_INPUT // 2
    return text if len(text) <= _LONGEST_INPUT else f"{text[:half]}\n{text[-half:]}"


def _texts(payload: dict[str, Any], key: str) -> list[str]:
    """A list of strings; of many the last ones."""
    given = payload.get(key)
    given = given[-_MOST_TEXTS:] if isinstance(given, list) else []
    return [hooks.text({key: one}, key) for one in given if isinstance(one, str) and one]


def _number(value: object) -> float | None:
    """A number that is not negative."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e12 else None  # type: ignore[operator,return-value]


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
