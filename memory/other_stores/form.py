"""Which tool's form a file has, told by what stands in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core.errors import usage
from core.store import foreign_file
from memory.other_stores import basic_memory, claude_mem, markdown_bullets, mcp_memory, mem0
from memory.other_stores.item import MOST_JSON_BYTES, parsed, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.other_stores.item import Item, LeftOut

AUTO, OURS = "auto", "ours"
READERS: dict[str, Callable[[str], Iterator[Item | LeftOut]]] = {
    "markdown": markdown_bullets.items,
    "mem0": mem0.items,
    "mcp-memory": mcp_memory.items,
    "claude-mem": claude_mem.items,
    "basic-memory": basic_memory.items,
}
_HEAD = 1024 * 1024
_SQLITE = b"SQLite format 3\0"
_MARKDOWN = (".md", ".markdown", ".mdc")


def of(path: str) -> str:
    """The form of a file or folder: one of READERS, or OURS for anything that none of them is.

    Raises:
        Failure: IMPORT_FAILED where it cannot be read; MEMORY_INVALID_ARGS for an SQLite file that is not known.
    """
    if os.path.isdir(path):
        has_notes = any(name.endswith(".md") for _, _, names in os.walk(path) for name in names)
        return "basic-memory" if has_notes else OURS
    try:
        with open(path, "rb") as handle:
            head = handle.read(_HEAD)
    except OSError:
        return OURS  # whose reader says what is wrong
    if head.startswith(_SQLITE):
        with foreign_file.opened(path) as db:
            if claude_mem.is_store(db):
                return "claude-mem"
        raise usage(
            "MEMORY_INVALID_ARGS",
            f"{path} is an SQLite file, but not claude-mem's",
            f"export it as JSON or markdown: --format takes {', '.join(READERS)}",
        )
    if path.lower().endswith(_MARKDOWN):
        return "basic-memory" if basic_memory.is_note(head.decode("utf-8-sig", "replace")) else "markdown"
    return _of_json(path, head)


def _of_json(path: str, head: bytes) -> str:
    """By the first line, where it is a JSON value; else by the whole."""
    first = parsed(head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0])
    if mcp_memory.is_line(first):
        return "mcp-memory"
    if mem0.is_one(first) and "text" not in first:
        return "mem0"
    if isinstance(first, dict) and isinstance(first.get("text"), str):
        return OURS
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b"{"):
        return OURS
    if os.path.getsize(path) > MOST_JSON_BYTES:
        return OURS
    whole = parsed(read(path, MOST_JSON_BYTES))
    if mcp_memory.is_graph(whole):
        return "mcp-memory"
    found = mem0.entries(whole)
    return "mem0" if found and any(map(mem0.is_one, found)) else OURS
