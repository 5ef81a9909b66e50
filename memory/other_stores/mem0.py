"""What Mem0 gives back of its memories: a list, `{"results": [...]}` or lines of `{id, memory, created_at, …}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.other_stores.item import MOST_JSON_BYTES, Item, LeftOut, lines_of, moment, parsed, read, tags_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTS = ("results", "memories")
_NAMED = ("category", "type", "topic")
"""Of a memory's metadata, what is a tag where it is a short text."""


def entries(value: Any) -> list[Any] | None:
    """The list of memories that a JSON value holds, None where it holds none."""
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    return value if isinstance(value, list) else None


def is_one(value: Any) -> bool:
    """Whether a JSON value is one memory of Mem0."""
    return isinstance(value, dict) and isinstance(value.get("memory"), str)


def items(path: str) -> Iterator[Item | LeftOut]:
    """The memories of an export, in its order. A memory is known again by its id.

    Raises:
        Failure: IMPORT_FAILED.
    """
    data = read(path, MOST_JSON_BYTES)
    found = entries(parsed(data))
    numbered = list(enumerate(found, 1)) if found is not None else lines_of(data)
    for number, one in numbered:
        where = f"memory {number}"
        if not is_one(one):
            yield LeftOut(where, "has no text in `memory`")
            continue
        metadata = one["metadata"] if isinstance(one.get("metadata"), dict) else {}
        categories = one["categories"] if isinstance(one.get("categories"), list) else ()
        named = [metadata.get(name) for name in _NAMED]
        written = one["metadata"].get("tags") if isinstance(one.get("metadata"), dict) else None
        yield Item(
            one["memory"].strip(),
            where,
            str(one["id"]) if isinstance(one.get("id"), (str, int)) else one["memory"],
            tags_of(["mem0", *categories, *named, *(written if isinstance(written, list) else ())]),
            created_at=moment(one.get("created_at")),
        )
