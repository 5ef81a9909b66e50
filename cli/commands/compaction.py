"""`joelclaw checkpoint …`, `inject …`, `hook`, `compaction …` and `idle …`: before, at and after a compaction.

`hot.py` runs `checkpoint save`, `checkpoint flush` and `inject …`; `cli/start.py` runs `hook`.
"""

import os
import signal
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

import clients
from cli import shared
from cli.input import required_session
from cli.output import Answer, is_for_person, require_known, step
from core import config
from core.command import model_from_config
from core.errors import Failure, either
from core.store import sqlite
from session import idle as idle_compaction
from session import known_sessions
from session.compaction import preparation, session_tree, summary
from session.known_states import list_states
from session.state import read_state, stored_id, stored_line

app = typer.Typer()
checkpoint = shared.group(app, "checkpoint", "Save what a session is doing, as its context fills.")
inject = shared.group(app, "inject", "Print short texts to give to an agent.")
compaction = shared.group(app, "compaction", "Decide on, prepare, serialize and summarize a compaction.")
idle = shared.group(app, "idle", "Compact sessions while they are idle.")

Role = Annotated[str | None, Option("--role", help="interactive (default), gateway or another")]
Tokens = Annotated[int | None, Option("--tokens", min=0, help="Context usage in tokens")]
Window = Annotated[int | None, Option("--window", min=1, help="Context window in tokens")]
Message = Option("--message", "-m", metavar="TEXT", help="A prompt; the oldest first")


@checkpoint.command("save")
def save(
    session: shared.Session = None,
    percent: shared.Percent = None,
    tokens: Tokens = None,
    window: Window = None,
    message: Annotated[list[str] | None, Message] = None,
    file: Annotated[list[str] | None, Option(metavar="PATH", help="A file that was edited")] = None,
    role: Role = None,
    stdin: shared.Stdin = False,
) -> None:
    """Save the task at the end of a turn; recall when warm, remember when hot."""


@checkpoint.command("flush")
def flush(
    session: shared.Session = None,
    percent: shared.Percent = None,
    tokens: Tokens = None,
    window: Window = None,
    role: Role = None,
) -> None:
    """Save the last checkpoint before a compaction."""


@checkpoint.command("show")
def show(id: Annotated[str | None, shared.session_argument("Its id (default: list all)")] = None) -> Answer:
    """Show the state of a session, or list all."""
    if id is None:
        sessions = list_states()
        return Answer({"count": len(sessions), "sessions": sessions})
    name = stored_id(id)
    state = read_state(name) or read_state(known_sessions.resolve(sqlite.open_or_empty(), name))
    if state is None:
        raise Failure("SESSION_NOT_FOUND", f"{id[:80]!r} has no state", "see `joelclaw checkpoint show`")
    return Answer(state.to_json())


@inject.command("recovery")
def recovery(session: shared.Session = None, role: Role = None, raw: shared.Raw = False) -> None:
    """Print the recovery note after a compaction."""


@inject.command("memory")
def memory(
    session: shared.Session = None,
    role: Role = None,
    query: Annotated[str | None, Option(help="What to recall (default: inject.query)")] = None,
    project: shared.Project = "",
    raw: shared.Raw = False,
) -> None:
    """Print relevant memories when a session starts."""


@inject.command("refresh")
def refresh(
    session: shared.Session = None,
    role: Role = None,
    message: Annotated[str | None, Message] = None,
    percent: shared.Percent = None,
    raw: shared.Raw = False,
) -> None:
    """Print memories about the current topic, if they are due."""


@inject.command("project")
def project(
    session: shared.Session = None,
    role: Role = None,
    file: Annotated[list[str] | None, Option(metavar="PATH", help="The file being edited")] = None,
    cwd: Annotated[str | None, Option(metavar="DIR", help="The agent's folder")] = None,
    raw: shared.Raw = False,
) -> None:
    """Print memories that name a file, once."""


@app.command("hook")
def hook(
    agent: Annotated[
        str | None, Argument(metavar="AGENT", help=either(clients.NAMES), autocompletion=lambda: [*clients.NAMES])
    ] = None,
    event: Annotated[str | None, Argument(metavar="EVENT", help="The event, if stdin does not name it")] = None,
) -> None:
    """Answer an event on stdin; agents call this. To test it, run `joelclaw doctor`."""


# compaction

