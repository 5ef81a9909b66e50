"""The decision records of a vault, `docs/decisions/NNNN-name.md`: what `joelclaw vault adr …` returns.

The fields, bands and the score are those of the mirrored CLI. A link between records is `[[target]]` or
`[[target#heading]]`; a target is a number or a file's name.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from core import words
from core.errors import Failure
from memory.knowledge import markdown

FOLDER = "docs/decisions"
STATUSES = ("proposed", "accepted", "shipped", "superseded", "deprecated", "rejected")
BANDS = {"do-now": 80, "do-next": 60, "de-risk": 40, "park": 0}  # the lowest score of each band
WEIGHTS = {"need": 0.5, "readiness": 0.3, "confidence": 0.2}  # of the score; each part is 0 to 5

_LINK = re.compile(r"\[\[([^\[\]\n|]+)(?:\|[^\[\]\n]*)?\]\]")  # its target, and perhaps a label


class Record:
    """A decision record. `status` and `date` are None if it does not say."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.filename = os.path.basename(path)
        self.stem = self.filename.removesuffix(".md")
        self.number = self.filename[:4]
        self.text = text
        self.front, body = markdown.front_matter(text)
        declared = markdown.stated(self.front, body)
        self.status = declared["status"].lower() if "status" in declared else None
        self.date = declared.get("date")
        heading = re.search(r"(?m)^#+[ \t]+(.+)$", body)
        title = declared.get("title") or (heading[1] if heading else self.stem[5:].replace("-", " "))
        self.title = re.sub(r"(?i)^(?:adr[- ]?)?\d{1,4}[:.—–-]?\s+", "", title.strip())

    @cached_property
    def sections(self) -> list[dict[str, Any]]:
        """The record as a whole, and its parts under headings below the title; lines count from 1."""
        lines = self.text.splitlines()
        heads = [(at, match[1]) for at, line in enumerate(lines) if (match := re.match(r"#{2,6}[ \t]+(.+)$", line))]
        ends = [*(at for at, _ in heads[1:]), len(lines)]
        parts = [(self.stem, self.title, 0, len(lines))]
        parts += [(f"{self.stem}#{head}", head, at, end) for (at, head), end in zip(heads, ends, strict=False)]
        about = {"number": self.number, "filename": self.filename, "path": self.path}
        return [
            {
                **about, "id": identifier, "kind": "section" if "#" in identifier else "file", "title": title,
                "start_line": start + 1, "end_line": max(end, 1),
                "body": " ".join(" ".join(lines[start:end]).split())[:400],
            }
            for identifier, title, start, end in parts
        ]  # fmt: skip

    def row(self) -> dict[str, Any]:
        """What it declares about its priority; None for what it does not. Without a band, that of its score."""
        score, *parts = (self._number(name) for name in ("score", *WEIGHTS))
        band = self.front.get("priority-band") or (band_of(score) if score is not None else None)
        return {
            "number": self.number, "title": self.title, "status": self.status, "score": score,
            **dict(zip(WEIGHTS, parts, strict=True)),
            "novelty": self._number("novelty", "interest", "interestingness", "cool-factor"),
            "band": "do-next" if band == "next" else band,
            "reviewed": self.front.get("priority-reviewed"),
        }  # fmt: skip

    def _number(self, *names: str) -> float | None:
        text = next((str(self.front[key]) for name in names if (key := f"priority-{name}") in self.front), "")
        return float(text) if text.replace(".", "", 1).isdecimal() else None


def read_all(vault: str) -> list[Record]:
    """The records of a vault, sorted by file name; links and unreadable files are left out."""
    folder = os.path.join(vault, FOLDER)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = [os.path.join(folder, name) for name in names if re.match(r"\d{4}-.+\.md$", name)]
    texts = {path: markdown.text_of(path) for path in paths if not os.path.islink(path)}
    return [Record(path, text) for path, text in texts.items() if text is not None]


def band_of(score: float) -> str:
    """The priority band of a score, 0 to 100."""
    return next(name for name, lowest in BANDS.items() if score >= lowest)


def listing(records: list[Record], status: str, limit: int) -> dict[str, Any]:
    """The records with a status ("" for any)."""
    chosen = [record for record in records if status in ("", record.status)]
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
    matches = _matches(records, query)[:limit]
    if not matches:
        raise Failure("NO_MATCH", f"there is no decision record {query[:200]!r}", "list them: joelclaw vault adr list")
    return {"query": query, "limit": limit, "total_matches": len(matches), "matches": matches}


