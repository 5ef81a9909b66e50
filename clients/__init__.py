"""The coding agents that joelclaw serves, and what sets one apart: for a further one, a folder and a name. Hot path."""

from __future__ import annotations

import os

from core import TYPE_CHECKING
from core.errors import usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from clients.event import CompactionSettings, Format, HookEvent, Kind, Text
    from core.config import Config

NAMES = {"pi": "Pi", "claude": "Claude", "codex": "Codex", "gemini": "Gemini", "opencode": "OpenCode"}
"""The name of each, which is its folder's, and its class."""
_LONG = 1_000_000
_LONG_MARKS = ("[1m]", "-1m")
# Part of a model's name → its window. GPT-5 and Codex's models: what remains for input.
_BY_MODEL = (
    ("claude", 200_000), ("gemini", 1_048_576), ("gpt-5", 272_000), ("codex", 272_000), ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000), ("o4-mini", 200_000), ("o3", 200_000), ("deepseek", 128_000),
)  # fmt: skip
_LONGEST_TEXT = 20_000
_LONGEST_SUMMARY = 300_000  # far more than is kept (100,000): the store cuts it when it has taken out its secrets
_REACH_THE_MODEL: tuple[Kind, ...] = ("start", "after_compaction", "prompt", "tool")  # measured; docs/hooks.md


class Client:
    """A coding agent whose hooks have the form that Claude Code, Codex and Gemini CLI share."""

    name = ""  # on the command line, and of its folder
    title = ""  # as its makers write it
    events: Mapping[str, Kind] = {}  # its hook events, and what they are here
    home_variable = ""  # environment variable that names its configuration folder
    home_folder = ""  # that folder below the user's home, if the variable is not set
    project_folder = ""  # its configuration folder in a project, if not `home_folder`
    settings_file = ""  # below that folder: the settings with hooks, or our extension
    hook_timeout = 0  # after which the client ends a hook, in its own unit; 0 if it loads our extension
    edit_tools = ""  # matcher of the tools that write files: our hook is entered for no other; "" for all tools
    transcripts = ""  # below that folder, at any depth: the pattern of its session files
    session_file = ""  # what they call the file in which it keeps a session; "" where it keeps none
    has_entries = False  # `entries.py` reads that file
    extension = False  # our own extension runs in it
    silent = False  # neither an event nor the session file tells of a compaction; the fall of the context does
    named_by_file = False  # its id is the name of its file; the lines of a fork still name the first session
    own_rules = False  # its compactions list the session's files, and keep a turn whose results alone fill the budget
    window = 200_000  # tokens in the context of its usual model
    window_variable = ""  # environment variable in which the user sets the window
    long_window = 0  # the window of a session that does not fit into `window`
    compact_command = ""  # compacts a session from outside, where that was seen to work
    session_variable = ""  # environment variable in which the commands that it runs find the session's id
    login_shell = False  # it runs commands in one, whose PATH is the user's profile's, not that of its hooks
    takes_summary = False  # it can be handed a summary of ours for a compaction, and told to leave one out
    empty_answer = ""  # what a hook prints that has nothing to say

    def event(self, payload: dict[str, Any], name: str) -> HookEvent:
        """An event with the fields that all clients name alike; the rest is empty."""
        return {
            "kind": self.events.get(name, "ignored"),
            "name": name,
            "session": text_field(payload, "session_id"),
            "source": text_field(payload, "source"),
            "cwd": text_field(payload, "cwd"),
            "transcript": text_field(payload, "transcript_path"),
            "model": text_field(payload, "model"),
            "messages": [], "files": [], "items": [], "summary": "", "instructions": "",
            "said": None, "percent": None, "tokens": None, "window": None,
        }  # fmt: skip

    def read(self, payload: dict[str, Any], name: str) -> HookEvent:
        """What a hook's payload says; `name` is the event's, where the payload does not tell it."""
        found = self.event(payload, text_field(payload, "hook_event_name") or name)
        if found["kind"] == "start" and found["source"] == "compact":  # it is over when the session starts by it
            found["kind"] = "after_compaction"
        elif found["kind"] in ("prompt", "summary", "tool"):
            self._read_content(found, payload)
        return found

    def _read_content(self, found: HookEvent, payload: dict[str, Any]) -> None:
        from clients import content

        if found["kind"] == "prompt":
            said = content.typed(text_field(payload, "prompt"))  # clients put into it what hooks returned before
            found["messages"] = [said] if said else []
        elif found["kind"] == "summary":  # the transcript does not hold it yet
            said = content.string(payload.get("last_assistant_message"))
            summary, end, _ = said.partition("<summary>")[2].partition("</summary>")
            is_summariser = end and not text_field(payload, "agent_type")  # else another subagent stopped
            found["summary"] = summary.strip()[:_LONGEST_SUMMARY] if is_summariser else ""
            found["kind"] = "summary" if found["summary"] else "ignored"
        elif found["kind"] == "tool":
            given = content.table(payload.get("tool_input"))
            found["files"] = self.transcript().files_of(text_field(payload, "tool_name"), given)

    def answer(self, event: HookEvent, texts: Sequence[Text]) -> str:
        """What a hook prints: context for the model, as one text; "" where there is none or it would not reach it."""
        if not texts or event["kind"] not in _REACH_THE_MODEL:
            return ""
        from core import json_text

        context = "\n\n".join(text["content"] for text in texts)
        return json_text.dumps({"hookSpecificOutput": {"hookEventName": event["name"], "additionalContext": context}})

    def transcript(self) -> Format:
        """What reads a line of its session file."""
        return self._module("transcript")  # type: ignore[no-any-return]

    def entries(self) -> Any:
        """What reads its session file as a tree: `Reader`, `messages`, `size` (`session.compaction.session_file`)."""
        return self._module("entries")

    def home(self) -> str:
        """Its configuration folder."""
        given = os.environ.get(self.home_variable) or os.path.join("~", self.home_folder)
        return os.path.abspath(os.path.expanduser(given))

    def compaction(self, folder: str) -> CompactionSettings:  # noqa: ARG002  # for subclasses
        """What its own settings say of compactions, for a session in a folder."""
        return {"reserve": None, "keep": None, "enabled": True, "dropped": ()}

    def context_window(self, models: Sequence[str], used: int, config: Config) -> int:
        """The window in tokens: as the settings or the client's own variable say, else by the model."""
        if chosen := config.get_int("context.window"):
            return chosen
        given = os.environ.get(self.window_variable, "").strip() if self.window_variable else ""
        if given.isascii() and given.isdigit() and int(given[:12]) > 0:
            return int(given[:12])
        names = [model.lower() for model in models if model]
        if any(mark in name for name in names for mark in _LONG_MARKS):
            return _LONG
        window = next((window for name in names for part, window in _BY_MODEL if part in name), self.window)
        return self.long_window if self.long_window and window < used else window

    def _module(self, part: str) -> Any:
        return __import__(f"clients.{self.name}.{part}", fromlist=["__name__"])  # see row


