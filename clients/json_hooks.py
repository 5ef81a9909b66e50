"""Hooks of the form that Claude Code, Codex and Gemini CLI share; each of them names its events and its tools' files.

Context reaches the model from a start, a prompt and a tool's end only (measured; `docs/hooks.md`).
"""

from __future__ import annotations

from clients import content
from clients import payload as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clients.event import HookEvent, Kind, Text

_LONGEST_SUMMARY = 300_000
"""Far more than is kept (100,000): the store cuts it when it has taken out its secrets."""
_REACH_THE_MODEL: tuple[Kind, ...] = ("start", "after_compaction", "prompt", "tool")


def speaks(kind: Kind) -> bool:
    """Whether what is printed at such an event reaches the model."""
    return kind in _REACH_THE_MODEL


def reader(
    kinds: Mapping[str, Kind], files_of: Callable[[str, dict[str, Any]], list[str]]
) -> Callable[[dict[str, Any], str], HookEvent]:
    """What reads a payload of a client: `kinds` names its events, `files_of` the files that a tool call writes."""

    def read(payload: dict[str, Any], name: str) -> HookEvent:
        name = fields.text(payload, "hook_event_name") or name
        event = fields.event(payload, name, kinds.get(name, "ignored"))
        if event["kind"] == "start" and event["source"] == "compact":
            event["kind"] = "after_compaction"
        elif event["kind"] == "prompt":
            event["messages"] = _prompt(payload)
        elif event["kind"] == "summary":
            event["summary"] = _summary(payload)
            event["kind"] = "summary" if event["summary"] else "ignored"
        elif event["kind"] == "tool":
            event["files"] = files_of(fields.text(payload, "tool_name"), fields.table(payload, "tool_input"))
        return event

    return read


def answer(event: HookEvent, texts: Sequence[Text]) -> str:
    """What is printed: context for the model, as one text; empty where there is none, or it would not reach it."""
    if not texts or not speaks(event["kind"]):
        return ""
    from core import json_text

    context = "\n\n".join(text["content"] for text in texts)
    return json_text.dumps({"hookSpecificOutput": {"hookEventName": event["name"], "additionalContext": context}})


def _summary(payload: dict[str, Any]) -> str:
    """What the summariser wrote; "" where another subagent stopped. The transcript does not hold it yet."""
    said = payload.get("last_assistant_message")
    if fields.text(payload, "agent_type") or not isinstance(said, str):
        return ""
    text, end, _ = said.partition("<summary>")[2].partition("</summary>")
    return text.strip()[:_LONGEST_SUMMARY] if end else ""


def _prompt(payload: dict[str, Any]) -> list[str]:
    """What the user typed: clients put into it what hooks returned before."""
    said = content.typed(fields.text(payload, "prompt"))
    return [said] if said else []
