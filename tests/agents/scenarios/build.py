#!/usr/bin/env python3
"""Write the mock scripts STORY.CLIENT.json beside this file, or compare them: build.py [--check].

A story of stories.py is rendered for each client's tool names, wire format and token limits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stories import STORIES

HERE = Path(__file__).resolve().parent
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
PADDING = 1200  # characters
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Usage:
    """Input tokens that the replies claim: of the first, how many more each time, at the limit, after a compaction."""

    start: int
    step: int
    crossing: int
    after: int


@dataclass(frozen=True)
class Client:
    """How a client calls its tools, when it compacts, and by what its summariser is known."""

    call: Callable[..., Call]
    limits: dict[str, Any]
    usage: Usage
    match: str
    summary: str
    crosses_last: bool = False
    """Whether the turn's last reply crosses the limit, not the one before it, which calls a tool."""
    summariser_has_tools: bool = False
    rules: list[dict[str, Any]] = field(default_factory=list)


def pi(kind: str, *a: str) -> Call:
    """pi's own words for a tool call."""
    if kind == "write":
        return "write", {"path": a[0], "content": a[1]}
    if kind == "edit":
        return "edit", {"path": a[0], "edits": [{"oldText": a[1], "newText": a[2]}]}
    return "bash", {"command": a[0]}


def opencode(kind: str, *a: str) -> Call:
    """OpenCode's."""
    if kind == "write":
        return "write", {"filePath": "{{CWD}}/" + a[0], "content": a[1]}
    if kind == "edit":
        return "edit", {"filePath": "{{CWD}}/" + a[0], "oldString": a[1], "newString": a[2]}
    return "bash", {"command": a[0], "description": "run a command"}


def claude(kind: str, *a: str) -> Call:
    """Claude Code's."""
    if kind == "write":
        return "Write", {"file_path": "{{CWD}}/" + a[0], "content": a[1]}
    if kind == "edit":
        return "Edit", {"file_path": "{{CWD}}/" + a[0], "old_string": a[1], "new_string": a[2]}
    return "Bash", {"command": a[0], "description": "run a command"}


def gemini(kind: str, *a: str) -> Call:
    """Gemini CLI's."""
    if kind == "write":
        return "write_file", {"file_path": "{{CWD}}/" + a[0], "content": a[1]}
    if kind == "edit":
        told = {"instruction": "change one line", "old_string": a[1], "new_string": a[2]}
        return "replace", {"file_path": "{{CWD}}/" + a[0], **told}
    return "run_shell_command", {"command": a[0], "description": "run a command"}


def codex(kind: str, *a: str) -> Call:
    """Codex has a shell only."""
    if kind == "write":
        command = f"mkdir -p {a[0].rpartition('/')[0]} && cat > {a[0]} <<'EOF'\n{a[1]}EOF"
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
        crosses_last=True,
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
}


def steps(story: dict[str, Any], client: Client) -> list[dict[str, Any]]:
    """The model's replies, in order."""
    found, used = [], client.usage.start
    for number, turn in enumerate(story["turns"]):
        crossing = len(turn) - (1 if client.crosses_last else 2) if number in story["crossing"] else None
        for i, (text, kind, *words) in enumerate(turn):
            if i == crossing:
                used = client.usage.crossing
            reply: dict[str, Any] = {"text": text, "usage": {"input": used, "output": 60}}
            if kind:
                name, args = client.call(kind, *words)
                reply["tool_calls"] = [{"name": name, "args": args}]
            elif i == crossing:
                reply["pad"] = PADDING  # pi keeps the newest tokens: let them be filler
            found.append(reply)
            used = client.usage.after if i == crossing else used + client.usage.step
    return found


def render(story: dict[str, Any], client: Client) -> dict[str, Any]:
    """The mock's script of a story."""
    reply = {"text": client.summary, "usage": {"input": 900, "output": 60}}
    rule: dict[str, Any] = {"name": "compact", "match": client.match, "reply": reply}
    if not client.summariser_has_tools:
        rule["no_tools"] = True
    return {
        "client": client.limits,
        "prompts": story["prompts"],
        "facts": [{"kind": kind, "said_by": who, "needle": needle} for kind, who, needle in story["facts"]],
        "rules": [rule, *client.rules],
        "steps": steps(story, client),
        "default": {"text": "There is nothing more to do.", "usage": {"input": client.usage.after, "output": 20}},
    }


def main() -> None:
    """Write or compare all of them."""
    stale = []
    for name, story in STORIES.items():
        told = json.dumps([story["prompts"], story["turns"]], ensure_ascii=False)
        for _kind, _who, needle in story["facts"]:
            if needle not in told or needle in VAGUE:
                sys.exit(f"{name}: {needle!r} is not told, or stands in the summary")
        for client_name, client in CLIENTS.items():
            path = HERE / f"{name}.{client_name}.json"
            text = json.dumps(render(story, client), indent=1, ensure_ascii=False) + "\n"
            if "--check" not in sys.argv[1:]:
                path.write_text(text, encoding="utf-8")
            elif not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(path.name)
    if stale:
        sys.exit("out of date: " + ", ".join(stale))


if __name__ == "__main__":
    main()
