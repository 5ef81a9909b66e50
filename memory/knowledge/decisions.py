"""What lies in a vault: its parts, its folders, its decision records (`docs/decisions/NNNN-name.md`), and their links.

A link is `[[target]]` or `[[target#heading]]`.
"""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from core import words
from core.errors import Failure
from memory.knowledge import markdown, markdown_files

FOLDER = "docs/decisions"
SECTIONS = {"projects": "Projects", "decisions": FOLDER, "inbox": "inbox", "resources": "Resources"}
"""The parts, and the folder of each."""
STATUSES = ("proposed", "accepted", "shipped", "superseded", "deprecated", "rejected")
BANDS = {"do-now": 80, "do-next": 60, "de-risk": 40, "park": 0}
"""Of priority: each with its least score."""
_NAME = re.compile(r"(\d{4})-(.+)\.md$")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*$")
_NUMBERED_TITLE = re.compile(r"(?:adr[- ]?)?\d{1,4}[:.—–-]?\s+", re.IGNORECASE)
_ASKED_NUMBER = re.compile(r"(?:adr[- _#]*)?0*(\d{1,4})$", re.IGNORECASE)
_NUMBERS = ("score", "need", "readiness", "confidence", "novelty")
_NOVELTY = ("novelty", "interest", "interestingness", "cool-factor")
_BODY_CHARS = 400
_LEAST_COVERED = 0.5
_LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_NUMBER = re.compile(r"(?<!\d)\d{4}(?!\d)")
_ENDING = ".md"
_MOST_MATCHES, _MOST_SUGGESTED, _CONTEXT_CHARS = 6, 5, 240


class Record(NamedTuple):
    """A decision record. `status` and `date` are None where it does not say."""

    number: str
    title: str
    status: str | None
    date: str | None
    filename: str
    path: str
    text: str


def every(vault: str) -> list[Record]:
    """The records of a vault by number and name; what cannot be read is left out."""
    found = []
    for path in _below(os.path.join(vault, FOLDER)):
        match = _NAME.match(os.path.basename(path))
        text = markdown_files.text_of(path) if match else None
        if match is None or text is None:
            continue
        told = _told(text)
        headings = (head[2] for line in text.splitlines() if (head := _HEADING.match(line)))
        title = " ".join((told.get("title") or next(headings, "")).split())
        title = _NUMBERED_TITLE.sub("", title, count=1) or match[2].replace("-", " ")
        found.append(Record(match[1], title, told.get("status"), told.get("date"), match[0], path, text))
    return found


def _told(text: str) -> dict[str, str]:
    """Title, status and date of a note; the status in lower case."""
    told = markdown.told(*markdown.front_matter(text))
    return {key: value.lower() if key == "status" else value for key, value in told.items()}


def priority(record: Record) -> dict[str, Any]:
    """The priority that a record declares, None where it says nothing; without a band, that of its score."""
    front = markdown.front_matter(record.text)[0]
    said = {name.removeprefix("priority-"): str(told) for name, told in front.items() if name.startswith("priority-")}
    said["novelty"] = next((said[name] for name in _NOVELTY if name in said), "")
    numbers = {name: told for name in _NUMBERS if (told := said.get(name, "")).replace(".", "", 1).isdecimal()}
    made = {name: float(numbers[name]) if name in numbers else None for name in _NUMBERS}
    band = next((name for name, least in BANDS.items() if (made["score"] or 0) >= least), "")
    own = said.get("band") or (band if "score" in numbers else None)
    return {**made, "band": "do-next" if own == "next" else own, "reviewed": said.get("reviewed")}


def collisions(records: list[Record]) -> list[dict[str, Any]]:
    """Numbers that several records have."""
    by_number: dict[str, list[str]] = {}
    for one in records:
        by_number.setdefault(one.number, []).append(one.filename)
    return [{"number": number, "files": names} for number, names in by_number.items() if len(names) > 1]


