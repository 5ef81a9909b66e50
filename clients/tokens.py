"""Estimates of tokens as pi makes them: characters by four, rounded up, counted as JavaScript counts.

A character beyond the Basic Multilingual Plane is two units there, and arguments of a tool call count as the text that
`JSON.stringify` makes of them. With the same counts the cut falls where pi's falls.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import orjson

from clients.entry import Block

CHARS_PER_TOKEN = 4
IMAGE_CHARS = 4800
"""An image in the result of a tool or in a text of an extension; pi counts none in what the user says."""
_EXACT = 2**53
_LAST_INDEX = 2**32 - 2


def units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def first_units(text: str, count: int) -> str:
    """The beginning of a text, at most so many UTF-16 units; a pair is not cut in two."""
    if text.isascii() or len(text) * 2 <= count:
        return text[:count]
    return text.encode("utf-16-le", "surrogatepass")[: count * 2].decode("utf-16-le", "ignore")


def of_characters(count: int) -> int:
    """Tokens of so many characters."""
    return -(-count // CHARS_PER_TOKEN)


def of_blocks(blocks: Iterable[Block], *, images: bool = True) -> int:
    """Tokens of a message's parts."""
    return of_characters(sum(_of_block(block, images) for block in blocks))


def _of_block(block: Block, images: bool) -> int:
    if block.kind == "tool_call":
        return units(block.name) + json_units(block.arguments)
    if block.kind == "image":
        return IMAGE_CHARS if images else 0
    return units(block.text)


def json_units(value: Any) -> int:
    """The length of `javascript_json(value)`."""
    return units(javascript_json(value))


def javascript_json(value: Any) -> str:
    """The text that JSON.stringify makes of a JSON value."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -_EXACT <= value <= _EXACT else _number(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(javascript_json, value)) + "]"
    return "{" + ",".join(f"{_quoted(name)}:{javascript_json(inner)}" for name, inner in members(value)) + "}"


def members(table: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """The members of an object in JavaScript's order: what looks like an index of an array comes first."""
    if not any(name[:1].isdigit() for name in table):
        return table.items()
    indices = [name for name in table if _is_index(name)]
    indices.sort(key=int)
    others = [name for name in table if not _is_index(name)]
    return [(name, table[name]) for name in (*indices, *others)]


def _is_index(name: str) -> bool:
    return (
        name.isascii()
        and name.isdigit()
        and len(name) <= 10
        and (name == "0" or name[0] != "0")
        and int(name) <= _LAST_INDEX
    )


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def _number(value: float) -> str:
    """A number as JavaScript writes it: the shortest digits, with an exponent only below 1e-6 and from 1e21 on."""
    try:
        number = float(value)
    except OverflowError:
        return "null"
    if number != number or number in (float("inf"), float("-inf")):
        return "null"
    if number == 0:
        return "0"
    text = repr(number)
    if 1e-6 <= abs(number) < 1e21:
        return format(Decimal(text), "f").removesuffix(".0")
    mantissa, _, power = text.partition("e")
    return f"{mantissa.removesuffix('.0')}e{power[0]}{power[1:].lstrip('0')}"
