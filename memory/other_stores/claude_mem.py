"""claude-mem's store, an SQLite file: its observations and the summaries of sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from core.store import foreign_file
from core.store.foreign_file import ForeignFile
from memory.other_stores.item import Item, LeftOut, moment, parsed, tags_of

TABLES = ("observations", "session_summaries")
_OBSERVATION = (
    "id", "project", "type", "title", "subtitle", "text", "facts", "narrative", "concepts", "content_hash",
    "created_at", "created_at_epoch",
)  # fmt: skip
_SUMMARY = ("id", "project", "request", "learned", "completed", "notes", "created_at", "created_at_epoch")
_TOLD = ("learned", "completed", "notes")
"""What of a summary is worth keeping: what was asked for and what was to come next are over."""


def is_store(db: ForeignFile) -> bool:
    """Whether an SQLite file is claude-mem's: it has observations with a type, of a project."""
    return {"type", "project", "created_at_epoch"} <= db.columns(TABLES[0])


def items(path: str) -> Iterator[Item | LeftOut]:
    """The facts of each observation, or else its narrative; what summaries say was learnt, done and noted.

    The file is not written, and what waits in a log beside it is not seen: that is told.

    Raises:
        Failure: IMPORT_FAILED.
    """
    with foreign_file.opened(path) as db:
        waiting = os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0
        if waiting:
            yield LeftOut(
                os.path.basename(path) + "-wal",
                f"{waiting:,} bytes of the newest changes are not in the file yet: end claude-mem, and import again",
            )
        for row in db.rows(TABLES[0], _OBSERVATION):
            yield from _of_observation(row)
        for row in db.rows(TABLES[1], _SUMMARY) if "learned" in db.columns(TABLES[1]) else ():
            yield from _of_summary(row)


def _of_observation(row: dict[str, Any]) -> Iterator[Item | LeftOut]:
    where = f"observation {row['id']}"
    title = _text(row["title"])
    tags = tags_of(["claude-mem", row["type"], *_list(row["concepts"])])
    facts = [fact.strip() for fact in _list(row["facts"]) if isinstance(fact, str) and fact.strip()]
    if not facts:
        said = _text(row["narrative"]) or _text(row["text"])
        subtitle = _text(row["subtitle"])
        facts = [said or (f"{title} – {subtitle}" if title and subtitle else title or subtitle)]
    if not facts[0]:
        yield LeftOut(where, "says nothing")
        return
    at = moment(row["created_at_epoch"]) or moment(row["created_at"])
    own = _text(row["content_hash"]) or f"{row['id']}\0{row['created_at_epoch']}"
    for number, fact in enumerate(facts, 1):
        place = f"{where}, fact {number}" if len(facts) > 1 else where
        context = title if title != fact else ""
        yield Item(fact, place, f"observation\0{own}\0{number}", tags, context, "", _text(row["project"]), at)


def _of_summary(row: dict[str, Any]) -> Iterator[Item | LeftOut]:
    where = f"summary {row['id']}"
    told = [(name, _text(row[name])) for name in _TOLD]
    if not any(said for _, said in told):
        yield LeftOut(where, "says nothing")
    at = moment(row["created_at_epoch"]) or moment(row["created_at"])
    for name, said in told:
        if said:
            key = f"summary\0{row['id']}\0{row['created_at_epoch']}\0{name}"
            tags = ("claude-mem", "summary", name)
            yield Item(said, f"{where}, {name}", key, tags, _text(row["request"]), "", _text(row["project"]), at)


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    """A JSON list in a column; a text that is none is a list of one."""
    found = parsed(value.encode("utf-8", "replace")) if isinstance(value, str) and value.strip() else []
    if isinstance(found, list):
        return found
    return [value] if isinstance(value, str) and found is None else []
