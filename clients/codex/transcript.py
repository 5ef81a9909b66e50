"""A rollout of Codex (0.169): lines of `type` and `payload`. Hot path.

What is said stands there two or three times: as `response_item` for the model, as `event_msg` for the screen (in older
versions `user_message` and `agent_message`, in newer ones `item_completed`), and after a compaction in its history.
Only the response items are read.
"""

from __future__ import annotations

from clients import content
from clients.moment import ms
from core import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import Item, Tool

SAID_MARKS: tuple[bytes, ...] = (b'"response_item"', b'"compacted"')
"""A line that holds none of them yields nothing that was said, no outcome and no summary."""
CONTEXT_MARKS: tuple[bytes, ...] = (b"token_count", b'"compacted"', b"model_context_window")
"""A line that holds none of them yields no usage and no compaction; the last tells the window."""

_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_PATCHERS = ("apply_patch", "applypatch")
_PATCH_BEGIN = "*** Begin Patch"
_PATCH_END = "*** End Patch"
_PATCH_HEADS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_NOT_THE_USER = ("harness", "skills", "hook")  # provenance of a part
_TEXTS = ("input_text", "output_text", "text")
_BODY = "\nOutput:\n"
_RUNS = "Process running with session ID "
_FAULTS = (
    "apply_patch verification failed",
    "exec_command failed",
    "write_stdin failed",
    "failed to parse function arguments",
    "unsupported call",
)
_NOT_RUN = ("aborted by user", "exec command rejected by user", "patch rejected by user", "rejected by user")


def wrote(entry: dict[str, Any]) -> bool:
    """Whether a line has a form that only this client writes."""
    return isinstance(entry.get("payload"), dict) and entry.get("type") in _TYPES


def files_of(tool_name: str, tool_input: object) -> list[str]:
    """The files that a patch writes, handed to `apply_patch` as a tool or in a shell command."""
    text = _written(tool_input)
    if tool_name in _PATCHERS or any(name in text for name in _PATCHERS):
        return _files_in_patch(text)
    return []


def command_of(tool_name: str, tool_input: object) -> str:
    """The shell command of a tool call, "" for another tool."""
    return "" if tool_name in _PATCHERS else _command(content.table(tool_input))


def items(line: object) -> list[Item]:
    """What one line says; nothing for repetitions, histories, instructions and what is of another version."""
    entry = content.table(line)
    kind, payload = entry.get("type"), content.table(entry.get("payload"))
    if kind == "response_item":
        return _of_response(entry, payload)
    if kind == "event_msg" and payload.get("type") == "token_count":
        info = content.table(payload.get("info"))
        tokens = content.whole(content.table(info.get("last_token_usage")).get("total_tokens"))
        window = content.whole(info.get("model_context_window"))
        return [{"kind": "usage", "tokens": tokens, "window": window or None, "model": ""}] if tokens else []
    if kind == "compacted":
        at = ms(entry.get("timestamp"))
        history = [text for row in content.rows(payload.get("replacement_history")) for text in _left(row)]
        kept = "\n".join(text for text in (content.string(payload.get("message")), *history) if text)
        found: list[Item] = [{"kind": "compaction", "tokens": None, "at": at}]
        return [*found, {"kind": "summary", "text": kept, "at": at}] if kept else found
    if kind == "session_meta":
        session = content.string(payload.get("id")) or content.string(payload.get("session_id"))
        return [{"kind": "started", "session": session, "cwd": content.string(payload.get("cwd"))}] if session else []
    return []


def context_characters(entry: dict[str, Any]) -> int:
    """About how many characters this line adds to the model's context, of a compaction the history that it leaves."""
    kind, payload = entry.get("type"), content.table(entry.get("payload"))
    if kind == "compacted":
        history = content.rows(payload.get("replacement_history"))
        return sum(_characters(row) for row in history) or len(content.string(payload.get("message")))
    return _characters(payload) if kind == "response_item" else 0


def window_of(entry: dict[str, Any]) -> int:
    """The context window in tokens where this line names it, else 0."""
    payload = content.table(entry.get("payload"))
    own = content.whole(payload.get("model_context_window"))
    return own or content.whole(content.table(payload.get("info")).get("model_context_window"))


def _characters(payload: dict[str, Any]) -> int:
    return content.characters([payload.get(name) for name in ("content", "arguments", "input", "output", "action")])


def _command(given: dict[str, Any]) -> str:
    for name in ("cmd", "command"):
        value = given.get(name)
        if isinstance(value, list):
            words = [content.string(word) for word in value]
            # ["bash", "-lc", "…"]: the script is the command
            return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
        if isinstance(value, str) and value:
            return value
    return ""


def _written(tool_input: object) -> str:
    """Where a patch may stand in what a tool was given."""
    if isinstance(tool_input, str):
        return tool_input
    given = content.table(tool_input)
    texts = [_command(given), *(content.string(given.get(name)) for name in ("input", "patch"))]
    command = given.get("command")
    if isinstance(command, list):  # ["apply_patch", "*** Begin Patch …"]
        texts += [content.string(word) for word in command]
    return "\n".join(text for text in texts if text)


