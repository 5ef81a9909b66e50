"""Hooks of the form that Claude Code, Codex and Gemini CLI share, and the fields that all payloads have. Hot path.

A field that has not its type counts as missing, whatever a client sends. Context reaches the model from a start, a
prompt and a tool's end only (measured; `docs/hooks.md`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.client import Client
    from clients.event import HookEvent, Kind, Text

_LONGEST_TEXT = 20_000
_LONGEST_SUMMARY = 300_000
"""Far more than is kept (100,000): the store cuts it when it has taken out its secrets."""
_REACH_THE_MODEL: tuple[Kind, ...] = ("start", "after_compaction", "prompt", "tool")


def text(payload: dict[str, Any], key: str) -> str:
    """A string field, "" where it is none."""
    value = payload.get(key)
    return value[:_LONGEST_TEXT] if isinstance(value, str) else ""


def event(client: Client, payload: dict[str, Any], name: str) -> HookEvent:
    """An event with the fields that all clients name alike; the rest is empty."""
    return {
        "kind": client.events.get(name, "ignored"),
        "name": name,
        "session": text(payload, "session_id"),
        "source": text(payload, "source"),
        "cwd": text(payload, "cwd"),
        "transcript": text(payload, "transcript_path"),
        "model": text(payload, "model"),
        "messages": [],
        "files": [],
        "items": [],
        "summary": "",
        "instructions": "",
        "said": None,
        "percent": None,
        "tokens": None,
        "window": None,
    }


def read(client: Client, payload: dict[str, Any], name: str) -> HookEvent:
    """What a payload says; a compaction is over when the session starts by it."""
    found = event(client, payload, text(payload, "hook_event_name") or name)
    if found["kind"] == "start" and found["source"] == "compact":
        found["kind"] = "after_compaction"
    elif found["kind"] == "prompt":
        from clients import content

        said = content.typed(text(payload, "prompt"))  # clients put into it what hooks returned before
        found["messages"] = [said] if said else []
    elif found["kind"] == "summary":
        found["summary"] = _summary(payload)
        found["kind"] = "summary" if found["summary"] else "ignored"
    elif found["kind"] == "tool":
        from clients import content

        given = content.table(payload.get("tool_input"))
        found["files"] = client.transcript().files_of(text(payload, "tool_name"), given)
    return found


def answer(event: HookEvent, texts: Sequence[Text]) -> str:
    """What is printed: context for the model, as one text; empty where there is none, or it would not reach it."""
    if not texts or event["kind"] not in _REACH_THE_MODEL:
        return ""
    from core import json_text

    context = "\n\n".join(text["content"] for text in texts)
    return json_text.dumps({"hookSpecificOutput": {"hookEventName": event["name"], "additionalContext": context}})


def _summary(payload: dict[str, Any]) -> str:
    """What the summariser wrote; "" where another subagent stopped. The transcript does not hold it yet."""
    from clients import content

    said = content.string(payload.get("last_assistant_message"))
    summary, end, _ = said.partition("<summary>")[2].partition("</summary>")
    return summary.strip()[:_LONGEST_SUMMARY] if end and not text(payload, "agent_type") else ""
