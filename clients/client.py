"""What sets one coding agent apart from another; each has a class of its own in its folder. Hot path."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clients.event import CompactionSettings, Format, HookEvent, Kind, Text
    from clients.settings import Settings
    from core.config import Config

_LONG = 1_000_000
_LONG_MARKS = ("[1m]", "-1m")
# Part of a model's name → its window. GPT-5 and Codex's models: what remains for input.
_BY_MODEL = (
    ("claude", 200_000),
    ("gemini", 1_048_576),
    ("gpt-5", 272_000),
    ("codex", 272_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("o4-mini", 200_000),
    ("o3", 200_000),
    ("deepseek", 128_000),
)


class Client:
    """A coding agent. A subclass sets what differs from this one."""

    name = ""
    """On the command line, and of its folder."""
    title = ""
    """As its makers write it."""
    events: Mapping[str, Kind] = {}
    """Its hook events, and what they are here."""
    session_file = ""
    """What they call the file in which it keeps a session; "" where it keeps none."""
    has_entries = False
    """`entries.py` reads that file."""
    extension = False
    """Our own extension runs in it."""
    silent = False
    """Neither an event nor the session file tells of a compaction; the fall of the context does."""
    named_by_file = False
    """The session's id is the name of its file; the lines of a fork still name the first session."""
    lists_files = False
    """Its compactions list the files of the session."""
    whole_turns = False
    """Its compactions keep a turn whose results alone fill the budget, and what is noted before the cut."""
    window = 200_000
    """Tokens in the context of its usual model."""
    window_variable = ""
    """Environment variable in which the user sets the window."""
    long_window = 0
    """The window of a session that does not fit into `window`."""
    compact_command = ""
    """Compacts a session from outside, where that was seen to work."""
    session_variable = ""
    """Environment variable in which the commands that it runs find the session's id."""
    login_shell = False
    """It runs commands in a login shell, whose PATH is the user's profile's, not that of its hooks."""
    takes_summary = False
    """It can be handed a summary of ours for a compaction, and told to leave one out."""

    empty_answer = ""
    """What a hook prints that has nothing to say."""

    @property
    def file_tells_compaction(self) -> bool:
        """Whether a compaction stands in the session file."""
        return bool(self.session_file) and not self.silent

    def read(self, payload: dict[str, Any], name: str) -> HookEvent:
        """What a hook's payload says; `name` is the event's, where the payload does not tell it."""
        from clients import hooks

        return hooks.read(self, payload, name)

    def answer(self, event: HookEvent, texts: Sequence[Text]) -> str:
        """What a hook prints, to hand texts to the model."""
        from clients import hooks

        return hooks.answer(event, texts)

    def transcript(self) -> Format:
        """What reads a line of its session file."""
        found: Format = self._module("transcript")
        return found

    def entries(self) -> Any:
        """What reads its session file as a tree: `Reader`, `messages`, `size` (`session.compaction.session_file`)."""
        return self._module("entries")

    def settings(self) -> Settings:
        """Where its settings lie."""
        found: Settings = self._module("install").Settings(self)
        return found

    def compaction(self, folder: str) -> CompactionSettings:  # noqa: ARG002  # for subclasses
        """What its own settings say of compactions, for a session in a folder."""
        return {"reserve": None, "keep": None, "enabled": True, "dropped": ()}

    def context_window(self, models: Sequence[str], used: int, config: Config) -> int:
        """Tokens of a session's window, where its transcript does not tell.

        `context.window` or the client's own variable sets it, else the model's name tells, else it is the client's
        usual one. `used` tokens lie in it: some transcripts name a model without its long context.
        """
        chosen = config.get_int("context.window")
        if chosen:
            return chosen
        given = os.environ.get(self.window_variable, "").strip() if self.window_variable else ""
        if given.isascii() and given.isdigit() and int(given[:12]) > 0:
            return int(given[:12])
        window = _window_of_model(models) or self.window
        return self.long_window if self.long_window and window < used else window

    def _module(self, part: str) -> Any:
        return __import__(f"clients.{self.name}.{part}", fromlist=["_"])


class ExtensionClient(Client):
    """One in which our own extension runs: it sends a payload of ours, tells how full the context is, takes each text
    as a message, and shows notices on the client's screen."""

    extension = True
    empty_answer = '{"messages": []}'
    events: Mapping[str, Kind] = {
        "session_start": "start",
        "prompt": "prompt",
        "tool": "tool",
        "turn_end": "turn",
        "before_compaction": "before_compaction",
        "before_branch": "before_branch",
        "after_compaction": "after_compaction",
        "session_end": "end",
    }

    def read(self, payload: dict[str, Any], name: str) -> HookEvent:
        """As `Client.read`, of the payload that the extension sends."""
        from clients import extension_hooks

        return extension_hooks.read(self, payload, name)

    def answer(self, event: HookEvent, texts: Sequence[Text]) -> str:  # noqa: ARG002  # it is the same at any event
        """As `Client.answer`: each text by itself."""
        from clients import extension_hooks

        return extension_hooks.answer(texts)


def _window_of_model(models: Sequence[str]) -> int:
    names = [model.lower() for model in models if model]
    if any(mark in name for name in names for mark in _LONG_MARKS):
        return _LONG
    return next((window for name in names for part, window in _BY_MODEL if part in name), 0)
