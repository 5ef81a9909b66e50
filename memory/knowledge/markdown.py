"""Markdown files: finding and reading them; front matter, title, type, tags, status; their sections, their bullets.

Front matter is read as people write it: `key: value`, lists, folded texts; anything else is taken as text. A section
shorter than 80 characters is appended to the section above it, with its heading as a line. No line of the text is lost.
"""

import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from typing import Any

from markdown_it import MarkdownIt

from core.files import read_file
from memory.knowledge import TYPE_NAMES, parse_type

ENDINGS = (".md", ".mdx", ".markdown")
MAX_BYTES = 2 * 1024 * 1024  # of a file that is synced
MAX_SECTION_CHARS = 1500  # of a section's text

_KEY = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*)|)$")
_BLOCKS = MarkdownIt("commonmark").enable("table").disable("inline")

FrontMatter = dict[str, str | list[str]]
_Part = tuple[list[tuple[int, str]], str]  # the headings above a part, with their levels, and the text below them


@dataclass
class Files:
    """The files below a folder: path → status, in order; and the skipped ones, as (path, reason)."""

    files: dict[str, os.stat_result] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # folders that could not be listed
    complete: bool = True


def files_below(folder: str, *, until: float | None = None) -> Files:
    """The Markdown files below a folder, until `time.monotonic()`; no hidden folders, `node_modules` or links."""
    files = Files()

    def note_unlisted(error: OSError) -> None:
        files.problems.append((error.filename, f"cannot be listed: {error.strerror}"))
        files.unread.append(error.filename)

    for here, folders, names in os.walk(folder, onerror=note_unlisted):
        if until is not None and time.monotonic() > until:
            files.complete = False
            break
        folders[:] = sorted(n for n in folders if n[0] != "." and n not in ("node_modules", "__pycache__"))
        linked = [name for name in folders if os.path.islink(os.path.join(here, name))]
        notes = [name for name in names if name[0] != "." and name.lower().endswith(ENDINGS)]
        for name in sorted([*linked, *notes]):
            path = os.path.join(here, name)
            try:
                status = os.lstat(path)
            except OSError as error:
                note_unlisted(error)
                continue
            if stat.S_ISREG(status.st_mode):
                files.files[path] = status
            elif not stat.S_ISLNK(status.st_mode):
                files.problems.append((path, "not a regular file"))
            elif not is_below(os.path.realpath(path), folder):
                files.problems.append((path, "a link that leads out of the folder is not followed"))
    return files


def is_below(path: str, folder: str) -> bool:
    """Whether a path is the folder or in it; both real paths, or neither."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def read(path: str, most: int = MAX_BYTES) -> tuple[bytes, bool]:
    """The first bytes of a file, and whether there are more. Raises OSError."""
    data = read_file(path, most + 1)
    return data[:most], len(data) > most


def decode(data: bytes) -> str | None:
    """Bytes as text: UTF-8 (U+FFFD for invalid bytes) or UTF-16 with its mark; None for binary data."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").removeprefix("\ufeff")
    if b"\0" in data[:8192]:
        return None
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "\ufffd")


def text_of(path: str) -> str | None:
    """The text of a file; None if it is binary or cannot be read."""
    try:
        return decode(read(path)[0])
    except OSError:
        return None


@dataclass(frozen=True)
class Section:
    """A section: its headings from the outermost to its own, and its number among the pieces below them."""

    headings: tuple[str, ...]
    text: str
    ordinal: int


@dataclass(frozen=True)
class MarkdownDocument:
    """An indexed file. `stale`: its status is superseded or deprecated."""

    title: str
    type: str
    tags: list[str]
    category: str
    stale: bool
    sections: list[Section]

    def section_title(self, section: Section) -> str:
        """`File title › Heading › Heading`, with the number of the piece from the second on."""
        headings = section.headings[1:] if section.headings[:1] == (self.title,) else section.headings
        number = f" ({section.ordinal})" if section.ordinal > 1 else ""
        return " › ".join([self.title, *filter(None, headings)]) + number


