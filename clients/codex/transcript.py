"""A rollout of Codex (0.169): lines of `type` and `payload`. Hot path.

What is said stands there two or three times: as `response_item` for the model, as `event_msg` for the screen (in older
versions `user_message` and `agent_message`, in newer ones `item_completed`), and after a compaction in its history.
Only the response items are read.
"""

from __future__ import annotations

from clients import content
from clients.content import parse_timestamp, rows, string, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import Item

SAID_MARKS: tuple[bytes, ...] = (b'"response_item"', b'"compacted"')
CONTEXT_MARKS: tuple[bytes, ...] = (b"token_count", b'"compacted"', b"model_context_window")
CALLS = ("function_call", "custom_tool_call", "local_shell_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")

_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_PATCHERS = ("apply_patch", "applypatch")
_PATCH_BEGIN = "*** Begin Patch"
_PATCH_END = "*** End Patch"
_PATCH_HEADS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")  # content has a sign first
_NOT_THE_USER = ("harness", "skills", "hook")  # provenance of a part
_TEXTS = ("input_text", "output_text", "text")
_BODY = "\nOutput:\n"
_RUNS = "Process running with session ID "
_CODES = ("Process exited with code ", "Exit code: ")
_FAULTS = (
    "apply_patch verification failed", "exec_command failed", "write_stdin failed", "unsupported call",
    "failed to parse function arguments",
)  # fmt: skip
_NOT_RUN = ("aborted by user", "exec command rejected by user", "patch rejected by user", "rejected by user")


def wrote(entry: dict[str, Any]) -> bool:
    """Whether a line has a form that only this client writes."""
    return isinstance(entry.get("payload"), dict) and entry.get("type") in _TYPES


def files_of(tool_name: str, tool_input: object) -> list[str]:
    """The files that a patch writes, handed to `apply_patch` as a tool or in a shell command; each once, in order."""
    text = "\n".join(content.texts_in(tool_input))
    if _PATCH_BEGIN not in text or not (tool_name in _PATCHERS or any(name in text for name in _PATCHERS)):
        return []
    found: dict[str, None] = {}
    inside = False
    for line in text.split("\n"):
        if not inside:
            inside = _PATCH_BEGIN in line
        elif line.startswith(_PATCH_END):
            inside = False
        elif line.startswith(_PATCH_HEADS) and (path := line.partition(": ")[2].strip()):
            found[path] = None
    return list(found)


def items(line: object) -> list[Item]:
    """What one line says; nothing for repetitions, histories, instructions and what is of another version."""
    entry = table(line)
    kind, payload = entry.get("type"), table(entry.get("payload"))
    if kind == "response_item":
        return _of_response(entry, payload)
    if kind == "event_msg" and payload.get("type") == "token_count":
        info = table(payload.get("info"))
        return content.usage(info.get("last_token_usage"), ("total_tokens",), window=window_of(entry))
    if kind == "event_msg" and payload.get("type") == "patch_apply_end" and payload.get("success") is True:
        from clients import edits

        return edits.edited(payload.get("call_id"), edits.of_changes(payload.get("changes")))
    if kind == "event_msg" and payload.get("type") in ("task_complete", "turn_aborted"):
        return [{"kind": "turn_ended", "at": parse_timestamp(entry.get("timestamp"))}]
    if kind == "compacted":
        history = [text for row in rows(payload.get("replacement_history")) for text in _left(row)]
        kept = "\n".join(text for text in (string(payload.get("message")), *history) if text)
        return content.compaction(kept, parse_timestamp(entry.get("timestamp")))
    if kind == "session_meta":
        session = string(payload.get("id")) or string(payload.get("session_id"))
        return [{"kind": "started", "session": session, "cwd": string(payload.get("cwd"))}] if session else []
    return []


def context_characters(entry: dict[str, Any]) -> int:
    """About how many characters this line adds to the model's context, of a compaction the history that it leaves."""
    kind, payload = entry.get("type"), table(entry.get("payload"))
    if kind == "compacted":
        history = rows(payload.get("replacement_history"))
        return sum(map(_characters, history)) or len(string(payload.get("message")))
    return _characters(payload) if kind == "response_item" else 0


def window_of(entry: dict[str, Any]) -> int:
    """The context window in tokens where this line names it, else 0."""
    payload = table(entry.get("payload"))
    own = content.whole(payload.get("model_context_window"))
    return own or content.whole(table(payload.get("info")).get("model_context_window"))


