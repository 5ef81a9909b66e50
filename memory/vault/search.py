"""Searching the notes of a vault: for words, in bounded time and without an index, or by meaning."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from core import clock, config, words
from core.store import knowledge, sqlite
from memory.knowledge import markdown_files
from memory.knowledge.search import PER_FILE, search_failed, snippet
from memory.knowledge.search import search as search_sections

if TYPE_CHECKING:
    from memory.knowledge.search import KnowledgeHit

_NAME_WEIGHT = 0.3
_LEAST_COVERED = 0.5
_MOST_WORDS = 16


class VaultHit(TypedDict):
    """A note. `line` is the first (from 1) that holds most of the words, 0 where only the name has them."""

    path: str
    title: str
    score: float
    snippet: str
    line: int


@dataclass
class Searched:
    """Notes with the words, best first; `complete` is False where time ran out before all were read."""

    found: int = 0
    hits: list[VaultHit] = field(default_factory=list)
    files: int = 0
    complete: bool = True
    skipped: list[dict[str, str]] = field(default_factory=list)


def by_meaning(
    root: str, query: str, *, limit: int, below: str = "", unasked: bool = False
) -> tuple[list[KnowledgeHit], int, bool]:
    """Hits among the synced sections, how many there are, and whether any file of the vault is synced.

    Args:
        below: only files below this folder; "" for all.
        unasked: nobody asked for a search: one section a file, and as good as what is injected unasked.

    Raises:
        Failure: KNOWLEDGE_SEARCH_FAILED.
    """
    settings = config.load()
    result, db = search_sections(
        query,
        limit=limit,
        below=below,
        min_score=settings.number("inject.min_score") if unasked else 0.0,
        per_file=1 if unasked else PER_FILE,
        now=clock.now_ms(),
        config=settings,
    )
    if db is None:
        return [], 0, False
    try:
        return result["hits"], result["found"], knowledge.any_below(db, root)
    except sqlite.StoreError as error:
        raise search_failed(sqlite.as_failure(error)) from None


def by_words(vault: str, query: str, *, limit: int, seconds: float) -> Searched:
    """The notes that hold the words of a query, whatever their case.

    A word counts wherever it stands, also inside another. Notes with less than half of the words are left out.

    Args:
        vault: a real path.
        limit: most hits.
        seconds: after which no further note is read.
    """
    until = time.monotonic() + seconds
    asked = [word for word in words.split(query) if word not in words.STOP_WORDS] or words.split(query)
    wanted = list(dict.fromkeys(asked))[:_MOST_WORDS]
    listed = markdown_files.below(vault, until=until)
    report = Searched(complete=listed.complete)
    report.skipped = [{"path": path, "reason": reason} for path, reason in listed.problems[:20]]
    hits: list[VaultHit] = []
    for path in listed.files if wanted else ():
        if time.monotonic() > until:
            report.complete = False
            break
        report.files += 1
        try:
            text = markdown_files.decode(markdown_files.read(path)[0]) or ""
        except OSError:
            text = ""
        hit = _hit(vault, path, text, wanted)
        if hit:
            hits.append(hit)
    hits.sort(key=lambda hit: (-hit["score"], hit["path"]))
    report.found = len(hits)
    report.hits = hits[:limit]
    for hit in report.hits:  # only those that are shown
        hit["snippet"] = snippet(hit["snippet"], query)
    return report


def _hit(vault: str, path: str, text: str, wanted: list[str]) -> VaultHit | None:
    lower = text.lower()
    name = os.path.relpath(path, vault).lower()
    in_name = [word for word in wanted if word in name]
    present = [word for word in wanted if word in in_name or word in lower]
    covered = len(present) / len(wanted)
    if not present or covered < _LEAST_COVERED:
        return None
    line, shown = _best_line(text, lower, wanted)
    # All words in one line beat all words in one note; the name beats both.
    together = sum(1 for word in wanted if word in shown.lower()) / len(wanted)
    score = covered * (1 - _NAME_WEIGHT) * (0.6 + 0.4 * together) + _NAME_WEIGHT * len(in_name) / len(wanted)
    return {
        "path": path,
        "title": os.path.splitext(os.path.basename(path))[0],
        "score": round(min(score, 1.0), 4),
        "snippet": shown,
        "line": line,
    }


def _best_line(text: str, lower: str, wanted: list[str]) -> tuple[int, str]:
    """The number and the text of the line with most of the words, 0 and "" where none has one."""
    best, number, shown = 0, 0, ""
    if len(lower) != len(text):  # a letter that lowers to two: places do not agree
        text = lower
    for word in wanted:
        at = lower.find(word)
        tries = 0
        while at >= 0 and tries < 20 and best < len(wanted):
            start, end = lower.rfind("\n", 0, at) + 1, lower.find("\n", at)
            end = len(lower) if end < 0 else end
            count = sum(1 for other in wanted if other in lower[start:end])
            if count > best:
                best, number, shown = count, lower.count("\n", 0, start) + 1, text[start:end].strip()
            at = lower.find(word, end)
            tries += 1
    return number, shown
