"""What a markdown file is: its front matter, title, type, tags and whether it still holds.

Front matter is read as what people write in it: `key: value`, lists in brackets or with dashes, folded texts. It is no
YAML parser, and a value it does not understand is text.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from memory.knowledge import markdown_sections
from memory.knowledge.search import TYPE_NAMES, parse_type

if TYPE_CHECKING:
    from memory.knowledge.markdown_sections import Section

_FRONT_LINES = 400
_KEY = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*)|)$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")
_FOLDER_TYPES = {**TYPE_NAMES, "lesson": "lesson", "pattern": "pattern", "retro": "retro", "runbook": "runbook"}
_DEFAULT_TYPE = "note"
_NEAREST = 4
"""Folders above a file that may say what it is; `patterns` in the name of a home does not."""
_ADR_NAME = re.compile(r"adr[-_ ]?\d", re.IGNORECASE)
_ADR_TITLE = re.compile(r"adr[-_ #]*\d", re.IGNORECASE)
_OVER = re.compile(r"[*_\s]*(?:superseded|deprecated)\b", re.IGNORECASE)
_STATUS_LINE = re.compile(r"[-*+\s]*status[*_\s]*:[*_\s]*(?:superseded|deprecated)\b", re.IGNORECASE)
_STATUS_LINES = 30


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
        headings = list(section.headings)
        if headings and headings[0] == self.title:
            del headings[0]
        number = f" ({section.ordinal})" if section.ordinal > 1 else ""
        return " › ".join([self.title, *filter(None, headings)]) + number


def parse(text: str, path: str) -> MarkdownDocument:
    """The text of the file at `path` (read for its name and folders only). Never raises."""
    front, body = front_matter(text)
    heading = markdown_sections.first_heading(body)
    title = _one(front, "title") or heading or os.path.splitext(os.path.basename(path))[0]
    if os.path.basename(path).lower() == "skill.md" and _one(front, "name"):
        title = _one(front, "title") or _one(front, "name")
    about = _one(front, "description") or _one(front, "summary")
    kind = _type(front, path, title)
    return MarkdownDocument(
        title=" ".join(title.split()),
        type=kind,
        tags=_list(front, "tags") or _list(front, "tag"),
        category=_one(front, "category"),
        stale=_is_over(front, body, kind),
        sections=markdown_sections.split(f"{about}\n\n{body}" if about else body),
    )


def front_matter(text: str) -> tuple[dict[str, str | list[str]], str]:
    """The keys (lower case) between `---` lines at the head of a text, and the text behind them.

    What stands between two `---` lines but does not begin with a key is text.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:_FRONT_LINES], 1) if line.rstrip() in ("---", "...")), 0)
    inside = [line for line in lines[1:end] if line.strip() and not line.lstrip().startswith("#")]
    if not end or (inside and not _KEY.match(inside[0])):
        return {}, text
    found: dict[str, str | list[str]] = {}
    key = ""
    for line in inside:
        named = _KEY.match(line)
        item = _ITEM.match(line)
        held = found.get(key)
        if named:
            key = named[1].strip().lower()
            found[key] = _value((named[2] or "").strip())
        elif item and key:
            items = held if isinstance(held, list) else [held] if held else []
            found[key] = [*items, _unquoted(item[1])]
        elif key and line[0] in " \t" and isinstance(held, str):
            found[key] = f"{held} {line.strip()}".strip()
    return found, "\n".join(lines[end + 1 :])


def _value(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [part for part in map(_unquoted, text[1:-1].split(",")) if part]
    return "" if text in (">", "|", ">-", "|-", ">+", "|+", "~", "null") else _unquoted(text)


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _one(front: dict[str, str | list[str]], key: str) -> str:
    value = front.get(key, "")
    return (value if isinstance(value, str) else ", ".join(value)).strip()


def _list(front: dict[str, str | list[str]], key: str) -> list[str]:
    value = front.get(key, [])
    items = value if isinstance(value, list) else value.replace(",", " ").split()
    return [item for item in (item.strip().lstrip("#") for item in items) if item]


def _type(front: dict[str, str | list[str]], path: str, title: str) -> str:
    """Front matter first, then the file's name, then the folder nearest to it."""
    declared = parse_type(_one(front, "type"))
    if declared:
        return declared
    folder, name = os.path.split(path)
    if name.lower() == "skill.md":
        return "skill"
    if _ADR_NAME.match(name) or _ADR_TITLE.match(title) or _ADR_TITLE.match(_one(front, "id")) or "adr" in front:
        return "adr"
    for above in reversed(folder.lower().split(os.sep)[-_NEAREST:]):
        if above in _FOLDER_TYPES:
            return _FOLDER_TYPES[above]
    return _DEFAULT_TYPE


def _is_over(front: dict[str, str | list[str]], body: str, kind: str) -> bool:
    status = _one(front, "status")
    if status or kind != "adr":
        return bool(_OVER.match(status))
    lines = [line for line in body.split("\n", 400)[:400] if line.strip()]
    if any(map(_STATUS_LINE.match, lines[:_STATUS_LINES])):
        return True
    for line, below in pairwise(lines):
        if line.lstrip("# \t").strip().lower() == "status" and line.lstrip().startswith("#"):
            return bool(_OVER.match(below))
    return False