def locate(records: list[Record], query: str, most: int) -> list[dict[str, Any]]:
    """The records and sections that a number, a name, a title or a heading means, best first, and why."""
    wanted, asked = words.split(query), query.strip().lower()
    number = _ASKED_NUMBER.match(asked)
    found = []
    for section in (section for record in records for section in _sections(record)):
        is_file, name = section["kind"] == "file", section["id"].lower()
        is_numbered = number is not None and int(number[1]) == int(section["number"])
        own = {*words.split(section["title"]), *(words.split(name) if is_file else ())}
        covered = sum(word in own for word in wanted) / max(len(wanted), 1)
        if is_file and (is_numbered or asked in (name, section["filename"].lower())):
            score, reason = 1000, "exact ADR"
        elif not is_file and asked in (name, section["title"].lower()):
            score, reason = 950, "exact section"
        elif number is None and covered >= _LEAST_COVERED:
            score, reason = round(600 * covered) + 100 * is_file, "title" if is_file else "heading"
        else:
            continue
        found.append({**section, "reason": reason, "score": score})
    found.sort(key=lambda one: (-one["score"], one["filename"], one["start_line"]))
    return found[:most]


def _sections(record: Record) -> Iterator[dict[str, Any]]:
    """A record, and its parts under headings; lines count from 1."""
    lines = record.text.splitlines()
    stem = os.path.splitext(record.filename)[0]
    heads = [(at, match[2]) for at, line in enumerate(lines) if (match := _HEADING.match(line))]
    parts = [("file", stem, record.title, 0, len(lines), lines)]
    for (at, heading), end in zip(heads, [*(at for at, _ in heads[1:]), len(lines)], strict=False):
        if at != heads[0][0] or not heading.endswith(record.title):
            parts.append(("section", f"{stem}#{heading}", heading, at, end, lines[at + 1 : end]))
    for kind, name, title, start, end, body in parts:
        yield {
            "id": name, "kind": kind, "number": record.number, "title": title, "filename": record.filename,
            "path": record.path, "start_line": start + 1, "end_line": max(end, 1),
            "body": " ".join(" ".join(body).split())[:_BODY_CHARS],
        }  # fmt: skip


def entries(vault: str, section: str) -> list[Any]:
    """The entries of a part: paths, of projects and decisions with the status that the note says it has."""
    folder = os.path.join(vault, SECTIONS[section])
    paths = _below(folder)
    if section == "inbox":
        return paths
    if section == "resources":
        return [path for path in paths if os.path.isdir(path)]
    if section == "projects":
        notes = [os.path.join(one, "index.md") for one in [folder, *filter(os.path.isdir, paths)]]
        paths = [path for path in notes if not os.path.islink(path)]
    notes = [path for path in paths if path.endswith(".md") and os.path.isfile(path)]
    return [{"path": path, "status": _told(markdown_files.text_of(path) or "").get("status")} for path in notes]


def folders(vault: str) -> list[dict[str, Any]]:
    """The vault (a real path) and its folders, two deep, each with how deep it lies. No hidden ones, no links."""
    found: list[dict[str, Any]] = [{"path": ".", "depth": 0}]
    for first in filter(os.path.isdir, _below(vault)):
        found.append({"path": os.path.relpath(first, vault), "depth": 1})
        found += [{"path": os.path.relpath(one, vault), "depth": 2} for one in filter(os.path.isdir, _below(first))]
    return found


def _below(folder: str) -> list[str]:
    """What lies in a folder, by name; nothing hidden, no links."""
    try:
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    except OSError:
        return []
    return [path for path in paths if not os.path.islink(path)]


class Link(NamedTuple):
    """A link in a record. `target` is as written, without what follows a `|`."""

    source: Record
    line: int
    target: str
    context: str


def links(records: list[Record]) -> Iterator[Link]:
    """The links of all records, in order; lines count from 1."""
    for record in records:
        for number, line in enumerate(record.text.splitlines(), 1):
            for match in _LINK.finditer(line):
                yield Link(record, number, _target(match[1]), line.strip()[:_CONTEXT_CHARS])


def is_custom(target: str) -> bool:
    """Whether a link is none to a note: of another scheme, a placeholder, or spoken text."""
    return ":" in target or "..." in target or target.startswith("tts")