def _files_in_patch(text: str) -> list[str]:
    """Paths that patches for `apply_patch` in a text add, update, delete or move to, each once, in their order.

    The text is a patch, or a shell command that holds one (in a heredoc or in quotes). A line of a file's new content
    begins with a sign, so none is taken for a head.
    """
    if _PATCH_BEGIN not in text:
        return []
    found: dict[str, None] = {}
    inside = False
    for line in text.split("\n"):
        if not inside:
            inside = _PATCH_BEGIN in line
        elif line.startswith(_PATCH_END):
            inside = False
        elif line.startswith(_PATCH_HEADS):
            path = line.partition(": ")[2].strip()
            if path:
                found[path] = None
    return list(found)


def _of_response(entry: dict[str, Any], payload: dict[str, Any]) -> list[Item]:
    kind = payload.get("type")
    if kind == "message":
        return _of_message(entry, payload)
    call = content.string(payload.get("call_id")) or content.string(payload.get("id"))
    if kind in _CALLS:
        name = content.string(payload.get("name")) or "local_shell"
        given = _given(payload)
        process = _process(given) if name == "write_stdin" else ""
        tools: list[Tool] = [content.tool(call, name, files_of(name, given), command_of(name, given), given, process)]
        at = ms(entry.get("timestamp"))
        found: list[Item] = [{"kind": "said", "id": "", "role": "assistant", "text": "", "tools": tools, "at": at}]
        plan = content.plan(content.table(given).get("plan"), ("step",)) if name == "update_plan" else None
        return [*found, plan] if plan else found
    if kind in _OUTPUTS:
        text, failed, process = _output(payload.get("output"))
        return [] if text.startswith(_NOT_RUN) else [content.outcome(call, text, failed, process)]
    return []


def _given(payload: dict[str, Any]) -> object:
    """What a tool was given: JSON in a string, plain text, or an object."""
    if payload.get("type") == "local_shell_call":
        return payload.get("action")
    given = payload.get("arguments") if "arguments" in payload else payload.get("input")
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            return json_text.loads(given)
        except json_text.InvalidJSON:
            pass
    return given


def _of_message(entry: dict[str, Any], payload: dict[str, Any]) -> list[Item]:
    role = payload.get("role")
    given = payload.get("content")
    if role == "assistant":
        # a summary for the model itself
        is_summary = content.table(entry.get("metadata")).get("compaction_output")
        text = "" if is_summary else content.text_of(given, ("output_text", "text"))
    elif role == "user":
        text = content.typed(_by_user(payload, given), ("input_text", "text"))
    else:
        return []
    if not text:
        return []
    at = ms(entry.get("timestamp"))
    return [{"kind": "said", "id": "", "role": role, "text": text, "tools": [], "at": at}]


def _by_user(payload: dict[str, Any], given: object) -> object:
    """The parts of a message less those that the client says are its own."""
    if not isinstance(given, list):
        return given
    metadata = content.table(payload.get("internal_chat_message_metadata_passthrough")).get("content_item_metadata")
    if not isinstance(metadata, list) or len(metadata) != len(given):
        return given
    sources = [content.table(content.table(part).get("provenance")).get("type") for part in metadata]
    return [part for part, source in zip(given, sources, strict=True) if source not in _NOT_THE_USER]


def _left(row: dict[str, Any]) -> list[str]:
    """The texts of what a compaction left in the context: of a message, or of a call and what it returned."""
    fields = [row.get(name) for name in ("text", "arguments", "input", "output")]
    return [text for text in (content.text_of(one, _TEXTS) for one in (row.get("content"), *fields)) if text]


def _process(given: object) -> str:
    """The process that a call writes to, or waits for."""
    process = content.table(given).get("session_id")
    return str(process) if isinstance(process, (int, str)) else ""


def _output(output: object) -> tuple[str, bool, str]:
    """Text of a tool's output, whether it failed, and its process where that goes on; versions differ in the form."""
    failed, process = False, ""
    if isinstance(output, str) and output.lstrip().startswith('{"output"'):
        try:
            output = json_text.loads(output)
        except json_text.InvalidJSON:
            pass
    if isinstance(output, dict):
        failed = (
            output.get("success") is False or content.whole(content.table(output.get("metadata")).get("exit_code")) > 0
        )
        output = output.get("output", output.get("content"))
    text = content.text_of(output, _TEXTS)
    head, found, body = f"{text}\n".partition(_BODY)
    if not found:
        return text, failed or text.startswith(_FAULTS), ""
    # Chunk ID, wall time, status: what Codex tells of the call before its output
    for line in head.split("\n"):
        for begin in ("Process exited with code ", "Exit code: "):
            if line.startswith(begin):
                failed = failed or line[len(begin) :].strip() != "0"
        if line.startswith(_RUNS):
            process = line[len(_RUNS) :].strip()
    return body.strip(), failed, process
