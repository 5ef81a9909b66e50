"""The knowledge graph of MCP's reference memory server: entities with observations, and relations between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.other_stores.item import MOST_JSON_BYTES, Item, LeftOut, lines_of, parsed, read, tags_of

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPES = ("entity", "relation")


def is_graph(value: Any) -> bool:
    """Whether a JSON value is a whole graph, as the server's tool `read_graph` answers it."""
    return isinstance(value, dict) and isinstance(value.get("entities"), list)


def is_line(value: Any) -> bool:
    """Whether a JSON value is a line of the server's file."""
    return isinstance(value, dict) and value.get("type") in TYPES and ("name" in value or "from" in value)


def items(path: str) -> Iterator[Item | LeftOut]:
    """Each observation of an entity is a memory with its name in front, each relation a sentence.

    Raises:
        Failure: IMPORT_FAILED.
    """
    data = read(path, MOST_JSON_BYTES)
    whole = parsed(data)
    if is_graph(whole):
        relations = whole.get("relations")
        rows = [{"type": "entity", **one} if isinstance(one, dict) else one for one in whole["entities"]]
        rows += [
            {"type": "relation", **one} if isinstance(one, dict) else one
            for one in (relations if isinstance(relations, list) else ())
        ]
        numbered = list(enumerate(rows, 1))
    else:
        numbered = lines_of(data)
    for number, row in numbered:
        kind = row.get("type") if isinstance(row, dict) else None
        if kind == "entity":
            yield from _of_entity(row, number)
        elif kind == "relation":
            yield _of_relation(row, number)
        else:
            yield LeftOut(f"line {number}", "neither an entity nor a relation")


def _of_entity(row: dict[str, Any], number: int) -> Iterator[Item | LeftOut]:
    name, said = row.get("name"), row.get("observations")
    if not isinstance(name, str) or not name.strip() or not isinstance(said, list):
        yield LeftOut(f"line {number}", "an entity without a name or observations")
        return
    if not said:
        yield LeftOut(f"line {number}", "an entity of which nothing was observed", name)
    tags = tags_of(["mcp-memory", row.get("entityType")])
    for at, observation in enumerate(said, 1):
        where = f"line {number}, observation {at}"
        if isinstance(observation, str) and observation.strip():
            text = observation.strip()
            full = text if name.strip().lower() in text.lower() else f"{name.strip()}: {text}"
            yield Item(full, where, f"{name}\0{text}", tags)
        else:
            yield LeftOut(where, "an observation that is no text")


def _of_relation(row: dict[str, Any], number: int) -> Item | LeftOut:
    parts = [row.get(name) for name in ("from", "relationType", "to")]
    if not all(isinstance(part, str) and part.strip() for part in parts):
        return LeftOut(f"line {number}", "a relation without its two ends or its type")
    start, kind, end = (str(part).strip() for part in parts)
    said = f"{start} {kind.replace('_', ' ')} {end}"
    return Item(said, f"line {number}", f"{start}\0{kind}\0{end}", ("mcp-memory", "relation"))
