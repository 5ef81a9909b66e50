"""What tool calls of OpenCode write and run. It keeps no transcript file; its plugin sends the messages. Hot path."""

from __future__ import annotations

from clients import content

_WRITES = ("edit", "write", "multiedit")
_PATCHES = ("patch", "apply_patch")


def files_of(tool_name: str, tool_input: object) -> list[str]:
    """The files that a tool call writes; none for a tool that only reads."""
    if tool_name in _WRITES or tool_name in _PATCHES:
        found = content.paths(tool_input, "filePath", "file_path", "path")
        if found or tool_name in _WRITES:
            return found
        given = content.table(tool_input)
        return content.files_in_patch(content.string(given.get("patchText")) or content.string(given.get("patch")))
    return []


def command_of(tool_name: str, tool_input: object) -> str:
    """The shell command of a tool call, "" for another tool."""
    return content.string(content.table(tool_input).get("command")) if tool_name == "bash" else ""
