"""A transcript of Claude Code (2.1): one entry a line; each block of an answer is an entry of its own. Hot path."""

from __future__ import annotations

from clients import content
from clients.content import parse_timestamp, rows, string, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.event import Item, PlanStep, Tool

SAID_MARKS: tuple[bytes, ...] = (b'"user"', b'"assistant"', b'"queued_command"', b'"queue-operation"')
CONTEXT_MARKS: tuple[bytes, ...] = (b'"usage"', b"compact_boundary")
_TYPES = ("user", "assistant", "system", "attachment", "progress", "queue-operation", "summary", "last-prompt")
_APART = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
WRITES = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_RUNS = ("Command running in background with ID: ", "Async agent launched successfully.\nagentId: ")
_GOES_ON = "<status>running</status>"
_STOPPERS = {"KillShell": "shell_id", "KillBash": "shell_id", "TaskStop": "task_id"}
_REJECTED = ("The user doesn't want to ", content.INTERRUPTED, "Permission to use ")
_WITH_WORDS = "the user said:\n"
_BEHIND_WORDS = "\n\nNote: The user's next message"
_NOT_RUN = "<tool_use_error>Sibling tool call errored"
_PLANNERS = ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList")
_SYNTHETIC = "<synthetic>"  # the model of a message that Claude Code itself wrote: an error, an interruption
_USED = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def wrote(entry: dict[str, Any]) -> bool:
    """Whether a line has a form that only this client writes."""
    return isinstance(entry.get("sessionId"), str) and ("parentUuid" in entry or entry.get("type") in _TYPES)


def is_subagents(entries: Sequence[dict[str, Any]]) -> bool:
    """Whether the lines are those of a subagent: all that say so say yes."""
    marks = [entry["isSidechain"] for entry in entries if "isSidechain" in entry]
    return bool(marks) and all(marks)


def is_synthetic(entry: dict[str, Any]) -> bool:
    """Whether Claude Code itself wrote an answer."""
    return bool(entry.get("isApiErrorMessage")) or table(entry.get("message")).get("model") == _SYNTHETIC


def tokens_before(used: dict[str, Any]) -> int:
    """The tokens that a request took, by the usage of its answer."""
    return sum(content.whole(used.get(name)) for name in _USED)


def files_of(tool_name: str, tool_input: object) -> list[str]:
    """The files that a tool call writes; none for a tool that only reads."""
    return content.paths(tool_input, "notebook_path", "file_path") if tool_name in WRITES else []


def items(line: object) -> list[Item]:
    """What one line says; nothing for sidechains, meta entries and what is of another version."""
    entry = table(line)
    at = parse_timestamp(entry.get("timestamp"))
    if any(entry.get(mark) for mark in _APART):
        summary = "" if entry.get("isSidechain") else content.text_of(table(entry.get("message")).get("content"))
        return [{"kind": "summary", "text": summary, "at": at}] if entry.get("isCompactSummary") and summary else []
    found: list[Item] = []
    session, cwd = string(entry.get("sessionId")), string(entry.get("cwd"))
    if session and cwd and entry.get("parentUuid", "") is None:
        found.append({"kind": "started", "session": session, "cwd": cwd})
    kind = entry.get("type")
    if kind == "user":
        found += _of_user(entry, at)
    elif kind == "assistant" and not is_synthetic(entry):
        found += _of_assistant(entry, at)
    elif kind == "attachment":  # in newer versions what the user typed while a turn ran
        found += content.said("user", content.typed(queued(entry)), at, _id(entry))
    elif kind == "queue-operation":
        found += _of_queue(entry, at)
    elif kind == "system" and entry.get("subtype") == "compact_boundary":
        after = content.whole(table(entry.get("compactMetadata")).get("postTokens"))
        found.append({"kind": "compaction", "tokens": after or None, "at": at})
    elif kind == "system" and entry.get("subtype") in ("stop_hook_summary", "turn_duration"):
        found.append({"kind": "turn_ended", "at": at, "stopped": True})
    return found


def context_characters(entry: dict[str, Any]) -> int:
    """About how many characters this line adds to the model's context, summaries included."""
    if entry.get("type") not in ("user", "assistant") or entry.get("isSidechain"):
        return 0
    return content.characters(table(entry.get("message")).get("content"))


def queued(entry: dict[str, Any]) -> object:
    """What the user typed while a turn ran, of an attachment that is such."""
    given = table(entry.get("attachment"))
    is_prompt = given.get("type") == "queued_command" and given.get("commandMode", "prompt") == "prompt"
    return given.get("prompt") if is_prompt else None


def _id(entry: dict[str, Any], part: str = "") -> str:
    own = string(entry.get("uuid"))
    return f"claude:{own}{part}" if own else ""


