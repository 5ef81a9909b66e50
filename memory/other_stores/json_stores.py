"""Memories that other tools keep, or give back, as JSON: Mem0's, and the graph of MCP's reference memory server.

Mem0: a list, `{"results": [...]}` or lines of `{id, memory, created_at, …}`. The memory server: lines of entities with
observations and of relations between them, or the answer of its tool `read_graph`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory.other_stores.item import MOST_JSON_BYTES, Item, LeftOut, lines_of, moment, parsed, read, tags_of

_LISTS = ("results", "memories")
_NAMED = ("category", "type", "topic")
"""Of a memory's metadata, what is a tag where it is a short text."""


def form_of(data: bytes, whole: bool) -> str:
    """`mem0` or `mcp-memory`, by the first line where it is a JSON value, else by the whole; "" for neither."""
    first = parsed(data.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0])
    if isinstance(first, dict):
        if first.get("type") in ("entity", "relation") and ("name" in first or "from" in first):
            return "mcp-memory"
        if isinstance(first.get("text"), str):
            return ""
        if _is_memory(first):
            return "mem0"
    value = parsed(data.lstrip(b"\xef\xbb\xbf \t\r\n")) if whole else None
    if _is_graph(value):
        return "mcp-memory"
    return "mem0" if any(map(_is_memory, _memories(value) or ())) else ""


def _memories(value: Any) -> list[Any] | None:
    """The list of memories that a JSON value of Mem0 holds, None where it holds none."""
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    return value if isinstance(value, list) else None


def _is_memory(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("memory"), str)


def _is_graph(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("entities"), list)


def mem0(path: str) -> Iterator[Item | LeftOut]:
    """The memories of an export, in its order. A memory is known again by its id.

    Raises:
        Failure: IMPORT_FAILED.
    """
    data = read(path, MOST_JSON_BYTES)
    found = _memories(parsed(data))
    for number, one in enumerate(found, 1) if found is not None else lines_of(data):
        where = f"memory {number}"
        if not _is_memory(one):
            yield LeftOut(where, "has no text in `memory`")
            continue
        about = one["metadata"] if isinstance(one.get("metadata"), dict) else {}
        lists = (one.get("categories"), [about.get(name) for name in _NAMED], about.get("tags"))
        tags = tags_of(["mem0", *(tag for values in lists if isinstance(values, list) for tag in values)])
        key = str(one["id"]) if isinstance(one.get("id"), (str, int)) else one["memory"]
        yield Item(one["memory"].strip(), where, key, tags, created_at=moment(one.get("created_at")))


def mcp_memory(path: str) -> Iterator[Item | LeftOut]:
    """Each observation of an entity is a memory with its name in front, each relation a sentence.

    Raises:
        Failure: IMPORT_FAILED.
    """
    data = read(path, MOST_JSON_BYTES)
    graph = parsed(data)
    numbered = lines_of(data)
    if _is_graph(graph):
        kinds = (("entity", graph["entities"]), ("relation", graph.get("relations")))
        rows = [(kind, row) for kind, rows in kinds for row in (rows if isinstance(rows, list) else ())]
        numbered = list(enumerate(({"type": kind, **row} if isinstance(row, dict) else row for kind, row in rows), 1))
    for number, row in numbered:
        kind = row.get("type") if isinstance(row, dict) else None
        if kind == "entity":
            yield from _of_entity(row, f"line {number}")
        elif kind == "relation":
            yield _of_relation(row, f"line {number}")
        else:
            yield LeftOut(f"line {number}", "neither an entity nor a relation")


def _of_entity(row: dict[str, Any], where: str) -> Iterator[Item | LeftOut]:
    name, said = row.get("name"), row.get("observations")
    if not isinstance(name, str) or not name.strip() or not isinstance(said, list):
        yield LeftOut(where, "an entity without a name or observations")
        return
    if not said:
        yield LeftOut(where, "an entity of which nothing was observed", name)
    for at, observation in enumerate(said, 1):
        place = f"{where}, observation {at}"
        if isinstance(observation, str) and observation.strip():
            text = observation.strip()
            full = text if name.strip().lower() in text.lower() else f"{name.strip()}: {text}"
            yield Item(full, place, f"{name}\0{text}", tags_of(["mcp-memory", row.get("entityType")]))
        else:
            yield LeftOut(place, "an observation that is no text")


def _of_relation(row: dict[str, Any], where: str) -> Item | LeftOut:
    parts = [row.get(name) for name in ("from", "relationType", "to")]
    if not all(isinstance(part, str) and part.strip() for part in parts):
        return LeftOut(where, "a relation without its two ends or its type")
    start, kind, end = (str(part).strip() for part in parts)
    said = f"{start} {kind.replace('_', ' ')} {end}"
    return Item(said, where, f"{start}\0{kind}\0{end}", ("mcp-memory", "relation"))
