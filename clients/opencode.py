"""OpenCode (1.18), in which our plugin runs: its row and its sessions, which it keeps in a database. Hot path.

A line of a session is a message with its parts, as in an export (`opencode export`); the first is about the session.
The plugin sends the same messages, so both get the same ids.
"""

from __future__ import annotations

import os

from clients.content import parse_timestamp, rows, string, table, whole
from clients.entries import Entry, summary_entry, with_node
from clients.extension import ExtensionClient, message_entries
from core import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

MAX_OUTPUT_CHARS = 16_000  # of what a tool returned; the plugin sends as much


class OpenCode(ExtensionClient):
    """Its plugin sends the new messages with each event."""

    name = "opencode"
    title = "OpenCode"
    home_variable = "OPENCODE_CONFIG_DIR"
    home_folder = ".config/opencode"
    project_folder = ".opencode"
    settings_file = "plugin/joelclaw.js"
    session_file = "database"
    said_marks = (b'"role"', b'"summary"')
    writing_tools = ("edit", "write", "multiedit", "patch", "apply_patch")

    def home(self) -> str:
        """Its configuration folder; without its own variable it is below `XDG_CONFIG_HOME`, if that is set."""
        if os.environ.get("XDG_CONFIG_HOME") and not os.environ.get(self.home_variable):
            return os.path.join(os.environ["XDG_CONFIG_HOME"], "opencode")
        return super().home()

    def histories(self) -> list[tuple[str, str]]:
        """Its database; a preview version has one of its own."""
        data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        folder = os.path.join(data, "opencode")
        chosen = os.path.join(folder, os.path.expanduser(os.environ.get("OPENCODE_DB", "")))
        return [(folder, "opencode*.db"), *([os.path.split(chosen)] if chosen != os.path.join(folder, "") else [])]

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line is a message with its parts, or is about a session."""
        info = table(line.get("info"))
        return string(info.get("id")).startswith("ses_") or (info != {} and isinstance(line.get("parts"), list))

    def entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of a message, and those of its tools."""
        info, parts = table(line.get("info")), rows(line.get("parts"))
        at, identifier = parse_timestamp(table(info.get("time")).get("created")), string(info.get("id"))
        if "parts" not in line:
            return _about_session(info, at, identifier)
        tools = [part for part in parts if part.get("type") == "tool"]
        said = [part for part in parts if not (part.get("synthetic") or part.get("ignored"))]
        text = "\n".join(string(part.get("text")) for part in said if part.get("type") == "text").strip()
        found: list[Entry] = []
        if info.get("summary") is True:  # of the messages before it
            found = [Entry("compaction", at, summary=text), summary_entry(text, at)]
        elif text or tools:
            used = [self._used(part) for part in tools]
            found = message_entries({"id": identifier, "role": info.get("role"), "at": at, "tools": used}, self.name)
            for entry in found[:1]:
                entry.text = text
            # the tool `compress` of a plugin replaces earlier messages by summaries
            inputs = (table(part.get("state")).get("input") for part in tools if part.get("tool") == "compress")
            found += [summary_entry(summary, at) for given in inputs if (summary := "\n".join(_summaries(given)))]
        found = with_node(found, at, identifier, info.get("parentID"))
        found[0].session = string(info.get("sessionID"))
        found[0].folder = string(table(info.get("path")).get("cwd"))
        return found

    def _used(self, part: dict[str, Any]) -> dict[str, Any]:
        """A tool's call in the form in which the plugin sends it."""
        tool, state = string(part.get("tool")), table(part.get("state"))
        given, about, fault = table(state.get("input")), table(state.get("metadata")), string(state.get("error"))
        status = state.get("status")
        is_done, has_failed = status == "completed", status == "error"
        diff = string(about.get("diff"))
        if tool == "write" and not diff and (whole_file := string(given.get("content"))):
            lines = whole_file.removesuffix("\n").split("\n")
            diff = "\n".join([f"@@ -0,0 +1,{len(lines)} @@", *(f"+{text}" for text in lines)])
        patch = string(given.get("patchText")) or string(given.get("patch"))
        heads = ("*** Add File: ", "*** Update File: ", "*** Move to: ")
        patched = [text.partition(": ")[2].strip() for text in patch.split("\n") if text.startswith(heads)]
        target = string(given.get("filePath")) or string(given.get("path"))
        not_run = ("The user rejected", "The user dismissed", "Tool execution aborted")
        output = fault if has_failed else string(state.get("output"))
        if len(output) > MAX_OUTPUT_CHARS:
            output = f"{output[: MAX_OUTPUT_CHARS // 2]}\n{output[-MAX_OUTPUT_CHARS // 2 :]}"
        steps = given.get("todos") if tool == "todowrite" else None
        written = [string(given.get("filePath")), *patched] if is_done and tool in self.writing_tools else []
        return {
            "name": tool, "files": [path for path in written if path], "target": target, "given": given,
            "command": string(given.get("command")), "diff": diff if is_done else "", "outcome": output,
            "plan": [{"text": step.get("content"), "status": step.get("status")} for step in rows(steps)],
            "done": is_done or (has_failed and not fault.startswith(not_run)),
            "failed": has_failed or bool(whole(about.get("exit"))),
        }  # fmt: skip


def _about_session(info: dict[str, Any], at: int | None, identifier: str) -> list[Entry]:
    """What a line says of a session: its folder and title and who began it, or which messages were taken back."""
    back = string(table(info.get("revert")).get("messageID"))
    if back and not info.get("directory"):
        return [Entry("rollback", at, session=identifier, rewound_to=back)]
    parent, name = string(info.get("parentID")), string(info.get("title"))
    head = Entry("node", at, session=identifier, folder=string(info.get("directory")), parent_session=parent)
    head.session_kind = "subagent" if parent else ""
    is_named = bool(name) and not name.startswith(("New session - ", "Child session - "))  # with the time
    return [head, Entry("title", text=name, origin="user")] if is_named else [head]


def _summaries(given: object) -> list[str]:
    """The texts that a tool's input holds under the name `summary`, at any depth, in order."""
    if isinstance(given, list):
        return [text for value in given for text in _summaries(value)]
    found = [given["summary"]] if isinstance(given, dict) and isinstance(given.get("summary"), str) else []
    return found + [text for value in table(given).values() for text in _summaries(value)]
