"""CLAUDE.md, AGENTS.md and their like: each bullet and each short paragraph is a memory, its headings around it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.project import repository_of
from memory.other_stores.item import Item, LeftOut, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 4 * 1024 * 1024
_LONGEST_PARAGRAPH = 600
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.*)$")
_TASK = re.compile(r"\[[ xX-]\]\s+")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_IMPORT = re.compile(r"@[\w~./-]+$")


@dataclass
class _Piece:
    """A bullet (`indent` of 0 or more) or a paragraph (-1), in the words of its lines."""

    line: int
    indent: int
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """On one line, without the marks of emphasis."""
        return _STRONG.sub(r"\2", " ".join(self.words)).strip()


def items(path: str) -> Iterator[Item | LeftOut]:
    """The memories of a file, in its order; the project is that of the repository in which it lies.

    Code blocks, tables, comments and the front matter are no memories. A bullet that ends in a colon stands in front
    of those below it; a paragraph that does is one of their headings.

    Raises:
        Failure: IMPORT_FAILED.
    """
    name = os.path.basename(path)
    project = repository_of(os.path.dirname(os.path.abspath(path)))
    for piece in pieces(read_text(path, MOST_BYTES)):
        if isinstance(piece, LeftOut):
            yield piece
        else:
            headings, line, text = piece
            yield Item(text, f"line {line}", f"{name}\0{text}", (name,), " > ".join(headings), project=project)


def pieces(text: str) -> Iterator[tuple[tuple[str, ...], int, str] | LeftOut]:
    """Headings, number of the line and text of each bullet and short paragraph."""
    headings: list[tuple[int, str]] = []
    waiting: list[_Piece] = []

    def section() -> Iterator[tuple[tuple[str, ...], int, str] | LeftOut]:
        yield from _told(waiting, tuple(heading for _, heading in headings))
        waiting.clear()

    fence = ""
    inside = False  # of a piece, which the next line may go on with
    for number, line in enumerate(_plain(text), 1):
        mark = _FENCE.match(line)
        if fence or mark:
            if mark and not fence:
                fence = mark[1]
            elif mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            inside = False
            continue
        heading, bullet = _HEADING.match(line), _BULLET.match(line)
        if heading:
            yield from section()
            level = len(heading[1])
            headings = [one for one in headings if one[0] < level] + [(level, _STRONG.sub(r"\2", heading[2]))]
            inside = False
        elif bullet:
            indent = len(bullet[1].expandtabs(4))
            waiting.append(_Piece(number, indent, [_TASK.sub("", bullet[2], count=1)]))
            inside = True
        elif not line.strip() or line.lstrip()[0] in "|" or set(line.strip()) <= set("-=*_ "):
            inside = False
        elif inside or (waiting and waiting[-1].indent >= 0 and line[:2].isspace()):
            waiting[-1].words.append(line.strip())
            inside = True
        elif not line.startswith(("    ", "\t")):
            waiting.append(_Piece(number, -1, [line.strip().lstrip("> ")]))
            inside = True
    yield from section()


def _plain(text: str) -> list[str]:
    """The lines without the front matter and comments; each keeps its number."""
    lines = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text).splitlines()
    if lines and lines[0].rstrip() == "---":
        for end, line in enumerate(lines[1:], 1):
            if line.rstrip() in ("---", "..."):
                return [""] * (end + 1) + lines[end + 1 :]
    return lines


def _told(found: list[_Piece], headings: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int, str] | LeftOut]:
    """The pieces of a section; what ends in a colon is not told by itself where something stands below it."""
    above: list[_Piece] = []
    for at, piece in enumerate(found):
        above = [one for one in above if one.indent < piece.indent]
        behind = found[at + 1] if at + 1 < len(found) else None
        where = f"line {piece.line}"
        if piece.text.endswith(":") and behind is not None and behind.indent > piece.indent:
            above.append(piece)
        elif _IMPORT.match(piece.text):
            yield LeftOut(where, "names another file: import that one too", piece.text)
        elif piece.indent < 0 and len(piece.text) > _LONGEST_PARAGRAPH:
            yield LeftOut(where, "a long paragraph; `knowledge sync` takes whole documents", piece.text)
        elif piece.text:
            told = " ".join([*(one.text for one in above if one.indent >= 0), piece.text])
            yield (*headings, *(one.text for one in above if one.indent < 0)), piece.line, told
