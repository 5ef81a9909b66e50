"""OpenClaw, in which our plugin runs: its payloads, and its sessions. Hot path.

A session is kept in rows of a database, which hold pi's entries.
"""

from __future__ import annotations

import os

from clients.content import as_object, as_text, text_of
from clients.entries import Entry, process_end
from clients.extension import ExtensionClient
from clients.pi import Pi
from core import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clients.base import CompactionSettings, HookEvent, Text


class OpenClaw(Pi):
    """Its entries are pi's; its shell tool is another, whose result says how the command ended."""

    name = "openclaw"
    title = "OpenClaw"
    home_variable = "OPENCLAW_STATE_DIR"
    home_folder = ".openclaw"
    project_folder = ""
    settings_file = "extensions/joelclaw/index.js"
    session_file = "database"
    shell_tools = ("exec",)
    shows_notices = False
    takes_summary = False
    compact_command = "openclaw sessions compact {key}"  # seen to work with 2026.9.6; it needs a running gateway

    def home(self) -> str:
        """Its folder for state: in `OPENCLAW_HOME`, if that is set, and with the name of the profile."""
        folder, profile = (os.environ.get(f"OPENCLAW_{name}", "").strip() for name in ("HOME", "PROFILE"))
        if (not folder and profile in ("", "default")) or os.environ.get(self.home_variable):
            return super().home()
        name = self.home_folder + (f"-{profile}" if profile not in ("", "default") else "")
        return os.path.abspath(os.path.join(os.path.expanduser(folder or "~"), name))

    def read(self, payload: dict[str, Any], name: str) -> HookEvent:
        """Read a payload of our plugin: its transcript is that of the session in the database."""
        event = super().read(payload, name)
        event["transcript"] += f"#{event['session']}" if event["transcript"] else ""
        return event

    def texts_to_give(self, event: HookEvent, texts: list[Text], given: dict[str, str]) -> list[Text]:
        """At a prompt, all texts that still hold; else none, since a text lasts for a turn and comes with its prompt.

        A new text replaces the text of its kind in `given`; a recovery note replaces them all.
        """
        if any(text["customType"].endswith("-recovery") for text in texts):
            given.clear()
        given.update({text["customType"]: text["content"] for text in texts})
        if event["kind"] != "prompt":
            return []
        return [{"customType": kind, "content": text} for kind, text in given.items()]

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line is a header of OpenClaw, or has what it adds to pi's entries."""
        is_header = (line.get("type"), line.get("version")) == ("session", 4)
        return is_header or "__openclaw" in line or "__openclaw" in as_object(line.get("message"))

    def histories(self) -> list[tuple[str, str]]:
        """A database for each agent."""
        return [(os.path.join(self.home(), "agents"), "openclaw-agent.sqlite")]

    def compaction(self) -> CompactionSettings:
        """Nothing: its own settings do not keep anyone from compacting a session by a command."""
        return ExtensionClient.compaction(self)

    def _message_entries(self, message: dict[str, Any], at: int | None, stable_id: str) -> list[Entry]:
        """As pi's; but a prompt may come from OpenClaw itself or from another session."""
        found = super()._message_entries(message, at, stable_id)
        origin = as_text(as_object(message.get("provenance")).get("kind"))
        if message.get("role") == "user" and origin not in ("", "external_user"):
            return [Entry("note", at, content=message.get("content"))]
        if message.get("role") == "toolResult":
            details = as_object(message.get("details"))
            status, process = details.get("status"), as_text(details.get("sessionId"))
            result = found[0]
            exit_code = details.get("exitCode")
            result.failed = result.failed or status in ("error", "failed") or exit_code not in (None, 0)
            if message.get("toolName") == "exec" and status == "running":
                result.process = process
            elif message.get("toolName") == "process" and process and status in ("completed", "failed"):
                found.append(process_end(process, text_of(message.get("content")), result.failed))
        return found
