"""The coding agents that joelclaw serves: a row each, and their modules when asked for. Hot path.

A further client is one folder here and one row below. In its folder: `hooks.py` (its events and our answers),
`transcript.py` (the file in which it keeps a session), `entries.py` (that file as a tree, for compactions of our own),
`install.py` (where its settings lie), `extension.js` where our own extension runs in it, `compaction_settings.py` where
its settings say when it compacts.
"""

from __future__ import annotations

from core.errors import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Protocol, TypedDict

    from clients.entry import Entry, Message
    from clients.event import HookEvent, Item, Kind, Text
    from clients.lines import Line, Problems
    from clients.settings import Settings

    class Hooks(Protocol):
        """`hooks.py` of a client: its events, a payload as an event, texts as what is printed."""

        KINDS: Mapping[str, Kind]
        read: Callable[[dict[str, Any], str], HookEvent]
        answer: Callable[[HookEvent, Sequence[Text]], str]

    class Format(Protocol):
        """`transcript.py` of a client: what a line says, what context it takes, whether only this client writes such.

        May also have `window_of`, `snapshot_of`, `first_kept` (`session.context_usage`), `kept_of`
        (`session.hook.pipeline`) and `is_subagents`.
        """

        SAID_MARKS: tuple[bytes, ...]
        CONTEXT_MARKS: tuple[bytes, ...]
        items: Callable[[object], list[Item]]
        context_characters: Callable[[dict[str, Any]], int]
        wrote: Callable[[dict[str, Any]], bool]

    class Reader(Protocol):
        """Turns the lines of a session file into entries, and finds the active branch, oldest first."""

        model: str
        window: int
        entry: Callable[[Line, dict[str, Any], Problems], Entry | None]
        branch: Callable[[list[Entry], dict[str, Entry], Problems], list[Entry]]

    class Entries(Protocol):
        """`entries.py` of a client: its reader, and the messages and the estimated tokens of an entry."""

        Reader: Callable[[], Reader]
        messages: Callable[[dict[str, Any], Entry], Iterable[Message]]
        size: Callable[[dict[str, Any], Entry], int]

    class CompactionSettings(TypedDict):
        """What a client's own settings say of its compactions; None where they do not say."""

        reserve: int | None
        """Tokens kept free for the answer."""
        keep: int | None
        """Tokens of the newest messages that stay as they are."""
        enabled: bool
        """It compacts unasked."""
        dropped: tuple[tuple[str, str], ...]
        """A project's file that was left out, and what is wrong with it."""


