"""OpenCode (1.18), in which our plugin runs: its payloads, and its sessions, which it keeps in a database. Hot path.

A line of a session is a message with its parts, as in an export (`opencode export`); the first is about the session.
The plugin sends the same messages, so both get the same ids.
"""

from __future__ import annotations

import os

from clients import entries
from clients.content import as_object, as_objects, as_text, parse_timestamp, paths, positive_int
from clients.entries import Entry
from clients.extension import ExtensionClient
from core import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clients.base import HookEvent


class OpenCode(ExtensionClient):
    """Its plugin sends the new messages with each event."""

    name = "opencode"
    title = "OpenCode"
    home_variable = "OPENCODE_CONFIG_DIR"
    home_folder = ".config/opencode"
    project_folder = ".opencode"
    settings_file = "plugin/joelclaw.js"
    session_file = "database"
    renames_copies = True
    said_marks = (b'"role"', b'"summary"')
    writing_tools = ("edit", "write", "multiedit", "patch", "apply_patch")
    path_keys = ("filePath",)

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

    def read(self, payload: dict[str, Any], name: str) -> HookEvent:
        """Read a payload of our plugin."""
        event = super().read(payload, name)
        event["messages"] = [_typed(text) for text in event["messages"]]
        for entry in event["items"]:
            entry.text = _typed(entry.text) if entry.kind == "prompt" else entry.text
        return event

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line is a message with its parts, or is about a session."""
        info = as_object(line.get("info"))
        return as_text(info.get("id")).startswith("ses_") or (info != {} and isinstance(line.get("parts"), list))

    def entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of a message, and those of its tools."""
        info, parts = as_object(line.get("info")), as_objects(line.get("parts"))
        at, identifier = parse_timestamp(as_object(info.get("time")).get("created")), as_text(info.get("id"))
        if "parts" not in line:
            return _about_session(info, at, identifier)
        tools = [part for part in parts if part.get("type") == "tool"]
        said = [part for part in parts if not (part.get("synthetic") or part.get("ignored"))]
        text = "\n".join(as_text(part.get("text")) for part in said if part.get("type") == "text").strip()
        found: list[Entry] = []
        if info.get("summary") is True:  # of the messages before it
            found = [Entry("compaction", at), entries.summary_entry(text, at)]
        elif (text or tools) and info.get("role") in ("user", "assistant"):
            found = [Entry("prompt", text=_typed(text)) if info["role"] == "user" else Entry("answer", text=text)]
            for number, part in enumerate(tools):
                found += self._tool_entries(f"{identifier}/{number}", part, at)
        found = entries.with_node(found, at, identifier, info.get("parentID"), client=self.name)
        found[0].session = as_text(info.get("sessionID"))
        found[0].folder = as_text(as_object(info.get("path")).get("cwd"))
        return found

    def _tool_entries(self, identifier: str, part: dict[str, Any], at: int | None) -> list[Entry]:
        """A call, what it returned, and what it changed."""
        tool, state = as_text(part.get("tool")), as_object(part.get("state"))
        given, about = as_object(state.get("input")), as_object(state.get("metadata"))
        fault = as_text(state.get("error"))
        is_done, has_failed = state.get("status") == "completed", state.get("status") == "error"
        target = paths(given, "filePath", "path")
        written = self.written_files(tool, given) if is_done else []
        call = entries.call_entry(identifier, tool, given, written, given.get("command"), at=at)
        call.read_files = [] if written else target
        found = [call]
        not_run = ("The user rejected", "The user dismissed", "Tool execution aborted")
        if is_done or (has_failed and not fault.startswith(not_run)):
            output = fault if has_failed else as_text(state.get("output"))
            found.append(entries.result_entry(identifier, output, has_failed or bool(positive_int(about.get("exit")))))
        if is_done:
            changed = entries.diff_entries(identifier, call.target, about.get("diff"))
            if tool == "write" and not changed:
                hunks = entries.content_hunks(call.target, as_text(given.get("content")))
                changed = entries.edit_entries(identifier, hunks)
            found += changed
        if tool == "todowrite":
            found += entries.plan_entries(identifier, given.get("todos"), "content")
        return found


def _typed(prompt: str) -> str:
    """What the user typed: `opencode run` puts a prompt with blanks between quotes."""
    inner = prompt[1:-1].replace('\\"', "")
    is_quoted = len(prompt) > 2 and prompt[0] == prompt[-1] == '"' and '"' not in inner
    return prompt[1:-1].replace('\\"', '"') if is_quoted else prompt


def _about_session(info: dict[str, Any], at: int | None, identifier: str) -> list[Entry]:
    """What a line says of a session: its folder and title and who began it, or which messages were taken back."""
    back = as_text(as_object(info.get("revert")).get("messageID"))
    if back and not info.get("directory"):
        return [Entry("rollback", at, session=identifier, rewound_to=back)]
    parent, name = as_text(info.get("parentID")), as_text(info.get("title"))
    head = Entry("node", at, session=identifier, folder=as_text(info.get("directory")), parent_session=parent)
    head.session_kind = "subagent" if parent else ""
    is_named = bool(name) and not name.startswith(("New session - ", "Child session - "))  # with the time
    return [head, Entry("title", text=name, origin="user")] if is_named else [head]