def call_of(payload: dict[str, Any]) -> str:
    """The id of a tool call, or of the one that an output is of."""
    return string(payload.get("call_id")) or string(payload.get("id"))


def given_to(payload: dict[str, Any]) -> object:
    """What a tool was given: JSON in a string, plain text, or an object."""
    if payload.get("type") == "local_shell_call":
        return payload.get("action")
    given = payload.get("arguments") if "arguments" in payload else payload.get("input")
    return _parsed(given, "{")


def _parsed(value: object, begin: str) -> object:
    """The object of JSON in a string that begins like one; else the value as it is."""
    found = content.parsed(value) if isinstance(value, str) and value.lstrip().startswith(begin) else None
    return value if found is None else found


def _characters(payload: dict[str, Any]) -> int:
    return content.characters([payload.get(name) for name in ("content", "arguments", "input", "output", "action")])


def _command(given: dict[str, Any]) -> str:
    for value in (given.get("cmd"), given.get("command")):
        if isinstance(value, list):
            words = [string(word) for word in value]
            # ["bash", "-lc", "…"]: the script is the command
            return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
        if isinstance(value, str) and value:
            return value
    return ""


def _of_response(entry: dict[str, Any], payload: dict[str, Any]) -> list[Item]:
    kind = payload.get("type")
    if kind in OUTPUTS:
        text, failed, process = _output(payload.get("output"))
        return [] if text.startswith(_NOT_RUN) else [content.outcome(call_of(payload), text, failed, process)]
    at = parse_timestamp(entry.get("timestamp"))
    if kind == "message":
        return _of_message(entry, payload, at)
    if kind not in CALLS:
        return []
    name, given = string(payload.get("name")) or "local_shell", given_to(payload)
    fields = table(given)
    command = "" if name in _PATCHERS else _command(fields)
    tool = content.tool(call_of(payload), name, files_of(name, given), command, given)
    if name == "write_stdin":
        tool["process"] = str(fields.get("session_id") or "")
    plan = content.plan(call_of(payload), fields.get("plan"), "step") if name == "update_plan" else []
    return [*content.said("assistant", "", at, tools=[tool]), *plan]


def _of_message(entry: dict[str, Any], payload: dict[str, Any], at: int | None) -> list[Item]:
    role, given = payload.get("role"), payload.get("content")
    if role == "user":
        return content.said("user", content.typed(_by_user(payload, given), ("input_text", "text")), at)
    # a summary for the model itself
    if role != "assistant" or table(entry.get("metadata")).get("compaction_output"):
        return []
    return content.said("assistant", content.text_of(given, ("output_text", "text")), at)


def _by_user(payload: dict[str, Any], given: object) -> object:
    """The parts of a message less those that the client says are its own."""
    metadata = table(payload.get("internal_chat_message_metadata_passthrough")).get("content_item_metadata")
    if not isinstance(given, list) or not isinstance(metadata, list) or len(metadata) != len(given):
        return given
    sources = [table(table(part).get("provenance")).get("type") for part in metadata]
    return [part for part, source in zip(given, sources, strict=True) if source not in _NOT_THE_USER]


def _left(row: dict[str, Any]) -> list[str]:
    """The texts of what a compaction left in the context: of a message, or of a call and what it returned."""
    fields = [row.get(name) for name in ("content", "text", "arguments", "input", "output")]
    return [text for text in (content.text_of(one, _TEXTS) for one in fields) if text]


def _output(output: object) -> tuple[str, bool, str]:
    """Text of a tool's output, whether it failed, and its process where that goes on; versions differ in the form."""
    failed, process = False, ""
    output = _parsed(output, '{"output"')
    if isinstance(output, dict):
        failed = output.get("success") is False or content.whole(table(output.get("metadata")).get("exit_code")) > 0
        output = output.get("output", output.get("content"))
    text = content.text_of(output, _TEXTS)
    head, found, body = f"{text}\n".partition(_BODY)
    if not found:
        return text, failed or text.startswith(_FAULTS), ""
    # Chunk ID, wall time, status: what Codex tells of the call before its output
    for line in head.split("\n"):
        for begin in _CODES:
            failed = failed or (line.startswith(begin) and line[len(begin) :].strip() != "0")
        if line.startswith(_RUNS):
            process = line[len(_RUNS) :].strip()
    return body.rstrip(), failed, process
