"""The upkeep of decision records: what is wrong with them as a whole, and which to take on next."""

import os
import re
import time
from collections import Counter
from typing import Any

from memory.knowledge import decisions, markdown, markdown_files, vault
from memory.knowledge.decisions import Record

_INDEX = "README.md"
_INDEX_ROW = re.compile(r"\|\s*\[(\d{4})\]\(([^)\s]+)\)\s*\|")
_HIGHEST, _USUAL_NOVELTY = 5, 3
_WEIGHTS = {"need": 0.5, "readiness": 0.3, "confidence": 0.2}
_OPEN = ("accepted", "proposed")


def audit(root: str, records: list[Record]) -> dict[str, Any]:
    """What is missing or wrong in the records of a vault; `ok` is False where anything is."""
    collisions = decisions.collisions(records)
    broken, ambiguous, custom = _links(root, records)
    index = _index(root, records)
    missing = [one.filename for one in records if one.status is None]
    unknown = [
        {"filename": one.filename, "status": one.status} for one in records
        if one.status is not None and one.status not in decisions.STATUSES
    ]  # fmt: skip
    gone = _superseded_by_nothing(records)
    wrong = (
        collisions,
        broken,
        ambiguous,
        missing,
        unknown,
        gone,
        index["missing_from_index"],
        index["extra_in_index"],
    )
    return {
        "ok": not any(wrong),
        "decisions_dir": os.path.join(root, decisions.FOLDER),
        "index_path": os.path.join(root, decisions.FOLDER, _INDEX),
        "total": len(records),
        "canonical_statuses": list(decisions.STATUSES),
        "status_counts": dict(Counter(one.status for one in records if one.status is not None)),
        "missing_status": missing,
        "non_canonical_status": unknown,
        "collisions": collisions,
        "superseded_by_missing_targets": gone,
        "wiki_links": {"broken": broken, "ambiguous": ambiguous, "skipped_custom": custom},
        "index": index,
    }


def _links(root: str, records: list[Record]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    listed = list(markdown_files.below(root, until=time.monotonic() + vault.SLOWEST_S).files)
    broken: list[dict[str, Any]] = []
    ambiguous: list[dict[str, Any]] = []
    custom = 0
    for link in decisions.links(records):
        if decisions.is_custom(link.target):
            custom += 1
            continue
        told: dict[str, Any] = {"source": link.source.filename, "line": link.line, "target": link.target}
        paths = decisions.meant(root, records, listed, link.target)
        if not paths:
            broken.append(told)
        elif len(paths) > 1:
            ambiguous.append({**told, "candidates": sorted(paths)})
    return broken, ambiguous, custom


def _superseded_by_nothing(records: list[Record]) -> list[dict[str, str]]:
    found = []
    numbers = {one.number for one in records}
    for one in records:
        target = str(markdown.front_matter(one.text)[0].get("superseded-by") or "")
        number = re.search(r"\d{1,4}", target)
        if target and (number is None or number[0].zfill(4) not in numbers):
            found.append({"from": one.filename, "target": target})
    return found


def _index(root: str, records: list[Record]) -> dict[str, Any]:
    text = markdown_files.text_of(os.path.join(root, decisions.FOLDER, _INDEX))
    rows = [os.path.basename(match[2]) for match in _INDEX_ROW.finditer(text or "")]
    names = [one.filename for one in records]
    return {
        "exists": text is not None,
        "rows": len(rows),
        "missing_from_index": [] if text is None else [name for name in names if name not in rows],
        "extra_in_index": [name for name in rows if name not in names],
    }


def recommend(records: list[Record], count: int) -> dict[str, Any]:
    """The open records to take on next: by band, then score, need and number. The score is worked out anew."""
    rows = [_candidate(one) for one in records if one.status in _OPEN]
    scored = [row for row in rows if row["score"] is not None]
    order = list(decisions.BANDS)
    scored.sort(key=lambda row: (order.index(row["band"]), -row["score"], -row["need"], row["number"]))
    candidates = [{"rank": rank, **row} for rank, row in enumerate(scored[:count], 1)]
    told = None
    if candidates:
        best = candidates[0]
        told = f"ADR-{best['number']} ({best['title']}) — score {best['score']}, band {best['band']}, "
        told += f"readiness {best['readiness']:g}/{_HIGHEST}"
    return {
        "recommendation": told, "actionable_count": len(rows), "scored_count": len(scored), "candidates": candidates,
    }  # fmt: skip


def _candidate(record: Record) -> dict[str, Any]:
    """A record with the score of its need, readiness and confidence (0 to 5), and where it says another."""
    said = decisions.priority(record)
    issues = [f"priority-{name} is missing" for name in (*_WEIGHTS, "novelty") if said[name] is None]
    issues += [f"priority-{name} is not 0 to 5" for name in (*_WEIGHTS, "novelty") if (said[name] or 0) > _HIGHEST]
    row = {"number": record.number, "title": record.title, "status": record.status, **said}
    row["rationale"] = markdown.front_matter(record.text)[0].get("priority-rationale")
    if any(said[name] is None or said[name] > _HIGHEST for name in _WEIGHTS):
        return {**row, "score": None, "band": None, "issues": issues}
    novelty = said["novelty"] if said["novelty"] is not None and said["novelty"] <= _HIGHEST else _USUAL_NOVELTY
    score = round(20 * sum(weight * said[name] for name, weight in _WEIGHTS.items()))
    score = min(max(score + round(5 * (novelty - _USUAL_NOVELTY)), 0), 100)
    band = next(name for name, least in decisions.BANDS.items() if score >= least)
    if said["score"] not in (None, score):
        issues.append(f"priority-score says {said['score']:g}, its parts make {score}")
    if said["band"] not in (None, band):
        issues.append(f"priority-band says {said['band']}, the score makes {band}")
    return {**row, "score": score, "band": band, "issues": issues}
