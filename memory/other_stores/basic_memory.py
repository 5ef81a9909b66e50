"""basic-memory's notes: markdown with `- [category] observation #tag (context)` and `- type [[Target]]`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from memory.other_stores.item import Item, LeftOut, read_text, tags_of
from memory.other_stores.markdown_bullets import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FILES = 10_000
_OBSERVATION = re.compile(r"\s*[-*+]\s+\[([^\[\]()]+)\]\s+(.+)$")
_RELATION = re.compile(r"""\s*[-*+]\s+(?:"([^"]+)"|'([^']+)'|(\S+))\s+\[\[(.+?)\]\]\s*(\([^()]*\))?\s*$""")
_TIMES = re.compile(r"\d{1,3}:\d{2}(:\d{2})?([.,]\d+)?(\s+-\s+\S+)?$")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_KNOWN = {
    "preference": "preferences", "preferences": "preferences", "rule": "rules", "rules": "rules",
    "convention": "rules", "architecture": "architecture", "design": "architecture", "project": "projects",
    "person": "people", "people": "people",
}  # fmt: skip
"""Categories of notes that are categories here; any other is a tag alone."""


def is_note(text: str) -> bool:
    """Whether a markdown file is a note of basic-memory: a permalink in front, and observations or relations."""
    front, body = _parts(text)
    return "permalink" in front and any(_observation(line) or _RELATION.match(line) for _, line in _outside_code(body))


def items(path: str) -> Iterator[Item | LeftOut]:
    """The observations and relations of a note, or of the notes in a folder; links to files are not followed.

    Prose is left out: `knowledge sync` takes whole documents.

    Raises:
        Failure: IMPORT_FAILED.
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


def _of_note(path: str, shown: str) -> Iterator[Item | LeftOut]:
    front, body = _parts(read_text(path, MOST_BYTES))
    title = front.get("title") or os.path.splitext(os.path.basename(path))[0]
    own = front.get("permalink") or title
    tags = ["basic-memory", *_list(front.get("tags", ""))]
    found = 0
    for number, line in _outside_code(body):
        where = f"{shown}, line {number}"
        relation = _RELATION.match(line)
        observation = _observation(line)
        if observation is not None:
            category, said = observation
            words, around = _context(said)
            named = [one for word in words if word.startswith("#") for one in word.split("#") if one]
            while words and words[-1].startswith("#"):
                words.pop()
            text = " ".join([*words, *around]) or said
            yield Item(
                text, where, f"{own}\0{category}\0{text}", tags_of([*tags, category, *named]), title,
                _KNOWN.get(category.lower(), ""),
            )  # fmt: skip
        elif relation:
            kind = next(one for one in relation.group(1, 2, 3) if one)
            said = f"{title} {kind.replace('_', ' ')} {relation[4].partition('|')[0].strip()}"
            text = f"{said} {relation[5]}" if relation[5] else said
            yield Item(text, where, f"{own}\0{said}", tags_of([*tags, "relation"]))
        else:
            continue
        found += 1
    if not found:
        yield LeftOut(shown, "a note without observations or relations; `knowledge sync` takes whole documents")


def _observation(line: str) -> tuple[str, str] | None:
    """Category and text of an observation; None for a task, a time of a transcript, and any other line."""
    found = _OBSERVATION.match(line)
    if found is None:
        return None
    category = found[1].strip()
    is_task = len(category) <= 1 and (not category.isalnum() or category in "xX")
    return None if is_task or _TIMES.match(category) else (category, found[2].strip())


def _context(said: str) -> tuple[list[str], list[str]]:
    """The words of an observation, and those of the brackets at its end."""
    start = said.rfind(" (") if said.endswith(")") else -1
    return (said[:start].split(), said[start:].split()) if start > 0 else (said.split(), [])


def _parts(text: str) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """The plain fields of the front matter, and the numbered lines behind it."""
    lines = list(enumerate(text.splitlines(), 1))
    front: dict[str, str] = {}
    if not lines or lines[0][1].rstrip() != "---":
        return front, lines
    name = ""
    for at, (_, line) in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return front, lines[at + 1 :]
        key, colon, value = line.partition(":")
        if colon and key.strip() and not key[0].isspace() and key[0] not in "-#":
            name = key.strip()
            front[name] = value.strip().strip("\"'")
        elif line.lstrip().startswith("- ") and name:  # a list below its name
            front[name] = f"{front[name]}, {line.lstrip()[2:].strip()}" if front[name] else line.lstrip()[2:].strip()
    return {}, lines


def _list(value: str) -> list[str]:
    return [one.strip().strip("\"'") for one in value.strip("[]").split(",")]


def _outside_code(lines: list[tuple[int, str]]) -> Iterator[tuple[int, Any]]:
    fence = ""
    for number, line in lines:
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            yield number, line
