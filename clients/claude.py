"""Claude Code (2.1): its payloads, and its transcript. Hot path.

`uuid` and `parentUuid` make a tree; each block of an answer is a line of its own. A compaction is a boundary whose
logical parent is the last entry before it, followed by a line with the summary. What it kept as it was comes before the
boundary and is named there.
"""

from __future__ import annotations

import os

from clients import content, entries
from clients.base import SHARED_EVENTS, Client
from clients.content import as_object, as_objects, as_text, parse_timestamp, parsed, positive_int, text_of, typed
from clients.entries import Entry, Hunk, Step
from core import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clients.base import HookEvent
    from clients.entries import Origin


# Types of the lines that name a session, and the field with the name. A summary names its session by an entry of it.
TITLES = (
    ("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("agent-name", "agentName"), ("summary", "summary"),
)  # fmt: skip


class Claude(Client):
    """What PreCompact prints goes into the summariser's prompt, so nothing is printed there (2.1.329)."""

    name = "claude"
    title = "Claude Code"
    home_variable = "CLAUDE_CONFIG_DIR"
    home_folder = ".claude"
    settings_file = "settings.json"
    hook_timeout = 5  # seconds
    edit_tools = "Edit|Write|MultiEdit|NotebookEdit"
    transcripts = ("projects/*.jsonl",)
    events = {**SHARED_EVENTS, "PostToolUseFailure": "failure", "SubagentStop": "summary"}
    session_file = "transcript"
    said_marks = (b'"user"', b'"assistant"', b'"queued_command"', b'"queue-operation"', b'"away_summary"', b'-title"')
    context_marks = (b'"usage"', b"compact_boundary")
    writing_tools = ("Edit", "Write", "MultiEdit", "NotebookEdit")
    reading_tools = ("Read", "NotebookRead")
    shell_tools = ("Bash",)
    path_keys = ("notebook_path", "file_path")
    is_tree = True
    named_by_file = True
    window_variable = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
    long_window = 1_000_000
    compact_command = 'claude -p "/compact" --resume {session}'  # seen to work with 2.1.329
    session_variable = "CLAUDE_CODE_SESSION_ID"

    def event(self, payload: dict[str, Any], name: str) -> HookEvent:
        """An event; newer versions say whether work goes on in the background after a turn."""
        event = super().event(payload, name)
        if event["kind"] == "turn" and payload.get("background_tasks"):
            event["source"] = "background"
        return event

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line has a session's id and a type of Claude Code, in another form than Qwen Code's."""
        if "systemPayload" in line or "parts" in as_object(line.get("message")):
            return False
        types = ("user", "assistant", "system", "attachment", "progress", "queue-operation", "summary", "last-prompt")
        return isinstance(line.get("sessionId"), str) and ("parentUuid" in line or line.get("type") in types)

    def entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of a line. Words of subagents and texts that are not for the model become nodes without text."""
        kind, at = line.get("type"), parse_timestamp(line.get("timestamp"))
        is_meta = bool(line.get("isMeta") or line.get("isVisibleInTranscriptOnly"))
        found: list[Entry] = []
        if line.get("isSidechain"):
            pass
        elif line.get("isCompactSummary"):
            found = [entries.summary_entry(text_of(as_object(line.get("message")).get("content")), at)]
        elif is_meta:
            given = as_object(line.get("message")).get("content")
            found = _notes(at, *_messages(text_of(given))) or [Entry("node", content=given)]
        elif kind == "user":
            found = _user_entries(line, at)
        elif kind == "assistant":
            found = self._answer_entries(line, at)
        elif kind == "attachment":  # newer versions: what the user typed while a turn ran
            found = _queued_entries(line, at)
        elif name := next((as_text(line.get(field)) for given, field in TITLES if given == kind), ""):
            found = [Entry("title", text=name, origin="user" if kind == "custom-title" else "client")]
            line = {**line, "parentUuid": line.get("leafUuid")}
        elif kind == "queue-operation":
            found = _queue_entries(line, at)
        elif kind == "system" and line.get("subtype") == "compact_boundary":
            about = as_object(line.get("compactMetadata"))
            found = [Entry("compaction", tokens_after=positive_int(about.get("postTokens")))]
            found[0].first_kept = as_text(as_object(about.get("preservedSegment")).get("headUuid"))
            line = {**line, "parentUuid": line.get("logicalParentUuid") or line.get("parentUuid")}
        elif kind == "system" and line.get("subtype") in ("stop_hook_summary", "turn_duration"):
            found = [Entry("turn_end", is_stop=True)]
        elif kind == "system" and line.get("subtype") == "away_summary":
            found = _notes(at, ("client", as_text(line.get("content"))))
        found = entries.in_envelope(found, line, at, client=self.name)
        head = found[0]
        head.is_meta = is_meta and head.kind == "node"
        head.is_side = bool(line["isSidechain"]) if "isSidechain" in line else None
        return found

    def side_folder(self, path: str) -> str:
        """As `Client.side_folder`."""
        return os.path.join(os.path.splitext(path)[0], "subagents")

    def _answer_entries(self, line: dict[str, Any], at: int | None) -> list[Entry]:
        message = as_object(line.get("message"))
        given, model = message.get("content"), as_text(message.get("model"))
        if line.get("isApiErrorMessage") or model == "<synthetic>":  # the client's own words: an error, an interruption
            return []
        answer = Entry("answer", at, text=text_of(given), content=given, model=model)
        found, others = [answer], []
        for part in as_objects(given):
            if part.get("type") != "tool_use":
                continue
            tool, fields = as_text(part.get("name")), as_object(part.get("input"))
            # The text of a plan is an entry of its own, and a mode is no name that the agent wrote.
            is_plan = tool in ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList")
            about = {} if is_plan else {key: value for key, value in fields.items() if key != "output_mode"}
            call = self.tool_call(part.get("id"), tool, about, at)
            if tool == "BashOutput":
                call.process = as_text(fields.get("bash_id"))
            found.append(call)
            others += _plan(call.call, tool, fields)
        keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return [*found, *others, *entries.usage_entries(message.get("usage"), keys, model)]


def _queued_entries(line: dict[str, Any], at: int | None) -> list[Entry]:
    """What the model got in the middle of a turn: what the user typed, or a message of another agent."""
    about = as_object(line.get("attachment"))
    if about.get("type") != "queued_command":
        return []
    given = about.get("prompt")
    is_typed = about.get("commandMode", "prompt") == "prompt" and _is_of_user(about)
    return _notes(at, *_messages(text_of(given))) or (_prompt(given, at) if is_typed else [])


def _is_of_user(line: dict[str, Any]) -> bool:
    """Whether a user's message comes from a person, as far as the client records its origin."""
    kind = as_object(line.get("origin")).get("kind") or as_text(line.get("origin"))
    return kind in ("", "human", "user") and line.get("promptSource") != "system"


def _messages(text: str) -> list[tuple[Origin, str]]:
    """What other agents say in a message that the client gives in the user's name, without notices of idle agents."""
    text = text.strip()
    if text.startswith("<task-notification>"):
        return [("subagent", _tag(text, "result"))]
    if not text.startswith(content.OF_TEAMMATES):
        return []
    found: list[tuple[Origin, str]] = []
    for name in ("teammate-message", "agent-message", "cross-session-message"):
        for part in text.split(f"<{name}")[1:]:
            end = ">" if part.startswith(">") else '">'  # of the tag
            body = part.partition(end)[2].partition(f"</{name}>")[0]
            if (value := parsed(body)) is not None:  # a request or a notice of the client
                is_idle = as_text(value.pop("type", "")).startswith("idle")
                body = "" if is_idle else "\n".join(filter(None, map(as_text, value.values())))
            found.append(("teammate", body))
    return found or [("teammate", text.partition(":")[2])]


def _notes(at: int | None, *messages: tuple[Origin, str]) -> list[Entry]:
    return [
        Entry("note", at, text=text.strip(), content=text, origin=origin) for origin, text in messages if text.strip()
    ]


def _shell_entries(line: dict[str, Any], text: str, at: int | None) -> list[Entry]:
    """A command that the user ran with `!`, or what it printed, which is the next line."""
    command = _tag(text, "bash-input")
    output = "\n".join(filter(None, (_tag(text, "bash-stdout"), _tag(text, "bash-stderr"))))
    is_printed = "<bash-stdout>" in text or "<bash-stderr>" in text
    shell = Entry("shell", at, command=command, text=command or output, content=output if is_printed else None)
    shell.call, shell.failed = as_text(line.get("uuid" if command else "parentUuid")), None
    shell.tool, shell.given = "Bash", {"command": command}
    return [shell]


def _prompt(given: object, at: int | None) -> list[Entry]:
    """What the user typed, with images; empty if all of it is the client's."""
    prompt = Entry("prompt", at, text=typed(given), content=given)
    return [prompt] if prompt.text or any(part.get("type") == "image" for part in as_objects(given)) else []


def _user_entries(line: dict[str, Any], at: int | None) -> list[Entry]:
    message = as_object(line.get("message"))
    if message.get("role", "user") != "user":
        return []
    given = message.get("content")
    text = text_of(given)
    if text.startswith(("<bash-input>", "<bash-stdout>", "<bash-stderr>")):
        return _shell_entries(line, text, at)
    found = _notes(at, *_messages(text)) or _prompt(given, at)
    if found and found[0].kind == "prompt" and not _is_of_user(line):
        found = _notes(at, ("client", found[0].text))
    found += _ended_process(text, "task-id", "summary")
    if text.startswith(content.INTERRUPTED):
        found.append(Entry("turn_end", at))
    for number, part in enumerate(as_objects(given)):
        if part.get("type") == "tool_result":
            found += _result_entries(line, part, number, at)
    return found


def _result_entries(line: dict[str, Any], part: dict[str, Any], number: int, at: int | None) -> list[Entry]:
    """What a call returned, what it edited, and what the user said when rejecting it."""
    call, text, failed = part.get("tool_use_id"), text_of(part.get("content")), part.get("is_error") is True
    # if the user interrupted a command, the exit code in front says nothing
    bare = text.partition("\n")[2] if text.startswith("Exit code ") else text
    if failed and bare.startswith(("The user doesn't want to ", content.INTERRUPTED, "Permission to use ")):
        result = entries.result_entry(call, text, failed, part.get("content"))
        result.unrun = True
        words = typed(text.partition("the user said:\n")[2].partition("\n\nNote: The user's next message")[0])
        own = as_text(line.get("uuid"))
        stable_id = f"claude:{own}:{number}" if own else ""
        return [result, *([Entry("prompt", at, text=words, call=result.call, stable_id=stable_id)] if words else ())]
    if text.startswith("<status>"):
        failed = failed or _tag(text, "exit_code") not in ("", "0")
    shown = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
    result = entries.result_entry(call, shown, failed, part.get("content"))
    kept_in = as_text(as_object(line.get("toolUseResult")).get("persistedOutputPath"))
    if text.startswith(("<persisted-output>", "Error: result (")):  # the latter are of MCP servers
        kept_in = kept_in or text.partition(" saved to")[2].partition("\n")[0].strip(": .")
        result.kept_in = kept_in.replace("\\", "/").rpartition("/")[2]
    if text.startswith("<tool_use_error>Sibling tool call errored"):
        result.unrun = True
        return [result]
    for mark in ("Command running in background with ID: ", "Async agent launched successfully.\nagentId: "):
        if text.startswith(mark):
            result.process = "".join(text[len(mark) :].split()[:1]).rstrip(".,")
    still_running = "<status>running</status>"
    if text.startswith(still_running):  # BashOutput's answer about the process that the call named
        result.process = still_running
    return [result, *_edits(call, as_object(line.get("toolUseResult"))), *_ended_process(shown, "task_id", "output")]


def _edits(call: object, result: dict[str, Any]) -> list[Entry]:
    """What a call changed; a new file has its content instead of a patch."""
    if "structuredPatch" not in result:
        return []
    file = as_text(result.get("filePath"))
    hunks = []
    for row in as_objects(result["structuredPatch"]):
        lines = map(as_text, given) if isinstance(given := row.get("lines"), list) else ()
        start = positive_int(row.get("newStart")) + (row.get("newLines") == 0)
        hunks.append(Hunk(file, start, [(line[:1], line[1:]) for line in lines if line[:1] in ("+", "-", " ")]))
    hunks = [hunk for hunk in hunks if hunk.start and hunk.signs.strip()]
    if not hunks and result.get("type") == "create":
        hunks = entries.content_hunks(file, as_text(result.get("content")))
    return entries.edit_entries(call, hunks)


def _ended_process(text: str, id_tag: str, text_tag: str) -> list[Entry]:
    """The end of a background process: a notification in place of a prompt, or the output of TaskOutput."""
    if not text.startswith(("<task-notification>", "<retrieval_status>")):
        return []
    process, status = _tag(text, id_tag), _tag(text, "status")
    if not process or status not in ("completed", "failed", "killed", "stopped"):
        return []
    failed = None
    if status in ("completed", "failed"):
        failed = status == "failed" or _tag(text, "exit_code") not in ("", "0")
    output = _tag(text, text_tag)
    if text_tag == "summary" and " failed with exit code " in output:  # does not say why
        output = ""
    return [entries.process_end(process, output, failed)]


def _tag(text: str, name: str) -> str:
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()


def _queue_entries(line: dict[str, Any], at: int | None) -> list[Entry]:
    """What the user types while a turn runs, without the client's own commands (`/compact`) and tasks."""
    operation, given = line.get("operation"), as_text(line.get("content"))
    if operation not in ("enqueue", "remove", "dequeue", "popAll"):
        return []
    text = typed(given)
    is_command = text.startswith("/") and len(text.split()) == 1
    is_task = "task_id" in (parsed(given) or {})
    queue = Entry("queue", at, operation=operation, text="" if is_command or is_task else text)
    # the model gets them later, and newer versions write them again then
    notes = _notes(at, *_messages(given)) if operation == "enqueue" else []
    return [queue, *notes, *_ended_process(given, "task-id", "summary")]


def _plan(call: str, tool: str, given: dict[str, Any]) -> list[Entry]:
    """What a call changes in the plan. The id of a new task is its number, counted from 1."""
    if tool == "TodoWrite":
        return entries.plan_entries(call, given.get("todos"), "content")
    if tool not in ("TaskCreate", "TaskUpdate"):
        return []
    identifier, status = ("", "pending") if tool == "TaskCreate" else (given.get("taskId"), given.get("status"))
    step = Step(str(identifier or ""), as_text(given.get("subject")), as_text(status))
    return [Entry("plan", call=call, steps=[step])]
