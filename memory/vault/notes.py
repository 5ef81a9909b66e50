"""The notes of a vault: those that a reference means, and those that hold words; by meaning where it is synced."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from core import clock, config, words
from core.errors import Failure
from core.store import documents, knowledge, sqlite
from memory.knowledge import markdown_files
from memory.knowledge import search as sections
from memory.vault import reference as references
from memory.vault.reference import Resolution

MOST_LINES = 500
MOST_CHARS = 400_000
"""Characters of a note that are shown, where its lines are very long."""
_LARGEST = 64 * 1024 * 1024
_NAME_WEIGHT = 0.3
_LEAST_COVERED = 0.5
_MOST_WORDS = 16
_MOST_SKIPPED = 20


@dataclass(frozen=True)
class Content:
    """The first MOST_LINES lines of a note, and how many there are."""

    path: str
    content: str
    total_lines: int
    truncated: bool


def find(root: str, reference: str) -> list[tuple[Resolution, Content]]:
    """The notes that a reference means, at least one, each with its beginning.

    Where no name fits, the synced sections that answer it (ADR-0204).

    Raises:
        Failure: NO_MATCH; KNOWLEDGE_SEARCH_FAILED where the store cannot answer.
    """
    named = references.resolve(root, reference)
    notes = []
    for one in named:
        try:
            content = read(one.path)
        except OSError as error:
            message = f"{one.path} cannot be read: {error.strerror}"
            raise Failure("NO_MATCH", message, "check its permissions") from None
        if content is not None:
            notes.append((one, content))
    if notes:
        return notes
    if named:
        raise Failure("NO_MATCH", f"{named[0].path} cannot be read as text", "open it with another program")
    if references.names_outside(root, reference):
        message = f"{reference[:200]!r} is outside the vault {root}"
        raise Failure("NO_MATCH", message, "name a note below it, or set VAULT_PATH")
    hits, _, synced = by_meaning(root, reference, limit=references.MOST, unasked=True)
    if hits:
        return [(Resolution(hit["path"], "semantic", hit["score"]), _of_hit(root, hit)) for hit in hits]
    fix = f"look for its words: joelclaw vault search {reference[:80]!r}"
    if not synced:
        fix = f"take the vault in, so that questions find notes by meaning: joelclaw knowledge sync {root}"
    raise Failure("NO_MATCH", f"nothing in {root} is called {reference[:200]!r}, or is about it", fix)


def _of_hit(root: str, hit: dict[str, Any]) -> Content:
    """A note of the vault as a whole; of what lies elsewhere, or has gone, the section that the store has."""
    path = references.inside(root, hit["path"]) if hit["path"] else None
    try:
        content = read(path) if path else None
    except OSError:
        content = None  # gone since the last sync
    if content is None:
        db = sqlite.open_reading()
        document = documents.by_id(db, hit["id"]) if db else None
        content = cut(hit["path"], document["text"] if document else "")
    return content


def read(path: str) -> Content | None:
    """The beginning of a note as it is; None for what is binary.

    Raises:
        OSError: it cannot be read.
    """
    data, more = markdown_files.read(path, _LARGEST)
    text = markdown_files.decode(data)
    return None if text is None else cut(path, text, more=more)


def cut(path: str, text: str, *, more: bool = False) -> Content:
    """A text as its first MOST_LINES lines. `more`: there is more of it than was read."""
    lines = text.split("\n")
    total = len(lines) - (not lines[-1])
    shown = "\n".join([*lines[:MOST_LINES], ""] if len(lines) > MOST_LINES else lines)[:MOST_CHARS]
    return Content(path, shown, total, more or len(shown) < len(text))


def by_meaning(
    root: str, query: str, *, limit: int, below: str = "", unasked: bool = False
) -> tuple[list[dict[str, Any]], int, bool]:
    """Hits among the synced sections, how many there are, and whether any file of the vault is synced.

    Args:
        below: only files below this folder; "" for all.
        unasked: nobody asked for a search: one section a file, and as good as what is injected unasked.

    Raises:
        Failure: KNOWLEDGE_SEARCH_FAILED.
    """
    settings = config.load()
    result, db = sections.search(
        query,
        limit=limit,
        below=below,
        min_score=settings.get_float("inject.min_score") if unasked else 0.0,
        per_file=1 if unasked else sections.PER_FILE,
        now=clock.now_ms(),
        config=settings,
    )
    if db is None:
        return [], 0, False
    try:
        return result["hits"], result["found"], knowledge.any_below(db, root)
    except sqlite.StoreError as error:
        raise sections.search_failed(sqlite.as_failure(error)) from None


def by_words(vault: str, query: str, *, limit: int, seconds: float) -> dict[str, Any]:
    """The notes that hold the words of a query, whatever their case: `hits`, best first, and how many were `found`.

    A word counts wherever it stands, also inside another. Notes with less than half of the words are left out. Of a
    hit, `line` is the first (from 1) that holds most of the words, 0 where only the name has them. `complete` is False
    where time ran out before all `files` were read.

    Args:
        seconds: after which no further note is read.
    """
    until = time.monotonic() + seconds
    asked = [word for word in words.split(query) if word not in words.STOP_WORDS] or words.split(query)
    wanted = list(dict.fromkeys(asked))[:_MOST_WORDS]
    listed = markdown_files.below(vault, until=until)
    hits: list[dict[str, Any]] = []
    files = 0
    for path in listed.files if wanted else ():
        if time.monotonic() > until:
            listed.complete = False
            break
        files += 1
        if hit := _hit(vault, path, markdown_files.text_of(path) or "", wanted):
            hits.append(hit)
    hits.sort(key=lambda hit: (-hit["score"], hit["path"]))
    for hit in hits[:limit]:  # only those that are shown
        hit["snippet"] = sections.snippet(hit["snippet"], query)
    skipped = [{"path": path, "reason": reason} for path, reason in listed.problems[:_MOST_SKIPPED]]
    return {
        "found": len(hits), "hits": hits[:limit], "files": files, "complete": listed.complete, "skipped": skipped,
    }  # fmt: skip


def _hit(vault: str, path: str, text: str, wanted: list[str]) -> dict[str, Any] | None:
    lower = text.lower()
    name = os.path.relpath(path, vault).lower()
    in_name = [word for word in wanted if word in name]
    covered = sum(word in name or word in lower for word in wanted) / len(wanted)
    if covered < _LEAST_COVERED:
        return None
    best, number, shown = 0, 0, ""
    for at, line in enumerate(text.split("\n"), 1):
        folded = line.lower()
        count = sum(word in folded for word in wanted)
        if count > best:
            best, number, shown = count, at, line.strip()
    # All words in one line beat all words in one note; the name beats both.
    score = covered * (1 - _NAME_WEIGHT) * (0.6 + 0.4 * best / len(wanted)) + _NAME_WEIGHT * len(in_name) / len(wanted)
    return {
        "path": path,
        "title": os.path.splitext(os.path.basename(path))[0],
        "score": round(min(score, 1.0), 4),
        "snippet": shown,
        "line": number,
    }
