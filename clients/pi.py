"""pi, in which our extension runs: its payloads, its session file (versions 2 and 3) and its settings. Hot path.

A session file is a header, then a tree of entries that name their parent. What the compaction tools make of it follows
pi 1.6 to the token (`tests/e2e/test_compaction_like_pi.py`); sessions of 0.73 have the same form.
"""

from __future__ import annotations

import os

from clients.content import as_object, as_objects, as_text, parse_timestamp, parsed, positive_int, text_of, typed
from clients.entries import Entry, Hunk, content_hunks, edit_entries, plan_entries, result_entry, with_node
from clients.extension import ExtensionClient, number_or_none, texts_of
from core import TYPE_CHECKING
from core.files import start_of

if TYPE_CHECKING:
    from typing import Any

    from clients.base import CompactionSettings


class Pi(ExtensionClient):
    """Its settings say when it compacts."""

    name = "pi"
    title = "pi"
    home_variable = "PI_CODING_AGENT_DIR"
    home_folder = ".pi/agent"
    project_folder = ".pi"
    settings_file = "extensions/joelclaw.ts"
    transcripts = ("sessions/*.jsonl",)
    session_file = "session file"
    said_marks = (b'"message"', b'"compaction"', b'"custom_message"', b'"session_info"')
    context_marks = (b'"usage"', b'"compaction"', b'"context_edit"')
    writing_tools = ("edit", "write")
    path_keys = ("path", "file_path")
    shell_tools = ("bash",)
    reading_tools = ("read",)
    shows_bare_lines = True
    first_offset = 1
    is_tree = True
    takes_summary = True

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line is a header or a message of pi."""
        if line.get("type") == "session":
            return "id" in line and "cwd" in line
        return line.get("type") == "message" and "parentId" in line and isinstance(line.get("message"), dict)

    def entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of a line."""
        kind, own, at = line.get("type"), as_text(line.get("id")), parse_timestamp(line.get("timestamp"))
        found: list[Entry] = []
        if kind == "session":
            name = os.path.basename(as_text(line.get("parentSession"))).removesuffix(".jsonl")
            head = Entry("node", session=own, folder=as_text(line.get("cwd")), copied_from=name.rpartition("_")[2])
            head.parent_session, head.session_kind = head.copied_from, "fork" if head.copied_from else ""
            return with_node([head], at)
        if kind == "message":
            # An id of 8 digits is unique in its session. With its time it is unique over all sessions, and still the
            # same in a fork, which copies entries.
            stable_id = f"pi:{at if at is not None else ''}:{own}" if own else ""
            message = as_object(line.get("message"))
            found = self._message_entries(message, parse_timestamp(message.get("timestamp")) or at, stable_id)
            if found and found[0].kind == "shell":
                found[0].call = own
        elif kind == "compaction":
            found = _compaction_entries(line, at)
        elif kind == "context_edit":
            content = as_object(line.get("replacement")).get("content")
            found = [Entry("context_edit", edits=as_text(line.get("targetId")), content=content)]
        elif kind == "custom_message":
            found = [_note(line, at)]
        elif kind == "session_info":
            found = [Entry("title", text=as_text(line.get("name")), origin="user")]
        elif kind == "branch_summary":
            summary = as_text(line.get("summary"))
            found = [Entry("branch_summary", text=summary, content=summary, **_listed_files(line))]
        said_at = found[0].at if found else None
        return with_node(found, said_at or at, own, line.get("parentId"))

    def edited(self, line: dict[str, Any], edit: dict[str, Any]) -> dict[str, Any]:
        """A line with the content that a context edit puts in its place."""
        given = as_object(edit.get("replacement")).get("content")
        if line.get("type") == "custom_message":
            return {**line, "content": given}
        message = as_object(line.get("message"))
        if isinstance(given, str) and message.get("role") in ("assistant", "toolResult"):
            given = [{"type": "text", "text": given}]
        return {**line, "message": {**message, "content": given}}

    def _message_entries(self, message: dict[str, Any], at: int | None, stable_id: str) -> list[Entry]:
        role, given = message.get("role"), message.get("content")
        if role == "assistant":
            return self._answer_entries(message, at, stable_id)
        if role == "user":
            return [Entry("prompt", at, text=typed(given), content=given, stable_id=stable_id)]
        if role == "toolResult":
            return [*_result_entries(message), *self._nested_entries(message, at)]
        if role in ("custom", "hookMessage"):  # its name before version 3
            return [_note(message, at)]
        if role == "system":
            return [Entry("system", at, content=message)]
        return [_shell(message)] if role == "bashExecution" else []

    def _answer_entries(self, message: dict[str, Any], at: int | None, stable_id: str) -> list[Entry]:
        given, model = message.get("content"), as_text(message.get("model"))
        found = [Entry("answer", at, text=text_of(given), content=given, stable_id=stable_id, model=model)]
        edits_made: list[Entry] = []
        for part in as_objects(given):
            if part.get("type") != "toolCall":
                continue
            call = self._call_entry(part, at)
            found.append(call)
            if call.tool == "write":  # its result does not show the lines
                hunks = content_hunks(call.target, as_text(as_object(call.given).get("content")))
                edits_made += edit_entries(call.call, hunks)
        found += edits_made
        stop = message.get("stopReason")
        if stop in ("stop", "aborted"):
            found.append(Entry("turn_end", at))
        used = as_object(message.get("usage"))
        parts = [positive_int(used.get(name)) for name in ("input", "cacheRead", "cacheWrite", "output")]
        total = positive_int(used.get("totalTokens")) or sum(parts)
        if total and stop not in ("aborted", "error"):  # else it says nothing, or only a part
            found.append(Entry("usage", tokens=sum(parts[:3]), tokens_used=total, model=model))
        return found

    def _call_entry(self, part: dict[str, Any], at: int | None) -> Entry:
        tool = as_text(part.get("name"))
        return self.tool_call(part.get("id"), tool, part.get("arguments"), at, whole=tool == "write")

    def _nested_entries(self, message: dict[str, Any], at: int | None) -> list[Entry]:
        """The calls that a script made, which pi records in the script's result."""
        found: list[Entry] = []
        for part in as_objects(as_object(message.get("nestedCalls")).get("calls")):
            found.append(self._call_entry(part, at))
            if (status := part.get("status")) in ("ok", "error"):
                found.append(result_entry(part.get("id"), as_text(part.get("error")), status == "error"))
        return found

    def compaction(self) -> CompactionSettings:
        """What the user's `settings.json` says about compactions. pi ignores a faulty file, too."""
        settings = parsed(start_of(os.path.join(self.home(), "settings.json"), 65_536))
        own = as_object(as_object(settings).get("compaction"))
        return {
            "reserve": number_or_none(own.get("reserveTokens")),
            "keep": number_or_none(own.get("keepRecentTokens")),
            "enabled": own.get("enabled") is not False,
        }