def text_field(payload: dict[str, Any], key: str) -> str:
    """A string in a payload, "" where it is none, whatever a client sends."""
    value = payload.get(key)
    return value[:_LONGEST_TEXT] if isinstance(value, str) else ""


_UNKNOWN = Client()


def row(name: str) -> Client:
    """A client, loaded where it is asked for; of an unknown name, one in which nothing is set."""
    # a name that each module has: another one would be looked for as a module
    return getattr(__import__(f"clients.{name}", fromlist=["__name__"]), NAMES[name])() if name in NAMES else _UNKNOWN


def rows() -> list[Client]:
    """All clients."""
    return [row(name) for name in NAMES]


def keeping_files() -> tuple[str, ...]:
    """The clients that keep each session in a file, by name."""
    return tuple(sorted(client.name for client in rows() if client.session_file))


def with_entries() -> tuple[str, ...]:
    """The clients whose sessions we can compact ourselves, by name."""
    return tuple(client.name for client in rows() if client.has_entries)


def transcript(name: str) -> Format:
    """What reads a line of a client's session file; UNKNOWN_AGENT (exit 2) for one that keeps none."""
    if not row(name).session_file:
        raise usage("UNKNOWN_AGENT", f"{name!r} has no known transcripts", f"name one of {', '.join(keeping_files())}")
    return row(name).transcript()


def detect(lines: Iterable[object]) -> str | None:
    """Whose transcript this is, by the form of its first lines; None where no line tells."""
    formats = [(name, transcript(name)) for name in keeping_files()]
    entries = (line for line in lines if isinstance(line, dict))
    return next((name for entry in entries for name, form in formats if form.wrote(entry)), None)


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
