"""A client is a coding agent that joelclaw serves: facts about it, its hooks' payloads, its transcript. Hot path."""

from __future__ import annotations

import os

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal, TypedDict

    from clients.entries import Entry
    from core.config import Config

    Kind = Literal[
        "start", "prompt", "tool", "failure", "turn", "before_compaction", "before_branch", "summary",
        "after_compaction", "end", "ignored",
    ]  # fmt: skip

    class HookEvent(TypedDict):
        """What a client's hook says. Empty or None: it does not say."""

        kind: Kind
        name: str  # the client's own name of the event
        session: str
        parent: str  # the session that started it
        source: str  # of a start: resume, compact …; of a compaction: auto, manual …; or `owed`, `background` (ours)
        cwd: str
        transcript: str
        model: str
        messages: list[str]  # what the user typed, oldest first; at a prompt only that prompt
        files: list[str]  # files that a tool wrote or edited
        items: list[Entry]  # the messages of a client without a transcript
        bad_lines: int  # how many of the entries in the payload are in no form that is read
        error: str  # why a tool failed
        summary: str  # what the client's summariser has written for a compaction in progress
        instructions: str  # what the user asks of the summary of a compaction
        leaf: str  # id of the entry with which the current branch of the transcript ends
        percent: float | None
        tokens: int | None
        window: int | None

    class Text(TypedDict):
        """A text for the model."""

        customType: str
        content: str

    class CompactionSettings(TypedDict):
        """What a client's own settings say about its compactions; None: nothing."""

        reserve: int | None  # tokens kept free for the answer
        keep: int | None  # tokens of the newest messages that stay unchanged
        enabled: bool  # it compacts by itself


NOTICE = "compaction-notice"  # the kind of a text that is for the user, not for the model
# Part of a model's name and its window in tokens; for GPT-5 and Codex's models without the room for the answer.
WINDOWS = (
    ("claude", 200_000), ("gemini", 1_048_576), ("gpt-5", 272_000), ("codex", 272_000), ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000), ("o4-mini", 200_000), ("o3", 200_000), ("deepseek", 128_000),
)  # fmt: skip
ANSWERED_KINDS = ("start", "after_compaction", "prompt", "tool", "failure")
"""The kinds of events at which a text reaches the model (measured; docs/hooks.md)."""
# The events that clients with hooks of Claude Code's form share.
SHARED_EVENTS: Mapping[str, Kind] = {
    "SessionStart": "start", "UserPromptSubmit": "prompt", "PostToolUse": "tool", "Stop": "turn",
    "PreCompact": "before_compaction", "SessionEnd": "end",
}  # fmt: skip


