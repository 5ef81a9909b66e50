"""What a session file holds, whichever client wrote it: entries, and the messages in them.

An entry is what a reader keeps of a line: ids, sizes, calls, files. The texts stay in the file and are read again when
a message is asked for, so that a session of 100 MB takes little memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from clients.file_operations import NONE, FileOperations
from clients.lines import Problems

BlockKind = Literal["text", "thinking", "tool_call", "image"]
Role = Literal["user", "assistant", "tool_result", "bash", "custom", "branch_summary", "compaction_summary"]
EntryKind = Literal["message", "custom_message", "branch_summary", "compaction", "other"]

SAID: tuple[Role, ...] = ("user", "assistant", "tool_result", "bash")
"""Roles of what was said and done. What extensions and compactions put into the context is not said."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a message."""

    kind: BlockKind
    text: str = ""
    name: str = ""
    """of a tool call: the tool"""
    arguments: dict[str, Any] = field(default_factory=dict)
    call: str = ""
    """of a tool call: its id"""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation, or a text that stands in the context like one."""

    entry: str
    """id of its entry"""
    role: Role
    blocks: tuple[Block, ...]
    call: str = ""
    """tool_result: the call it answers"""
    failed: bool = False
    excluded: bool = False
    """bash: the user kept it out of the model's context, so no summary may show it"""

    @property
    def text(self) -> str:
        """The texts of its blocks, without thinking and calls, joined by nothing."""
        return "".join(block.text for block in self.blocks if block.kind == "text")


@dataclass(frozen=True, slots=True)
class Compaction:
    """What an entry of a compaction tells."""

    summary: str
    first_kept: str = ""
    """id of the oldest entry that stayed as it was; "" where none did, or the client copies them"""
    tokens_before: int = 0


class Entry(NamedTuple):
    """One entry of a session file. A tuple, since a large session has 100,000 of them."""

    id: str
    parent: str
    """id of the entry before it on its branch, "" for the first"""
    kind: EntryKind
    line: int
    """from 1"""
    offset: int
    size: int
    """where its line stands in the file, in bytes; size 0: nothing to read again"""
    role: Role | None = None
    """of what it says; None for bookkeeping"""
    tokens: int = -1
    """estimated; -1 where nobody has measured it: `reading.sizes` does"""
    can_cut: bool = False
    """a compaction may keep the session from here on"""
    starts_turn: bool = False
    used: int = 0
    """tokens that the context held after it, as an answer that was not aborted and is no error tells"""
    calls: tuple[str, ...] = ()
    """ids of the tool calls in it"""
    answers: tuple[str, ...] = ()
    """ids of the calls whose results are in it"""
    files: FileOperations = NONE
    """of its tool calls, or what a summary of the client lists"""
    compaction: Compaction | None = None
    group: str = ""
    """lines of one answer share it"""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session file, read."""

    client: str
    path: str
    entries: tuple[Entry, ...]
    """the active branch, oldest first"""
    tree: dict[str, Entry]
    """every entry of every branch, by id"""
    window: int = 0
    """size of the context in tokens where the file tells it, else 0"""
    model: str = ""
    """the model that answered last, "" where the file does not tell"""
    measured: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    """sizes of entries that were asked for, by id"""
    cwd: str = ""
    """the folder in which the session began, "" where the file does not tell"""
    problems: tuple[str, ...] = ()
    """what could not be read; the rest is what a partial result is made from"""

    def last_compaction(self) -> int:
        """Index of the newest compaction on the active branch, -1 without one."""
        for index in range(len(self.entries) - 1, -1, -1):
            if self.entries[index].kind == "compaction":
                return index
        return -1


def path_to(leaf: str, tree: Mapping[str, Entry], problems: Problems) -> list[Entry]:
    """The entries from the first one to `leaf`, oldest first; none where there is no such entry."""
    path: list[Entry] = []
    seen: set[str] = set()
    entry = tree.get(leaf)
    while entry is not None:
        if entry.id in seen:
            problems.add(f"the parents of {entry.id} go round in a circle; the branch begins at {path[-1].id}")
            break
        seen.add(entry.id)
        path.append(entry)
        if entry.parent and entry.parent not in tree:
            problems.add(f"{entry.parent}, the parent of {entry.id}, is not in the file; the branch begins there")
        entry = tree.get(entry.parent)
    path.reverse()
    return path
