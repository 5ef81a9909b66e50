"""A session file of pi (version 3): a header, then entries that name their parent. Hot path."""

from __future__ import annotations

from clients import content
from clients.content import parse_timestamp, rows, string, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import Item, Tool

SAID_MARKS: tuple[bytes, ...] = (b'"message"', b'"compaction"')
CONTEXT_MARKS: tuple[bytes, ...] = (b'"usage"', b'"compaction"')
UNFINISHED = ("aborted", "error")  # why an answer stopped whose usage says nothing, or a part
_WRITES = ("edit", "write")
_ABORTED = ("Command aborted", "Operation aborted")


def wrote(entry: dict[str, Any]) -> bool:
    """Whether a line has a form that only this client writes."""
    if entry.get("type") == "session":
        return "id" in entry and "cwd" in entry
    return entry.get("type") == "message" and "parentId" in entry and isinstance(entry.get("message"), dict)


def files_of(tool_name: str, tool_input: object) -> list[str]:
    """The files that a tool call writes; none for a tool that only reads."""
    return content.paths(tool_input, "path", "file_path") if tool_name in _WRITES else []


def items(line: object) -> list[Item]:
    """What one line says; nothing for our own injections, summaries of branches and what is of another version."""
    entry = table(line)
    kind = entry.get("type")
    if kind == "session":
        session, cwd = string(entry.get("id")), string(entry.get("cwd"))
        return [{"kind": "started", "session": session, "cwd": cwd}] if session else []
    at = parse_timestamp(entry.get("timestamp"))
    if kind == "compaction":
        return content.compaction(string(entry.get("summary")), at)
    message = table(entry.get("message"))
    role = message.get("role") if kind == "message" else ""
    if role == "toolResult":
        return _of_result(message)
    if role not in ("user", "assistant"):
        return []
    # An id of 8 digits is unique within its session, and a line does not name that. With its time it is unique, and
    # still the same in a fork, which copies entries.
    identifier = string(entry.get("id"))
    named = f"pi:{at if at is not None else ''}:{identifier}" if identifier else ""
    said_at = parse_timestamp(message.get("timestamp")) or at
    if role == "user":
        return content.said("user", content.typed(message.get("content")), said_at, named)
    return _of_assistant(message, said_at, named)


def _of_result(message: dict[str, Any]) -> list[Item]:
    """What a call returned, and the plan that an extension keeps in its details; nothing of one that was aborted."""
    text, failed = content.text_of(message.get("content")), message.get("isError") is True
    aborted = failed and text.endswith(_ABORTED)
    steps = [
        {**step, "status": step.get("status") or ("completed" if step.get("done") is True else "pending")}
        for step in rows(table(message.get("details")).get("todos"))
    ]
    found: list[Item] = [] if aborted else [content.outcome(message.get("toolCallId"), text, failed)]
    diff = string(table(message.get("details")).get("diff"))
    if diff:
        from clients import edits

        found += edits.edited(message.get("toolCallId"), edits.of_numbered("", diff))
    return [*found, *content.plan(message.get("toolCallId"), steps, "text", "content")]


def _of_assistant(message: dict[str, Any], at: int | None, named: str) -> list[Item]:
    given = message.get("content")
    tools: list[Tool] = []
    written: list[Item] = []
    for part in rows(given):
        if part.get("type") == "toolCall":
            name, wanted = string(part.get("name")), part.get("arguments")
            command = table(wanted).get("command") if name == "bash" else ""
            tool = content.tool(part.get("id"), name, files_of(name, wanted), command, wanted)
            if name == "read":
                tool["first"] = content.whole(table(wanted).get("offset")) or 1
            tools.append(tool)
            if name == "write":  # its result says so without the lines
                from clients import edits

                whole = edits.of_content(tool["target"], string(table(wanted).get("content")))
                written += edits.edited(part.get("id"), whole)
    found = [*content.said("assistant", content.text_of(given), at, named, tools), *written]
    if message.get("stopReason") in ("stop", "aborted"):
        found.append({"kind": "turn_ended", "at": at})
    if message.get("stopReason") in UNFINISHED:
        return found
    names = ("input", "cacheRead", "cacheWrite")
    return [*found, *content.usage(message.get("usage"), names, message.get("model"))]


def context_characters(entry: dict[str, Any]) -> int:
    """About how many characters this line adds to the model's context, summaries included."""
    kind = entry.get("type")
    if kind == "message":
        message = table(entry.get("message"))
        if message.get("role") == "bashExecution":
            return 0 if message.get("excludeFromContext") else content.characters([message.get("output")])
        return content.characters(message.get("content"))
    if kind == "custom_message":
        return content.characters(entry.get("content"))
    return len(string(entry.get("summary"))) if kind in ("compaction", "branch_summary") else 0


def kept_of(data: bytes, *, whole: bool = True) -> str:
    """What the last compaction of a session file left in the context word for word: all texts from there on."""
    lines = data.splitlines()[0 if whole else 1 :]  # an end begins within a line
    last = next((at for at in range(len(lines) - 1, -1, -1) if b'"type":"compaction"' in lines[at]), None)
    entry = table(content.parsed(lines[last])) if last is not None else {}
    identifier, place = string(entry.get("firstKeptEntryId")), entry.get("firstKeptEntryIndex")
    if identifier:
        mark = f'"id":"{identifier}"'.encode()
        place = next((at for at, line in enumerate(lines[:last]) if mark in line), len(lines) if whole else 0)
    elif not whole or type(place) is not int or place < 0:  # pi before 0.30 counts from the first line of the file
        return ""
    return "\n".join(content.texts_in([table(content.parsed(line)).get("message") for line in lines[place:last]]))
