"""A chat file of Gemini CLI (0.61): messages, and `$set` lines that replace fields of the whole chat. Hot path.

A message is written again, under the same id, when its tools have run. A compression and a resumption write the whole
history anew in a `$set` line; what was said stands on lines of its own before, so those yield nothing here.
"""

from __future__ import annotations

from clients import content
from clients.content import parse_timestamp, rows, string, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import Item, Tool

SAID_MARKS: tuple[bytes, ...] = (b'"user"', b'"gemini"')
CONTEXT_MARKS: tuple[bytes, ...] = (b'"tokens"', b"<state_snapshot>")
_WRITES = ("write_file", "replace")
_EXIT = "Exit Code: "


def wrote(entry: dict[str, Any]) -> bool:
    """Whether a line has a form that only this client writes."""
    kind = entry.get("type")
    return "$set" in entry or kind == "gemini" or (kind is None and "projectHash" in entry and "sessionId" in entry)


def files_of(tool_name: str, tool_input: object) -> list[str]:
    """The files that a tool call writes; none for a tool that only reads."""
    return content.paths(tool_input, "file_path", "absolute_path") if tool_name in _WRITES else []


def items(line: object) -> list[Item]:
    """What one line says; nothing for `$set` lines, notices of the client and what is of another version."""
    entry = table(line)
    kind, own, session = entry.get("type"), string(entry.get("id")), string(entry.get("sessionId"))
    if kind in ("user", "gemini"):
        at, named = parse_timestamp(entry.get("timestamp")), f"gemini:{own}" if own else ""
        if kind == "gemini":
            return _of_assistant(entry, at, named)
        return content.said("user", content.typed(entry.get("content"), ("text", None)), at, named)
    is_head = kind is None and session and "projectHash" in entry
    return [{"kind": "started", "session": session, "cwd": ""}] if is_head else []


def context_characters(entry: dict[str, Any]) -> int:
    """About how many characters this line adds to the model's context, of a `$set` line the history that it holds."""
    if entry.get("type") in ("user", "gemini"):
        given = [call.get("args") for call in rows(entry.get("toolCalls"))]  # its result follows as a message
        return content.characters([entry.get("content"), *given])
    return content.characters([row.get("content") for row in _history(entry)])


def snapshot_of(entry: dict[str, Any]) -> str:
    """The id of the summary in a history that was compressed, "" for another line."""
    for row in _history(entry):
        parts = rows(row.get("content"))
        if any(string(part.get("text")).startswith("<state_snapshot>") for part in parts):
            return string(row.get("id"))
    return ""


def _history(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return rows(table(entry.get("$set")).get("messages"))


def _of_assistant(entry: dict[str, Any], at: int | None, named: str) -> list[Item]:
    given = entry.get("content")
    if isinstance(given, list):
        given = [{**part, "type": "text"} for part in rows(given) if not part.get("thought")]
    tools: list[Tool] = []
    outcomes: list[Item] = []
    plans: list[Item] = []
    for call in rows(entry.get("toolCalls")):
        name, wanted, identifier = string(call.get("name")), call.get("args"), string(call.get("id"))
        command = table(wanted).get("command") if name == "run_shell_command" else ""
        tool = content.tool(identifier, name, files_of(name, wanted), command, wanted)
        if name == "read_file":
            tool["first"] = content.whole(table(wanted).get("offset")) + 1  # its offset counts from 0
        tools.append(tool)
        outcomes += _outcome(call, identifier)
        if diff := string(table(call.get("resultDisplay")).get("fileDiff")):
            from clients import edits

            outcomes += edits.edited(identifier, edits.of_unified(tool["target"], diff))
        if name == "write_todos":
            plans += content.plan(identifier, table(wanted).get("todos"), "description")
    found = content.said("assistant", content.text_of(given), at, named, tools)
    return [*found, *outcomes, *plans, *content.usage(entry.get("tokens"), ("input",), entry.get("model"))]


def _outcome(call: dict[str, Any], identifier: str) -> list[Item]:
    """What a call returned, nothing of one that the user did not let run; how a command ended stands in the text."""
    result = call.get("result")
    results = rows(result if isinstance(result, list) else [result])
    answers = [table(table(row.get("functionResponse")).get("response")) for row in results]
    if not answers or call.get("status") == "cancelled":
        return []
    texts = [string(answer.get("output")) or string(answer.get("error")) for answer in answers]
    text = content.without_ours("\n".join(text for text in texts if text).strip())
    text = text.removeprefix("<untrusted_context>").removesuffix("</untrusted_context>").strip()
    failed = call.get("status") == "error" or any("error" in answer for answer in answers)
    if call.get("name") == "run_shell_command" and not failed:
        codes = [line[len(_EXIT) :].strip() for line in text.split("\n") if line.startswith(_EXIT)]
        failed = bool(codes) and codes[-1] not in ("0", "(none)")
    return [content.outcome(identifier, text, failed)]
