"""Reads the JSON5 of OpenClaw's settings: unquoted names, single quotes, trailing commas, and numbers such as `.5`."""

import json
import re
from typing import Any

SPACE = re.compile(r"[\s\ufeff]*")
NAME = re.compile(r"(?:[^\W\d]|\$|\\u[0-9a-fA-F]{4})(?:[\w$\u200c\u200d]|\\u[0-9a-fA-F]{4})*")
STRING = re.compile(r'"(?:[^"\\\r\n]|\\(?:\r\n|[\s\S]))*"|' + r"'(?:[^'\\\r\n]|\\(?:\r\n|[\s\S]))*'")
NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w$.])"
)
ESCAPE = re.compile(r'\\(?:x([0-9a-fA-F]{2})|(u[0-9a-fA-F]{4})|(\r\n|[\s\S]))|"')
ESCAPES = {"0": "\\u0000", "v": "\\u000b", '"': '\\"', "\\": "\\\\", **{sign: "\\" + sign for sign in "bfnrt"}}
WORDS = {"true": True, "false": False, "null": None}


def parsed(text: str) -> Any:
    """The value of a text without comments. Raises ValueError."""
    value, end = value_at(text, token_at(text, 0))
    if token_at(text, end) < len(text):
        raise ValueError(f"something follows the value{_line_of(text, end)}")
    return value


def value_at(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at a position of a text without comments, and the position after it. Raises ValueError."""
    sign = text[at : at + 1]
    if sign in ("{", "["):
        close = "}" if sign == "{" else "]"
        members: dict[str, Any] = {}
        items: list[Any] = []
        at = token_at(text, at + 1)
        while text[at : at + 1] != close:
            name = ""
            if sign == "{":
                name, at = name_at(text, at)
                at = _after(":", text, token_at(text, at))
                if name in members:
                    raise ValueError(f"the key {name!r} is there twice")
            item, at = value_at(text, at)
            members[name] = item
            items.append(item)
            at = token_at(text, at)
            if text[at : at + 1] != close:
                at = _after(",", text, at)
        return (members if sign == "{" else items), at + 1
    if string := STRING.match(text, at):
        return _unquoted(string[0]), string.end()
    if number := NUMBER.match(text, at):
        return _number(number[0]), number.end()
    if (word := NAME.match(text, at)) and word[0] in WORDS:
        return WORDS[word[0]], word.end()
    raise ValueError(f"a value is missing{_line_of(text, at)}")


def name_at(text: str, at: int) -> tuple[str, int]:
    """The name of a member, quoted or not, and the position after it. Raises ValueError."""
    if string := STRING.match(text, at):
        return _unquoted(string[0]), string.end()
    if name := NAME.match(text, at):
        return _unquoted(f'"{name[0]}"'), name.end()
    raise ValueError(f"a name is missing{_line_of(text, at)}")


def token_at(text: str, at: int) -> int:
    """The position after the white space that begins at a position."""
    space = SPACE.match(text, at)
    return space.end() if space else at


def _after(sign: str, text: str, at: int) -> int:
    """The position of the token after a sign. Raises ValueError if another sign is there."""
    if text[at : at + 1] != sign:
        raise ValueError(f"{sign!r} is missing{_line_of(text, at)}")
    return token_at(text, at + 1)


def _line_of(text: str, at: int) -> str:
    return f" at line {text.count(chr(10), 0, at) + 1}"


def _unquoted(quoted: str) -> str:
    """The text of a string, whose escapes are first written as JSON has them."""

    def as_json(escape: re.Match[str]) -> str:
        code, unit, sign = escape.groups()
        if escape[0] == '"':
            return '\\"'
        if code or unit:
            return f"\\u00{code}" if code else f"\\{unit}"
        return ESCAPES.get(sign, "" if sign in ("\n", "\r", "\r\n", "\u2028", "\u2029") else sign)

    return str(json.loads(f'"{ESCAPE.sub(as_json, quoted[1:-1])}"', strict=False))


def _number(text: str) -> int | float:
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16) * (-1 if text[0] == "-" else 1)
    return int(text) if digits.isdigit() else float(text)
