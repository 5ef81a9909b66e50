"""Codex (0.169): its payloads, and its rollout, a sequence of lines with `type` and `payload`. Hot path.

Each message appears two or three times: as `response_item` for the model, as `event_msg` for the screen, and after a
compaction in the history that it leaves. Only the response items are read.
"""

from __future__ import annotations

import os

from clients import content, entries
from clients.base import SHARED_EVENTS, Client
from clients.content import as_object, as_objects, as_text, parse_timestamp, parsed, positive_int, text_of, typed
from clients.entries import Entry, Hunk
from core import TYPE_CHECKING
from core.files import start_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from clients.base import HookEvent

TEXT_KINDS = ("input_text", "output_text", "text")
PATCHING_TOOLS = ("apply_patch", "applypatch")


class Codex(Client):
    """Its hooks have the form of Claude Code's (0.169.0)."""

    name = "codex"
    title = "Codex"
    home_variable = "CODEX_HOME"
    home_folder = ".codex"
    settings_file = "hooks.json"
    hook_timeout = 5  # seconds
    edit_tools = "apply_patch|Edit|Write"  # the last two are aliases of the first
    transcripts = ("sessions/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl")
    events = {**SHARED_EVENTS, "Interrupt": "turn", "SubagentStop": "end"}  # the end of the subagent's own session
    session_file = "rollout"
    said_marks = (b'"response_item"', b'"compacted"', b'"thread_rolled_back"')
    copied_types = ("response_item", "compacted")
    typed_marks = (b'"user_message"', b'"UserMessage"')
    folder_mark = b"cwd"  # also in the text that describes the environment
    context_marks = (b"token_count", b'"compacted"', b"model_context_window")
    has_window = True
    reading_tools = ("read_file", "view_image")
    path_keys = ("file_path", "path")
    window = 272_000
    session_variable = "CODEX_THREAD_ID"
    login_shell = True

    def event(self, payload: dict[str, Any], name: str) -> HookEvent:
        """As `Client.event`. The events of a subagent name its parent's session, and belong to its own."""
        event = super().event(payload, name)
        if agent := as_text(payload.get("agent_id")):
            event["parent"], event["session"] = event["session"], agent
            event["transcript"] = as_text(payload.get("agent_transcript_path")) or event["transcript"]
        return event

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line has a payload and a type of Codex."""
        types = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
        return isinstance(line.get("payload"), dict) and line.get("type") in types

    def continued(self, path: str, line: dict[str, Any]) -> tuple[str, str, int] | None:
        """As `Client.continued`. The name of such a file has the session's id, and then its own (0.171)."""
        name, _, own = os.path.basename(path).partition(".")[0].rpartition("_")
        session = name[-36:] if len(own) == len(name[-36:]) else ""
        base = as_object(line, "payload", "history_base")
        left = as_text(base.get("thread_id")) or session
        return (session, left, positive_int(base.get("end_byte_offset"))) if session else None

    def titles(self) -> dict[str, str]:
        """The names of sessions; the last line about a session counts."""
        index = os.path.join(self.home(), "session_index.jsonl")
        text = start_of(index, 4_000_000) if os.path.exists(index) else ""
        lines = [parsed(line) or {} for line in text.split("\n")]
        return {as_text(line.get("id")): as_text(line.get("thread_name")) for line in lines if "id" in line}

    def written_files(self, tool: str, given: object) -> list[str]:
        """The files of a patch, handed to `apply_patch` as a tool or in a shell command."""
        text = "\n".join(content.texts_in(given))
        is_patch = tool in PATCHING_TOOLS or any(name in text for name in PATCHING_TOOLS)
        return content.patched_files(text) if is_patch else []

    def entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of a line; empty for repetitions and for texts that only the screen shows."""
        kind, payload, at = line.get("type"), as_object(line.get("payload")), parse_timestamp(line.get("timestamp"))
        found: list[Entry] = []
        if kind == "response_item":
            found = self._item_entries(line, payload, at)
        elif kind == "event_msg":
            found = _event_entries(payload, at)
        elif kind == "compacted":
            found = _compaction_entries(payload, at)
        elif kind in ("session_meta", "turn_context"):
            found = [Entry("node", folder=as_text(payload.get("cwd")), model=as_text(payload.get("model")))]
            if kind == "session_meta":
                _name_session(found[0], payload)
        return entries.with_node(found, at, payload.get("id") if kind == "response_item" else "") if found else []

    def typed_text(self, prompt: Entry, following: Iterable[bytes] | None) -> str:
        """As `Client.typed_text`. Codex itself also writes messages of the user, but no event follows those."""
        whole = text_of(prompt.content, ("input_text", "text"))
        if following is None:
            parts = [part for part in as_objects(prompt.content) if not _is_element(as_text(part.get("text")).strip())]
            return typed(parts, ("input_text", "text")) if isinstance(prompt.content, list) else prompt.text
        for line in following:
            if any(mark in line for mark in self.typed_marks):
                event = as_object((parsed(line) or {}).get("payload"))
                text = as_text(event.get("message")) or text_of(as_object(event.get("item")).get("content"))
                if text.strip() in whole:
                    return typed(text)
            elif b'"assistant"' in line or b'_call"' in line or b'"compacted"' in line:
                return ""
        return prompt.text

    def _item_entries(self, line: dict[str, Any], payload: dict[str, Any], at: int | None) -> list[Entry]:
        kind, given = payload.get("type"), payload.get("content")
        calls = ("function_call", "custom_tool_call", "local_shell_call")
        if kind in [f"{call}_output" for call in calls]:
            return _results(payload)
        if kind in calls:
            return self._call_entries(payload, at)
        if kind != "message":
            return []
        entry = Entry("answer", at, content=given)
        if payload.get("role") == "user":
            entry.kind = "prompt"
            entry.text = typed(given, ("input_text", "text"))
            if not entry.text:
                environment = text_of(given, ("input_text", "text")).partition("<environment_context")[2]
                folder = environment.partition("<cwd>")[2].partition("</cwd>")[0].strip()
                return [Entry("node", folder=folder)] if folder else []
        # an answer that is a summary is for the model itself
        elif payload.get("role") == "assistant" and not as_object(line.get("metadata")).get("compaction_output"):
            entry.text = text_of(given, ("output_text", "text")).strip()
        return [entry] if entry.text else []

    def _call_entries(self, payload: dict[str, Any], at: int | None) -> list[Entry]:
        tool, given = as_text(payload.get("name")) or "local_shell", _given(payload)
        if tool.rpartition(".")[2] == "exec" and isinstance(given, str) and "tools" in given:
            from clients.codex_script import tool_calls

            found: list[Entry] = []
            for number, (name, argument) in enumerate(tool_calls(given), 1):
                made = self._tool_entries(_call_id(payload), name, argument, at)
                made[0].part = number
                found += made
            if found:
                found[0].content = given
                return found
        call, *others = self._tool_entries(_call_id(payload), tool, given, at)
        call.content = given
        return [call, *others]

    def _tool_entries(self, identifier: str, tool: str, given: object, at: int | None) -> list[Entry]:
        fields = as_object(given)
        command = "" if tool in PATCHING_TOOLS else _command(fields)
        call = entries.call_entry(identifier, tool, given, self.written_files(tool, given), command, at=at)
        if tool in self.reading_tools:
            call.read_files = content.paths(given, *self.path_keys)
        if not command:  # it writes to a running program, or waits for a script
            cell = fields.get("cell_id")
            call.process = f"cell {cell}" if cell is not None else str(fields.get("session_id") or "")
        return [call, *(entries.plan_entries(call.call, fields.get("plan"), "step") if tool == "update_plan" else [])]


def _name_session(entry: Entry, payload: dict[str, Any]) -> None:
    """Note the session that a rollout is of, and its parent. Newer versions also name the root of all of them."""
    entry.remote = as_text(as_object(payload.get("git")).get("repository_url"))
    entry.session = as_text(payload.get("id")) or as_text(payload.get("session_id"))
    source = as_object(payload.get("source")).get("subagent")
    spawned = as_object(as_object(source).get("thread_spawn"))
    forked_from = as_text(payload.get("forked_from_id"))
    started_by = as_text(payload.get("parent_thread_id")) or as_text(spawned.get("parent_thread_id"))
    root = as_text(payload.get("session_id"))
    if source or payload.get("thread_source") == "subagent":
        entry.session_kind = "review" if source == "review" else "subagent"
    elif forked_from:
        entry.session_kind = "fork"
    parents = (started_by, forked_from, root) if entry.session_kind in ("subagent", "review") else (forked_from,)
    entry.parent_session = next((name for name in parents if name not in ("", entry.session)), "")
    entry.copied_from = forked_from or started_by


def _event_entries(payload: dict[str, Any], at: int | None) -> list[Entry]:
    kind, info = payload.get("type"), as_object(payload.get("info"))
    window = positive_int(payload.get("model_context_window")) or positive_int(info.get("model_context_window"))
    if kind == "patch_apply_end" and payload.get("success") is True:
        return entries.edit_entries(payload.get("call_id"), _changed_hunks(payload.get("changes")))
    item = as_object(payload.get("item")) if kind == "item_completed" else {}
    if item.get("type") == "FileChange" and item.get("status") == "completed":
        return entries.edit_entries(item.get("id"), _changed_hunks(item.get("changes")))
    # other commands have their exit code in the output of their call
    if item.get("type") == "CommandExecution" and as_text(item.get("id")).startswith("exec-"):
        code, text = item.get("exit_code"), as_text(item.get("aggregated_output"))
        entry = entries.process_end(as_text(item.get("process_id")), text, None if code is None else code != 0)
        entry.at, entry.call, entry.command = at, as_text(item.get("id")), _command(item)
        return [entry]
    if kind in ("task_complete", "turn_aborted"):
        return [Entry("turn_end", at)]
    if kind == "thread_rolled_back" and (turns := positive_int(payload.get("num_turns"))):
        return [Entry("rollback", at, turns=turns)]
    if name := as_text(payload.get("thread_name")):
        return [Entry("title", at, text=name, origin="user")]
    usage = info.get("last_token_usage") if kind == "token_count" else None
    return entries.usage_entries(usage, ("total_tokens",), window=window)


def _compaction_entries(payload: dict[str, Any], at: int | None) -> list[Entry]:
    """A compaction, and what it leaves in the context: a message with the summary, and the history around it."""
    message, history = as_text(payload.get("message")), as_objects(payload.get("replacement_history"))
    fields = [row.get(name) for row in history for name in ("content", "text", "arguments", "input", "output")]
    texts = [text for text in (message, *(text_of(field, TEXT_KINDS) for field in fields)) if text]
    return [Entry("compaction", at, content=fields or message), Entry("summary", at, text="\n".join(texts))]


def _changed_hunks(changes: object) -> list[Hunk]:
    """What `apply_patch` changed: a table of files, each with its unified diff or its content."""
    found: list[Hunk] = []
    for path, change in as_object(changes).items():
        about = as_object(change)
        found += entries.diff_hunks(as_text(about.get("move_path")) or path, as_text(about.get("unified_diff")))
        if about.get("type") == "add":
            found += entries.content_hunks(path, as_text(about.get("content")))
    return found


def _call_id(payload: dict[str, Any]) -> str:
    """The id of a tool call, also in its output."""
    return as_text(payload.get("call_id")) or as_text(payload.get("id"))


def _given(payload: dict[str, Any]) -> object:
    """The input of a tool: an object, also if it is written as JSON in a string, or plain text."""
    if payload.get("type") == "local_shell_call":
        return payload.get("action")
    return _object_in(payload.get("arguments") if "arguments" in payload else payload.get("input"), "{")


def _object_in(value: object, begin: str) -> object:
    """The JSON object in a string that begins with `begin`; else the value unchanged."""
    found = parsed(value) if isinstance(value, str) and value.lstrip().startswith(begin) else None
    return value if found is None else found


def _command(given: dict[str, Any]) -> str:
    for value in (given.get(key) for key in reversed(entries.COMMAND_KEYS)):
        if isinstance(value, list):
            words = [as_text(word) for word in value]
            # ["bash", "-lc", "…"]: the script is the command
            return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
        if isinstance(value, str) and value:
            return value
    return ""


def _is_element(text: str) -> bool:
    """Whether a text is a single element: `<skill>…</skill>`."""
    name = "".join(text[1:].partition(">")[0].split()[:1])
    return text.startswith("<") and name.replace("-", "_").isidentifier() and text.endswith(f"</{name}>")


def _results(payload: dict[str, Any]) -> list[Entry]:
    """The output of a tool, or of a script; empty for what a script says in between (`notify`)."""
    raw = payload.get("output")
    if isinstance(raw, dict) and isinstance(raw.get("content"), list):
        raw = raw["content"]
    elif isinstance(raw, str) and raw.startswith('[{"'):
        raw = as_object(parsed(f'{{"": {raw}}}')).get("", raw)
    parts = [part for part in as_objects(raw) if part.get("type") in TEXT_KINDS]
    texts = [raw] if isinstance(raw, str) else [as_text(part.get("text")) for part in parts]
    begins = ("Script completed\n", "Script failed\n", "Script terminated\n", "Script running with")
    if texts and texts[0].startswith(begins):
        from clients.codex_script import read_output

        result = entries.result_entry(_call_id(payload), "", False, raw)
        read_output(result, texts)
        return [result]
    return [] if payload.get("name") == "exec" else [_result(payload, raw)]


def _result(payload: dict[str, Any], raw: object) -> Entry:
    """The output of a tool, whether it failed, and the process that goes on. Versions differ in the form."""
    output, failed, process = _object_in(raw, '{"output"'), False, ""
    if isinstance(output, dict):
        failed = output.get("success") is False or positive_int(as_object(output.get("metadata")).get("exit_code")) > 0
        output = output.get("output", output.get("content"))
    text = text_of(output, TEXT_KINDS)
    head, has_body, body = f"{text}\n".partition("\nOutput:\n")
    if has_body:  # before the output, Codex reports the chunk, the wall time and the status
        text = body.rstrip()
        for line in head.split("\n"):
            if line.startswith("Process running with session ID "):
                process = line[len("Process running with session ID ") :].strip()
            for mark in ("Process exited with code ", "Exit code: "):
                failed = failed or (line.startswith(mark) and line[len(mark) :].strip() != "0")
    else:
        faults = (
            "apply_patch verification failed", "exec_command failed", "write_stdin failed", "unsupported call",
            "failed to parse function arguments",
        )  # fmt: skip
        failed = failed or text.startswith(faults)
    result = entries.result_entry(_call_id(payload), text, failed, raw)
    result.process = process
    rejections = ("aborted by user", "exec command rejected by user", "patch rejected by user", "rejected by user")
    result.unrun = text.startswith(rejections)
    return result