def parse(text: str, path: str) -> MarkdownDocument:
    """The text of the file at `path`, whose name and folders also say what it is. Never raises."""
    front, body = front_matter(text)
    parts = _parts(body)
    name = os.path.basename(path)
    title = _text(front, "title") or (_text(front, "name") if name.lower() == "skill.md" else "")
    if not title and len(parts) > 1 and parts[1][0][0][0] == 1:
        title = parts[1][0][0][1]
    title = " ".join((title or os.path.splitext(name)[0]).split())
    parts[0] = ([], f"{_text(front, 'description') or _text(front, 'summary')}\n\n{parts[0][1]}".strip())
    kind = _type(front, path, title)
    status = stated(front, body).get("status", "") if kind == "adr" else _text(front, "status")
    tags = front.get("tags") or front.get("tag") or []
    listed = tags if isinstance(tags, list) else tags.replace(",", " ").split()
    return MarkdownDocument(
        title=title,
        type=kind,
        tags=[tag for tag in (tag.strip().lstrip("#") for tag in listed) if tag],
        category=_text(front, "category"),
        stale=bool(re.match(r"(?i)[*_\s]*(?:superseded|deprecated)\b", status)),
        sections=_sections(parts),
    )


def front_matter(text: str) -> tuple[FrontMatter, str]:
    """The keys (in lower case) between the `---` lines at the head of a text, and the text below them."""
    lines = _with_plain_ends(text).split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:400], 1) if line.rstrip() in ("---", "...")), 0)
    inside = [line for line in lines[1:end] if line.strip() and not line.lstrip().startswith("#")]
    if not end or (any(map(str.strip, lines[1:end])) and not any(map(_KEY.match, inside[:1]))):
        return {}, text
    front: FrontMatter = {}
    key = ""
    for line in inside:
        value = front.get(key, "")
        if named := _KEY.match(line):
            key = named[1].strip().lower()
            front[key] = _value((named[2] or "").strip())
        elif item := re.match(r"[ \t]*-[ \t]+(.*)$", line):
            front[key] = [*(value if isinstance(value, list) else filter(None, [value])), _unquoted(item[1])]
        elif line[0] in " \t" and isinstance(value, str):
            front[key] = f"{value} {line.strip()}".strip()
    return front, "\n".join(lines[end + 1 :])


def stated(front: FrontMatter, body: str) -> dict[str, str]:
    """Title, status and date of a note: from its front matter, else from a line `Status: …` or a heading Status."""
    declared = {key: value for key in ("title", "status", "date") if (value := _text(front, key))}
    lines = [line for line in body.split("\n", 400)[:400] if line.strip()]
    for line in lines[:30]:
        if match := re.match(r"(?i)[-*+ \t]*(status|date)[*_ \t]*:[*_ \t]*(.+)$", line):
            declared.setdefault(match[1].lower(), match[2].strip("*_ \t"))
    for line, below in pairwise(lines):
        if line.startswith("#") and line.lstrip("# \t").strip().lower() == "status":
            declared.setdefault("status", below.strip())
    return declared


