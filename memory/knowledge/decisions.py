"""The decision records of a vault, `docs/decisions/NNNN-name.md`: what `joelclaw vault adr …` returns.

The fields, bands and the score are those of the mirrored CLI. A link between records is `[[target]]` or
`[[target#heading]]`.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from core import words
from core.errors import Failure
from memory.knowledge import markdown

FOLDER = "docs/decisions"
STATUSES = ("proposed", "accepted", "shipped", "superseded", "deprecated", "rejected")
BANDS = {"do-now": 80, "do-next": 60, "de-risk": 40, "park": 0}  # the lowest score of each band
WEIGHTS = {"need": 0.5, "readiness": 0.3, "confidence": 0.2}  # of the score; each part is 0 to 5

_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*$")  # its level and text
_NUMBER = re.compile(r"(?:adr[- _#]*)?0*(\d{1,4})(?!\d)")  # at the beginning of a name
_LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")


class Record:
    """A decision record. `status` and `date` are None if it does not say."""

    def __init__(self, path: str, number: str, text: str) -> None:
        self.path = path
        self.filename = os.path.basename(path)
        self.stem = self.filename.removesuffix(".md")
        self.number = number
        self.text = text
        self.front, body = markdown.front_matter(text)
        declared = markdown.stated(self.front, body)
        self.status = declared["status"].lower() if "status" in declared else None
        self.date = declared.get("date")
        headings = (head[2] for line in text.splitlines() if (head := _HEADING.match(line)))
        title = " ".join((declared.get("title") or next(headings, "")).split())
        title = re.sub(r"(?i)^(?:adr[- ]?)?\d{1,4}[:.—–-]?\s+", "", title)
        self.title = title or self.stem[5:].replace("-", " ")
        self.is_open = self.status in ("accepted", "proposed")

    @cached_property
    def priority(self) -> dict[str, Any]:
        """Its score, parts and band; None for what it does not declare. Without a band, that of its score."""
        novelty = ("novelty", "interest", "interestingness", "cool-factor")
        score, *parts = (self._number(name) for name in ("score", *WEIGHTS))
        band = self.front.get("priority-band") or (band_of(score) if score is not None else None)
        return {
            "score": score, **dict(zip(WEIGHTS, parts, strict=True)), "novelty": self._number(*novelty),
            "band": "do-next" if band == "next" else band, "reviewed": self.front.get("priority-reviewed"),
        }  # fmt: skip

    def _number(self, *names: str) -> float | None:
        text = next((str(self.front[key]) for name in names if (key := f"priority-{name}") in self.front), "")
        return float(text) if text.replace(".", "", 1).isdecimal() else None

    @cached_property
    def sections(self) -> list[dict[str, Any]]:
        """The record as a whole, and its parts under headings below the title; lines count from 1."""
        lines = self.text.splitlines()
        heads = [(at, match[1], match[2]) for at, line in enumerate(lines) if (match := _HEADING.match(line))]
        ends = [*(at for at, *_ in heads[1:]), len(lines)]
        parts = [("file", self.stem, self.title, 0, len(lines), lines)]
        for (at, marks, heading), end in zip(heads, ends, strict=False):
            if marks != "#":
                parts.append(("section", f"{self.stem}#{heading}", heading, at, end, lines[at + 1 : end]))
        return [
            {
                "id": identifier, "kind": kind, "number": self.number, "title": title, "filename": self.filename,
                "path": self.path, "start_line": start + 1, "end_line": max(end, 1),
                "body": " ".join(" ".join(body).split())[:400],
            }
            for kind, identifier, title, start, end, body in parts
        ]  # fmt: skip


class Link(NamedTuple):
    """A link in a record, in line `line` (from 1); `target` is what it names, without the text behind a `|`."""

    source: Record
    line: int
    target: str
    context: str


def read_all(vault: str) -> list[Record]:
    """The records of a vault, sorted by file name; unreadable files are left out."""
    folder = os.path.join(vault, FOLDER)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = [os.path.join(folder, name) for name in names if re.match(r"\d{4}-.+\.md$", name)]
    texts = {path: markdown.text_of(path) for path in paths if not os.path.islink(path)}
    return [Record(path, os.path.basename(path)[:4], text) for path, text in texts.items() if text is not None]


def band_of(score: float) -> str:
    """The priority band of a score, 0 to 100."""
    return next(name for name, lowest in BANDS.items() if score >= lowest)


def listing(records: list[Record], status: str, limit: int) -> dict[str, Any]:
    """The records with a status ("" for any)."""
    chosen = [record for record in records if not status or record.status == status]
    keys = ("number", "title", "status", "date", "filename")
    return {
        "total": len(records), "filtered": len(chosen), "status_filter": status or None, "limit": limit,
        "collisions": collisions(records)["collision_count"],
        "items": [{key: getattr(record, key) for key in keys} for record in chosen[:limit]],
    }  # fmt: skip


def collisions(records: list[Record]) -> dict[str, Any]:
    """The numbers that several records share."""
    by_number: dict[str, list[str]] = {}
    for record in records:
        by_number.setdefault(record.number, []).append(record.filename)
    shared = [{"number": number, "files": names} for number, names in by_number.items() if len(names) > 1]
    return {"total": len(records), "collision_count": len(shared), "collisions": shared}


def locate(records: list[Record], query: str, limit: int) -> dict[str, Any]:
    """The records and sections that a number, name, title or heading fits, best first. Raises Failure NO_MATCH."""
    matches = _matches(records, query, limit)
    if not matches:
        raise Failure("NO_MATCH", f"there is no decision record {query[:200]!r}", "list them: joelclaw vault adr list")
    return {"query": query, "limit": limit, "total_matches": len(matches), "matches": matches}


def _matches(records: list[Record], query: str, limit: int) -> list[dict[str, Any]]:
    """An exact number or name scores 1000, an exact heading 950, a title or heading with half of the words less."""
    wanted, asked = words.split(query), query.strip().lower()
    number = _NUMBER.fullmatch(asked)
    matches = []
    for section in (section for record in records for section in record.sections):
        is_file, name = section["kind"] == "file", section["id"].lower()
        has_number = number is not None and int(number[1]) == int(section["number"])
        own = {*words.split(section["title"]), *(words.split(name) if is_file else ())}
        covered = sum(word in own for word in wanted) / max(len(wanted), 1)
        if is_file and (has_number or asked in (name, section["filename"].lower())):
            reason, score = "exact ADR", 1000
        elif not is_file and asked in (name, section["title"].lower()):
            reason, score = "exact section", 950
        elif number is None and covered >= 0.5:
            reason, score = "title" if is_file else "heading", round(600 * covered) + 100 * is_file
        else:
            continue
        matches.append({**section, "reason": reason, "score": score})
    return sorted(matches, key=lambda match: (-match["score"], match["filename"], match["start_line"]))[:limit]


def refs(records: list[Record], query: str) -> dict[str, Any]:
    """The links of other records to the record or section that a query fits.

    Raises Failure NO_MATCH, or ADR_REF_AMBIGUOUS if several records fit and none exactly.
    """
    matches = locate(records, query, limit=5)["matches"]
    exact = [match for match in matches if match["reason"].startswith("exact")]
    if len(exact) != 1 and len(matches) != 1:
        several = ", ".join(match["id"] for match in matches)
        raise Failure("ADR_REF_AMBIGUOUS", f"{query[:200]!r} may be {several}", "name one of these")
    target = (exact or matches)[0]
    linked = [
        link for link in _links(records)
        if any(target["id"] in (to["id"], to["id"].partition("#")[0]) for to in _linked(records, link.target))
    ]  # fmt: skip
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
        "suggestions": [match for match in matches if match is not target],
    }  # fmt: skip


def expand(records: list[Record], text: str) -> dict[str, Any]:
    """A prompt with each `[[link]]` replaced by the id of its record, and these records as context.

    Raises Failure ADR_PROMPT_REF_MISSING for a link that fits no record.
    """
    resolved: dict[str, list[dict[str, Any]]] = {}
    for raw in dict.fromkeys(_LINK.findall(text)):
        resolved[raw] = _matches(records, _target(raw), limit=6)
        if not resolved[raw]:
            about = f"[[{raw[:200]}]] is not a decision record"
            raise Failure("ADR_PROMPT_REF_MISSING", about, "list them: joelclaw vault adr list")
    parts = [f"## {matches[0]['id']}\n{matches[0]['body']}" for matches in resolved.values()]
    return {
        "text": text,
        "expanded_text": _LINK.sub(lambda match: str(resolved[match[1]][0]["id"]), text),
        "refs": [{"raw": raw, "resolved": matches[0]["id"], "matches": matches} for raw, matches in resolved.items()],
        "context": "<adr-context>\n" + "\n\n".join(parts) + "\n</adr-context>" if parts else "",
    }


def audit(vault: str, records: list[Record]) -> dict[str, Any]:
    """The faults of the records: statuses, shared numbers, links, the index in README.md. `ok`: there are none."""
    broken, ambiguous, links = [], [], list(_links(records))
    to_notes = [link for link in links if not _is_custom(link.target)]
    notes = list(markdown.files_below(vault, until=time.monotonic() + 5).files) if to_notes else []
    for link in to_notes:
        about = {"source": link.source.filename, "line": link.line, "target": link.target}
        paths = {section["path"] for section in _linked(records, link.target)} or _notes(vault, notes, link.target)
        if not paths:
            broken.append(about)
        elif len(paths) > 1:
            ambiguous.append({**about, "candidates": sorted(paths)})
    index_path = os.path.join(vault, FOLDER, "README.md")
    index = markdown.text_of(index_path)
    rows = re.findall(r"\|\s*\[\d{4}\]\((?:[^)\s]*/)?([^)\s/]+)\)\s*\|", index or "")
    names = [record.filename for record in records]
    numbers = {record.number for record in records}
    statuses = [(record.filename, record.status) for record in records]
    successors = [(record.filename, str(record.front.get("superseded-by") or "")) for record in records]
    result: dict[str, Any] = {
        "missing_status": [name for name, status in statuses if status is None],
        "non_canonical_status": [
            {"filename": name, "status": status} for name, status in statuses if status not in (None, *STATUSES)
        ],
        "collisions": collisions(records)["collisions"],
        "superseded_by_missing_targets": [
            {"from": name, "target": target} for name, target in successors
            if target and ((n := re.search(r"\d{1,4}", target)) is None or n[0].zfill(4) not in numbers)
        ],
    }  # fmt: skip
    missing = [] if index is None else [name for name in names if name not in rows]
    extra = [name for name in rows if name not in names]
    return {
        "ok": not any((*result.values(), broken, ambiguous, missing, extra)),
        "decisions_dir": os.path.join(vault, FOLDER), "index_path": index_path, "total": len(records),
        "canonical_statuses": list(STATUSES), "status_counts": dict(Counter(filter(None, dict(statuses).values()))),
        **result,
        "wiki_links": {"broken": broken, "ambiguous": ambiguous, "skipped_custom": len(links) - len(to_notes)},
        "index": {
            "exists": index is not None, "rows": len(rows), "missing_from_index": missing, "extra_in_index": extra,
        },
    }  # fmt: skip


def _links(records: list[Record]) -> Iterator[Link]:
    for record in records:
        for number, line in enumerate(record.text.splitlines(), 1):
            for match in _LINK.finditer(line):
                yield Link(record, number, _target(match[1]), line.strip()[:240])


def _target(inner: str) -> str:
    return inner.partition("|")[0].strip()


def _is_custom(target: str) -> bool:
    """Whether a link does not lead to a note: another scheme, a placeholder, or text to speak."""
    return ":" in target or "..." in target or target.startswith("tts")


def _linked(records: list[Record], target: str) -> list[dict[str, Any]]:
    """The records that a link names by their number, or rather by their whole name; or the sections of these."""
    name, _, heading = target.lower().partition("#")
    stem = os.path.basename(name).removesuffix(".md")
    number = _NUMBER.fullmatch(stem) or re.match(r"(?:adr-)?(\d{4})(?!\d)", stem)
    numbered = [
        record for record in records
        if number is not None and int(number[1]) == int(record.number) and not _is_custom(target)
    ]  # fmt: skip
    exact = [record for record in numbered if record.stem.lower() == stem]
    sections = (section for record in exact or numbered for section in record.sections)
    return [section for section in sections if section["id"].lower().partition("#")[2] == heading.strip()]


def _notes(vault: str, notes: Sequence[str], target: str) -> set[str]:
    """The notes that a link names by their path in the vault, or else by its end."""
    name = target.partition("#")[0].lower().removesuffix(".md")
    stems = {path: os.path.splitext(os.path.relpath(path, vault))[0].lower() for path in notes}
    whole = {path for path, stem in stems.items() if stem == name}
    return whole or {path for path, stem in stems.items() if name and f"/{stem}".endswith(f"/{name}")}


def rank(records: list[Record], *, band: str, only_unscored: bool, closed_too: bool) -> dict[str, Any]:
    """The open records by the score that they declare, and those that declare none."""
    rows = [_row(record) for record in records if closed_too or record.is_open]
    scored = sorted((row for row in rows if row["score"] is not None), key=lambda row: (-row["score"], row["number"]))
    missing = [row for row in rows if row["score"] is None]
    wanted = "do-next" if band == "next" else band
    ranked = [row for row in scored if not only_unscored and wanted in ("", row["band"])]
    counts = {"total_open": len(rows), "scored": len(scored), "unscored": len(missing)}
    return {"ranked": ranked, "missing_scores": missing, **counts}


def recommend(records: list[Record], count: int) -> dict[str, Any]:
    """The open records to take on next: by score, need and number. The score is computed from its parts."""
    rows = [_candidate(record) for record in records if record.is_open]
    scored = [row for row in rows if row["score"] is not None]
    scored.sort(key=lambda row: (-row["score"], -row["need"], row["number"]))
    candidates = [{"rank": place, **row} for place, row in enumerate(scored[:count], 1)]
    recommended = [
        f"ADR-{row['number']} ({row['title']}) — score {row['score']}, band {row['band']}, readiness"
        f" {row['readiness']:g}/5" for row in candidates[:1]
    ]  # fmt: skip
    counts = {"actionable_count": len(rows), "scored_count": len(scored)}
    return {"recommendation": next(iter(recommended), None), **counts, "candidates": candidates}


def _row(record: Record) -> dict[str, Any]:
    return {"number": record.number, "title": record.title, "status": record.status, **record.priority}


def _candidate(record: Record) -> dict[str, Any]:
    """A record with score 20(.5 need + .3 readiness + .2 confidence) + 5(novelty - 3), and the faults in its fields."""
    declared = record.priority
    parts = {name: declared[name] for name in (*WEIGHTS, "novelty")}
    issues = [
        f"priority-{name} is {'missing' if value is None else 'not 0 to 5'}"
        for name, value in parts.items() if value is None or value > 5
    ]  # fmt: skip
    row = {**_row(record), "rationale": record.front.get("priority-rationale"), "issues": issues}
    if any(parts[name] is None or parts[name] > 5 for name in WEIGHTS):
        return {**row, "score": None, "band": None}
    novelty = 3 if parts["novelty"] is None or parts["novelty"] > 5 else parts["novelty"]
    score = round(20 * sum(weight * parts[name] for name, weight in WEIGHTS.items())) + round(5 * (novelty - 3))
    score = min(max(score, 0), 100)
    if declared["score"] not in (None, score):
        issues.append(f"priority-score says {declared['score']:g}, its parts make {score}")
    if declared["band"] not in (None, band_of(score)):
        issues.append(f"priority-band says {declared['band']}, the score makes {band_of(score)}")
    return {**row, "score": score, "band": band_of(score)}