def _result_entries(message: dict[str, Any]) -> list[Entry]:
    """What a call returned, what it edited, and the plan that an extension keeps in its details."""
    call, text, failed = message.get("toolCallId"), text_of(message.get("content")), message.get("isError") is True
    details = as_object(message.get("details"))
    result = result_entry(call, text, failed, message.get("content"))
    result.unrun = failed and text.endswith(("Command aborted", "Operation aborted"))
    todos = details.get("todos")
    steps = todos and [
        {**step, "status": step.get("status") or ("completed" if step.get("done") is True else "pending")}
        for step in as_objects(todos)
    ]
    found = [result]
    if diff := as_text(details.get("diff")):
        found += edit_entries(call, _numbered_hunks(diff))
    return [*found, *plan_entries(call, steps, "text", "content")]


def _numbered_hunks(diff: str) -> list[Hunk]:
    """A diff with numbered lines: `+ 12 text`. Removed lines have their old numbers."""
    found: list[Hunk] = []
    group: list[tuple[str, str]] = []
    start = moved = 0
    for line in [*diff.split("\n"), ""]:
        digits, _, text = line[1:].lstrip(" ").partition(" ")
        sign, number = line[:1], int(digits) if digits.isdecimal() and len(digits) < 8 else 0
        if sign in ("+", "-") and number:
            if all(other != sign for other, _ in group):
                start = number if sign == "+" else start or number + moved
            group.append((sign, text))
        elif group:
            found.append(Hunk("", start, group))
            moved += sum(1 if sign == "+" else -1 for sign, _ in group)
            group, start = [], 0
    return found


def _shell(message: dict[str, Any]) -> Entry:
    """A command that the user ran, with its text as the model sees it."""
    command, output = as_text(message.get("command")), as_text(message.get("output"))
    text = f"Ran `{command}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code, path = message.get("exitCode"), as_text(message.get("fullOutputPath"))
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") and path:
        text += f"\n\n[Output truncated. Full output: {path}]"
    shell = Entry("shell", tool="bash", command=command, given={"command": command}, text=text, content=output)
    shell.failed = None if message.get("cancelled") else bool(code)
    shell.is_meta = message.get("excludeFromContext") is True
    return shell


def _note(message: dict[str, Any], at: int | None) -> Entry:
    """A message of an extension; those that report what a subagent did name it in their type."""
    given = message.get("content")
    is_report = "agent" in as_text(message.get("customType")).lower()
    return Entry("note", at, text=text_of(given), content=given, origin="subagent" if is_report else "")


def _compaction_entries(line: dict[str, Any], at: int | None) -> list[Entry]:
    summary = as_text(line.get("summary"))
    compaction = Entry("compaction", at, content=summary, **_listed_files(line))
    compaction.first_kept = as_text(line.get("firstKeptEntryId"))
    # the summary's content is the compaction's
    found = [compaction, Entry("summary", at, text=summary)] if summary else [compaction]
    system = as_object(line.get("systemMessage"))
    return [*found, Entry("system", at, content=system)] if system else found


def _listed_files(line: dict[str, Any]) -> dict[str, Any]:
    """The files that a summary lists; the list of another extension has a form of its own."""
    details = as_object(line.get("details"))
    if line.get("fromHook") and details.get("by") != "joelclaw":  # `fromHook` is pi's name for extensions
        return {}
    return {"read_files": texts_of(details, "readFiles", 1000), "files": texts_of(details, "modifiedFiles", 1000)}
