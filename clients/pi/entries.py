"""Entries of a pi session (versions 1 to 3): a header, then a tree of entries that name their parent.

Sizes, cut points and files follow pi 0.73.1 to the token; `tests/e2e/test_compaction_like_pi.py` compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clients import tokens
from clients.content import parse_timestamp, rows, string, table, whole
from clients.entry import Block, Compaction, Entry, Message, Usage, path_to
from clients.file_operations import NONE, FileOperations, together

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clients.entry import EntryKind, Role
    from clients.lines import Line, Problems

NEWEST_VERSION = 3
"""The newest form of session files that is known here; a later one is read as this one."""

BY = "joelclaw"
"""Stands in the details of a summary that our extension handed over."""
_UNFINISHED = ("aborted", "error")
_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool_result",
    "bashExecution": "bash",
    "custom": "custom",
    "hookMessage": "custom",  # its name before version 3
    "branchSummary": "branch_summary",
    "compactionSummary": "compaction_summary",
}


class Reader:
    """Turns the lines of a session into entries; keeps what later lines need of earlier ones."""

    def __init__(self) -> None:
        self.version = 0
        self.model = ""
        self.window = 0
        self.cwd = ""
        self._previous = ""
        self._ids: dict[int, str] = {}
        """Version 1 has no ids; entries are named by their place, as its compactions name them."""
        self._count = 0

    def entry(self, line: Line, value: dict[str, Any], problems: Problems, /) -> Entry | None:
        """The entry of a line, None for the header and what is none."""
        place = self._count
        self._count += 1
        kind = string(value.get("type"))
        if kind == "session":
            self._header(value, problems)
            return None
        identifier = string(value.get("id"))
        parent = string(value.get("parentId"))
        if not identifier:
            if self.version > 1 or not kind:
                problems.add(f"line {line.number} is an entry without an id")
                return None
            identifier, parent = f"line-{line.number}", self._previous
        self._ids[place] = self._previous = identifier
        if kind == "message":
            return self._of_message(line, value, identifier, parent, problems)
        if kind in ("custom_message", "branch_summary", "compaction"):
            return self._of_other_text(line, value, identifier, parent)
        return Entry(identifier, parent, "other", line.number, line.offset, 0)

    def branch(self, entries: list[Entry], tree: dict[str, Entry], problems: Problems, /) -> list[Entry]:
        """The branch of what was appended last."""
        return path_to(entries[-1].id, tree, problems) if entries else []

    def _header(self, value: dict[str, Any], problems: Problems) -> None:
        self.cwd = string(value.get("cwd"))
        version = value.get("version")
        self.version = version if isinstance(version, int) else 1
        if self.version > NEWEST_VERSION:
            problems.add(
                f"the session has version {self.version}; it was read as version {NEWEST_VERSION}, the newest known"
            )

    def _of_message(self, line: Line, value: dict[str, Any], identifier: str, parent: str, problems: Problems) -> Entry:
        message = table(value.get("message"))
        role = _ROLES.get(string(message.get("role")))
        if role is None:
            problems.add(f"line {line.number} is a message of the unknown role {message.get('role')!r:.40}")
            return Entry(identifier, parent, "message", line.number, line.offset, 0)
        usage, files = None, NONE
        calls: tuple[str, ...] = ()
        answers: tuple[str, ...] = ()
        if role == "assistant":
            self.model = string(message.get("model")) or self.model
            usage = _valid_usage(message)
            calls, files = _calls(message)
        elif role == "tool_result":
            call = string(message.get("toolCallId"))
            answers = (call,) if call else ()
        return Entry(
            identifier,
            parent,
            "message",
            line.number,
            line.offset,
            line.size,
            role,
            can_cut=role != "tool_result",
            starts_turn=role in ("user", "bash"),
            usage=usage,
            calls=calls,
            answers=answers,
            files=files,
        )

    def _of_other_text(self, line: Line, value: dict[str, Any], identifier: str, parent: str) -> Entry:
        kind: EntryKind = value["type"]
        summary = string(value.get("summary"))
        # Another extension's list has a form of its own (`fromHook` is pi's name for it).
        details = table(value.get("details"))
        files = NONE if value.get("fromHook") and details.get("by") != BY else _listed(details)
        where = (line.number, line.offset, line.size)
        if kind == "compaction":
            compaction = Compaction(summary, self._first_kept(value), whole(value.get("tokensBefore")))
            return Entry(identifier, parent, kind, *where, "compaction_summary", files=files, compaction=compaction)
        role: Role = "custom" if kind == "custom_message" else "branch_summary"
        size = 0 if role == "branch_summary" and not summary else -1
        return Entry(identifier, parent, kind, *where, role, size, can_cut=True, starts_turn=True, files=files)

    def _first_kept(self, value: dict[str, Any]) -> str:
        place = value.get("firstKeptEntryIndex")
        if self.version < 2 and isinstance(place, int):
            return self._ids.get(place, "")
        return string(value.get("firstKeptEntryId"))


def messages(value: dict[str, Any], entry: Entry) -> Iterable[Message]:
    """The message of an entry."""
    at = parse_timestamp(value.get("timestamp"))
    if entry.role is None:
        return
    if entry.kind in ("compaction", "branch_summary"):
        yield Message(entry.id, entry.role, (Block("text", string(value.get("summary"))),), at)
        return
    message = table(value.get("message")) if entry.kind == "message" else value
    said_at = parse_timestamp(message.get("timestamp"))
    at = said_at if said_at is not None else at
    if entry.role == "bash":
        block = Block("text", _bash_text(message))
        yield Message(entry.id, "bash", (block,), at, excluded=message.get("excludeFromContext") is True)
    elif entry.role in ("branch_summary", "compaction_summary"):
        yield Message(entry.id, entry.role, (Block("text", string(message.get("summary"))),), at)
    elif entry.role == "assistant":
        stop = string(message.get("stopReason"))
        used = _usage(message)
        yield Message(entry.id, "assistant", tuple(_blocks(message.get("content"))), at, used, stop)
    else:
        yield Message(
            entry.id,
            entry.role,
            tuple(_blocks(message.get("content"))),
            at,
            call=string(message.get("toolCallId")),
            failed=message.get("isError") is True,
        )


def _blocks(content: object) -> Iterable[Block]:
    if isinstance(content, str):
        yield Block("text", content)
        return
    for part in rows(content):
        kind = part.get("type")
        if kind == "text":
            yield Block("text", string(part.get("text")))
        elif kind == "thinking":
            yield Block("thinking", string(part.get("thinking")))
        elif kind == "toolCall":
            given = table(part.get("arguments"))
            yield Block("tool_call", name=string(part.get("name")), arguments=given, call=string(part.get("id")))
        elif kind == "image":
            yield Block("image")


def size(value: dict[str, Any], entry: Entry) -> int:
    """Estimated tokens of an entry; what the user says has no size for its images, as pi counts."""
    message = table(value.get("message")) if entry.kind == "message" else value
    role = entry.role
    if role == "bash":
        count = tokens.units(string(message.get("command"))) + tokens.units(string(message.get("output")))
        return tokens.of_characters(count)
    if role in ("branch_summary", "compaction_summary"):
        return tokens.of_characters(tokens.units(string(message.get("summary"))))
    content = message.get("content")
    if isinstance(content, str):
        return tokens.of_characters(tokens.units(content))
    images = tokens.IMAGE_CHARS if role in ("tool_result", "custom") else 0
    return tokens.of_characters(sum(_units(part, images) for part in rows(content)))


def _units(part: dict[str, Any], image: int) -> int:
    kind = part.get("type")
    if kind == "text":
        return tokens.units(string(part.get("text")))
    if kind == "thinking":
        return tokens.units(string(part.get("thinking")))
    if kind == "toolCall":
        return tokens.units(string(part.get("name"))) + tokens.json_units(table(part.get("arguments")))
    return image if kind == "image" else 0


def _usage(message: dict[str, Any]) -> Usage | None:
    if not isinstance(message.get("usage"), dict):
        return None
    used = message["usage"]
    parts = [whole(used.get(name)) for name in ("input", "output", "cacheRead", "cacheWrite")]
    return Usage(parts[0], parts[1], parts[2], parts[3], whole(used.get("totalTokens")) or sum(parts))


def _valid_usage(message: dict[str, Any]) -> Usage | None:
    """What an answer tells of the context. A provider that counts no tokens writes zeros: that tells nothing."""
    if message.get("stopReason") in _UNFINISHED:
        return None
    used = _usage(message)
    return used if used is not None and used.total > 0 else None


def _calls(message: dict[str, Any]) -> tuple[tuple[str, ...], FileOperations]:
    calls: list[str] = []
    files: list[FileOperations] = []
    for part in rows(message.get("content")):
        if part.get("type") != "toolCall":
            continue
        call = string(part.get("id"))
        if call:
            calls.append(call)
        path = string(table(part.get("arguments")).get("path"))
        name = part.get("name")
        if path and name in ("read", "write", "edit"):
            files.append(
                FileOperations(
                    read=(path,) if name == "read" else (),
                    written=(path,) if name == "write" else (),
                    edited=(path,) if name == "edit" else (),
                )
            )
    return tuple(calls), together(files)


def _listed(details: object) -> FileOperations:
    """The files that an earlier summary lists; of a modified one nobody knows any more whether it was written whole."""
    given = table(details)
    read, changed = given.get("readFiles"), given.get("modifiedFiles")
    if not isinstance(read, list) and not isinstance(changed, list):
        return NONE
    one = FileOperations(_strings(read), (), _strings(changed))
    return one if one else NONE


def _strings(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in value if isinstance(one, str))) if isinstance(value, list) else ()


def _bash_text(message: dict[str, Any]) -> str:
    """A command that the user ran, as the model sees it."""
    output = string(message.get("output"))
    text = f"Ran `{string(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code:
        text += f"\n\nCommand exited with code {code}"
    path = string(message.get("fullOutputPath"))
    if message.get("truncated") and path:
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text
