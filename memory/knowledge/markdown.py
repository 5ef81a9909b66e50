"""Markdown files: finding and reading them; front matter, title, type, tags, status; their sections, their bullets.

Front matter is read as people write it: `key: value`, lists, folded texts; anything else is taken as text. A section
shorter than 80 characters is appended to the section above it, with its heading as a line. No line of the text is lost.
"""

import contextlib
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from core.files import read_file
from memory.knowledge import TYPE_NAMES, parse_type

ENDINGS = (".md", ".mdx", ".markdown")
MAX_BYTES = 2 * 1024 * 1024  # of a file
MAX_SECTION_CHARS = 1500  # of a section's text

_KEY = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*)|)$")

FrontMatter = dict[str, str | list[str]]


def files_below(folder: str, onerror: Callable[[OSError], object] | None = None) -> dict[str, os.stat_result]:
    """The Markdown files below a folder, in order, with their status; no hidden folders, `node_modules` or links.

    `onerror` is called for a folder that cannot be listed.
    """
    found = {}
    for here, folders, names in os.walk(folder, onerror=onerror):
        folders[:] = sorted(n for n in folders if n[0] != "." and n not in ("node_modules", "__pycache__"))
        for name in sorted(name for name in names if name[0] != "." and name.lower().endswith(ENDINGS)):
            path = os.path.join(here, name)
            with contextlib.suppress(OSError):
                found[path] = os.lstat(path)
    return {path: status for path, status in found.items() if stat.S_ISREG(status.st_mode)}


def text_of(path: str) -> str | None:
    """The text of a file (UTF-8) with plain line ends; None if it is binary, too large or cannot be read."""
    try:
        data = read_file(path, MAX_BYTES + 1)
    except OSError:
        return None
    if len(data) > MAX_BYTES or b"\0" in data[:8192]:
        return None
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "\ufffd")
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Section(NamedTuple):
    """A section: its headings from the outermost to its own, and its number among the pieces below them."""

    headings: tuple[str, ...]
    text: str
    ordinal: int


class MarkdownDocument(NamedTuple):
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
    if not title and len(parts) > 1 and body.lstrip().startswith("# "):
        title = parts[1][0][-1]
    title = " ".join((title or os.path.splitext(name)[0]).split())
    parts[0] = ((), f"{_text(front, 'description') or _text(front, 'summary')}\n\n{parts[0][1]}".strip())
    kind = _type(front, path, title)
    status = stated(front, body).get("status", "") if kind == "adr" else _text(front, "status")
    given = front.get("tags") or front.get("tag") or []
    listed = given if isinstance(given, list) else given.replace(",", " ").split()
    tags = [tag for tag in (tag.strip().lstrip("#") for tag in listed) if tag]
    is_stale = bool(re.match(r"(?i)[*_\s]*(?:superseded|deprecated)\b", status))
    return MarkdownDocument(title, kind, tags, _text(front, "category"), is_stale, _sections(parts))


def front_matter(text: str) -> tuple[FrontMatter, str]:
    """The keys (in lower case) between the `---` lines at the head of a text, and the text below them."""
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1:400], 1) if line.rstrip() in ("---", "...")), 0)
    inside = [line for line in lines[1:end] if line.strip() and not line.lstrip().startswith("#")]
    if lines[0].rstrip() != "---" or not inside or not _KEY.match(inside[0]):
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