class Client:
    """A coding agent.

    Args:
        name: on the command line, and of its folder.
        title: as its makers write it.
        session_file: what they call the file in which it keeps a session; "" where it keeps none.
        has_entries: `entries.py` reads that file.
        extension: our own extension runs in it: it tells how full the context is, takes each text as a message, and
            shows notices on the client's screen.
        silent: neither an event nor the session file tells of a compaction; the fall of the context does.
        named_by_file: the session's id is the name of its file; the lines of a fork still name the first session.
        lists_files: its compactions list the files of the session.
        whole_turns: its compactions keep a turn whose results alone fill the budget, and what is noted before the cut.
        window: tokens in the context of its usual model.
        window_variable: environment variable in which the user sets the window.
        long_window: the window of a session that does not fit into `window`; 0 where there is none.
        compact_command: compacts a session from outside, where that was seen to work.
        session_variable: environment variable in which the commands that it runs find the session's id; "" for none.
        login_shell: it runs commands in a login shell, whose PATH is the user's profile's, not that of its hooks.
        tells_compactions: `compaction_settings.py` reads what its settings say of compactions.
        takes_summary: it can be handed a summary of ours for a compaction, and told to leave one out.
    """

    def __init__(
        self,
        name: str,
        title: str,
        *,
        session_file: str = "",
        has_entries: bool = False,
        extension: bool = False,
        silent: bool = False,
        named_by_file: bool = False,
        lists_files: bool = False,
        whole_turns: bool = False,
        window: int = 200_000,
        window_variable: str = "",
        long_window: int = 0,
        compact_command: str = "",
        session_variable: str = "",
        login_shell: bool = False,
        tells_compactions: bool = False,
        takes_summary: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.session_file = session_file
        self.has_entries = has_entries
        self.extension = extension
        self.silent = silent
        self.named_by_file = named_by_file
        self.lists_files = lists_files
        self.whole_turns = whole_turns
        self.window = window
        self.window_variable = window_variable
        self.long_window = long_window
        self.compact_command = compact_command
        self.session_variable = session_variable
        self.login_shell = login_shell
        self.tells_compactions = tells_compactions
        self.takes_summary = takes_summary

    @property
    def empty_answer(self) -> str:
        """What a hook prints that has nothing to say."""
        return '{"messages": []}' if self.extension else ""

    @property
    def file_tells_compaction(self) -> bool:
        """Whether a compaction stands in the session file."""
        return bool(self.session_file) and not self.silent

    def hooks(self) -> Hooks:
        """Its events and our answers."""
        found: Hooks = _module(self.name, "hooks")
        return found

    def transcript(self) -> Format:
        """What reads a line of its session file."""
        found: Format = _module(self.name, "transcript")
        return found

    def entries(self) -> Entries:
        """What reads its session file as a tree."""
        found: Entries = _module(self.name, "entries")
        return found

    def compaction(self, folder: str) -> CompactionSettings:
        """What its own settings say of compactions, for a session in a folder."""
        if not self.tells_compactions or not folder or "\0" in folder:
            return {"reserve": None, "keep": None, "enabled": True, "dropped": ()}
        found: CompactionSettings = _module(self.name, "compaction_settings").read(folder)
        return found

    def settings(self) -> Settings:
        """Where its settings lie."""
        found: Settings = _module(self.name, "install").SETTINGS
        return found


CLIENTS: dict[str, Client] = {
    row.name: row
    for row in (
        Client(
            "pi",
            "pi",
            session_file="session file",
            has_entries=True,
            extension=True,
            lists_files=True,
            whole_turns=True,
            tells_compactions=True,
            takes_summary=True,
        ),
        Client(
            "claude",
            "Claude Code",
            session_file="transcript",
            has_entries=True,
            named_by_file=True,
            window_variable="CLAUDE_CODE_AUTO_COMPACT_WINDOW",
            long_window=1_000_000,
            compact_command='claude -p "/compact" --resume {session}',  # seen to work with 2.1.329
            session_variable="CLAUDE_CODE_SESSION_ID",
        ),
        Client(
            "codex",
            "Codex",
            session_file="rollout",
            has_entries=True,
            window=272_000,
            session_variable="CODEX_THREAD_ID",
            login_shell=True,
        ),
        Client("gemini", "Gemini CLI", session_file="chat file", silent=True, window=1_048_576),
        Client("opencode", "OpenCode", extension=True),
    )
}
_UNKNOWN = Client("", "")
KEEPING_FILES = tuple(sorted(row.name for row in CLIENTS.values() if row.session_file))
"""The clients that keep each session in a file."""
WITH_ENTRIES = tuple(row.name for row in CLIENTS.values() if row.has_entries)
"""The clients whose sessions we can compact ourselves."""


def row(name: str) -> Client:
    """The row of a client; of an unknown one, a row in which nothing is set."""
    return CLIENTS.get(name, _UNKNOWN)


def transcript(name: str) -> Format:
    """What reads a line of a client's session file.

    Raises:
        Failure: UNKNOWN_AGENT (exit 2), for a client that keeps no such file, too.
    """
    client = row(name)
    if not client.session_file:
        known = ", ".join(KEEPING_FILES)
        raise usage("UNKNOWN_AGENT", f"no transcripts of {name!r} are known", f"name one of {known}")
    return client.transcript()


def detect(lines: Iterable[object]) -> str | None:
    """Whose transcript this is, by the form of its first lines; None where no line tells."""
    formats = [(name, CLIENTS[name].transcript()) for name in KEEPING_FILES]
    for entry in lines:
        if isinstance(entry, dict):
            for name, form in formats:
                if form.wrote(entry):
                    return name
    return None


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _module(name: str, part: str) -> Any:
    return __import__(f"clients.{name}.{part}", fromlist=["_"])