def _matches(records: list[Record], query: str) -> list[dict[str, Any]]:
    """What a query names; if it names nothing, the titles and headings with half of its words or more."""
    if exact := _named(records, query):
        reasons = {"file": "exact ADR", "section": "exact section"}
        return [{**section, "reason": reasons[section["kind"]], "score": 1000} for section in exact]
    wanted, matches = words.split(query), []
    for section in (section for record in records for section in record.sections):
        own, is_file = words.split(section["title"]), section["kind"] == "file"
        covered = sum(word in own for word in wanted) / max(len(wanted), 1)
        if covered >= 0.5:
            score = round(600 * covered) + 100 * is_file
            matches.append({**section, "reason": "title" if is_file else "heading", "score": score})
    return sorted(matches, key=lambda match: (-match["score"], match["filename"], match["start_line"]))


def _named(records: list[Record], target: str) -> list[dict[str, Any]]:
    """The records with this file name, or else this number; with `#heading`, the sections of these."""
    name, _, heading = target.strip().lower().partition("#")
    name = os.path.basename(name).removesuffix(".md")
    number = None if ":" in target else re.match(r"(?:adr[-_ ]*)?0*(\d{1,4})(?:-|$)", name)
    chosen = [record for record in records if record.stem.lower() == name]
    if not chosen and number:
        chosen = [record for record in records if int(record.number) == int(number[1])]
    sections = (section for record in chosen for section in record.sections)
    return [section for section in sections if section["id"].lower().partition("#")[2] == heading.strip()]


def refs(records: list[Record], query: str) -> dict[str, Any]:
    """The links of other records to the record or section that a query fits.

    Raises Failure NO_MATCH, or ADR_REF_AMBIGUOUS if several fit.
    """
    target, *others = matches = locate(records, query, limit=5)["matches"]
    if others:
        several = ", ".join(match["id"] for match in matches)
        raise Failure("ADR_REF_AMBIGUOUS", f"{query[:200]!r} may be {several}", "name one of these")
    linked = [
        {**link, "target_canonical": target["id"]}
        for link in _links(records)
        if any(target["id"] in (to["id"], to["id"].partition("#")[0]) for to in _named(records, link["target"]))
    ]
    about = {key: target[key] for key in ("id", "kind", "filename", "title", "path")}
    return {"query": query, "target": about, "count": len(linked), "refs": linked, "suggestions": others}


def _links(records: list[Record]) -> Iterator[dict[str, Any]]:
    """The links in the records; `target` does not include a label."""
    for record in records:
        for number, line in enumerate(record.text.splitlines(), 1):
            for match in _LINK.finditer(line):
                yield {
                    "source_filename": record.filename, "source_title": record.title, "source_path": record.path,
                    "line": number, "target": match[1].strip(), "context": line.strip()[:240],
                }  # fmt: skip


def expand(records: list[Record], text: str) -> dict[str, Any]:
    """A prompt with each `[[link]]` replaced by the id of its record, and these records as context.

    Raises Failure ADR_PROMPT_REF_MISSING for a link that fits no record.
    """
    resolved = {target: _matches(records, target)[:6] for target in dict.fromkeys(_LINK.findall(text))}
    for target, matches in resolved.items():
        if not matches:
            message = f"[[{target[:200]}]] is not a decision record"
            raise Failure("ADR_PROMPT_REF_MISSING", message, "list them: joelclaw vault adr list")
    parts = [f"## {matches[0]['id']}\n{matches[0]['body']}" for matches in resolved.values()]
    return {
        "text": text,
        "expanded_text": _LINK.sub(lambda match: str(resolved[match[1]][0]["id"]), text),
        "refs": [{"raw": raw, "resolved": matches[0]["id"], "matches": matches} for raw, matches in resolved.items()],
        "context": "<adr-context>\n" + "\n\n".join(parts) + "\n</adr-context>" if parts else "",
    }


