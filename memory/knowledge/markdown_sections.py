"""A markdown text → its sections: one for each heading that has enough of a body.

Headings are those of CommonMark: `#` to `######`, and lines underlined with `=` or `-`; what stands in a code fence is
no heading. A section shorter than `TINY` goes into the one above it, with its heading as a line; one longer than
`LONGEST` is cut between paragraphs, then between lines, then between words. No line of the text is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LONGEST = 1500
"""Characters of a section's text."""
TINY = 80
"""Characters below which a section has nothing to be found by on its own."""
_HEADING_LINES = 3
_HEADING_CHARS = 200

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
# What begins a block in which no line can be underlined: lists, quotes, tables, HTML, indented code.
_NO_PARAGRAPH = re.compile(r" {0,3}(?:[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|>|\||<)|(?: {4}|\t)")


@dataclass(frozen=True)
class Section:
    """One piece of a text.

    Args:
        headings: from the outermost to its own; empty for what stands before the first.
        text: its body, never blank, at most LONGEST characters.
        ordinal: 1, 2 … among the pieces with the same headings.
    """

    headings: tuple[str, ...]
    text: str
    ordinal: int


@dataclass
class _Node:
    headings: tuple[str, ...]
    level: int
    parent: _Node | None
    lines: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    """Texts of tiny sections below, the last one first."""
    has_sections: bool = False

    def body(self) -> str:
        own = "\n".join(self.lines).strip()
        return "\n\n".join(part for part in (own, *reversed(self.merged)) if part)


def split(text: str) -> list[Section]:
    """The sections of a text without front matter, in order. Never raises."""
    nodes = _nodes(_lines(text))
    kept: list[tuple[tuple[str, ...], str]] = []
    for node in reversed(nodes):  # what is below a heading comes before it
        body = node.body()
        if node.parent is None:
            if body:
                kept.append((node.headings, body))
            continue
        node.parent.has_sections = node.parent.has_sections or node.has_sections
        if len(body) >= TINY:
            kept.append((node.headings, body))
            node.parent.has_sections = True
        elif body or not node.has_sections:  # else the sections below it carry its heading
            node.parent.merged.append(f"{node.headings[-1]}\n{body}".strip())
    kept.reverse()
    sections: list[Section] = []
    counted: dict[tuple[str, ...], int] = {}
    for headings, body in kept:
        for part in pieces(body):
            counted[headings] = counted.get(headings, 0) + 1
            sections.append(Section(headings, part, counted[headings]))
    return sections


def first_heading(text: str) -> str:
    """The first heading of the text where that is one of the first level, else ""."""
    nodes = _nodes(_lines(text))
    return nodes[1].headings[-1] if len(nodes) > 1 and nodes[1].level == 1 else ""


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _nodes(lines: list[str]) -> list[_Node]:
    node = _Node((), 0, None)
    nodes = [node]
    fence = ""
    run = 0  # lines of the paragraph that may be underlined next; -1 inside another block

    def begin(level: int, heading: str) -> _Node:
        above = node
        while above.level >= level and above.parent is not None:
            above = above.parent
        made = _Node((*above.headings, heading), level, above)
        nodes.append(made)
        return made

    for line in lines:
        if fence:
            node.lines.append(line)
            marks = line.strip()
            if marks and marks[0] == fence[0] and not marks.strip(fence[0]) and len(marks) >= len(fence):
                fence = ""
            continue
        opened = _FENCE.match(line)
        heading = None if opened else _ATX.match(line)
        underline = None if opened or heading or run < 1 else _UNDERLINE.match(line)
        if opened:
            fence = opened[1] or opened[2]
            node.lines.append(line)
            run = 0
        elif heading:
            node = begin(len(heading[1]), _plain(_CLOSING_HASHES.sub("", heading[2] or "")))
            run = 0
        elif underline and _may_be_heading(node.lines[-run:]):
            words = _plain(" ".join(node.lines[-run:]))
            del node.lines[-run:]
            node = begin(1 if underline[1][0] == "=" else 2, words)
            run = 0
        else:
            node.lines.append(line)
            run = 0 if underline else _after(line, run)
    return nodes


def _after(line: str, run: int) -> int:
    """How long the paragraph is with this line; -1 where it is none."""
    if not line.strip():
        return 0
    if run < 0 or (_NO_PARAGRAPH.match(line) and not (run > 0 and line[0] in " \t")):
        return -1
    return run + 1


def _may_be_heading(lines: list[str]) -> bool:
    return len(lines) <= _HEADING_LINES and sum(map(len, lines)) <= _HEADING_CHARS


def _plain(heading: str) -> str:
    return " ".join(heading.split())


def pieces(body: str) -> list[str]:
    """A text as pieces of at most LONGEST characters, cut where it hurts least; blank ones are left out."""
    if len(body) <= LONGEST:
        return [body] if body.strip() else []
    found: list[str] = []
    current = ""
    for block in _blocks(body):
        for part in [block] if len(block) <= LONGEST else _cut(block):
            joined = f"{current}\n\n{part}" if current else part
            if len(joined) > LONGEST:
                found.append(current)
                joined = part
            current = joined
    return [*found, current] if current else found


def _blocks(body: str) -> list[str]:
    """Paragraphs; a code fence is one."""
    blocks: list[list[str]] = [[]]
    fence = ""
    for line in body.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            marks = line.strip()
            if opened and marks[0] == fence[0] and not marks.strip(fence[0]) and len(marks) >= len(fence):
                fence = ""
        elif opened:
            fence = opened[1] or opened[2]
        elif not line.strip():
            blocks.append([])
            continue
        blocks[-1].append(line)
    return ["\n".join(block) for block in blocks if "".join(block).strip()]


def _cut(block: str) -> list[str]:
    """A paragraph that is too long, between lines if it can be, else between words, else anywhere."""
    parts: list[str] = []
    current = ""
    for line in block.split("\n"):
        while len(line) > LONGEST:
            at = max(line.rfind(" ", LONGEST // 2, LONGEST), line.rfind("\t", LONGEST // 2, LONGEST))
            head, line = (line[:at], line[at + 1 :]) if at > 0 else (line[:LONGEST], line[LONGEST:])
            parts += [part for part in (current, head) if part.strip()]
            current = ""
        joined = f"{current}\n{line}" if current else line
        if len(joined) > LONGEST:
            parts.append(current)
            joined = line
        current = joined
    return [*parts, current] if current.strip() else parts