Transcript = Annotated[str, Argument(metavar="TRANSCRIPT", help="A session file of pi")]
WRITERS = clients.taking_summaries()
Client = Annotated[str, Option("--client", help=f"The client that wrote it: {either(WRITERS)}")]
Reserve = Annotated[int | None, Option("--reserve", min=0, help="Tokens to keep free")]
KeepRecent = Annotated[int | None, Option("--keep-recent", min=0, help="Recent tokens to keep")]
At = Annotated[str, Option("--at", metavar="ENTRY", help="Current entry (default: the newest)")]
Instructions = Annotated[str, Option("--instructions", metavar="TEXT", help="What the summary should focus on")]


class _Session:
    """The session to compact, with our settings and those of its client."""

    def __init__(self, transcript: str, client: str = "", *, at: str = "", keep_recent: int | None = None):
        if client:
            require_known("--client", client, WRITERS)
        self.transcript = session_tree.read(transcript, client, at)
        self.settings = config.load()
        own = clients.by_name(self.transcript.client).compaction()
        self.settings.suggest("compaction.reserve_tokens", own["reserve"])
        self.settings.suggest("compaction.keep_recent_tokens", own["keep"])
        default = self.settings.get_int("compaction.keep_recent_tokens")
        self.keep_recent = default if keep_recent is None else keep_recent
        self.is_enabled = own["enabled"]
        self.problems = list(self.transcript.problems)
        self.about: dict[str, Any] = {"transcript": self.transcript.path, "client": self.transcript.client}

    def limits(self, window: int | None = None, reserve: int | None = None) -> preparation.Limits:
        """The window and the reserve. Raises COMPACTION_INVALID_ARGS for a reserve that leaves no window."""
        return preparation.limits_of(self.transcript, self.settings, window=window, reserve=reserve)

    def prepared(self) -> preparation.Preparation:
        """The point at which the session is cut."""
        return preparation.prepare(self.transcript, keep_recent=self.keep_recent)


@compaction.command("decide")
def decide(
    transcript: Transcript, window: Window = None, reserve: Reserve = None, at: At = "", client: Client = ""
) -> Answer:
    """Decide whether a session should be compacted, and why."""
    session = _Session(transcript, client, at=at)
    limits, size = session.limits(window, reserve), preparation.context_size(session.transcript)
    reason = preparation.reason(
        session.transcript, window=limits.window, reserve=limits.reserve, enabled=session.is_enabled
    )
    return Answer({
        **session.about, "compact": reason == "above-threshold", "reason": reason,
        "contextTokens": size.total, "source": "usage" if size.from_usage else "estimate",
        "staleUsageTokens": size.stale,
        "threshold": limits.window - limits.reserve, "window": limits.window, "windowFrom": limits.window_from,
        "reserve": limits.reserve, "enabled": session.is_enabled, "problems": session.problems,
    })  # fmt: skip


@compaction.command("prepare")
def prepare(
    transcript: Transcript,
    keep_recent: KeepRecent = None,
    reserve: Reserve = None,
    window: Window = None,
    at: At = "",
    client: Client = "",
) -> Answer:
    """Find where to cut a session."""
    session = _Session(transcript, client, at=at, keep_recent=keep_recent)
    limits, cut = session.limits(window, reserve), session.prepared()
    settings = {"reserveTokens": limits.reserve, "keepRecentTokens": session.keep_recent, "window": limits.window}
    return Answer({
        **session.about, "reason": cut.reason, "firstKeptEntryId": cut.first_kept_entry_id,
        "isSplitTurn": cut.is_split_turn, "tokensBefore": cut.tokens_before,
        "previousSummary": cut.previous_summary or None, "messagesToSummarize": _ids(cut.entries_to_summarize),
        "turnPrefixMessages": _ids(cut.turn_prefix_entries), "fileOps": asdict(cut.file_ops),
        "settings": settings, "windowFrom": limits.window_from, "problems": session.problems,
    })  # fmt: skip


@compaction.command("serialize")
def serialize(
    transcript: Transcript,
    part: Annotated[Literal["context", "branch", "summarize", "prefix"], Option(help="Which part")] = "context",
    keep_recent: KeepRecent = None,
    client: Client = "",
    raw: shared.Raw = False,
) -> Answer:
    """Print the conversation as flat text."""
    session = _Session(transcript, client, keep_recent=keep_recent)
    entries: Iterable[session_tree.Node]
    if part == "context":
        entries = preparation.context_entries(session.transcript)
    elif part == "branch":
        entries = [entry for entry in session.transcript.nodes if entry.head.kind != "compaction"]
    else:
        cut = session.prepared()
        entries = cut.entries_to_summarize if part == "summarize" else cut.turn_prefix_entries
    text = session_tree.serialize(entries)
    result = {
        **session.about, "part": part, "messages": sum(entry.role is not None for entry in entries),
        "characters": len(text), "text": text, "problems": session.problems,
    }  # fmt: skip
    return Answer(result, text=text if raw or is_for_person() else None)


