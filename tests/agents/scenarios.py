"""Stories that a scripted model tells, rendered for each client's tool names, wire format and token limits.

A turn in stories.toml is a list of replies with neutral tool calls: [text], [text, "write", path, content],
[text, "edit", path, old, new] or [text, "bash", command]. With the call of NOISE, the reported usage crosses the
client's limit, so that the client compacts by itself. The summariser's reply is vague on purpose: each story's "facts"
are lost unless something else brings them back, and nothing from that turn on repeats one. A fact is
[kind, speaker, text]. All projects are invented.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NOISE = "seq -f 'case %.0f ok' 1 900"  # a long, uninformative test log (gemini refuses $() in commands)

TEXT = (Path(__file__).parent / "stories.toml").read_text(encoding="utf-8")
STORIES: dict[str, dict[str, Any]] = tomllib.loads(TEXT.replace("{{NOISE}}", NOISE))
_DOUBLE = STORIES["double-compaction"]
# Both compactions inside one turn, for clients that compact between the calls of a turn.
STORIES["double-in-turn"] = {
    **_DOUBLE,
    "prompts": [_DOUBLE["prompts"][0], "Run the load test twice.", "What is the state?"],
    "turns": [
        _DOUBLE["turns"][0],
        [["Running it.", "bash", NOISE], ["Once more.", "bash", NOISE], ["It is over."]],
        [["I only have the summary."]],
    ],
}

VAGUE = (
    "The user asked for several improvements to a service. Some files were changed, a few checks were run "
    "and things are broadly on track. Continue with the remaining work."
)
MARKDOWN = "## Goal\n" + VAGUE.replace(". ", ".\n\n## Progress\n", 1) + "\n"
TITLE = {
    "name": "title",
    "match": "title generator|generate a title|brief title|title that captures",
    "no_tools": True,
    "reply": {"text": "Work session", "usage": {"input": 100, "output": 5}},
}
FLUSH = {"name": "flush", "match": "Pre-compaction memory flush", "reply": {"text": "NO_REPLY", "usage": "auto"}}
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Usage:
    """Input tokens that the replies report: first reply, increase per reply, at the limit, after a compaction."""

    start: int
    step: int
    crossing: int
    after: int


@dataclass(frozen=True)
class Client:
    """How a client calls its tools, when it compacts, and what marks a request of its summariser."""

    call: Callable[..., Call]
    limits: dict[str, Any]
    usage: Usage
    match: str
    summary: str
    summariser_has_tools: bool = False
    compacts_after_turns: bool = False
    slow: float = 0  # seconds that the reply after the limit takes
    rules: list[dict[str, Any]] = field(default_factory=list)


def pi(kind: str, *a: str) -> Call:
    """A tool call of pi."""
    if kind == "write":
        return "write", {"path": a[0], "content": a[1]}
    if kind == "edit":
        return "edit", {"path": a[0], "edits": [{"oldText": a[1], "newText": a[2]}]}
    return "bash", {"command": a[0]}


def openclaw(kind: str, *a: str) -> Call:
    """A tool call of OpenClaw."""
    name, args = pi(kind, *a)
    if name == "bash":
        return "exec", {**args, "workdir": "{{CWD}}"}
    return name, {**args, "path": "{{CWD}}/" + args["path"]}


def file_tools(shell: str, write: str, edit: str, fields: str, **more: str) -> Callable[..., Call]:
    """How a client calls its tools: their names, and the fields with path, old and new text; `more` are of an edit."""
    path, old, new = fields.split()

    def call(kind: str, *a: str) -> Call:
        if kind == "bash":
            return shell, {"command": a[0], "description": "run a command"}
        file = {path: "{{CWD}}/" + a[0]}
        return (write, {**file, "content": a[1]}) if kind == "write" else (edit, {**file, **more, old: a[1], new: a[2]})

    return call


opencode = file_tools("bash", "write", "edit", "filePath oldString newString")
claude = file_tools("Bash", "Write", "Edit", "file_path old_string new_string")
gemini = file_tools(
    "run_shell_command", "write_file", "replace", "file_path old_string new_string", instruction="change one line"
)
of_qwen = file_tools("run_shell_command", "write_file", "edit", "file_path old_string new_string")
of_copilot = file_tools("bash", "create", "edit", "path old_str new_str")


def qwen(kind: str, *a: str) -> Call:
    """A tool call of Qwen Code, which on a busy machine loses what a command prints at its end."""
    return of_qwen(kind, *((f"{a[0]}; sleep 1",) if kind == "bash" else a))


def written_by_shell(path: str, text: str) -> str:
    """A shell command that writes a file."""
    return f"mkdir -p {path.rpartition('/')[0]} && cat > {path} <<'EOF'\n{text}EOF"


def copilot(kind: str, *a: str) -> Call:
    """A tool call of Copilot CLI, which writes files with its shell."""
    return of_copilot("bash", written_by_shell(*a)) if kind == "write" else of_copilot(kind, *a)


def codex(kind: str, *a: str) -> Call:
    """A tool call of Codex, which only has a shell."""
    if kind == "write":
        command = written_by_shell(*a)
    elif kind == "edit":
        command = f"sed -i 's|{a[1]}|{a[2]}|' {a[0]}".replace("\n", "\\n")
    else:
        command = a[0]
    return "exec_command", {"cmd": command}


CLIENTS = {
    "pi": Client(
        call=pi,
        limits={"contextWindow": 8000, "reserveTokens": 2000, "keepRecentTokens": 300},
        usage=Usage(1500, 450, 6600, 1800),
        match="You are a context summarization assistant",
        summary=MARKDOWN,
    ),
    "openclaw": Client(
        call=openclaw,
        limits={"contextWindow": 64000, "keepRecentTokens": 300},
        usage=Usage(12000, 500, 52000, 13000),
        match="You are a context summarization assistant",
        summary=MARKDOWN,
        rules=[FLUSH],
        compacts_after_turns=True,
    ),
    "opencode": Client(
        call=opencode,
        limits={"contextWindow": 30000, "output": 2000},
        usage=Usage(9000, 1500, 29500, 4000),
        match="You are a context summarization agent",
        summary=MARKDOWN,
        rules=[TITLE],
    ),
    "claude": Client(
        call=claude,
        limits={"autoCompactWindow": 100000},
        usage=Usage(15000, 4000, 185000, 9000),
        match="Tool calls will be rejected and you will fail the task",
        summary=f"<analysis>brief</analysis>\n<summary>{VAGUE}</summary>",
        summariser_has_tools=True,
        rules=[TITLE],
    ),
    "codex": Client(
        call=codex,
        limits={"contextWindow": 20000, "autoCompactAt": 8000},
        usage=Usage(3000, 300, 15000, 2500),
        match="CONTEXT CHECKPOINT COMPACTION",
        summary=VAGUE,
    ),
    "gemini": Client(  # it splits at a user prompt only, and keeps about the newest third of the text
        call=gemini,
        limits={"compressionThreshold": 0.02},  # of 1,048,576 tokens
        usage=Usage(9000, 500, 30000, 9000),
        match="distilling chat history into a structured XML",
        summary=f"<state_snapshot>{VAGUE}</state_snapshot>",
    ),
    "qwen": Client(  # inside a turn, chance says whether the last result is kept when the session is resumed
        call=qwen,
        limits={"contextWindow": 100_000},
        usage=Usage(20_000, 500, 72_000, 21_000),
        match="First, reason in your <analysis> block|You are the component that summarizes",
        summary=f"<analysis>brief</analysis>\n<state_snapshot>{VAGUE}</state_snapshot>",
        summariser_has_tools=True,
        compacts_after_turns=True,
    ),
    "copilot": Client(  # it asks for the summary while the next request runs
        call=copilot,
        limits={"contextWindow": 64_000, "output": 4000},
        usage=Usage(20_000, 500, 54_000, 21_000),
        match="Please create a detailed summary of the conversation so far",
        summary=f"<overview>{VAGUE}</overview>\n<history>brief</history>",
        summariser_has_tools=True,
        slow=2,
        rules=[TITLE],
    ),
}


def steps(story: dict[str, Any], client: Client, *, by_hand: bool = False) -> list[dict[str, Any]]:
    """The model's replies, in order; if the client is to compact by hand, none crosses its limit."""
    replies, used, is_after_noise = [], client.usage.start, False
    for turn in story["turns"]:
        for text, *call in turn:
            kind, *words = call or [""]
            is_at_limit = is_after_noise if client.compacts_after_turns else NOISE in words
            if is_at_limit and not by_hand:
                used = client.usage.crossing
            reply: dict[str, Any] = {"text": text, "usage": {"input": used, "output": 60}}
            if kind:
                name, args = client.call(kind, *words)
                reply["tool_calls"] = [{"name": name, "args": args}]
            replies.append(reply)
            if NOISE in words and client.slow:
                name, args = client.call("bash", "echo 'still running'")
                more = [{"name": name, "args": args}]
                replies.append({**reply, "text": "It goes on.", "delay": client.slow, "tool_calls": more})
            if client.compacts_after_turns and is_at_limit:  # the newest tokens are kept: let them be filler
                reply["pad"] = 1200
            used = client.usage.after if is_at_limit else used + client.usage.step
            is_after_noise = NOISE in words
    return replies


def script(story_name: str, client_name: str, *, by_hand: bool = False) -> dict[str, Any]:
    """A story as a script for the mock model (the format is in mock_llm.py); `by_hand`: with the prompt `/compact`."""
    story, client = STORIES[story_name], CLIENTS[client_name]
    reply = {"text": client.summary, "usage": {"input": 900, "output": 60}}
    rule: dict[str, Any] = {"name": "compact", "match": client.match, "reply": reply}
    if not client.summariser_has_tools:
        rule["no_tools"] = True
    return {
        "client": client.limits,
        "prompts": [*story["prompts"][:-1], "/compact", story["prompts"][-1]] if by_hand else story["prompts"],
        "facts": [{"kind": kind, "said_by": who, "needle": needle} for kind, who, needle in story["facts"]],
        "rules": [rule, *client.rules],
        "steps": steps(story, client, by_hand=by_hand),
        "default": {"text": "There is nothing more to do.", "usage": {"input": client.usage.after, "output": 20}},
    }
