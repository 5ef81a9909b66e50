"""Writes rollouts as Codex does."""

import json
from pathlib import Path
from typing import Any


class Rollout:
    """Appends lines to a file, one a second."""

    def __init__(self, folder: Path, session: str, minute: int = 0, **meta: Any) -> None:
        self.path = folder / f"rollout-2026-09-20T10-{minute:02}-00-{session}.jsonl"
        self.session, self.at = session, minute * 60
        self.rows: list[tuple[str, dict[str, Any]]] = []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if meta.get("cwd", "/w"):
            self.add("session_meta", **{"id": session, "cwd": "/w", **meta})

    def add(self, kind: str, **payload: Any) -> None:
        """Append a line."""
        self.at += 1
        stamp = f"2026-09-20T10:{self.at // 60:02}:{self.at % 60:02}.000Z"
        self.rows.append((kind, payload))
        with self.path.open("a") as file:
            file.write(json.dumps({"timestamp": stamp, "type": kind, "payload": payload}) + "\n")

    def item(self, kind: str, **fields: Any) -> None:
        """Append an item of the conversation."""
        self.add("response_item", type=kind, **fields)

    def say(self, role: str, *texts: str) -> None:
        """Append a message."""
        part = "output_text" if role == "assistant" else "input_text"
        self.item("message", role=role, content=[{"type": part, "text": text} for text in texts])

    def call(self, call: str, output: str | None = None, tool: str = "exec_command", **arguments: Any) -> None:
        """Append a tool call and, if it has one, its output."""
        self.item("function_call", name=tool, call_id=call, arguments=json.dumps(arguments))
        if output is not None:
            self.item("function_call_output", call_id=call, output=output)
