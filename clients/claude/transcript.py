"""A transcript of Claude Code (2.1): one entry a line; each block of an answer is an entry of its own. Hot path."""

from __future__ import annotations

from clients import content
from clients.moment import ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.event import Ended, Item, Outcome, PlanStep, Tool

SAID_MARKS: tuple[bytes, ...] = (b'"user"', b'"assistant"', b'"queued_command"', b'"queue-operation"')
"""A line that holds none of them yields nothing that was said, no outcome and no summary."""
CONTEXT_MARKS: tuple[bytes, ...] = (b'"usage"', b"compact_boundary")
"""A line that holds none of them yields no usage and no compaction."""

_TYPES = ("user", "assistant", "system", "attachment", "progress", "queue-operation", "summary", "last-prompt")
_PATHS = {
    "Edit": ("file_path",),
    "Write": ("file_path",),
    "MultiEdit": ("file_path",),
    "NotebookEdit": ("notebook_path", "file_path"),
}
_ASKING = ("TaskOutput", "BashOutput", "AgentOutputTool")  # what became of a process in the background
_RUNS = "Command running in background with ID: "
_REJECTED = ("The user doesn't want to ", "[Request interrupted by user")
_WITH_WORDS = "the user said:\n"
_BEHIND_WORDS = "\n\nNote: The user's next message"
_NOT_RUN = "<tool_use_error>Sibling tool call errored"
_NOTIFICATION = "<task-notification>"
_PLANNERS = ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList")
_NO_TASKS = "No tasks found"
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
    if kind == "queue-operation":
        found += _of_queue(entry)
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


def _said(entry: dict[str, Any], text: str, part: str = "") -> list[Item]:
    if not text:
        return []
    at = ms(entry.get("timestamp"))
    own = _id(entry)
    return [{"kind": "said", "id": own and own + part, "role": "user", "text": text, "tools": [], "at": at}]


def _of_user(entry: dict[str, Any]) -> list[Item]:
    message = content.table(entry.get("message"))
    if message.get("role", "user") != "user":
        return []
    given = message.get("content")
    found = _said(entry, content.typed(given)) or [*_ended(content.string(given))]
    for number, part in enumerate(content.rows(given)):
        if part.get("type") == "tool_result":
            text = content.text_of(part.get("content"))
            if part.get("is_error") is True and text.startswith(_REJECTED):
                words = text.partition(_WITH_WORDS)[2].partition(_BEHIND_WORDS)[0]
                found += _said(entry, content.typed(words), f":{number}")
            elif not text.startswith(_NOT_RUN):
                found.append(_outcome(part, text))
                found += _listed(content.table(entry.get("toolUseResult")), text)
    return found


def _outcome(part: dict[str, Any], text: str) -> Outcome:
    """What a call returned; what asks after a process tells of it in tags."""
    failed, process = part.get("is_error") is True, ""
    if text.startswith(_RUNS):
        process = text[len(_RUNS) :].split()[0].rstrip(".,") if text[len(_RUNS) :].strip() else ""
    elif text.startswith(("<retrieval_status>", "<status>")):
        process = _tag(text, "task_id") or "?" if _tag(text, "status") == "running" else ""
        failed = failed or _tag(text, "status") == "failed" or _tag(text, "exit_code") not in ("", "0")
    if text.startswith("<tool_use_error>"):
        text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
    return content.outcome(part.get("tool_use_id"), text, failed, process)


def _ended(text: str) -> list[Ended]:
    """That a process in the background has ended stands in the place of a message."""
    if not text.startswith(_NOTIFICATION):
        return []
    process, status = _tag(text, "task-id"), _tag(text, "status")
    if not process or status not in ("completed", "failed"):
        return []
    return [{"kind": "ended", "process": process, "text": _tag(text, "summary"), "failed": status == "failed"}]


def _tag(text: str, name: str) -> str:
    """What stands in the first element of this name."""
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()


def _of_queue(entry: dict[str, Any]) -> list[Item]:
    """What the user types while a turn runs; a command for the client is none of it."""
    operation = entry.get("operation")
    if operation not in ("enqueue", "remove", "dequeue", "popAll"):
        return []
    given = content.string(entry.get("content"))
    text = content.typed(given)
    if text.startswith("/") and len(text.split()) == 1:
        text = ""
    return [{"kind": "queue", "operation": operation, "text": text, "at": ms(entry.get("timestamp"))}, *_ended(given)]


def _of_queued(entry: dict[str, Any]) -> list[Item]:
    """In newer versions what the user typed while a turn ran stands in an attachment as well."""
    given = content.table(entry.get("attachment"))
    if given.get("type") != "queued_command" or given.get("commandMode", "prompt") != "prompt":
        return []
    return _said(entry, content.typed(given.get("prompt")))


def _plan(tool: str, given: dict[str, Any]) -> list[Item]:
    """What a call makes of the plan. A new task's number is its place: they are counted from 1."""
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


def _listed(result: dict[str, Any], text: str) -> list[Item]:
    """The plan, or the step of it, that TaskList and TaskGet return: a hook or a subagent may have changed it."""
    steps: list[PlanStep] = []
    for row in content.rows(result["tasks"] if "tasks" in result else [result.get("task")]):
        step: PlanStep = {
            "id": content.string(row.get("id")),
            "text": content.string(row.get("subject")),
            "status": content.string(row.get("status")),
        }
        if all(step.values()):
            steps.append(step)
    if not steps and (result.get("tasks") != [] or text != _NO_TASKS):
        return []
    steps.sort(key=lambda step: (len(step["id"]), step["id"]))  # by number: it lists them in no order
    return [{"kind": "plan", "whole": "tasks" in result, "steps": steps}]


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
            fields = content.table(wanted)
            # what a plan says is an item of its own
            about = {key: value for key, value in fields.items() if name not in _PLANNERS and key != "output_mode"}
            process = next(iter(content.paths(fields, "task_id", "bash_id", "agentId")), "") if name in _ASKING else ""
            files, command = files_of(name, wanted), command_of(name, wanted)
            tools.append(content.tool(part.get("id"), name, files, command, about, process))
            plans += _plan(name, fields)
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
