"""Entries of a Claude Code transcript (2.1): `uuid` and `parentUuid` make a tree, each block of an answer is a line.

A compaction is a boundary, whose logical parent is the last entry before it, and a line with the summary behind it.
What it kept as it was stands before the boundary and is named there. Sidechains (what subagents said) and meta entries
are no part of the conversation.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from clients import content
from clients.claude import transcript
from clients.content import rows, string, table, whole
from clients.entry import Block, Compaction, Entry, Line, Message, Problems, blocks_of, calls_in, path_to, tokens_of

_USES = {"Read": "read", "NotebookRead": "read", "Write": "written"}
_USES |= {name: "edited" for name in transcript.WRITES if name not in _USES}
_BEGINS = "This session is being continued from a previous conversation"
_SUMMARY = "Summary:\n"
_ENDS = (
    "\nIf you need specific details from before compaction",
    "\nPlease continue the conversation from where we left it off",
    "\nContinue the conversation from where it left off",
)


class Reader:
    """Turns the lines of a transcript into entries."""

    def __init__(self) -> None:
        self.model = ""
        self.window = 0
        self._groups: set[str] = set()

    def entry(self, line: Line, value: dict[str, Any], _problems: Problems, /) -> Entry | None:
        """The entry of a line, None for a line without a place in the tree, and for those of subagents."""
        identifier, kind = string(value.get("uuid")), value.get("type")
        if not identifier or value.get("isSidechain"):
            return None
        made = Entry(identifier, string(value.get("parentUuid")), "other", line.number, line.offset, 0)
        if kind == "assistant" and not transcript.is_synthetic(value):
            return self._of_answer(made, line, table(value.get("message")))
        if kind in ("user", "attachment"):
            return _of_user(made, line, value)
        if kind == "system" and value.get("subtype") == "compact_boundary":
            about = table(value.get("compactMetadata"))
            kept = string(table(about.get("preservedSegment")).get("headUuid"))
            parent = string(value.get("logicalParentUuid")) or made.parent
            compaction = Compaction("", kept, whole(about.get("preTokens")))
            return made._replace(parent=parent, kind="compaction", compaction=compaction)
        return made

    def _of_answer(self, made: Entry, line: Line, message: dict[str, Any]) -> Entry:
        group, used = string(message.get("id")), table(message.get("usage"))
        self.model = string(message.get("model")) or self.model
        can_cut = not group or group not in self._groups
        self._groups.add(group)
        calls, files = calls_in(message.get("content"), _USES, "notebook_path", "file_path")
        return made._replace(
            kind="message", size=line.size, role="assistant", can_cut=can_cut, group=group,
            used=transcript.tokens_before(used) + whole(used.get("output_tokens")),
            calls=calls, files=files,
        )  # fmt: skip

    def branch(self, entries: list[Entry], tree: dict[str, Entry], problems: Problems, /) -> list[Entry]:
        """The branch of what was said last, with the parallel calls and results of the tree."""
        return _with_summaries(_with_parallel(path_to(entries[-1].id, tree, problems), entries)) if entries else []


def messages(value: dict[str, Any], entry: Entry) -> Iterable[Message]:
    """The messages of an entry: the results of several tools, and what the user said, may stand in one."""
    message = table(value.get("message"))
    given = transcript.queued(value) if value.get("type") == "attachment" else message.get("content")
    if entry.role == "assistant":
        said = (block for block in blocks_of(given) if block.text or block.kind == "tool_call")
        yield Message(entry.id, "assistant", tuple(said))
    elif entry.role == "compaction_summary":
        yield Message(entry.id, "compaction_summary", (Block("text", content.text_of(given)),))
    else:
        for part in rows(given):
            if part.get("type") == "tool_result":
                inner, failed = part.get("content"), part.get("is_error") is True
                blocks = _blocks(content.without_ours(content.text_of(inner)), inner)
                yield Message(entry.id, "tool_result", blocks, call=string(part.get("tool_use_id")), failed=failed)
        # What the user said, less what the client put there.
        if message.get("role", "user") == "user" and (blocks := _blocks(content.typed(given), given)):
            yield Message(entry.id, "user", blocks)


def size(value: dict[str, Any], entry: Entry) -> int:
    """Estimated tokens of an entry."""
    return sum(tokens_of(message.blocks) for message in messages(value, entry))


def _of_user(made: Entry, line: Line, value: dict[str, Any]) -> Entry:
    if value.get("isCompactSummary"):
        compaction = Compaction(_bare(content.text_of(table(value.get("message")).get("content"))))
        return made._replace(size=line.size, role="compaction_summary", compaction=compaction)
    said = [] if value.get("isMeta") or value.get("isVisibleInTranscriptOnly") else list(messages(value, made))
    if not said:
        return made
    made = made._replace(kind="message", size=line.size, role=said[0].role)
    if made.role == "user":
        return made._replace(can_cut=True, starts_turn=True)
    return made._replace(answers=tuple(one.call for one in said if one.call))


def _bare(text: str) -> str:
    """A summary without what Claude Code says around it: how the session came to it, and how to go on."""
    if text.startswith(_BEGINS):
        head, found, rest = text.partition(_SUMMARY)
        text = rest if found else head
    for end in _ENDS:
        text = text.partition(end)[0] or text
    return text.strip()


def _with_parallel(path: list[Entry], entries: list[Entry]) -> list[Entry]:
    """The branch with all parallel calls and results: each result names its own call as its parent, so that only one
    of them has descendants."""
    on_path = {entry.id for entry in path}
    groups = {entry.group for entry in path if entry.group}
    parallel = [entry for entry in entries if entry.id not in on_path and entry.group in groups]
    calls = {call for entry in (*path, *parallel) for call in entry.calls}
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
        elif entry.compaction is not None and boundary < 0:
            entry = entry._replace(kind="compaction")
        elif entry.compaction is not None:
            before = found[boundary]
            compaction = replace(before.compaction or entry.compaction, summary=entry.compaction.summary)
            found[boundary] = before._replace(
                offset=entry.offset, size=entry.size, role="compaction_summary", compaction=compaction
            )
            boundary = -1
            entry = entry._replace(size=0, role=None, tokens=0, compaction=None)
        found.append(entry)
    return found


def _blocks(text: str, given: object) -> tuple[Block, ...]:
    """A text, where there is one, and the images beside it."""
    images = [Block("image") for part in rows(given) if part.get("type") == "image"]
    return (*((Block("text", text),) if text else ()), *images)
