"""The wiki links of decision records, `[[target]]` or `[[target#heading]]`: what each means, and who links to what."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from core.errors import Failure
from memory.knowledge import decisions, markdown_files
from memory.knowledge.decisions import Record

_LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_NUMBER = re.compile(r"(?<!\d)\d{4}(?!\d)")
_ENDING = ".md"
_MOST_MATCHES, _MOST_SUGGESTED, _CONTEXT_CHARS = 6, 5, 240


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
    for folder in (vault, os.path.join(vault, decisions.FOLDER)):
        path = os.path.realpath(os.path.join(folder, name.removesuffix(_ENDING) + _ENDING))
        if markdown_files.is_below(path, vault) and os.path.isfile(path):
            return [path]
    return [path for path in listed if os.path.splitext(os.path.basename(path))[0].lower() == wanted]


def refs(records: list[Record], query: str) -> dict[str, Any]:
    """The record or section that a query means, and the links of other records to it.

    Raises Failure NO_MATCH, or ADR_REF_AMBIGUOUS where several records fit and none exactly.
    """
    found = decisions.locate(records, query, _MOST_SUGGESTED)
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
        matches = decisions.locate(records, _target(raw), _MOST_MATCHES)
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
    return any(one["filename"] == target["filename"] for one in decisions.locate(records, name, 1))
