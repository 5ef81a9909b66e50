"""A call of a client's hook that asks for nothing: what is sent, and whether the answer is one the client takes."""

from __future__ import annotations

import json
from typing import Any

from clients.client import Client

SESSION = "joelclaw-doctor"
"""The session that such a call names."""


def start_of(client: Client) -> str:
    """The client's event at the start of a session: our answer to it reaches the model."""
    return next(name for name, kind in client.events.items() if kind == "start")


def payload(client: Client, event: str, folder: str) -> dict[str, Any]:
    """What the client would send at the event: a session without a transcript, in a folder of its own."""
    common: dict[str, Any] = {"session_id": SESSION, "cwd": folder}
    if client.extension:
        return {**common, "transcript_path": None, "messages": [], "percent": None, "tokens": None, "window": None}
    kind = client.events.get(event)
    more = {"start": {"source": "startup"}, "end": {"reason": "other"}, "prompt": {"prompt": ""}}.get(str(kind), {})
    return {**common, "transcript_path": "", "hook_event_name": event, **more}


def refusal(client: Client, event: str, answer: str) -> str:
    """Why the client would not take what the hook printed; "" where it does."""
    if not answer.strip():
        return "it printed nothing, and the extension waits for JSON" if client.extension else ""
    try:
        found = json.loads(answer)
    except ValueError:
        return f"it printed what is no JSON: {answer.strip()[:80]!r}"
    if not isinstance(found, dict):
        return "it printed JSON that is no object"
    if client.extension:
        texts = found.get("messages")
        good = isinstance(texts, list) and all(isinstance(one, dict) and "content" in one for one in texts)
        return "" if good else "its JSON has no list `messages`"
    told = found.get("hookSpecificOutput")
    if not isinstance(told, dict) or not isinstance(told.get("additionalContext"), str):
        return "its JSON has no text `hookSpecificOutput.additionalContext`"
    return "" if told.get("hookEventName") == event else f"its answer names another event than {event}"
