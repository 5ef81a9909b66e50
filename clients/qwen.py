"""Qwen Code (0.24): its payloads, and its transcript. Hot path.

The envelope of a line is Claude Code's: `uuid` and `parentUuid` make a tree. Its message holds Gemini's parts.
"""

from __future__ import annotations

import os

from clients.base import SHARED_EVENTS, Client
from clients.content import as_object, as_objects, as_text, parse_timestamp, positive_int, typed, without_ours
from clients.entries import Entry, diff_entries, in_envelope, plan_entries, result_entry, summary_entry, usage_entries
from core import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clients.base import HookEvent


class Qwen(Client):
    """What SessionStart `compact` prints reaches the model with the second request after a compaction (0.24.4)."""

    name = "qwen"
    title = "Qwen Code"
    home_variable = "QWEN_HOME"
    home_folder = ".qwen"
    settings_file = "settings.json"
    hook_timeout = 5  # seconds
    edit_tools = "write_file|edit|notebook_edit"
    transcripts = ("projects/*.jsonl",)
    events = SHARED_EVENTS
    session_file = "transcript"
    said_marks = (b'"parts"', b'"custom_title"')
    context_marks = (b'"usageMetadata"', b'"chat_compression"')
    has_window = True
    is_tree = True
    writing_tools = ("write_file", "edit", "notebook_edit")
    reading_tools = ("read_file",)
    shows_bare_lines = True
    shell_tools = ("run_shell_command",)
    path_keys = ("file_path", "notebook_path", "absolute_path")
    window = 131_072
    session_variable = "QWEN_CODE_SESSION_ID"

    def read(self, payload: dict[str, Any], name: str) -> HookEvent:
        """Read a hook's payload. UserPromptSubmit is called again after every tool call, without a prompt."""
        event = super().read(payload, name)
        if event["kind"] == "prompt" and not payload.get("prompt"):
            event["kind"] = "ignored"
        elif event["kind"] == "start" and event["source"] == "resume":
            event["source"] = "compact"  # what SessionStart gave is not kept: the last note is due again
        return event

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line has a session's id and Gemini's parts, or a type and subtype of Qwen Code."""
        is_said = isinstance(as_object(line.get("message")).get("parts"), list)
        return "parentUuid" in line and (is_said or "systemPayload" in line)

    def entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of a line. What the client says in the user's name is a note."""
        kind, subtype, at = line.get("type"), as_text(line.get("subtype")), parse_timestamp(line.get("timestamp"))
        about, parts = as_object(line.get("systemPayload")), as_objects(as_object(line.get("message")).get("parts"))
        found: list[Entry] = []
        if kind == "user" and subtype in ("", "mid_turn_user_message"):
            found = [_prompt(about, parts)]
        elif kind == "user":  # a notification, or a prompt of a schedule or a goal
            text = typed(parts, (None,))
            found = [Entry("note", text=text, content=text, origin="client")] if text else []
        elif kind == "assistant":
            found = self._answer_entries(line, parts, at)
        elif kind == "tool_result":
            found = [entry for part in parts for entry in _result(part, as_object(line.get("toolCallResult")))]
        elif subtype == "chat_compression":
            found = _compaction(about, at)
        elif subtype == "custom_title":
            origin = "user" if about.get("titleSource") == "manual" else "client"
            found = [Entry("title", text=as_text(about.get("customTitle")), origin=origin)]
        return in_envelope(found, line, at, client=self.name)

    def side_folder(self, path: str) -> str:
        """As `Client.side_folder`."""
        chats, name = os.path.split(os.path.splitext(path)[0])
        return os.path.join(os.path.dirname(chats), "subagents", name)

    def _answer_entries(self, line: dict[str, Any], parts: list[dict[str, Any]], at: int | None) -> list[Entry]:
        said = "\n".join(as_text(part.get("text")) for part in parts if not part.get("thought"))
        found = [Entry("answer", text=said.strip(), content=parts)]
        for part in parts:
            if not isinstance(part.get("functionCall"), dict):
                continue
            about = part["functionCall"]
            tool, given = as_text(about.get("name")), about.get("args")
            call = self.tool_call(about.get("id"), tool, given, at)
            found.append(call)
            if tool == "todo_write":
                found += plan_entries(call.call, as_object(given).get("todos"), "content")
        window, used = positive_int(line.get("contextWindowSize")), line.get("usageMetadata")
        return [*found, *usage_entries(used, ("promptTokenCount",), line.get("model"), window)]


def _prompt(about: dict[str, Any], parts: list[dict[str, Any]]) -> Entry:
    """What the user typed, without what hooks added, which the client names."""
    shown = as_text(about.get("displayText")) if isinstance(about.get("hookContext"), str) else ""
    return Entry("prompt", text=typed(shown or parts, (None,)), content=parts)


def _result(part: dict[str, Any], about: dict[str, Any]) -> list[Entry]:
    """What a call returned; of a command its output without the client's frame."""
    answer = as_object(part.get("functionResponse"))
    given, shown = as_object(answer.get("response")), about.get("resultDisplay")
    text, display = as_text(given.get("output")) or as_text(given.get("error")), as_object(shown)
    failed = about.get("status") == "error" or "error" in given
    if display.get("type") == "shell_result":
        text = as_text(display.get("output")) or as_text(display.get("error"))
        failed = failed or display.get("exitCode") not in (0, None)
    result = result_entry(answer.get("id"), without_ours(text.strip()), failed)
    result.unrun = about.get("status") == "cancelled"
    return [result, *diff_entries(result.call, as_text(display.get("filePath")), display.get("fileDiff"))]


def _compaction(about: dict[str, Any], at: int | None) -> list[Entry]:
    """A compaction, with the history that it left; the summary is the first message of it."""
    info, history = as_object(about.get("info")), as_objects(about.get("compressedHistory"))
    left = "\n".join(as_text(part.get("text")) for row in history for part in as_objects(row.get("parts")))
    compaction = Entry("compaction", at, tokens_after=positive_int(info.get("newTokenCount")))
    return [compaction, summary_entry(left, at)]
