"""Copilot CLI (1.0): its payloads, and its event log. Hot path.

The log also holds the input of every hook, which is passed over.
"""

from __future__ import annotations

import os

from clients.base import SHARED_EVENTS, Client
from clients.content import as_object, as_text, parse_timestamp, positive_int, typed
from clients.entries import Entry, diff_entries, result_entry, summary_entry, usage_entries, with_node
from core import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clients.base import HookEvent


class Copilot(Client):
    """It compacts while the next request runs, and calls no hook when that is over (1.0.102)."""

    name = "copilot"
    title = "Copilot CLI"
    home_variable = "COPILOT_HOME"
    home_folder = ".copilot"
    project_folder = ".github"
    settings_file = "settings.json"
    hook_timeout = 5  # seconds
    transcripts = ("session-state/events.jsonl",)
    events = SHARED_EVENTS
    compaction_sign = "line"
    session_file = "event log"
    said_marks = (b'"user.message"', b'"assistant.message"', b'"tool.execution_', b'"session.compaction_complete"')
    context_marks = (b'"session.usage_record"', b'"session.compaction_complete"')
    is_tree = True
    has_window = True
    writing_tools = ("Edit", "Write", "create", "edit", "write", "str_replace", "str_replace_editor", "apply_patch")
    reading_tools = ("view", "read")
    shell_tools = ("bash", "powershell", "shell")
    path_keys = ("path", "file_path", "filePath")
    window = 128_000
    session_variable = "COPILOT_AGENT_SESSION_ID"
    login_shell = True

    def event(self, payload: dict[str, Any], name: str) -> HookEvent:
        """An event, with the path of the event log, which most payloads do not have."""
        event = super().event(payload, name)
        session = event["session"]
        if not event["transcript"] and session and os.path.basename(session) == session != "..":
            event["transcript"] = os.path.join(self.home(), "session-state", session, "events.jsonl")
        is_of_parent = os.path.basename(os.path.dirname(event["transcript"])) not in ("", session)
        if is_of_parent or payload.get("agent_id"):  # a subagent, whose words are in the log of its parent
            event["kind"] = "ignored"
        return event

    def wrapped(self, event: HookEvent, context: str) -> dict[str, Any]:  # noqa: ARG002
        """Its hooks take a text at the top level of their answer."""
        return {"additionalContext": context}

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line is an event with data."""
        begins = ("session.", "user.message", "assistant.", "tool.execution_", "system.message", "hook.", "subagent.")
        return isinstance(line.get("data"), dict) and as_text(line.get("type")).startswith(begins)

    def entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of an event; a hook's input repeats what other events say."""
        kind, about, at = as_text(line.get("type")), as_object(line.get("data")), parse_timestamp(line.get("timestamp"))
        is_side = bool(line.get("agentId") or about.get("agentId"))
        found: list[Entry] = []
        if kind == "user.message":
            source = as_text(about.get("source"))
            text = typed(about.get("content"))
            found = [Entry("prompt", text=text, content=text)] if source in ("", "user") else []
            if source.startswith("agent"):
                found = [Entry("note", text=text, content=text, origin="subagent")]
        elif kind == "assistant.message":
            found = _said(as_text(about.get("content")), at, is_side=is_side)
        elif kind == "tool.execution_start" and about.get("toolName") == "task_complete":
            found = _said(as_text(as_object(about.get("arguments")).get("summary")), at, is_side=is_side)
        elif kind == "tool.execution_start":
            tool = as_text(about.get("toolName"))
            found = [self.tool_call(about.get("toolCallId"), tool, about.get("arguments"), at)]
        elif kind == "tool.execution_complete":
            found = _result(about)
        elif kind.startswith("session.") and not is_side:
            found = _session_entries(kind, about, at)
        elif kind in ("assistant.turn_end", "abort") and not is_side:
            found = [Entry("turn_end", is_stop=kind != "abort")]
        found = with_node(found, at, line.get("id"), line.get("parentId"), client=self.name)
        head = found[0]
        head.is_side = is_side
        if kind.startswith("session."):
            head.session = as_text(about.get("sessionId"))
            head.folder = as_text(as_object(about.get("context")).get("cwd")) or as_text(about.get("cwd"))
        return found


def _said(text: str, at: int | None, *, is_side: bool) -> list[Entry]:
    """What the agent said, or one of its subagents."""
    text = text.strip()
    if not text:
        return []
    return [Entry("note" if is_side else "answer", at, text=text, content=text, origin="subagent" if is_side else "")]


def _session_entries(kind: str, about: dict[str, Any], at: int | None) -> list[Entry]:
    if kind == "session.compaction_complete" and about.get("success") is True:
        compaction = Entry("compaction", at, tokens_after=positive_int(about.get("postCompactionTokens")))
        return [compaction, summary_entry(as_text(about.get("summaryContent")), at)]
    if kind == "session.usage_record":
        used = as_object(about.get("usage"))
        return usage_entries(used, ("inputTokens",), used.get("model"), positive_int(used.get("maxPromptTokens")))
    if kind == "session.snapshot_rewind":
        return [Entry("rollback", at, rewound_to=as_text(about.get("upToEventId")))]
    if kind == "session.title_changed":
        return [Entry("title", text=as_text(about.get("title")), origin="client")]
    return []


def _result(about: dict[str, Any]) -> list[Entry]:
    """What a call returned; the text of a command ends with its exit code."""
    returned, fault = as_object(about.get("result")), as_object(about.get("error"))
    text = as_text(returned.get("content")) or as_text(fault.get("message"))
    code = as_object(about.get("shellExecution")).get("exitCode")
    if code is None and "exit code " in text[-80:]:
        code = text.rpartition("exit code ")[2].strip(" >\n")
    failed = about.get("success") is False or str(code or 0) != "0"
    result = result_entry(about.get("toolCallId"), text, failed)
    result.unrun = as_text(fault.get("code")) in ("rejected", "denied")
    return [result, *diff_entries(result.call, "", returned.get("detailedContent"))]