@cache
def _blocks() -> Any:
    """The parser of blocks, imported when a text is read: it takes two bare starts of Python, as in `--help`."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("inline")


def _value(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [part for part in map(_unquoted, text[1:-1].split(",")) if part]
    return "" if text in (">", "|", ">-", "|-", "~", "null") else _unquoted(text)


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
    if any(re.match(r"(?i)adr[-_ #]*\d", text) for text in (name, title)):
        return "adr"
    nearest = reversed(folder.lower().split(os.sep)[-4:])  # a folder `patterns` further up is not about this file
    return next((TYPE_NAMES[part] for part in nearest if part in TYPE_NAMES), "note")


_Part = tuple[tuple[str, ...], str]  # the headings above a part, and the text below them


def _parts(text: str) -> list[_Part]:
    """A text without front matter, cut at its headings; the first part is what precedes them."""
    lines = text.split("\n")
    parts: list[_Part] = []
    above: dict[int, str] = {}  # level → heading
    at = 0
    for token, inside in pairwise(_blocks().parse(text)):
        if token.type == "heading_open" and not token.level and token.map is not None:
            parts.append((tuple(above.values()), "\n".join(lines[at : token.map[0]]).strip()))
            at, level = token.map[1], int(token.tag[1])
            above = {of: heading for of, heading in above.items() if of < level}
            above[level] = " ".join(inside.content.split())
    return [*parts, (tuple(above.values()), "\n".join(lines[at:]).strip())]


def _sections(parts: list[_Part]) -> list[Section]:
    """The parts as sections. A tiny part joins the part above; an empty heading is listed with its children."""
    kept: list[_Part] = []
    for (headings, body), (below, _) in zip(parts, [*parts[1:], ((), "")], strict=True):
        if not body and len(below) > len(headings):
            continue
        if len(body) < 80 and kept:  # too short to be found
            above, text = kept[-1]
            own = [title for title in headings if title not in above] or headings[-1:]
            kept[-1] = (above, "\n".join([text, "", *own, body]).strip())
        else:
            kept.append((headings, body or " ".join(headings)))
    sections: list[Section] = []
    counts: Counter[tuple[str, ...]] = Counter()
    for headings, body in kept:
        for piece in pieces(body):
            counts[headings] += 1
            sections.append(Section(headings, piece, counts[headings]))
    return sections


def pieces(text: str) -> list[str]:
    """A text in pieces of at most MAX_SECTION_CHARS, cut at the strongest separator possible, without blank ones."""
    cut = []
    while len(text) > MAX_SECTION_CHARS:
        ends = (text.rfind(separator, 1, MAX_SECTION_CHARS) for separator in ("\n\n", "\n", " "))
        end = next((end for end in ends if end > 0), MAX_SECTION_CHARS)
        cut.append(text[:end])
        text = text[end:].lstrip()
    return [piece for piece in [*cut, text] if piece.strip()]


# The bullets and short paragraphs of a file, which an import stores as memories


class Item(NamedTuple):
    """A bullet or paragraph in a line of a Markdown file, with the headings above it as context."""

    line: int
    text: str
    context: str


def items(text: str) -> Iterator[Item]:
    """Each bullet and paragraph in order, without code, tables, comments and front matter.

    What ends in ":" introduces what follows: a paragraph is its context, a bullet the beginning of the nested texts.
    """
    body = front_matter(text)[1]
    skipped = text.count("\n") - body.count("\n")
    body = re.sub(r"(?s)<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), body)
    above: list[tuple[int, str]] = []  # headings (depth -6 to -1), introducing paragraphs (0) and bullets (1 or more)
    depth = 0
    opened: Any = None
    for token in _blocks().parse(body):
        if token.type in ("list_item_open", "list_item_close"):
            depth += 1 if token.type == "list_item_open" else -1
        elif token.type != "inline":
            opened = token
        elif opened.type in ("heading_open", "paragraph_open") and token.map:
            content = " ".join(token.content.split())
            content = re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", content)
            content = re.sub(r"^\[[ xX-]\]\s+", "", content)  # the box of a task
            is_heading = opened.type == "heading_open"
            own_depth = int(opened.tag[1]) - 7 if is_heading else depth
            above = [entry for entry in above if entry[0] < own_depth]
            if is_heading or content.endswith(":"):
                above.append((own_depth, content))
            elif content:
                introduced = [text for at, text in above if at > 0]
                context = " > ".join(text for at, text in above if at <= 0)
                yield Item(skipped + token.map[0] + 1, " ".join([*introduced, content]), context)