def meant(vault: str, records: list[Record], listed: Iterable[str], target: str) -> list[str]:
    """The files that a link may mean: records by number or name, else a path of the vault, else of `listed` by name."""
    name, _, heading = target.partition("#")
    wanted = os.path.basename(name).removesuffix(_ENDING).lower()
    number = _NUMBER.search(name)
    named = [one for one in records if number is not None and one.number == number[0]]
    if named:
        exact = [one for one in named if os.path.splitext(one.filename)[0].lower() == wanted]
        return [one.path for one in exact or named if not heading or _has_heading(one, heading)]
    for folder in (vault, os.path.join(vault, FOLDER)):
        path = os.path.realpath(os.path.join(folder, name.removesuffix(_ENDING) + _ENDING))
        if markdown_files.is_below(path, vault) and os.path.isfile(path):
            return [path]
    return [path for path in listed if os.path.splitext(os.path.basename(path))[0].lower() == wanted]


def refs(records: list[Record], query: str) -> dict[str, Any]:
    """The record or section that a query means, and the links of other records to it.

    Raises Failure NO_MATCH, or ADR_REF_AMBIGUOUS where several records fit and none exactly.
    """
    found = locate(records, query, _MOST_SUGGESTED)
    exact = [one for one in found if one["reason"].startswith("exact")]
    if not found:
        raise Failure("NO_MATCH", f"no decision record is called {query[:200]!r}", "list them: joelclaw vault adr list")
    if len(exact) != 1 and len(found) != 1:
        several = ", ".join(one["id"] for one in found)
        raise Failure("ADR_REF_AMBIGUOUS", f"{query[:200]!r} may be {several}", "name one of these")
    target = (exact or found)[0]
    linked = [link for link in links(records) if _links_to(records, link, target)]
    return {
        "query": query,
        "target": {key: target[key] for key in ("id", "kind", "filename", "title", "path")},
        "count": len(linked),
        "refs": [
            {
                "source_filename": link.source.filename, "source_title": link.source.title,
                "source_path": link.source.path, "line": link.line, "target": link.target,
                "target_canonical": target["id"], "context": link.context,
            }
            for link in linked
        ],
        "suggestions": [one for one in found if one is not target],
    }  # fmt: skip


def expand(records: list[Record], text: str) -> dict[str, Any]:
    """A prompt with each `[[…]]` replaced by the record that it means, and those records behind it as context.

    Raises Failure ADR_PROMPT_REF_MISSING at the first link that means no record.
    """
    told: list[dict[str, Any]] = []
    for raw in dict.fromkeys(_LINK.findall(text)):
        matches = locate(records, _target(raw), _MOST_MATCHES)
        if not matches:
            message = f"[[{raw[:200]}]] is the name of no decision record"
            raise Failure("ADR_PROMPT_REF_MISSING", message, "list them: joelclaw vault adr list")
        told.append({"raw": raw, "resolved": matches[0]["id"], "matches": matches})
    by_raw = {one["raw"]: one["resolved"] for one in told}
    parts = [f"## {one['matches'][0]['id']}\n{one['matches'][0]['body']}" for one in told]
    return {
        "text": text,
        "expanded_text": _LINK.sub(lambda match: by_raw[match[1]], text),
        "refs": told,
        "context": "<adr-context>\n" + "\n\n".join(parts) + "\n</adr-context>" if parts else "",
    }


def _target(inner: str) -> str:
    return inner.partition("|")[0].strip()


def _has_heading(record: Record, heading: str) -> bool:
    wanted = heading.strip().lower()
    return any(wanted == line.lstrip("#").strip().lower() for line in record.text.splitlines() if line[:1] == "#")


def _links_to(records: list[Record], link: Link, target: dict[str, Any]) -> bool:
    if is_custom(link.target):
        return False
    name, _, heading = link.target.partition("#")
    wanted = target["id"].partition("#")[2]
    if target["kind"] == "section" and heading.strip().lower() != wanted.lower():
        return False
    return any(one["filename"] == target["filename"] for one in locate(records, name, 1))
