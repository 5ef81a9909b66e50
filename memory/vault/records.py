"""What lies in a vault: its four parts, its folders, and its decision records (`docs/decisions/NNNN-name.md`)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core import words
from memory.knowledge import markdown_document, markdown_files

FOLDER = "docs/decisions"
SECTIONS = {"projects": "Projects", "decisions": FOLDER, "inbox": "inbox", "resources": "Resources"}
"""The parts, and the folder of each."""
DEPTH = 2
STATUSES = ("proposed", "accepted", "shipped", "superseded", "deprecated", "rejected")
_NAME = re.compile(r"(\d{4})-(.+)\.md$")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*$")
_NUMBERED_TITLE = re.compile(r"(?:adr[- ]?)?\d{1,4}[:.—–-]?\s+", re.IGNORECASE)
_ASKED_NUMBER = re.compile(r"(?:adr[- _#]*)?0*(\d{1,4})$", re.IGNORECASE)
_BODY_CHARS = 400
_LEAST_COVERED = 0.5


@dataclass(frozen=True)
class Record:
    """A decision record. `status` and `date` are None where it does not say."""

    number: str
    filename: str
    path: str
    title: str
    status: str | None
    date: str | None
    text: str


def every(vault: str) -> list[Record]:
    """The records of a vault by number and name; what cannot be read is left out."""
    folder = os.path.join(vault, FOLDER)
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        if _NAME.match(name) and os.path.isfile(path) and not os.path.islink(path):
            text = markdown_files.text_of(path)
            if text is not None:
                found.append(_record(path, name, text))
    return sorted(found, key=lambda one: (one.number, one.filename))


def collisions(records: list[Record]) -> list[dict[str, Any]]:
    """Numbers that several records have."""
    by_number: dict[str, list[str]] = {}
    for one in records:
        by_number.setdefault(one.number, []).append(one.filename)
    return [{"number": number, "files": names} for number, names in by_number.items() if len(names) > 1]


def locate(records: list[Record], query: str, most: int) -> list[dict[str, Any]]:
    """The records and sections that a number, a name, a title or a heading means, best first."""
    wanted = words.split(query)
    number = _ASKED_NUMBER.match(query.strip())
    asked = query.strip().lower()
    found = []
    for record in records:
        for section in _sections(record):
            score, reason = _fit(section, asked, wanted, int(number[1]) if number else None)
            if score:
                found.append({**section, "reason": reason, "score": score})
    found.sort(key=lambda one: (-one["score"], one["filename"], one["start_line"]))
    return found[:most]


def status_of(path: str) -> str | None:
    """The status that a note says it has, in lower case; None where it says none, or cannot be read."""
    return _told(markdown_files.text_of(path) or "").get("status")


def _record(path: str, name: str, text: str) -> Record:
    match = _NAME.match(name)
    number, slug = (match[1], match[2]) if match else ("", name)
    told = _told(text)
    title = told.get("title", "")
    if not title:
        title = next((found[2] for line in text.splitlines() if (found := _HEADING.match(line))), "")
    title = _NUMBERED_TITLE.sub("", " ".join(title.split()), count=1) or slug.replace("-", " ")
    return Record(number, name, path, title, told.get("status"), told.get("date"), text)


def _told(text: str) -> dict[str, str]:
    """Title, status and date of a note; the status in lower case."""
    told = markdown_document.told(*markdown_document.front_matter(text))
    return {key: value.lower() if key == "status" else value for key, value in told.items()}


def _sections(record: Record) -> Iterator[dict[str, Any]]:
    """A record, and its parts under headings; lines count from 1."""
    lines = record.text.splitlines()
    stem = os.path.splitext(record.filename)[0]

    def place(name: str, kind: str, title: str, start: int, end: int, body: list[str]) -> dict[str, Any]:
        return {
            "id": name, "kind": kind, "number": record.number, "title": title, "filename": record.filename,
            "path": record.path, "start_line": start, "end_line": end,
            "body": " ".join(" ".join(body).split())[:_BODY_CHARS],
        }  # fmt: skip

    yield place(stem, "file", record.title, 1, max(len(lines), 1), lines)
    heads = [(at, match[2]) for at, line in enumerate(lines) if (match := _HEADING.match(line))]
    ends = [*(at for at, _ in heads[1:]), len(lines)]
    for (at, heading), end in zip(heads, ends, strict=False):
        if at != heads[0][0] or not heading.endswith(record.title):
            yield place(f"{stem}#{heading}", "section", heading, at + 1, end, lines[at + 1 : end])


def _fit(section: dict[str, Any], asked: str, wanted: list[str], number: int | None) -> tuple[int, str]:
    """How well a query means a section, 0 to 1000, and why."""
    is_file, name = section["kind"] == "file", section["id"].lower()
    if is_file and (asked in (name, section["filename"].lower()) or number == int(section["number"] or -1)):
        return 1000, "exact ADR"
    if not is_file and asked in (name, section["title"].lower()):
        return 950, "exact section"
    if number is not None or not wanted:
        return 0, ""
    own = {*words.split(section["title"]), *(words.split(name) if is_file else ())}
    covered = sum(word in own for word in wanted) / len(wanted)
    if covered < _LEAST_COVERED:
        return 0, ""
    return round(600 * covered) + 100 * is_file, "title" if is_file else "heading"


def counts(vault: str) -> dict[str, int]:
    """How many entries each part has; 0 for one that is not there."""
    return {section: len(_paths(vault, section)) for section in SECTIONS}


def entries(vault: str, section: str) -> list[Any]:
    """The entries of a part: paths, of projects and decisions with the status that the note says it has."""
    paths = _paths(vault, section)
    if section in ("inbox", "resources"):
        return paths
    return [{"path": path, "status": status_of(path)} for path in paths]


def folders(vault: str) -> list[dict[str, Any]]:
    """The vault (a real path) and its folders, two deep, each with how deep it lies. No hidden ones, no links."""
    found: list[dict[str, Any]] = [{"path": ".", "depth": 0}]
    for first in filter(os.path.isdir, _below(vault)):
        found.append({"path": os.path.relpath(first, vault), "depth": 1})
        found += [{"path": os.path.relpath(one, vault), "depth": 2} for one in filter(os.path.isdir, _below(first))]
    return found


def _paths(vault: str, section: str) -> list[str]:
    folder = os.path.join(vault, SECTIONS[section])
    below = _below(folder)
    if section == "projects":
        indexes = [folder, *filter(os.path.isdir, below)]
        notes = [os.path.join(one, "index.md") for one in indexes]
        return [path for path in notes if os.path.isfile(path) and not os.path.islink(path)]
    if section == "resources":
        return [path for path in below if os.path.isdir(path)]
    if section == "decisions":
        return [path for path in below if path.endswith(".md") and os.path.isfile(path)]
    return below


def _below(folder: str) -> list[str]:
    """What lies in a folder, by name; nothing hidden, no links."""
    try:
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    except OSError:
        return []
    return [path for path in paths if not os.path.islink(path)]
