"""A transcript of Claude Code, written line by line as the client does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "5a3e7c11-2222-4333-8444-555566667777"
CWD = "/home/u/gateway"


class Transcript:
    """Writes entries to a file; each has an id of its own, counted up, and the session's: as the file is called."""

    def __init__(self, path: Path, first: int = 0, session: str = "") -> None:
        self.path = path
        self.session = session or path.stem
        self.count = first
        path.parent.mkdir(parents=True, exist_ok=True)

    def entry(self, role: str, content: Any, **more: Any) -> dict[str, Any]:
        """One entry, not written yet."""
        self.count += 1
        return {
            "parentUuid": f"u-{self.count - 1:08}" if self.count > 1 else None,
            "isSidechain": False,
            "type": role,
            "cwd": CWD,
            "sessionId": self.session,
            "uuid": f"u-{self.count:08}",
            "timestamp": f"2026-09-20T10:{self.count // 60 % 60:02}:{self.count % 60:02}.000Z",
            "message": {"role": role, "content": content},
            **more,
        }

    def write(self, *entries: dict[str, Any]) -> None:
        """Append whole lines."""
        with self.path.open("a", encoding="utf-8") as handle:
            handle.writelines(json.dumps(entry) + "\n" for entry in entries)

    def append(self, data: bytes) -> None:
        """Append bytes as they are."""
        with self.path.open("ab") as handle:
            handle.write(data)

    def user(self, text: str) -> str:
        """A message of the user; returns its id in the memory."""
        self.write(self.entry("user", text))
        return self.last_id

    def assistant(self, text: str) -> str:
        """A text of the assistant."""
        self.write(self.entry("assistant", [{"type": "text", "text": text}]))
        return self.last_id

    def call(self, call: str, name: str, **given: Any) -> str:
        """A tool call of the assistant."""
        self.write(self.entry("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}]))
        return self.last_id

    def outcome(self, call: str, text: str, *, failed: bool = False) -> None:
        """What a tool returned."""
        self.write(
            self.entry("user", [{"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}])
        )

    @property
    def last_id(self) -> str:
        """The id in the memory of what was written last."""
        return f"claude:u-{self.count:08}"


def long(path: Path, messages: int) -> Transcript:
    """A transcript with that many messages, each with words of its own, and much output of tools between them."""
    made = Transcript(path)
    entries = []
    for number in range(messages):
        role = "user" if number % 5 == 0 else "assistant"
        text = f"message number{number} of the session speaks of shard{number * 7} and its plain surroundings"
        entries.append(made.entry(role, text if role == "user" else [{"type": "text", "text": text}]))
        output = {"type": "tool_result", "tool_use_id": "none", "content": "output " * 1800}
        entries.append(made.entry("user", [output]))
        made.count -= 1
    made.write(*entries)
    return made