@compaction.command("summarize")
def summarize(
    transcript: Transcript,
    instructions: Instructions = "",
    command: shared.ModelCommand = "",
    keep_recent: KeepRecent = None,
    at: At = "",
    client: Client = "",
) -> Answer:
    """Write the summary, with a model or from the transcript."""
    session = _Session(transcript, client, at=at, keep_recent=keep_recent)
    limits, cut, problems = session.limits(), session.prepared(), session.problems
    is_ready = cut.reason == "ready"
    if is_ready:
        parts, file_ops, reserve = summary.parts_of(cut), cut.file_ops, limits.reserve
    else:
        problems.append("there is nothing to compact yet: this summarizes the whole conversation")
        messages = session_tree.spoken(session.transcript.nodes)
        if not session_tree.serialize(messages):
            path = session.transcript.path
            raise Failure("TRANSCRIPT_EMPTY", f"nothing was said in {path}", "name a session with messages")
        parts, reserve = [summary.Part("history", messages)], 0
        file_ops = session_tree.together(entry.files for entry in session.transcript.nodes)
    ask = model_from_config(session.settings, command)
    written = summary.summarize(parts, file_ops, ask, instructions, reserve=reserve)
    return Answer({
        **written, "firstKeptEntryId": cut.first_kept_entry_id if is_ready else None,
        "tokensBefore": cut.tokens_before if is_ready else None, "isSplitTurn": is_ready and cut.is_split_turn,
        "problems": problems,
    })  # fmt: skip


@compaction.command("branch")
def branch(
    transcript: Transcript,
    to: Annotated[str, Option(metavar="ENTRY", help="The entry to go back to")],
    leaf: Annotated[str, Option("--from", metavar="LEAF", help="The entry to leave (default: the newest)")] = "",
    instructions: Instructions = "",
    command: shared.ModelCommand = "",
    client: Client = "",
) -> Answer:
    """Summarize what a session leaves behind when it goes back."""
    session = _Session(transcript, client)
    limits = session.limits()
    budget = limits.window - limits.reserve
    found = preparation.prepare_branch(session.transcript, leaf, to, budget=budget)
    result: dict[str, Any] = {
        **session.about, "from": found.leaf, "to": to, "commonAncestorId": found.common_ancestor,
        "branchEntries": len(found.entries), "entries": _ids(found.chosen), "tokens": found.tokens, "budget": budget,
        "fileOps": asdict(found.file_ops), "summary": None, "source": None, "readFiles": [], "modifiedFiles": [],
        "problems": session.problems,
    }  # fmt: skip
    if found.chosen:
        parts = [summary.Part("branch", session_tree.spoken(reversed(found.chosen)))]
        reserve = session.settings.get_int("compaction.reserve_tokens")
        ask = model_from_config(session.settings, command)
        result |= summary.summarize(parts, found.file_ops, ask, instructions, reserve=reserve)
    return Answer(result)


def _ids(entries: Iterable[session_tree.Node]) -> list[str]:
    return [entry.id for entry in entries]


# idle


@idle.command("schedule")
def schedule(
    session: shared.Session = None,
    percent: shared.Percent = None,
    minutes: Annotated[
        int | None, Option(min=1, max=525_600, help="After how many (default: compaction.idle_trigger_minutes)")
    ] = None,
    agent: Annotated[str | None, Option(help="The client that runs it")] = None,
    cwd: Annotated[str | None, Option(metavar="DIR", help="The agent's folder")] = None,
    cancel: Annotated[bool, Option("--cancel", help="Remove the timer")] = False,
) -> Answer:
    """Set the session's idle timer at the end of a turn."""
    session_id = required_session(session)
    if cancel:
        return Answer(idle_compaction.cancel(session_id))
    about: dict[str, Any] = {"minutes": minutes or 0, "agent": stored_line(agent or "")}
    folder = os.path.abspath(cwd) if cwd else ""
    result = idle_compaction.schedule(session_id, config.load(), percent, cwd=folder, **about)
    return Answer(result, [step("joelclaw idle run", "compact sessions as they come due")] * result["scheduled"])


@idle.command("list")
def list_() -> Answer:
    """List all timers, the soonest first."""
    timers = idle_compaction.timers()
    return Answer({"count": len(timers), "timers": timers})


@idle.command("run")
def run(once: Annotated[bool, Option("--once", help="Only those that are due now")] = False) -> Answer:
    """Compact sessions when they are due, until Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    return Answer({**idle_compaction.run(config.load(), once=once), "timersLeft": len(idle_compaction.timers())})
