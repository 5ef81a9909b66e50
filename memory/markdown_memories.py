"""Memories in markdown, as items: the bullets of CLAUDE.md and its like, and the notes of basic-memory."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt

from core.errors import Failure
from core.project import repository_of
from memory.knowledge.markdown import front_matter
from memory.other_stores import Item, LeftOut, Pieces, read, tags_of

MOST_BYTES = 4 * 1024 * 1024
MOST_FILES = 10_000
_LONGEST_PARAGRAPH = 600
_BLOCKS = MarkdownIt("commonmark").enable("table").disable("inline")
_TASK = re.compile(r"\[[ xX-]\]\s+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_IMPORT = re.compile(r"@[\w~./-]+$")
_OBSERVATION = re.compile(r"\[([^\[\]()]+)\]\s+(.+)$")
_RELATION = re.compile(r"""(?:"([^"]+)"|'([^']+)'|(\S+))\s+\[\[(.+?)\]\]\s*(\([^()]*\))?$""")
_NO_CATEGORY = re.compile(r"[\W_xX]?$|\d{1,3}:\d{2}(:\d{2})?([.,]\d+)?(\s+-\s+\S+)?$")
"""A task's mark, or a time of a transcript."""
_KNOWN = {
    "preference": "preferences", "preferences": "preferences", "rule": "rules", "rules": "rules",
    "convention": "rules", "architecture": "architecture", "design": "architecture", "project": "projects",
    "person": "people", "people": "people",
}  # fmt: skip
"""Categories of notes that are categories here; any other is a tag alone."""


@dataclass
class _Piece:
    """A bullet (`depth` of 1 or more), a paragraph (0) or a heading (its level below 0), on one line."""

    line: int
    depth: int
    text: str


def _pieces(text: str) -> tuple[dict[str, Any], list[_Piece]]:
    """The front matter, and what is said, in order: no code, no tables, no comments."""
    front, body = front_matter(text)
    before = text.count("\n") - body.count("\n")
    body = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), body)
    found: list[_Piece] = []
    depth = 0
    starts = False  # a list item, whose first paragraph is next
    opened: Any = None
    for token in _BLOCKS.parse(body):
        if token.type in ("list_item_open", "list_item_close"):
            starts = token.type == "list_item_open"
            depth += 1 if starts else -1
        elif token.type != "inline":
            opened = token
        elif opened.type in ("heading_open", "paragraph_open") and token.map:
            said = " ".join(token.content.split())
            if depth and not starts and found and found[-1].depth == depth:
                found[-1].text += f" {said}"
            else:
                level = -int(opened.tag[1]) if opened.type == "heading_open" else depth
                found.append(_Piece(before + token.map[0] + 1, level, said))
            starts = False
    return front, found


