"""Entries of a Claude Code transcript (2.1): `uuid` and `parentUuid` make a tree, each block of an answer is a line.

A compaction is a boundary, whose logical parent is the last entry before it, and a line with the summary behind it.
What it kept as it was stands before the boundary and is named there. Sidechains (what subagents said) and meta entries
are no part of the conversation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clients import content, tokens
from clients.claude import transcript
from clients.content import parse_timestamp, rows, string, table, whole
from clients.entry import Block, Compaction, Entry, Message, Usage, path_to
from clients.file_operations import NONE, FileOperations, together

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clients.entry import Role
    from clients.lines import Line, Problems

_READS = ("Read", "NotebookRead")
_BEGINS = "This session is being continued from a previous conversation"
_SUMMARY = "Summary:\n"
_ENDS = (
    "\nIf you need specific details from before compaction",
    "\nPlease continue the conversation from where we left it off",
    "\nContinue the conversation from where it left off",
)
_SYNTHETIC = "<synthetic>"  # the model of what Claude Code itself wrote: an error, an interruption


class Reader:
    """Turns the lines of a transcript into entries."""

    def __init__(self) -> None:
        self.model = ""
        self.window = 0
        self._groups: set[str] = set()

    def entry(self, line: Line, value: dict[str, Any], _problems: Problems, /) -> Entry | None:
        """The entry of a line, None for a line without a place in the tree, and for those of subagents."""
        identifier = string(value.get("uuid"))
        if not identifier or value.get("isSidechain"):
            return None
        parent = string(value.get("parentUuid"))
        kind = value.get("type")
        if kind == "assistant":
            return self._of_answer(line, value, identifier, parent)
        if kind in ("user", "attachment"):
            return _of_user(line, value, identifier, parent)
        if kind == "system" and value.get("subtype") == "compact_boundary":
            return _boundary(line, value, identifier, parent)
        return Entry(identifier, parent, "other", line.number, line.offset, 0)

    def _of_answer(self, line: Line, value: dict[str, Any], identifier: str, parent: str) -> Entry:
        message = table(value.get("message"))
        model = string(message.get("model"))
        if value.get("isApiErrorMessage") or model == _SYNTHETIC:
            return Entry(identifier, parent, "other", line.number, line.offset, 0)
        self.model = model or self.model
        group = string(message.get("id"))
        continues = bool(group) and group in self._groups
        self._groups.add(group)
        calls, files = _calls(message)
        return Entry(
            identifier,
            parent,
            "message",
            line.number,
            line.offset,
            line.size,
            "assistant",
            can_cut=not continues,
            usage=_valid_usage(message),
            calls=calls,
            files=files,
            group=group,
        )

    def branch(self, entries: list[Entry], tree: dict[str, Entry], problems: Problems, /) -> list[Entry]:
        """The branch of what was said last, with the parallel calls and results of the tree."""
        if not entries:
            return []
        path = _with_parallel(path_to(entries[-1].id, tree, problems), entries)
        return _with_summaries(path)


def messages(value: dict[str, Any], entry: Entry) -> Iterable[Message]:
    """The messages of an entry: the results of several tools, and what the user said, may stand in one."""
    at = parse_timestamp(value.get("timestamp"))
    message = table(value.get("message"))
    if entry.role == "assistant":
        stop = string(message.get("stop_reason"))
        yield Message(entry.id, "assistant", tuple(_answer_blocks(message)), at, _usage(message), stop)
    elif entry.role == "compaction_summary":
        yield Message(entry.id, "compaction_summary", (Block("text", content.text_of(message.get("content"))),), at)
    else:
        for call, blocks, failed in _results(message.get("content")):
            yield Message(entry.id, "tool_result", blocks, at, call=call, failed=failed)
        blocks = _said_blocks(value)
        if blocks:
            yield Message(entry.id, "user", blocks, at)


def size(value: dict[str, Any], entry: Entry) -> int:
    """Estimated tokens of an entry."""
    return sum(tokens.of_blocks(message.blocks) for message in messages(value, entry))


def _of_user(line: Line, value: dict[str, Any], identifier: str, parent: str) -> Entry:
    where = (line.number, line.offset)
    given = table(value.get("message")).get("content")
    if value.get("isCompactSummary"):
        compaction = Compaction(_bare(content.text_of(given)))
        return Entry(identifier, parent, "other", *where, line.size, "compaction_summary", compaction=compaction)
    if value.get("isMeta") or value.get("isVisibleInTranscriptOnly"):
        return Entry(identifier, parent, "other", *where, 0)
    results = [part for part in rows(given) if part.get("type") == "tool_result"]
    if not results and not _said_blocks(value):
        return Entry(identifier, parent, "other", *where, 0)
    answers = tuple(call for part in results if (call := string(part.get("tool_use_id"))))
    role: Role = "tool_result" if results else "user"
    is_user = role == "user"
    return Entry(
        identifier,
        parent,
        "message",
        *where,
        line.size,
        role,
        can_cut=is_user,
        starts_turn=is_user,
        answers=answers,
    )


def _bare(text: str) -> str:
    """A summary without what Claude Code says around it: how the session came to it, and how to go on."""
    if text.startswith(_BEGINS):
        head, found, rest = text.partition(_SUMMARY)
        text = rest if found else head
    ends = [at for end in _ENDS if (at := text.rfind(end)) > 0]
    return text[: min(ends)].strip() if ends else text.strip()


def _boundary(line: Line, value: dict[str, Any], identifier: str, parent: str) -> Entry:
    about = table(value.get("compactMetadata"))
    compaction = Compaction(
        "", string(table(about.get("preservedSegment")).get("headUuid")), whole(about.get("preTokens"))
    )
    parent = string(value.get("logicalParentUuid")) or parent
    return Entry(identifier, parent, "compaction", line.number, line.offset, 0, compaction=compaction)


def _with_parallel(path: list[Entry], entries: list[Entry]) -> list[Entry]:
    """The branch with what belongs to it though it is not on it.

    The results of parallel calls are no branch of each other: each names the line of its own call as its
    parent, and only one of them has descendants.
    """
    on_path = {entry.id for entry in path}
    groups = {entry.group for entry in path if entry.group}
    calls = {call for entry in path for call in entry.calls}
    parallel = [entry for entry in entries if entry.id not in on_path and entry.group and entry.group in groups]
    calls.update(call for entry in parallel for call in entry.calls)
    answered = {call for entry in path for call in entry.answers}
    for entry in entries:
        wanted = [call for call in entry.answers if call in calls and call not in answered]
        if wanted and entry.id not in on_path:
            parallel.append(entry)
            answered.update(wanted)
    return sorted((*path, *parallel), key=lambda entry: entry.line) if parallel else path


def _with_summaries(path: list[Entry]) -> list[Entry]:
    """Each boundary with the summary that stands behind it; a summary without a boundary is one itself."""
    found: list[Entry] = []
    boundary = -1
    for entry in path:
        if entry.kind == "compaction":
            boundary = len(found)
        elif entry.compaction is not None:
            summary = entry.compaction.summary
            if boundary >= 0:
                before = found[boundary]
                compaction = replace(before.compaction, summary=summary) if before.compaction else entry.compaction
                found[boundary] = before._replace(
                    offset=entry.offset,
                    size=entry.size,
                    role="compaction_summary",
                    compaction=compaction,
                )
                boundary = -1
                entry = entry._replace(size=0, role=None, tokens=0, compaction=None)
            else:
                entry = entry._replace(kind="compaction")
        found.append(entry)
    return found


def _answer_blocks(message: dict[str, Any]) -> Iterable[Block]:
    given = message.get("content")
    if isinstance(given, str):
        yield Block("text", given)
        return
    for part in rows(given):
        kind = part.get("type")
        if kind == "text":
            yield Block("text", string(part.get("text")))
        elif kind == "thinking":
            if text := string(part.get("thinking")):
                yield Block("thinking", text)
        elif kind == "tool_use":
            name, wanted = string(part.get("name")), table(part.get("input"))
            yield Block("tool_call", name=name, arguments=wanted, call=string(part.get("id")))


def _said_blocks(value: dict[str, Any]) -> tuple[Block, ...]:
    """What the user said, less what the client put there."""
    if value.get("type") == "attachment":
        given = table(value.get("attachment"))
        if given.get("type") != "queued_command" or given.get("commandMode", "prompt") != "prompt":
            return ()
        given_content = given.get("prompt")
    else:
        message = table(value.get("message"))
        if message.get("role", "user") != "user":
            return ()
        given_content = message.get("content")
    text = content.typed(given_content)
    blocks = [Block("text", text)] if text else []
    blocks += [Block("image") for part in rows(given_content) if part.get("type") == "image"]
    return tuple(blocks)


def _results(given: object) -> Iterable[tuple[str, tuple[Block, ...], bool]]:
    for part in rows(given):
        if part.get("type") != "tool_result":
            continue
        inner = part.get("content")
        text = content.without_ours(content.text_of(inner))
        blocks = [Block("text", text)] if text else []
        blocks += [Block("image") for one in rows(inner) if one.get("type") == "image"]
        yield string(part.get("tool_use_id")), tuple(blocks), part.get("is_error") is True


def _usage(message: dict[str, Any]) -> Usage | None:
    used = message.get("usage")
    if not isinstance(used, dict):
        return None
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    parts = [whole(used.get(name)) for name in names]
    return Usage(parts[0], parts[1], parts[2], parts[3], sum(parts))


def _valid_usage(message: dict[str, Any]) -> Usage | None:
    used = _usage(message)
    return used if used is not None and used.total > 0 else None


def _calls(message: dict[str, Any]) -> tuple[tuple[str, ...], FileOperations]:
    calls: list[str] = []
    files: list[FileOperations] = []
    for part in rows(message.get("content")):
        if part.get("type") == "tool_use":
            if call := string(part.get("id")):
                calls.append(call)
            files.append(_files(string(part.get("name")), table(part.get("input"))))
    return tuple(calls), together(files)


def _files(name: str, given: dict[str, Any]) -> FileOperations:
    if name in _READS:
        return FileOperations(read=tuple(content.paths(given, "file_path", "notebook_path")))
    paths = tuple(transcript.files_of(name, given))
    if not paths:
        return NONE
    return FileOperations(written=paths) if name == "Write" else FileOperations(edited=paths)