class Client:
    """A client whose hooks have the form of Claude Code's. Subclasses set what differs.

    A new client sets at least `name`, `title`, `events`, `home_folder`, `settings_file`, `hook_timeout`, `session_file`
    and `transcripts`, and overrides `wrote` and `entries`. Context usage needs `context_marks`, edits `writing_tools`
    and `path_keys`, and rewinds `is_tree`. `tests/clients/test_made_up_client.py` has a small one.
    """

    name = ""  # on the command line, and of its module
    title = ""  # as its makers write it
    events: Mapping[str, Kind] = {}  # its hook events, and their kind here
    extension = False  # our own extension runs in it
    # Shows that a compaction is over: an event, a line of its transcript without an event, or only its smaller usage.
    compaction_sign: Literal["event", "line", "usage"] = "event"
    empty_answer = ""  # what a hook without an answer prints
    shows_notices = False  # it shows a notice of ours to its user
    takes_summary = False  # it accepts a summary of ours for a compaction, and can cancel a compaction for us

    # its files
    home_variable = ""  # environment variable that names its configuration folder
    home_folder = ""  # that folder below the user's home, if the variable is not set
    project_folder = ""  # its configuration folder in a project, if not `home_folder`
    settings_file = ""  # below that folder: the settings with hooks, or our extension
    hook_timeout = 0  # after which the client ends a hook, in its own unit; 0 if it loads our extension
    edit_tools = ""  # matcher of the tools that write files: our hook is entered for no other; "" for all tools
    transcripts: tuple[str, ...] = ()  # below that folder, at any depth: the patterns of its transcripts

    # its transcript
    session_file = ""  # its makers' word for the file with a session; "" if it has none
    named_by_file = False  # a session's id is the name of its file; lines of a fork still name the first session
    folder_mark = b'"cwd"'  # in each line that names the folder of a session; empty if no line does
    renames_copies = False  # what a fork copies gets new ids
    copied_types: tuple[str, ...] = ()  # of the lines that a fork copies, if entries have no ids
    said_marks: tuple[bytes, ...] = ()  # new lines without any of these wait at a prompt, up to 16 KB
    is_unread_bad = False  # a line without an entry is a bad line
    typed_marks: tuple[bytes, ...] = ()  # of the lines after a prompt that repeat what the user typed
    context_marks: tuple[bytes, ...] = ()  # a line without any of these has no usage and no compaction
    has_window = False  # the transcript names the model's context window
    writing_tools: tuple[str, ...] = ()  # tools that write the file that they name
    reading_tools: tuple[str, ...] = ()  # tools that read it
    shows_bare_lines = False  # the output of a reading tool has no line numbers
    first_offset = 0  # of the first line, in the input of a reading tool
    shell_tools: tuple[str, ...] = ()  # tools that run a command
    path_keys: tuple[str, ...] = ("file_path",)  # fields of a tool's input that name its file
    is_tree = False  # entries name their parent; else the order of the lines counts

    # how it runs
    window = 200_000  # tokens in the context of its usual model
    window_variable = ""  # environment variable in which the user sets the window
    long_window = 0  # the window of a session that does not fit into `window`
    compact_command = ""  # compacts a session from outside, if that was seen to work
    session_variable = ""  # environment variable in which its commands find the session's id
    login_shell = False  # it runs commands in a login shell, whose PATH differs from that of its hooks

    def event(self, payload: dict[str, Any], name: str) -> HookEvent:
        """An event with the fields that all clients name alike; the rest is empty."""
        return {
            "kind": self.events.get(name, "ignored"),
            "name": name,
            "session": text_field(payload, "session_id"),
            "parent": "",
            "source": text_field(payload, "source") or text_field(payload, "trigger"),
            "cwd": text_field(payload, "cwd"),
            "transcript": text_field(payload, "transcript_path"),
            "model": text_field(payload, "model"),
            "messages": [], "files": [], "items": [], "bad_lines": 0, "error": "", "summary": "", "instructions": "",
            "leaf": "", "percent": None, "tokens": None, "window": None,
        }  # fmt: skip

    def read(self, payload: dict[str, Any], name: str) -> HookEvent:
        """Read a hook's payload; `name` is the event's name if the payload does not hold it."""
        event = self.event(payload, text_field(payload, "hook_event_name") or name)
        if event["kind"] == "start" and event["source"] == "compact":  # the client starts again after a compaction
            event["kind"] = "after_compaction"
        elif event["kind"] in ("prompt", "summary", "tool", "failure"):
            self._read_content(event, payload)
        return event

    def _read_content(self, event: HookEvent, payload: dict[str, Any]) -> None:
        from clients import content

        if event["kind"] == "prompt":
            prompt = content.typed(text_field(payload, "prompt"))  # clients add what hooks returned before
            source = text_field(payload, "source")  # else another agent or a schedule
            is_typed = source in ("", "user", "human", "typed", "sdk")
            event["messages"] = [prompt] if prompt and is_typed else []
        elif event["kind"] == "summary":  # the transcript does not hold it yet
            answer = content.as_text(payload.get("last_assistant_message"))
            summary, end, _ = answer.partition("<summary>")[2].partition("</summary>")
            is_summary = end and not text_field(payload, "agent_type")  # else another subagent has stopped
            # three times what the store keeps, which cuts it after redaction
            event["summary"] = summary.strip()[:300_000] if is_summary else ""
            event["kind"] = "summary" if event["summary"] else "ignored"
        elif event["kind"] == "failure":
            event["error"] = "" if payload.get("is_interrupt") else text_field(payload, "error")
        elif event["kind"] == "tool":
            given = content.as_object(payload.get("tool_input"))
            event["files"] = self.written_files(text_field(payload, "tool_name"), given)

    def texts_to_give(self, event: HookEvent, texts: list[Text], given: dict[str, str]) -> list[Text]:  # noqa: ARG002
        """The texts to give with an event: the new ones. `given` belongs to the session, for clients that forget."""
        return texts

    def answer(self, event: HookEvent, texts: Sequence[Text]) -> str:
        """What a hook prints to give the model these texts; "" if there are none or the event cannot reach it."""
        if not texts or event["kind"] not in ANSWERED_KINDS:
            return ""
        from core import json_text

        return json_text.dumps(self.wrapped(event, "\n\n".join(text["content"] for text in texts)))

    def wrapped(self, event: HookEvent, context: str) -> dict[str, Any]:
        """The answer of a hook with a text for the model."""
        return {"hookSpecificOutput": {"hookEventName": event["name"], "additionalContext": context}}

    def wrote(self, line: dict[str, Any]) -> bool:  # noqa: ARG002  # for subclasses
        """Whether a line of a transcript has a form that only this client writes."""
        return False

    def entries(self, line: dict[str, Any]) -> list[Entry]:  # noqa: ARG002  # for subclasses
        """The entries of a line of its transcript; the first is the line's node. Empty for a line of no meaning."""
        return []

    def typed_text(self, prompt: Entry, following: Iterable[bytes] | None) -> str:  # noqa: ARG002  # for subclasses
        """What the user typed of a prompt, by the lines after it; None if the transcript does not repeat prompts."""
        return prompt.text

    def side_entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of a line of a subagent's own transcript. What it was asked comes from the agent."""
        found = self.entries({**line, "isSidechain": False})
        for entry in found:
            if entry.kind == "prompt":
                entry.kind, entry.origin = "note", "teammate"
        if found:
            found[0].parent_session, found[0].session, found[0].session_kind = found[0].session, "", "subagent"
        return found

    def is_side(self, path: str) -> bool:
        """Whether a transcript is that of a subagent. Some only repeat the conversation, for the client itself."""
        name = os.path.basename(path)
        is_own = name.startswith("agent-") and not name.startswith(("agent-acompact-", "agent-aprompt_suggestion-"))
        return is_own and name.endswith(".jsonl") and bool(self.side_folder(path))

    def side_folder(self, path: str) -> str:  # noqa: ARG002  # for subclasses
        """The folder with the transcripts of the subagents that a session began, by the path of its own; "" if none."""
        return ""

    def side_transcripts(self, path: str) -> list[str]:
        """The transcripts of the subagents that a session began, by the path of its own."""
        folder = self.side_folder(path)
        try:
            names = sorted(os.listdir(folder)) if folder else []
        except OSError:
            return []
        return [os.path.join(folder, name) for name in names if self.is_side(name)]

    def titles(self) -> dict[str, str]:
        """The names of sessions that it keeps in a file of their own, by the session's id."""
        return {}

    def folder_of(self, path: str, line: dict[str, Any], known: Iterable[str]) -> str:  # noqa: ARG002  # for subclasses
        """The folder of a session whose transcript does not name it; "" if it is unknown.

        Args:
            path: of the transcript.
            line: the first line of it.
            known: folders of other sessions and projects.
        """
        return ""

    def edited(self, line: dict[str, Any], edit: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  # for subclasses
        """A line of its transcript with the content that a later line puts in its place."""
        return line

    def written_files(self, tool: str, given: object) -> list[str]:
        """The files that a tool call writes; none for a tool that only reads."""
        from clients.content import patched_files, paths, texts_in

        if tool not in self.writing_tools:
            return []
        return paths(given, *self.path_keys) or patched_files("\n".join(texts_in(given)))

    def tool_call(self, identifier: object, tool: str, given: object, at: int | None, **fields: Any) -> Entry:
        """A tool call with its command or files; `fields` are other attributes of the entry."""
        from clients.content import as_object, paths, positive_int
        from clients.entries import call_entry

        command = as_object(given).get("command") if tool in self.shell_tools else ""
        call = call_entry(identifier, tool, given, self.written_files(tool, given), command, at=at, **fields)
        if tool in self.reading_tools:
            call.read_files = paths(given, *self.path_keys)
            first = positive_int(as_object(given).get("offset")) or self.first_offset
            call.first_line = first + 1 - self.first_offset if self.shows_bare_lines else 0
        return call

    def home(self) -> str:
        """Its configuration folder."""
        given = os.environ.get(self.home_variable) or os.path.join("~", self.home_folder)
        return os.path.abspath(os.path.expanduser(given))

    def histories(self) -> list[tuple[str, str]]:
        """The folders in which it keeps its sessions, at any depth, and the pattern of their files."""
        parts = (pattern.rpartition("/") for pattern in self.transcripts)
        return [(os.path.join(self.home(), folder), name) for folder, _, name in parts]

    def files_of(self, session: str, path: str, rest: str = "") -> Iterator[str]:
        """The transcripts of a session in the folder of `path`, and among those that it keeps.

        `rest`: a pattern for what follows the session in their names.
        """
        from glob import escape, iglob

        places: list[str] = []
        for folder, pattern in self.histories():
            name = pattern.replace("*", f"*{escape(session)}{rest}") + "*"
            places = [f"{escape(os.path.dirname(path))}/{name}", *places, f"{escape(folder)}/**/{name}"]
        return (match for place in places for match in iglob(place, recursive=True))

    def continued(self, _path: str, _line: dict[str, Any]) -> tuple[str, str, int] | None:
        """If a file goes on with a session since the user went back, as its first line says: the session, the end of
        the name of the file to which they went back, and how many bytes of that file count.
        """
        return None

    def compaction(self) -> CompactionSettings:
        """What its own settings say about compactions."""
        return {"reserve": None, "keep": None, "enabled": True}

    def context_window(self, models: Sequence[str], used: int, config: Config) -> int:
        """The window in tokens: from our settings, the client's own variable, or the model's name, in this order."""
        if chosen := config.get_int("context.window"):
            return chosen
        given = os.environ.get(self.window_variable, "").strip() if self.window_variable else ""
        if given.isascii() and given.isdigit() and int(given[:12]) > 0:
            return int(given[:12])
        names = [model.lower() for model in models if model]
        if any(mark in name for name in names for mark in ("[1m]", "-1m")):
            return 1_000_000
        window = next((window for name in names for part, window in WINDOWS if part in name), self.window)
        return self.long_window if self.long_window and window < used else window


def text_field(payload: dict[str, Any], key: str, max_chars: int = 20_000) -> str:
    """A string in a payload, cut to `max_chars`; "" if it is anything else."""
    value = payload.get(key)
    return value[:max_chars] if isinstance(value, str) else ""