def _value(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [part for part in map(_unquoted, text[1:-1].split(",")) if part]
    return "" if text in (">", "|", ">-", "|-", ">+", "|+", "~", "null") else _unquoted(text)


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _text(front: FrontMatter, key: str) -> str:
    value = front.get(key, "")
    return (value if isinstance(value, str) else ", ".join(value)).strip()


def _type(front: FrontMatter, path: str, title: str) -> str:
    """The type that the front matter states, else the type by the file's name, else by its nearest folders."""
    folder, name = os.path.split(path)
    if declared := parse_type(_text(front, "type")):
        return declared
    if name.lower() == "skill.md":
        return "skill"
    if "adr" in front or any(re.match(r"(?i)adr[-_ #]*\d", text) for text in (name, title, _text(front, "id"))):
        return "adr"
    nearest = reversed(folder.lower().split(os.sep)[-4:])  # a folder `patterns` further up is not about this file
    return next((TYPE_NAMES[part] for part in nearest if part in TYPE_NAMES), "note")


def _parts(text: str) -> list[_Part]:
    """A text without front matter, cut at its headings."""
    text = _with_plain_ends(text)
    lines = text.split("\n")
    parts: list[_Part] = []
    above: list[tuple[int, str]] = []
    at = 0
    for token, inside in pairwise(_BLOCKS.parse(text)):
        if token.type == "heading_open" and not token.level and token.map is not None:
            parts.append((above, "\n".join(lines[at : token.map[0]]).strip()))
            at, level = token.map[1], int(token.tag[1])
            title = " ".join(inside.content.split())
            above = [*(heading for heading in above if heading[0] < level), (level, title)]
    return [*parts, (above, "\n".join(lines[at:]).strip())]


def _sections(parts: list[_Part]) -> list[Section]:
    """The parts as sections. A tiny part joins the part above; an empty heading is listed with its children."""
    kept: list[tuple[tuple[str, ...], str]] = []
    for (above, body), (below, _) in zip(parts, [*parts[1:], ([], "")], strict=False):
        if not body and len(below) > len(above):
            continue
        headings = tuple(title for _, title in above)
        if len(body) < 80 and kept:  # too short to be found
            own = [title for title in headings if title not in kept[-1][0]] or headings[-1:]
            kept[-1] = (kept[-1][0], "\n".join([kept[-1][1], "", *own, body]).strip())
        else:
            kept.append((headings, body or " ".join(headings)))
    sections: list[Section] = []
    counts: dict[tuple[str, ...], int] = {}
    for headings, body in kept:
        for piece in pieces(body):
            counts[headings] = counts.get(headings, 0) + 1
            sections.append(Section(headings, piece, counts[headings]))
    return sections


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def pieces(text: str, separators: tuple[str, ...] = ("\n\n", "\n", " ")) -> list[str]:
    """A text in pieces of at most MAX_SECTION_CHARS, cut at the strongest separator possible, without blank ones."""
    if len(text) <= MAX_SECTION_CHARS:
        return [text] if text.strip() else []
    if not separators:
        return [text[at : at + MAX_SECTION_CHARS] for at in range(0, len(text), MAX_SECTION_CHARS)]
    parts = [""]
    for part in text.split(separators[0]):
        joined = f"{parts[-1]}{separators[0]}{part}" if parts[-1].strip() else part
        if len(joined) <= MAX_SECTION_CHARS:
            parts[-1] = joined
        else:
            parts.append(part)
    return [piece for part in parts for piece in pieces(part, separators[1:])]


# The bullets and short paragraphs of a file, which an import stores as memories


@dataclass(frozen=True)
class Item:
    """A bullet or paragraph of a Markdown file; `left_out` says why it is not a memory."""

    line: int
    text: str
    context: str = ""
    left_out: str = ""

    @property
    def where(self) -> str:
        """Where to find it in the file, for people."""
        return f"line {self.line}"


def items(text: str, max_paragraph_chars: int = 600) -> Iterator[Item]:
    """Each bullet and paragraph, with the headings above it as context, in order.

    A bullet that ends in ":" introduces the ones nested below it: it becomes the beginning of their texts.
    """
    headings: list[_Block] = []
    parents: list[_Block] = []
    blocks = _blocks(text)
    for block, following in zip_longest(blocks, blocks[1:]):
        without_bold = re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", block.text)
        content = re.sub(r"\[[ xX-]\]\s+", "", without_bold, count=1).strip()  # without the box of a task
        if block.is_heading:
            headings = [*(heading for heading in headings if heading.depth < block.depth), block]
            parents = []
            continue
        parents = [parent for parent in parents if parent.depth < block.depth]
        has_nested = following is not None and not following.is_heading and following.depth > block.depth
        if content.endswith(":") and has_nested:
            parents.append(_Block(block.line, block.depth, content))
        elif re.match(r"@[\w~./-]+$", content):
            yield Item(block.line, content, left_out="refers to another file: import that one too")
        elif not block.depth and len(content) > max_paragraph_chars:
            yield Item(block.line, content, left_out="a long paragraph; `knowledge sync` takes whole documents")
        elif content:
            introduced = [parent.text for parent in parents if parent.depth]
            above = [heading.text for heading in headings] + [parent.text for parent in parents if not parent.depth]
            yield Item(block.line, " ".join([*introduced, content]), " > ".join(above))


@dataclass
class _Block:
    """A heading (`depth`: its level), a bullet (`depth` 1 or more) or a paragraph (`depth` 0), as one line of text."""

    line: int
    depth: int
    text: str
    is_heading: bool = False


def _blocks(text: str) -> list[_Block]:
    """The headings, bullets and paragraphs of a Markdown text, without code, tables, comments and front matter."""
    body = front_matter(text)[1]
    skipped = text.count("\n") - body.count("\n")
    body = re.sub(r"(?s)<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), body)
    blocks: list[_Block] = []
    depth = 0
    is_new_bullet = False
    opened: Any = None
    for token in _BLOCKS.parse(body):
        if token.type in ("list_item_open", "list_item_close"):
            is_new_bullet = token.type == "list_item_open"
            depth += 1 if is_new_bullet else -1
        elif token.type != "inline":
            opened = token
        elif opened.type in ("heading_open", "paragraph_open") and token.map:
            content = " ".join(token.content.split())
            is_heading = opened.type == "heading_open"
            if depth and not is_new_bullet and blocks and (blocks[-1].depth, blocks[-1].is_heading) == (depth, False):
                blocks[-1].text += f" {content}"  # a second paragraph of the same bullet
            else:
                level = int(opened.tag[1]) if is_heading else depth
                blocks.append(_Block(skipped + token.map[0] + 1, level, content, is_heading))
            is_new_bullet = False
    return blocks
