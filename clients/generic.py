"""Agents that joelclaw does not know: JSON lines in a form of ours, and the short form that Entire stores. Hot path.

    {"session": "s1", "time": "2026-11-28T10:00:00Z", "role": "user", "text": "mend the gauge", "cwd": "/w"}
    {"session": "s1", "role": "tool", "tool": "bash", "input": {"command": "make"}, "output": "no tide", "ok": false}

Only `role` with `text` or `tool` is needed. An answer may name its tool on the same line. Roles may have other usual
names. A line that has none of these has no entry, and counts as a bad line.
"""

from __future__ import annotations

from clients.base import text_field
from clients.content import as_object, as_objects, as_text, parse_timestamp, paths, texts_in, typed
from clients.entries import COMMAND_KEYS, Entry, call_entry, result_entry, with_node
from clients.extension import ExtensionClient
from core import TYPE_CHECKING, words

if TYPE_CHECKING:
    from typing import Any

    from clients.base import HookEvent
    from clients.entries import Kind

ROLES: dict[str, Kind] = {
    **dict.fromkeys(("user", "human"), "prompt"),
    **dict.fromkeys(("assistant", "ai", "model", "bot", "agent"), "answer"),
}


class Generic(ExtensionClient):
    """Its hooks take the payload of our extensions; `entries` has the lines of its session that are new."""

    name = title = "generic"
    session_file = "file of JSON lines"
    is_unread_bad = True
    said_marks = (b'"text"', b'"content"', b'"tool"')

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line is in one of the forms."""
        return is_short_form(line) or is_documented(line)

    def read(self, payload: dict[str, Any], name: str) -> HookEvent:
        """Read a payload, which may also be one line of a session."""
        event = super().read({**payload, "entries": []}, name)
        event["session"] = session_of(payload) or event["session"]
        given = payload.get("entries") or ([payload] if self.wrote(payload) else [])
        read = [self.entries(as_object(line)) for line in (given if isinstance(given, list) else [given])[-400:]]
        event["bad_lines"] = read.count([])
        event["items"] = [entry for entries in read for entry in entries]
        if event["kind"] == "after_compaction" and not event["transcript"]:
            event["items"].append(Entry("compaction"))
        prompts = [entry.text for entry in event["items"] if entry.kind == "prompt" and entry.text]
        event["messages"] = [*event["messages"], *prompts][-32:]
        event["files"] = list(dict.fromkeys([*event["files"], *(it for entry in event["items"] for it in entry.files)]))
        event["cwd"] = event["cwd"] or next((entry.folder for entry in event["items"] if entry.folder), "")
        return event

    def entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of a line."""
        if is_short_form(line):
            return _short_entries(line)
        role, at, identifier = _role(line), _time(line.get("time")), as_text(line.get("id"))
        found: list[Entry] = []
        if text := typed(line.get("text"), ("text", None)) if role in ROLES else "":
            found = [Entry(ROLES[role], at, text=text, content=line["text"])]
        if tool := as_text(line.get("tool")):
            call = identifier or words.fingerprint(f"{at}\0{tool}\0{line.get('input')}")
            found.append(_call(call, tool, line.get("input"), at))
            output = line.get("output")
            if output is not None or "ok" in line:
                found.append(result_entry(call, "\n".join(texts_in(output)), line.get("ok") is False))
        if not found and ("role" in line or "cwd" not in line):
            return []
        found = with_node(found, at, identifier)
        head = found[0]
        head.session, head.folder = session_of(line), text_field(line, "cwd")
        if head.kind in ("prompt", "answer") and (identifier or at):
            about = f"{head.session}\0{identifier or at}\0{head.kind}\0{head.text}"
            head.stable_id = f"generic:{words.fingerprint(about)}"  # the same from a hook and from a file
        return found


def is_short_form(line: dict[str, Any]) -> bool:
    """Whether a line is in the form in which Entire stores the sessions of any client."""
    return line.get("v") == 1 and bool(as_text(line.get("agent"))) and as_text(line.get("type")) in ROLES


def is_documented(line: dict[str, Any]) -> bool:
    """Whether a line is in our own form, which no client uses."""
    return bool(session_of(line)) and _role(line) in (*ROLES, "tool")


def session_of(line: dict[str, Any]) -> str:
    """The session of a line in our own form, which may be a number; "" if it names none."""
    number = line.get("session")
    return str(number) if type(number) is int else text_field(line, "session")


def _role(line: dict[str, Any]) -> str:
    return as_text(line.get("role")).lower()


def _time(value: object) -> int | None:
    """Milliseconds since 1970 of an ISO 8601 time, of milliseconds, or of seconds (a number below 10**11)."""
    is_seconds = isinstance(value, (int, float)) and value < 1e11
    return parse_timestamp(value * 1000 if is_seconds else value)  # type: ignore[operator]


def _short_entries(line: dict[str, Any]) -> list[Entry]:
    role, at, given = line["type"], _time(line.get("ts")), line.get("content")
    text = typed(given, ("text", None))
    found = [Entry(ROLES[role], at, text=text, content=given)] if text else []
    for number, part in enumerate(as_objects(given)):
        if part.get("type") == "tool_use":
            call = as_text(part.get("id")) or f"{line.get('id', '')}{line.get('ts')}/{number}"
            found.append(_call(call, as_text(part.get("name")), part.get("input"), at))
            if part.get("result") is not None:
                result = as_object(part["result"])
                failed = result.get("status") == "error" or result.get("is_error") is True or bool(result.get("error"))
                output = result.get("output", result.get("error", part["result"]))
                found.append(result_entry(call, "\n".join(texts_in(output)), failed))
    found = with_node(found, at, line.get("id"))
    found[0].folder = text_field(line, "cwd")
    return found


def _call(call: str, tool: str, given: object, at: int | None) -> Entry:
    """A call of an unknown tool, with the command or the file in its input. Its name shows whether it writes."""
    command = next((as_text(as_object(given).get(key)) for key in COMMAND_KEYS if as_object(given).get(key)), "")
    writes = any(word in tool.lower() for word in ("write", "edit", "patch", "create", "replace"))
    files = paths(given, "file_path", "filePath", "path", "file")
    entry = call_entry(call, tool, given, files if writes else [], command, at=at)
    entry.read_files = [] if writes else files
    return entry