def _text(path: str) -> str:
    """A whole text file; bytes that are not UTF-8 become U+FFFD.

    Raises:
        Failure: IMPORT_FAILED where it cannot be read, holds NUL, or more than a tenth of it is not UTF-8.
    """
    data = read(path, MOST_BYTES)
    text = data.decode("utf-8-sig", "replace")
    if b"\0" in data or text.count("\ufffd") * 10 > len(text):
        raise Failure("IMPORT_FAILED", f"{path} is no text file", "name a file of markdown in UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def bullets(path: str) -> Pieces:
    """Each bullet and each short paragraph; the project is that of the repository in which the file lies.

    A bullet that ends in a colon stands in front of those below it; a paragraph that does is one of their headings.
    """
    name = os.path.basename(path)
    project = repository_of(os.path.dirname(os.path.abspath(path)))
    headings: list[_Piece] = []
    above: list[_Piece] = []
    found = _pieces(_text(path))[1]
    for piece, behind in zip(found, [*found[1:], None], strict=False):
        text = _TASK.sub("", _STRONG.sub(r"\2", piece.text), count=1).strip()
        piece.text = text
        if piece.depth < 0:
            headings = [*(one for one in headings if one.depth > piece.depth), piece]
            above = []
            continue
        above = [one for one in above if one.depth < piece.depth]
        where = f"line {piece.line}"
        if text.endswith(":") and behind is not None and behind.depth > piece.depth:
            above.append(piece)
        elif _IMPORT.match(text):
            yield LeftOut(where, "names another file: import that one too", text)
        elif not piece.depth and len(text) > _LONGEST_PARAGRAPH:
            yield LeftOut(where, "a long paragraph; `knowledge sync` takes whole documents", text)
        elif text:
            told = " ".join([*(one.text for one in above if one.depth), text])
            context = " > ".join(one.text for one in [*headings, *above] if not one.depth > 0)
            yield Item(told, where, f"{name}\0{told}", (name,), context, project=project)


def is_note(text: str) -> bool:
    """Whether a markdown file is a note of basic-memory: a permalink in front, and observations or relations."""
    front, found = _pieces(text)
    return "permalink" in front and any(piece.depth > 0 and any(_matched(piece.text)) for piece in found)


def _matched(text: str) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    """The observation or the relation that a bullet is; not a task, nor a time of a transcript."""
    observation = _OBSERVATION.match(text)
    if observation and _NO_CATEGORY.match(observation[1].strip()):
        observation = None
    return observation, None if observation else _RELATION.match(text)


def notes(path: str) -> Pieces:
    """`- [category] text #tag (context)` and `- type [[Target]]` of a note, or of the notes in a folder.

    Links to files are not followed, and prose is left out.
    """
    if not os.path.isdir(path):
        yield from _of_note(path, os.path.basename(path))
        return
    taken = 0
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            whole = os.path.join(folder, name)
            if not name.endswith(".md") or os.path.islink(whole):
                continue
            taken += 1
            if taken > MOST_FILES:
                yield LeftOut(os.path.relpath(whole, path), f"over {MOST_FILES:,} notes: import its folders one by one")
                return
            yield from _of_note(whole, os.path.relpath(whole, path))


def _of_note(path: str, shown: str) -> Pieces:
    front, found = _pieces(_text(path))
    title = front.get("title") or os.path.splitext(os.path.basename(path))[0]
    own = front.get("permalink") or title
    listed = front.get("tags", "")
    tags = ["basic-memory", *(listed if isinstance(listed, list) else (tag.strip() for tag in listed.split(",")))]
    is_empty = True
    for piece in found:
        observation, relation = _matched(piece.text) if piece.depth > 0 else (None, None)
        where = f"{shown}, line {piece.line}"
        if observation is not None:
            category = observation[1].strip()
            text, named = _observation(observation[2].strip())
            yield Item(
                text, where, f"{own}\0{category}\0{text}", tags_of([*tags, category, *named]), title,
                _KNOWN.get(category.lower(), ""),
            )  # fmt: skip
        elif relation is not None:
            kind = next(one for one in relation.group(1, 2, 3) if one)
            said = f"{title} {kind.replace('_', ' ')} {relation[4].partition('|')[0].strip()}"
            full = f"{said} {relation[5]}" if relation[5] else said
            yield Item(full, where, f"{own}\0{said}", tags_of([*tags, "relation"]))
        is_empty = is_empty and not (observation or relation)
    if is_empty:
        yield LeftOut(shown, "a note without observations or relations; `knowledge sync` takes whole documents")


def _observation(said: str) -> tuple[str, list[str]]:
    """What is observed, without the tags at its end, and all its tags; `(context)` behind them stays."""
    start = said.rfind(" (") if said.endswith(")") else -1
    words, around = (said[:start].split(), said[start:].split()) if start > 0 else (said.split(), [])
    named = [one for word in words if word.startswith("#") for one in word.split("#") if one]
    while words and words[-1].startswith("#"):
        words.pop()
    return " ".join([*words, *around]) or said, named
