"""What a markdown file is: front matter, title, type, tags, whether it still holds, and its sections.

Front matter is read as people write it, `key: value`, lists, folded texts; a value that is not understood is text. A
section shorter than `TINY` goes into the one above it, with its heading as a line. No line of the text is lost.
"""

import os
import re
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt

from memory.knowledge.search import TYPE_NAMES, parse_type

LONGEST = 1500  # characters of a section's text
TINY = 80  # characters below which a section has nothing to be found by on its own
_FRONT_LINES = 400
_STATUS_LINES = 30
_NEAREST = 4
"""Folders above a file that may say what it is; `patterns` in the name of a home does not."""
_FOLDER_TYPES = {**TYPE_NAMES, "lesson": "lesson", "pattern": "pattern", "retro": "retro", "runbook": "runbook"}
_KEY = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*)|)$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")
_ADR = re.compile(r"adr[-_ #]*\d", re.IGNORECASE)
_FIELD = re.compile(r"[-*+ \t]*(status|date)[*_ \t]*:[*_ \t]*(.+)$", re.IGNORECASE)
_OVER = re.compile(r"[*_\s]*(?:superseded|deprecated)\b", re.IGNORECASE)
_BLOCKS = MarkdownIt("commonmark").enable("table").disable("inline")

FrontMatter = dict[str, str | list[str]]


@dataclass(frozen=True)
class Section:
    """One piece of a text: the headings from the outermost to its own, and its number among those with the same."""

    headings: tuple[str, ...]
    text: str
    ordinal: int


@dataclass(frozen=True)
class MarkdownDocument:
    """A file as it is indexed. `stale`: it says of itself that it is superseded or deprecated."""

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
    """The text of the file at `path` (read for its name and folders only). Never raises."""
    front, body = front_matter(text)
    parts = _parts(body)
    name = os.path.basename(path)
    title = _one(front, "title") or (_one(front, "name") if name.lower() == "skill.md" else "")
    if not title and len(parts) > 1 and parts[1][0][0][0] == 1:
        title = parts[1][0][0][1]
    title = " ".join((title or os.path.splitext(name)[0]).split())
    parts[0] = ([], f"{_one(front, 'description') or _one(front, 'summary')}\n\n{parts[0][1]}".strip())
    kind = _type(front, path, title)
    status = told(front, body).get("status", "") if kind == "adr" else _one(front, "status")
    tags = front.get("tags") or front.get("tag") or []
    listed = tags if isinstance(tags, list) else tags.replace(",", " ").split()
    return MarkdownDocument(
        title=title,
        type=kind,
        tags=[tag for tag in (tag.strip().lstrip("#") for tag in listed) if tag],
        category=_one(front, "category"),
        stale=bool(_OVER.match(status)),
        sections=_sections(parts),
    )


def front_matter(text: str) -> tuple[FrontMatter, str]:
    """The keys (lower case) between `---` lines at the head of a text, if the first has one; and the text behind."""
    lines = _plain_ends(text).split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:_FRONT_LINES], 1) if line.rstrip() in ("---", "...")), 0)
    inside = [line for line in lines[1:end] if line.strip() and not line.lstrip().startswith("#")]
    if not end or (any(map(str.strip, lines[1:end])) and not any(map(_KEY.match, inside[:1]))):
        return {}, text
    found: FrontMatter = {}
    key = ""
    for line in inside:
        held = found.get(key, "")
        if named := _KEY.match(line):
            key = named[1].strip().lower()
            found[key] = _value((named[2] or "").strip())
        elif item := _ITEM.match(line):
            found[key] = [*(held if isinstance(held, list) else filter(None, [held])), _unquoted(item[1])]
        elif line[0] in " \t" and isinstance(held, str):
            found[key] = f"{held} {line.strip()}".strip()
    return found, "\n".join(lines[end + 1 :])


