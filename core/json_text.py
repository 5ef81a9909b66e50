"""JSON text for the hot path, without importing the `json` package.

`json` imports `re` and compiles patterns, some 5 ms of a 11 ms start. The C accelerators behind it (`_json`) cost
nothing. They are CPython's own. What they refuse is read again by the public package, which says why; a property test
holds the two equal.
"""

from __future__ import annotations

from _json import encode_basestring, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class InvalidJSON(ValueError):
    """The text is not a JSON value (RFC 8259; NaN and infinities are refused)."""


def _refuse_constant(name: str) -> Any:
    raise InvalidJSON(f"{name} is not JSON")


class _ScannerContext:
    """The attributes that the C scanner reads once, when it is made."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse_constant)


def _refuse_value(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} is not JSON")


# The C encoder notes here the containers it is in. A refused value leaves its notes behind, and the next object at the
# same address would be taken for a circle.
_markers: dict[int, object] = {}
_context: Any = _ScannerContext  # the C code wants an object with these attributes, whatever its type
_scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_context)


def _encoder(separator: str) -> Callable[[Any, int], tuple[str, ...]]:
    """A function that encodes a value, with this text between the items of a list or an object."""
    encoder: Callable[[Any, int], tuple[str, ...]] = make_encoder(
        _markers, _refuse_value, encode_basestring, None, ": ", separator, False, False, False
    )
    return encoder


_encode = _encoder(", ")


def loads(text: str | bytes) -> Any:
    """The value of a JSON text. Raises InvalidJSON."""
    if isinstance(text, bytes):
        try:
            text = text.decode().removeprefix("\ufeff")  # "utf-8-sig" costs an import
        except UnicodeDecodeError as error:
            raise InvalidJSON(f"not UTF-8: {error.reason} at byte {error.start}") from None
    text = text.strip(" \t\n\r")
    value, end = loads_at(text, 0)
    if end != len(text):
        raise InvalidJSON(f"more text after the value, at character {end}")
    return value


def loads_at(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at a character of a text, and the character after it. Raises InvalidJSON."""
    try:
        return _scan(text, start)
    except StopIteration as stop:
        raise InvalidJSON(f"no JSON value at character {stop.value}") from None
    except (SystemError, ValueError, RecursionError):  # the C scanner cannot say what is wrong without `json`
        import json
    try:
        return json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise InvalidJSON(str(error)) from None


def dumps(value: object) -> str:
    """One line of JSON, characters beyond ASCII kept, a lone surrogate escaped."""
    return _text(_encode, value)


def pretty(value: object, indent: str = "") -> str:
    """JSON indented by two spaces a level, as the mirrored CLI prints it."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        if not any(item and isinstance(item, (dict, list, tuple)) for item in value.values()):
            members = _text(_encoder(f",\n{inner}"), value)[1:-1]  # of a hit, by a single call
            return f"{{\n{inner}{members}\n{indent}}}"
        rows = [f"{inner}{dumps(str(key))}: {pretty(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, (list, tuple)) and value:
        return "[\n" + ",\n".join(inner + pretty(item, inner) for item in value) + f"\n{indent}]"
    return dumps(value)


def _text(encode: Callable[[Any, int], tuple[str, ...]], value: object) -> str:
    try:
        text = "".join(encode(value, 0))
    except BaseException:
        _markers.clear()
        raise
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)
    return text