def _of_user(entry: dict[str, Any], at: int | None) -> list[Item]:
    message = table(entry.get("message"))
    if message.get("role", "user") != "user":
        return []
    given = message.get("content")
    found = content.said("user", content.typed(given), at, _id(entry)) or _ended(string(given), "task-id", "summary")
    if content.text_of(given).startswith(content.INTERRUPTED):
        found.append({"kind": "turn_ended", "at": at})
    for number, part in enumerate(rows(given)):
        if part.get("type") != "tool_result":
            continue
        text, failed = content.text_of(part.get("content")), part.get("is_error") is True
        # of a command that the user interrupted the exit code in front says nothing
        behind = text.partition("\n")[2] if text.startswith("Exit code ") else text
        if failed and behind.startswith(_REJECTED):
            words = text.partition(_WITH_WORDS)[2].partition(_BEHIND_WORDS)[0]
            found += content.said("user", content.typed(words), at, _id(entry, f":{number}"))
        elif not text.startswith(_NOT_RUN):
            process = next((text[len(begin) :].split()[:1] for begin in _RUNS if text.startswith(begin)), [])
            if text.startswith(_GOES_ON):  # what BashOutput returns, of the process that the call named
                process = [_GOES_ON]
            failed = failed or _tag(text, "exit_code") not in ("", "0") if text.startswith("<status>") else failed
            text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
            found.append(content.outcome(part.get("tool_use_id"), text, failed, "".join(process).rstrip(".,")))
            if "structuredPatch" in table(entry.get("toolUseResult")):
                found += _edited(part.get("tool_use_id"), entry["toolUseResult"])
            found += _ended(text, "task_id", "output")
    return found


def _edited(call: object, result: dict[str, Any]) -> list[Item]:
    """What a call changed; of a file that is new there is no patch."""
    from clients import edits

    file = string(result.get("filePath"))
    patch = edits.of_patch(file, result["structuredPatch"])
    if not patch and result.get("type") == "create":
        patch = edits.of_content(file, string(result.get("content")))
    return edits.edited(call, patch)


def _ended(text: str, named: str, told: str) -> list[Item]:
    """That a process in the background has ended: a notification in place of a message, or what TaskOutput returns."""
    if not text.startswith(("<task-notification>", "<retrieval_status>")):
        return []
    process, status = _tag(text, named), _tag(text, "status")
    if not process or status not in ("completed", "failed", "killed", "stopped"):
        return []
    failed = (
        status == "failed" or _tag(text, "exit_code") not in ("", "0") if status in ("completed", "failed") else None
    )
    said = _tag(text, told)
    if told == "summary" and " failed with exit code " in said:  # that says nothing of why
        said = ""
    return [{"kind": "ended", "process": process, "text": said, "failed": failed}]


def _tag(text: str, name: str) -> str:
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()


def _of_queue(entry: dict[str, Any], at: int | None) -> list[Item]:
    """What the user types while a turn runs; a command for the client is none of it."""
    operation, given = entry.get("operation"), string(entry.get("content"))
    if operation not in ("enqueue", "remove", "dequeue", "popAll"):
        return []
    text = content.typed(given)
    if text.startswith("/") and len(text.split()) == 1:
        text = ""
    return [{"kind": "queue", "operation": operation, "text": text, "at": at}, *_ended(given, "task-id", "summary")]


def _plan(call: str, tool: str, given: dict[str, Any]) -> list[Item]:
    """What a call makes of the plan. A new task's number is its place: they are counted from 1."""
    if tool == "TodoWrite":
        return content.plan(call, given.get("todos"), "content")
    if tool not in ("TaskCreate", "TaskUpdate"):
        return []
    identifier, status = ("", "pending") if tool == "TaskCreate" else (given.get("taskId"), given.get("status"))
    text = string(given.get("subject"))
    step: PlanStep = {"id": str(identifier or ""), "text": text, "status": string(status)}
    return [{"kind": "plan", "call": call, "whole": False, "steps": [step]}]


def _of_assistant(entry: dict[str, Any], at: int | None) -> list[Item]:
    message = table(entry.get("message"))
    given = message.get("content")
    tools: list[Tool] = []
    behind: list[Item] = []
    for part in rows(given):
        if part.get("type") == "tool_use":
            name, fields = string(part.get("name")), table(part.get("input"))
            # what a plan says is an item of its own
            about = {key: value for key, value in fields.items() if name not in _PLANNERS and key != "output_mode"}
            command = fields.get("command") if name == "Bash" else ""
            tools.append(content.tool(part.get("id"), name, files_of(name, fields), command, about))
            if name == "BashOutput":
                tools[-1]["process"] = string(fields.get("bash_id"))
            elif name in _STOPPERS:
                process = string(fields.get(_STOPPERS[name])) or string(fields.get("shell_id"))
                behind.append({"kind": "ended", "process": process, "text": "", "failed": None})
            behind += _plan(string(part.get("id")), name, fields)
    found = content.said("assistant", content.text_of(given), at, _id(entry), tools)
    return [*found, *behind, *content.usage(message.get("usage"), _USED, message.get("model"))]