def told(front: FrontMatter, body: str) -> dict[str, str]:
    """Title, status and date of a note: its front matter's, else of lines `Status: accepted`, or below a heading."""
    found = {key: value for key in ("title", "status", "date") if (value := _one(front, key))}
    lines = [line for line in body.split("\n", 400)[:400] if line.strip()]
    for line in lines[:_STATUS_LINES]:
        if match := _FIELD.match(line):
            found.setdefault(match[1].lower(), match[2].strip("*_ \t"))
    for line, below in pairwise(lines):
        if line.startswith("#") and line.lstrip("# \t").strip().lower() == "status":
            found.setdefault("status", below.strip())
    return found


def _value(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [part for part in map(_unquoted, text[1:-1].split(",")) if part]
    return "" if text in (">", "|", ">-", "|-", ">+", "|+", "~", "null") else _unquoted(text)


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _one(front: FrontMatter, key: str) -> str:
    value = front.get(key, "")
    return (value if isinstance(value, str) else ", ".join(value)).strip()


def _type(front: FrontMatter, path: str, title: str) -> str:
    """Front matter first, then the file's name, then the folder nearest to it."""
    folder, name = os.path.split(path)
    if declared := parse_type(_one(front, "type")):
        return declared
    if name.lower() == "skill.md":
        return "skill"
    if "adr" in front or any(map(_ADR.match, (name, title, _one(front, "id")))):
        return "adr"
    above = reversed(folder.lower().split(os.sep)[-_NEAREST:])
    return next((_FOLDER_TYPES[one] for one in above if one in _FOLDER_TYPES), "note")


_Part = tuple[list[tuple[int, str]], str]  # the headings above a part, each with its level, and what stands below them


def _parts(text: str) -> list[_Part]:
    """A text without front matter, cut at its headings."""
    text = _plain_ends(text)
    lines = text.split("\n")
    parts: list[_Part] = []
    above: list[tuple[int, str]] = []
    at = 0
    for token, inside in pairwise(_BLOCKS.parse(text)):
        if token.type == "heading_open" and not token.level and token.map is not None:
            parts.append((above, "\n".join(lines[at : token.map[0]]).strip()))
            at, level = token.map[1], int(token.tag[1])
            above = [*(one for one in above if one[0] < level), (level, " ".join(inside.content.split()))]
    return [*parts, (above, "\n".join(lines[at:]).strip())]


def _sections(parts: list[_Part]) -> list[Section]:
    """The parts as sections; a tiny one goes into the one above it, an empty heading is told by those below it."""
    kept: list[tuple[tuple[str, ...], str]] = []
    for (above, body), (below, _) in zip(parts, [*parts[1:], ([], "")], strict=False):
        if not body and len(below) > len(above):
            continue
        headings = tuple(title for _, title in above)
        if len(body) < TINY and kept:
            own = [title for title in headings if title not in kept[-1][0]] or headings[-1:]
            kept[-1] = (kept[-1][0], "\n".join([kept[-1][1], "", *own, body]).strip())
        else:
            kept.append((headings, body or " ".join(headings)))
    sections: list[Section] = []
    counted: dict[tuple[str, ...], int] = {}
    for headings, body in kept:
        for part in pieces(body):
            counted[headings] = counted.get(headings, 0) + 1
            sections.append(Section(headings, part, counted[headings]))
    return sections


def _plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def pieces(text: str, between: tuple[str, ...] = ("\n\n", "\n", " ")) -> list[str]:
    """A text as pieces of at most LONGEST characters, cut where it hurts least; blank ones are left out."""
    if len(text) <= LONGEST:
        return [text] if text.strip() else []
    if not between:
        return [text[at : at + LONGEST] for at in range(0, len(text), LONGEST)]
    found = [""]
    for part in text.split(between[0]):
        both = f"{found[-1]}{between[0]}{part}" if found[-1].strip() else part
        if len(both) <= LONGEST:
            found[-1] = both
        else:
            found.append(part)
    return [piece for part in found for piece in pieces(part, between[1:])]
