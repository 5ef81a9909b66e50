"""Writes transcripts as Claude Code does."""

import json
from pathlib import Path
from typing import Any

SESSION = "5a3e7c11-2222-4333-8444-555566667777"
CWD = "/home/u/gateway"


class Transcript:
    """Writes entries with consecutive ids to a file; the session's id is the file's name."""

    def __init__(self, path: Path, first: int = 0, session: str = "", cwd: str = CWD) -> None:
        self.path = path
        self.session = session or path.stem
        self.count, self.cwd = first, cwd
        path.parent.mkdir(parents=True, exist_ok=True)

    def entry(self, role: str, content: Any, **more: Any) -> dict[str, Any]:
        """Build an entry without writing it."""
        self.count += 1
        return {
            "parentUuid": f"u-{self.count - 1:08}" if self.count > 1 else None,
            "isSidechain": False,
            "type": role,
            "cwd": self.cwd,
            "sessionId": self.session,
            "uuid": f"u-{self.count:08}",
            "timestamp": f"2026-09-20T10:{self.count // 60 % 60:02}:{self.count % 60:02}.000Z",
            "message": {"role": role, "content": content},
            **more,
        }

    def write(self, *entries: dict[str, Any]) -> None:
        """Append entries as lines."""
        with self.path.open("a", encoding="utf-8") as handle:
            handle.writelines(json.dumps(entry) + "\n" for entry in entries)

    def append(self, data: bytes) -> None:
        """Append raw bytes."""
        with self.path.open("ab") as handle:
            handle.write(data)

    def user(self, text: str) -> str:
        """Write a user message; returns its id in the store."""
        self.write(self.entry("user", text))
        return self.last_id

    def assistant(self, text: str) -> str:
        """Write a text of the assistant; returns its id in the store."""
        self.write(self.entry("assistant", [{"type": "text", "text": text}]))
        return self.last_id

    def call(self, call: str, name: str, **fields: Any) -> str:
        """Write a tool call; returns its id in the store."""
        self.write(self.entry("assistant", [{"type": "tool_use", "id": call, "name": name, "input": fields}]))
        return self.last_id

    def outcome(self, call: str, text: str, *, failed: bool = False) -> None:
        """Write a tool's result."""
        self.write(
            self.entry("user", [{"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}])
        )

    def used(self, call: str, name: str, result: str, *, failed: bool = False, **fields: Any) -> None:
        """Write a tool call and its result."""
        self.call(call, name, **fields)
        self.outcome(call, result, failed=failed)

    def edited(self, call: str, file: str, first: int, *lines: str, text: str = "", failed: bool = False) -> None:
        """Write an edit of a file below the folder: its patch from line `first` on, and the new text, if it is more."""
        path, added = f"{self.cwd}/{file}", "\n".join(line[1:] for line in lines if line[:1] == "+")
        self.call(call, "Edit", file_path=path, old_string="", new_string=text or added)
        result = [{"type": "tool_result", "tool_use_id": call, "content": "done", "is_error": failed}]
        patch = [{"newStart": first, "lines": list(lines)}]
        self.write(self.entry("user", result, toolUseResult={"filePath": path, "structuredPatch": patch}))

    def compact(self, summary: str = "") -> None:
        """Write the boundary of a compaction and, if any, its summary."""
        self.write(self.entry("system", "", subtype="compact_boundary", compactMetadata={"trigger": "auto"}))
        if summary:
            self.write(self.entry("user", summary, isCompactSummary=True, isVisibleInTranscriptOnly=True))

    @property
    def last_id(self) -> str:
        """The store's id of the last entry."""
        return f"claude:u-{self.count:08}"


def long(path: Path, messages: int) -> Transcript:
    """Write a transcript of distinct messages with long tool results between them."""
    transcript = Transcript(path)
    entries = []
    for number in range(messages):
        role = "user" if number % 5 == 0 else "assistant"
        text = f"message number{number} of the session speaks of shard{number * 7} and its plain surroundings"
        entries.append(transcript.entry(role, text if role == "user" else [{"type": "text", "text": text}]))
        output = {"type": "tool_result", "tool_use_id": "none", "content": "output " * 1800}
        entries.append(transcript.entry("user", [output]))
        transcript.count -= 1
    transcript.write(*entries)
    return transcript
