"""What other tools remember as JSON or in SQLite, as items: Mem0, MCP's memory server, claude-mem."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from core import clock
from core.errors import Failure
from core.store import foreign_file

MOST_JSON_BYTES = 64 * 1024 * 1024
_MOST_TAGS = 16
_LONGEST_TAG = 60
_WHITE = b"\xef\xbb\xbf \t\r\n"


@dataclass(frozen=True)
class Item:
    """One memory of another tool.

    Args:
        text: what it says; it is redacted, judged and categorised when it is stored.
        where: the place in the file, for people: `line 12`, `observation 7`.
        key: what tells it from others in its store, and stays when it is taken in again.
        context: what stands around it: headings, a title. Found by at half the weight of the text.
        category: an alias or id, "" to go by the words.
        created_at: ms since the epoch, None where that is not known.
    """

    text: str
    where: str
    key: str
    tags: tuple[str, ...] = ()
    context: str = ""
    category: str = ""
    project: str = ""
    created_at: int | None = None


@dataclass(frozen=True)
class LeftOut:
    """A piece of the file that is no memory, and why."""

    where: str
    reason: str
    text: str = ""


Pieces = Iterator[Item | LeftOut]


def json_form(data: bytes) -> str:
    """`mem0` or `mcp-memory`, by the first line where it is a JSON value, else by the whole; "" for neither."""
    first = _parsed(data.lstrip(_WHITE).partition(b"\n")[0])
    if isinstance(first, dict):
        if first.get("type") in ("entity", "relation") and ("name" in first or "from" in first):
            return "mcp-memory"
        if isinstance(first.get("text"), str):
            return ""
        if _is_memory(first):
            return "mem0"
    value = _parsed(data)
    if isinstance(value, dict) and isinstance(value.get("entities"), list):
        return "mcp-memory"
    return "mem0" if any(map(_is_memory, _memories(value) or ())) else ""


def read(path: str, most: int) -> bytes:
    """A whole file.

    Raises:
        Failure: IMPORT_FAILED where it is larger than `most` bytes or cannot be read.
    """
    try:
        with open(path, "rb") as handle:
            data = handle.read(most + 1)
    except OSError as error:
        raise Failure("IMPORT_FAILED", f"{path}: {error.strerror}", "name a file that can be read") from None
    if len(data) > most:
        raise Failure("IMPORT_FAILED", f"{path} has more than {most:,} bytes", "split it, and import the parts")
    return data


def _parsed(data: bytes) -> Any:
    """A JSON value, None where it is none."""
    try:
        return orjson.loads(data.lstrip(_WHITE))
    except orjson.JSONDecodeError:
        return None


def _lines(data: bytes) -> list[tuple[int, Any]]:
    """The numbered JSON values of a file of lines, None for a line that is none; blank lines are left out."""
    return [(number, _parsed(line)) for number, line in enumerate(data.splitlines(), 1) if line.strip()]


def tags_of(values: Iterable[object]) -> tuple[str, ...]:
    """Those of the values that can be tags: short texts on one line, each once."""
    found = [" ".join(value.split()) for value in values if isinstance(value, str)]
    return tuple(dict.fromkeys(value for value in found if 0 < len(value) <= _LONGEST_TAG))[:_MOST_TAGS]


def _moment(value: object) -> int | None:
    """Ms since the epoch of an ISO 8601 time or of a number of s or ms; None for anything else."""
    if isinstance(value, str):
        return clock.parse_iso(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e15:
        return None
    return int(value if value > 1e11 else value * 1000)


def _line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _memories(value: Any) -> list[Any] | None:
    """The list of memories that a JSON value of Mem0 holds, None where it holds none."""
    if isinstance(value, dict):
        value = value.get("results", value.get("memories"))
    return value if isinstance(value, list) else None


def _is_memory(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("memory"), str)


def mem0(path: str) -> Pieces:
    """A list, `{"results": [...]}` or lines of `{id, memory, created_at, …}`; a memory is known again by its id.

    Raises:
        Failure: IMPORT_FAILED, as every reader does.
    """
    data = read(path, MOST_JSON_BYTES)
    found = _memories(_parsed(data))
    for number, one in enumerate(found, 1) if found is not None else _lines(data):
        where = f"memory {number}"
        if not _is_memory(one):
            yield LeftOut(where, "has no text in `memory`")
            continue
        about = one["metadata"] if isinstance(one.get("metadata"), dict) else {}
        named = [about.get(name) for name in ("category", "type", "topic")]
        lists = (one.get("categories"), named, about.get("tags"))
        tags = tags_of(["mem0", *(tag for values in lists if isinstance(values, list) for tag in values)])
        key = str(one["id"]) if isinstance(one.get("id"), (str, int)) else one["memory"]
        yield Item(one["memory"].strip(), where, key, tags, created_at=_moment(one.get("created_at")))


def mcp_memory(path: str) -> Pieces:
    """Lines of entities and relations, or the answer of the tool `read_graph`.

    Each observation of an entity is a memory with its name in front, each relation a sentence.
    """
    data = read(path, MOST_JSON_BYTES)
    graph = _parsed(data)
    numbered = _lines(data)
    if isinstance(graph, dict) and isinstance(graph.get("entities"), list):
        kinds = (("entity", graph["entities"]), ("relation", graph.get("relations") or []))
        rows = [{"type": kind, **row} if isinstance(row, dict) else row for kind, rows in kinds for row in rows]
        numbered = list(enumerate(rows, 1))
    for number, row in numbered:
        where = f"line {number}"
        kind = row.get("type") if isinstance(row, dict) else None
        if kind == "entity":
            yield from _of_entity(row, where)
        elif kind == "relation":
            parts = [_line(row.get(name)) for name in ("from", "relationType", "to")]
            if all(parts):
                start, named, end = parts
                said = f"{start} {named.replace('_', ' ')} {end}"
                yield Item(said, where, "\0".join(parts), ("mcp-memory", "relation"))
            else:
                yield LeftOut(where, "a relation without its two ends or its type")
        else:
            yield LeftOut(where, "neither an entity nor a relation")


def _of_entity(row: dict[str, Any], where: str) -> Pieces:
    name, said = _line(row.get("name")), row.get("observations")
    if not name or not isinstance(said, list) or not said:
        yield LeftOut(where, "an entity without a name or observations", name)
        return
    for at, observation in enumerate(said, 1):
        place = f"{where}, observation {at}"
        text = observation.strip() if isinstance(observation, str) else ""
        if text:
            full = text if name.lower() in text.lower() else f"{name}: {text}"
            yield Item(full, place, f"{row['name']}\0{text}", tags_of(["mcp-memory", row.get("entityType")]))
        else:
            yield LeftOut(place, "an observation that is no text")


def claude_mem(path: str) -> Pieces:
    """The facts of each observation, else its narrative; what summaries of sessions say was learnt, done and noted.

    The SQLite file is not written, and what waits in a log beside it is not seen: that is told.
    """
    with foreign_file.opened(path) as db:
        waiting = os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0
        if waiting:
            reason = (
                f"{waiting:,} bytes of the newest changes are not in the file yet: end claude-mem, and import again"
            )
            yield LeftOut(os.path.basename(path) + "-wal", reason)
        told = ("text", "facts", "narrative", "concepts", "title", "subtitle", "type", "content_hash")
        about = ("id", "project", "created_at", "created_at_epoch")
        for row in foreign_file.rows(db, "observations", (*about, *told)):
            yield from _of_observation(row)
        # What was asked for and what was to come next are over.
        parts = ("learned", "completed", "notes")
        for row in foreign_file.rows(db, "session_summaries", (*about, "request", *parts)):
            where = f"summary {row['id']}"
            said = [(name, _line(row[name])) for name in parts if _line(row[name])]
            if not said:
                yield LeftOut(where, "says nothing")
            for name, text in said:
                key = f"summary\0{row['id']}\0{row['created_at_epoch']}\0{name}"
                tags = ("claude-mem", "summary", name)
                yield _of_row(row, text, f"{where}, {name}", key, tags, _line(row["request"]))


def _of_observation(row: dict[str, Any]) -> Pieces:
    where = f"observation {row['id']}"
    title = _line(row["title"])
    facts = [fact.strip() for fact in _list(row["facts"]) if isinstance(fact, str) and fact.strip()]
    if not facts:
        titles = " – ".join(filter(None, (title, _line(row["subtitle"]))))
        facts = [_line(row["narrative"]) or _line(row["text"]) or titles]
    if not facts[0]:
        yield LeftOut(where, "says nothing")
        return
    tags = tags_of(["claude-mem", row["type"], *_list(row["concepts"])])
    own = _line(row["content_hash"]) or f"{row['id']}\0{row['created_at_epoch']}"
    for number, fact in enumerate(facts, 1):
        place = f"{where}, fact {number}" if len(facts) > 1 else where
        yield _of_row(row, fact, place, f"observation\0{own}\0{number}", tags, title if title != fact else "")


def _of_row(row: dict[str, Any], text: str, where: str, key: str, tags: tuple[str, ...], context: str) -> Item:
    at = _moment(row["created_at_epoch"]) or _moment(row["created_at"])
    return Item(text, where, key, tags, context, project=_line(row["project"]), created_at=at)


def _list(value: object) -> list[Any]:
    """A JSON list in a column; a text that is no JSON is a list of one."""
    if not isinstance(value, str) or not value.strip():
        return []
    found = _parsed(value.encode("utf-8", "replace"))
    return found if isinstance(found, list) else [value] if found is None else []