def audit(vault: str, records: list[Record]) -> dict[str, Any]:
    """The faults of the records: statuses, shared numbers, links, the index in README.md. `ok`: there are none."""
    index_path = os.path.join(vault, FOLDER, "README.md")
    index = markdown.text_of(index_path)
    rows = re.findall(r"\|\s*\[\d{4}\]\((?:[^)\s]*/)?([^)\s/]+)\)\s*\|", index or "")
    names = [record.filename for record in records]
    numbers = {record.number for record in records}
    successors = [(record.filename, str(record.front.get("superseded-by") or "")) for record in records]
    by_status = Counter(record.status for record in records if record.status)
    statuses: dict[str, Any] = {
        "missing_status": [record.filename for record in records if record.status is None],
        "non_canonical_status": [
            {"filename": record.filename, "status": record.status}
            for record in records if record.status not in (None, *STATUSES)
        ],
        "collisions": collisions(records)["collisions"],
        "superseded_by_missing_targets": [
            {"from": name, "target": target} for name, target in successors
            if target and not numbers.intersection(number.zfill(4) for number in re.findall(r"\d{1,4}", target))
        ],
    }  # fmt: skip
    links = _audited_links(vault, records)
    missing = [] if index is None else [name for name in names if name not in rows]
    extra = [name for name in rows if name not in names]
    return {
        "ok": not any((*statuses.values(), links["broken"], links["ambiguous"], missing, extra)),
        "decisions_dir": os.path.join(vault, FOLDER), "index_path": index_path, "total": len(records),
        "canonical_statuses": list(STATUSES), "status_counts": by_status,
        **statuses,
        "wiki_links": links,
        "index": {
            "exists": index is not None, "rows": len(rows), "missing_from_index": missing, "extra_in_index": extra,
        },
    }  # fmt: skip


def _audited_links(vault: str, records: list[Record]) -> dict[str, Any]:
    """The links that lead to no note or to several; those with another scheme, a placeholder or speech are skipped."""
    notes: dict[str, set[str]] = {}  # by path in the vault, and by file name
    for path in markdown.files_below(vault):
        stem = os.path.splitext(os.path.relpath(path, vault))[0].lower()
        for name in (stem, os.path.basename(stem)):
            notes.setdefault(name, set()).add(path)
    links = [link for link in _links(records) if not re.search(r":|\.\.\.|^tts", link["target"])]
    audited: dict[str, Any] = {"broken": [], "ambiguous": [], "skipped_custom": len([*_links(records)]) - len(links)}
    for link in links:
        target = link["target"]
        paths = {section["path"] for section in _named(records, target)}
        paths = paths or notes.get(target.partition("#")[0].lower().removesuffix(".md"), set())
        about = {"source": link["source_filename"], "line": link["line"], "target": target}
        if len(paths) != 1:
            audited["ambiguous" if paths else "broken"].append({**about, "candidates": sorted(paths)})
    return audited


def rank(records: list[Record], *, band: str, only_unscored: bool, closed_too: bool) -> dict[str, Any]:
    """The open records by the score that they declare, and those that declare none."""
    rows = [record.row() for record in (records if closed_too else _open(records))]
    scored = sorted((row for row in rows if row["score"] is not None), key=lambda row: (-row["score"], row["number"]))
    missing = [row for row in rows if row["score"] is None]
    ranked = [row for row in scored if not only_unscored and band in ("", row["band"])]
    counts = {"total_open": len(rows), "scored": len(scored), "unscored": len(missing)}
    return {"ranked": ranked, "missing_scores": missing, **counts}


def recommend(records: list[Record], count: int) -> dict[str, Any]:
    """The open records to take on next: by the score of their parts, need and number."""
    rows = [_candidate(record) for record in _open(records)]
    scored = [row for row in rows if row["score"] is not None]
    scored.sort(key=lambda row: (-row["score"], -row["need"], row["number"]))
    candidates = [{"rank": place, **row} for place, row in enumerate(scored[:count], 1)]
    about = "ADR-{number} ({title}) — score {score}, band {band}, readiness {readiness:g}/5"
    recommendation = about.format_map(candidates[0]) if candidates else None
    counts = {"actionable_count": len(rows), "scored_count": len(scored)}
    return {"recommendation": recommendation, **counts, "candidates": candidates}


def _open(records: list[Record]) -> list[Record]:
    return [record for record in records if record.status in ("accepted", "proposed")]


def _candidate(record: Record) -> dict[str, Any]:
    """A record with score 20(.5 need + .3 readiness + .2 confidence) + 5(novelty - 3), and the faults in its fields."""
    row = record.row()
    faults = [name for name in (*WEIGHTS, "novelty") if row[name] is None or row[name] > 5]
    row["rationale"] = record.front.get("priority-rationale")
    row["issues"] = [f"priority-{name} is missing or not 0 to 5" for name in faults]
    if not WEIGHTS.keys().isdisjoint(faults):
        return {**row, "score": None, "band": None}
    novelty = 3 if row["novelty"] is None else min(row["novelty"], 5)
    score = round(20 * sum(weight * row[name] for name, weight in WEIGHTS.items())) + round(5 * (novelty - 3))
    score = min(max(score, 0), 100)
    if row["score"] not in (None, score):
        row["issues"].append(f"priority-score says {row['score']:g}, its parts make {score}")
    if row["band"] not in (None, band_of(score)):
        row["issues"].append(f"priority-band says {row['band']}, the score makes {band_of(score)}")
    return {**row, "score": score, "band": band_of(score)}
