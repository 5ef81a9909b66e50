"""A transcript of Claude Code (2.1): one entry a line; each block of an answer is an entry of its own. Hot path."""

from __future__ import annotations

from clients import content
from clients.moment import ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.event import Item, PlanStep, Tool

SAID_MARKS: tuple[bytes, ...] = (b'"user"', b'"assistant"', b'"queued_command"')
"""A line that holds none of them yields nothing that was said, and no outcome."""
CONTEXT_MARKS: tuple[bytes, ...] = (b'"usage"', b"compact_boundary")
"""A line that holds none of them yields no usage and no compaction."""

_TYPES = ("user", "assistant", "system", "attachment", "progress", "queue-operation", "summary", "last-prompt")
_PATHS = {
    "Edit": ("file_path",),
    "Write": ("file_path",),
    "MultiEdit": ("file_path",),
    "NotebookEdit": ("notebook_path", "file_path"),
}
_PLANNERS = ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList")
_SYNTHETIC = "<synthetic>"  # the model of a message that Claude Code itself wrote: an error, an interruption


def wrote(entry: dict[str, Any]) -> bool:
    """Whether a line has a form that only this client writes."""
    return isinstance(entry.get("sessionId"), str) and ("parentUuid" in entry or entry.get("type") in _TYPES)


def is_subagents(entries: Sequence[dict[str, Any]]) -> bool:
    """Whether the lines are those of a subagent: all that say so say yes."""
    marks = [entry["isSidechain"] for entry in entries if "isSidechain" in entry]
    return bool(marks) and all(marks)


def files_of(tool_name: str, tool_input: object) -> list[str]:
    """The files that a tool call writes; none for a tool that only reads."""
    return content.paths(tool_input, *_PATHS.get(tool_name, ()))


def command_of(tool_name: str, tool_input: object) -> str:
    """The shell command of a tool call, "" for another tool."""
    return content.string(content.table(tool_input).get("command")) if tool_name == "Bash" else ""


def items(line: object) -> list[Item]:
    """What one line says; nothing for sidechains, meta entries and what is of another version."""
    entry = content.table(line)
    if _is_apart(entry):
        return _summary(entry)
    found: list[Item] = []
    session, cwd = content.string(entry.get("sessionId")), content.string(entry.get("cwd"))
    if session and cwd and entry.get("parentUuid", "") is None:
        found.append({"kind": "started", "session": session, "cwd": cwd})
    kind = entry.get("type")
    if kind == "user":
        return found + _of_user(entry)
    if kind == "assistant":
        return found + _of_assistant(entry)
    if kind == "attachment":
        return found + _of_queued(entry)
    if kind == "system" and entry.get("subtype") == "compact_boundary":
        after = content.whole(content.table(entry.get("compactMetadata")).get("postTokens"))
        found.append({"kind": "compaction", "tokens": after or None, "at": ms(entry.get("timestamp"))})
    return found


def context_characters(entry: dict[str, Any]) -> int:
    """About how many characters this line adds to the model's context, summaries included."""
    if entry.get("type") not in ("user", "assistant") or entry.get("isSidechain"):
        return 0
    return content.characters(content.table(entry.get("message")).get("content"))


def _is_apart(entry: dict[str, Any]) -> bool:
    return any(entry.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"))


def _summary(entry: dict[str, Any]) -> list[Item]:
    if not entry.get("isCompactSummary") or entry.get("isSidechain"):
        return []
    text = content.text_of(content.table(entry.get("message")).get("content"))
    return [{"kind": "summary", "text": text, "at": ms(entry.get("timestamp"))}] if text else []


def _id(entry: dict[str, Any]) -> str:
    uuid = content.string(entry.get("uuid"))
    return f"claude:{uuid}" if uuid else ""


def _said(entry: dict[str, Any], text: str) -> list[Item]:
    if not text:
        return []
    at = ms(entry.get("timestamp"))
    return [{"kind": "said", "id": _id(entry), "role": "user", "text": text, "tools": [], "at": at}]


def _of_user(entry: dict[str, Any]) -> list[Item]:
    message = content.table(entry.get("message"))
    if message.get("role", "user") != "user":
        return []
    given = message.get("content")
    found = _said(entry, content.typed(given))
    for part in content.rows(given):
        if part.get("type") == "tool_result":
            text = content.without_ours(content.text_of(part.get("content")))
            call = content.string(part.get("tool_use_id"))
            found.append({"kind": "outcome", "call": call, "text": text, "failed": part.get("is_error") is True})
    return found


def _of_queued(entry: dict[str, Any]) -> list[Item]:
    """What the user typed while a turn ran stands in an attachment alone."""
    given = content.table(entry.get("attachment"))
    if given.get("type") != "queued_command" or given.get("commandMode", "prompt") != "prompt":
        return []
    return _said(entry, content.typed(given.get("prompt")))


def _plan(tool: str, given: dict[str, Any]) -> list[Item]:
    """What a call makes of the plan. A new task's number is its place: the outcome says it, and counts from 1."""
    if tool == "TodoWrite":
        whole = content.plan(given.get("todos"), ("content",))
        return [whole] if whole else []
    if tool == "TaskCreate":
        step: PlanStep = {"id": "", "text": content.string(given.get("subject")), "status": "pending"}
    elif tool == "TaskUpdate":
        step = {
            "id": str(given.get("taskId") or ""),
            "text": content.string(given.get("subject")),
            "status": content.string(given.get("status")),
        }
    else:
        return []
    return [{"kind": "plan", "whole": False, "steps": [step]}]


def _of_assistant(entry: dict[str, Any]) -> list[Item]:
    message = content.table(entry.get("message"))
    model = content.string(message.get("model"))
    if entry.get("isApiErrorMessage") or model == _SYNTHETIC:
        return []
    found: list[Item] = []
    given = message.get("content")
    text = content.text_of(given)
    tools: list[Tool] = []
    plans: list[Item] = []
    for part in content.rows(given):
        if part.get("type") == "tool_use":
            name, wanted = content.string(part.get("name")), part.get("input")
            # what a plan says is an item of its own
            about = {} if name in _PLANNERS else {**content.table(wanted), "output_mode": ""}
            tools.append(content.tool(part.get("id"), name, files_of(name, wanted), command_of(name, wanted), about))
            plans += _plan(name, content.table(wanted))
    if text or tools:
        at = ms(entry.get("timestamp"))
        found.append({"kind": "said", "id": _id(entry), "role": "assistant", "text": text, "tools": tools, "at": at})
    found += plans
    used = content.table(message.get("usage"))
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    tokens = sum(content.whole(used.get(name)) for name in names)
    if tokens:
        found.append({"kind": "usage", "tokens": tokens, "window": None, "model": model})
    return found
