"""Reading the notes that a reference means; where no name fits, the synced sections that answer it (ADR-0204)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import Failure
from core.store import documents, sqlite
from memory.knowledge import markdown_files
from memory.vault import reference as references
from memory.vault.reference import Resolution
from memory.vault.search import by_meaning

if TYPE_CHECKING:
    from memory.knowledge.search import KnowledgeHit

MOST_LINES = 500
MOST_CHARS = 400_000
"""Characters of a note that are shown, where its lines are very long."""
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True)
class Content:
    """The first MOST_LINES lines of a note, and how many there are."""

    path: str
    content: str
    total_lines: int
    truncated: bool


def find(root: str, reference: str) -> list[tuple[Resolution, Content]]:
    """The notes that a reference means, at least one, each with its beginning.

    Raises:
        Failure: NO_MATCH; KNOWLEDGE_SEARCH_FAILED where the store cannot answer.
    """
    named = [(one, _read(one.path)) for one in references.resolve(root, reference)]
    notes = [(one, content) for one, content in named if content is not None]
    if notes:
        return notes
    if named:
        raise Failure("NO_MATCH", f"{named[0][0].path} cannot be read as text", "open it with another program")
    if references.names_outside(root, reference):
        raise Failure(
            "NO_MATCH",
            f"{reference[:200]!r} is outside the vault {root}",
            "name a note below it, or set VAULT_PATH",
        )
    hits, _, synced = by_meaning(root, reference, limit=references.MOST, unasked=True)
    if hits:
        return [(Resolution(hit["path"], "semantic", hit["score"]), _of_hit(root, hit)) for hit in hits]
    fix = f"look for its words: joelclaw vault search {reference[:80]!r}"
    if not synced:
        fix = f"take the vault in, so that questions find notes by meaning: joelclaw knowledge sync {root}"
    raise Failure("NO_MATCH", f"nothing in {root} is called {reference[:200]!r}, or is about it", fix)


def _read(path: str) -> Content | None:
    try:
        return read(path)
    except OSError as error:
        raise Failure("NO_MATCH", f"{path} cannot be read: {error.strerror}", "check its permissions") from None


def _of_hit(root: str, hit: KnowledgeHit) -> Content:
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
    total = text.count("\n") + (not text.endswith("\n") and bool(text))
    at = -1
    for _ in range(MOST_LINES):
        at = text.find("\n", at + 1)
        if at < 0:
            break
    shown = (text if at < 0 else text[: at + 1])[:MOST_CHARS]
    return Content(path, shown, total, more or len(shown) < len(text))
