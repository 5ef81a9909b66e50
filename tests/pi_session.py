"""Writes session files as pi does."""

import json
from pathlib import Path
from typing import Any

WHEN = "2026-09-21T10:00:00.000Z"


class PiSession:
    """Writes entries to a file, each the child of the previous entry."""

    def __init__(self, path: Path, version: int = 3, cwd: str = "/w") -> None:
        self.path = path
        self.leaf: str | None = None
        self.ids: list[str] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        header = {"type": "session", "version": version, "id": "s-1", "timestamp": WHEN, "cwd": cwd}
        path.write_text(json.dumps(header) + "\n", encoding="utf-8")

    def add(self, kind: str, **fields: Any) -> str:
        """Append an entry; returns its id."""
        identifier = f"e{len(self.ids) + 1:03}"
        entry = {"type": kind, "id": identifier, "parentId": self.leaf, "timestamp": WHEN, **fields}
        self.append((json.dumps(entry) + "\n").encode())
        self.leaf = entry["id"]
        self.ids.append(entry["id"])
        return str(entry["id"])

    def append(self, data: bytes) -> None:
        """Append raw bytes."""
        with self.path.open("ab") as handle:
            handle.write(data)

    def user(self, text: str) -> str:
        """Append a user message."""
        return self.add(
            "message", message={"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}
        )

    def answer(self, text: str = "", *calls: dict[str, Any], tokens: int | None = None, stop: str = "stop") -> str:
        """Append an answer of the assistant, which reports `tokens` of context."""
        blocks = [{"type": "text", "text": text}] if text else []
        message: dict[str, Any] = {
            "role": "assistant",
            "content": [*blocks, *calls],
            "stopReason": stop,
            "timestamp": 2,
        }
        if tokens is not None:
            parts = {"input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0}
            message["usage"] = {**parts, "totalTokens": tokens}
        return self.add("message", message={**message, "provider": "p", "model": "m"})

    def result(self, call: str, text: str, **more: Any) -> str:
        """Append a tool's result."""
        content = [{"type": "text", "text": text}]
        return self.add(
            "message", message={"role": "toolResult", "toolCallId": call, "toolName": "x", "content": content, **more}
        )

    def compaction(self, first_kept: str, summary: str = "what was done", **more: Any) -> str:
        """Append a compaction that keeps the session from `first_kept` on."""
        return self.add("compaction", summary=summary, firstKeptEntryId=first_kept, tokensBefore=1, **more)


def call(identifier: str, name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call, for `answer`."""
    return {"type": "toolCall", "id": identifier, "name": name, "arguments": arguments}
