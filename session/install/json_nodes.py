"""JSON as text: where each value lies.

Comments (`//`, `/* */`) and trailing commas are read where the caller says that the client reads them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

Path = tuple[str | int, ...]
"""Keys and positions, from the outermost value down."""

_SPACE = " \t\r\n"
_BEFORE = (*_SPACE, "/")
_SPACES = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"', re.DOTALL)
_DEEPEST = 200


class Malformed(Exception):
    """The text is no JSON, or says one thing twice where we must know which holds."""


@dataclass(frozen=True)
class Dialect:
    """What a client reads beyond plain JSON."""

    comments: bool = False
    trailing_commas: bool = False


@dataclass
class Node:
    """A value and where it lies: `text[start:end]`.

    `items` are the values of an array or object, `keys` and `begins` those of an object (where the key's quote is).
    `commas[i]` is the place of the comma after item i, or -1.
    """

    start: int
    end: int
    value: Any = None
    kind: str = "plain"
    items: list[Node] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    commas: list[int] = field(default_factory=list)

    def get(self, key: str) -> Node | None:
        """The value of a key.

        Raises:
            Malformed: it is there twice.
        """
        found = [item for name, item in zip(self.keys, self.items, strict=True) if name == key]
        if len(found) > 1:
            raise Malformed(f"the key {key!r} is there twice")
        return found[0] if found else None

    def plain(self) -> Any:
        """The value as Python has it; of a key that is there twice the last, as clients do."""
        if self.kind == "object":
            return {key: item.plain() for key, item in zip(self.keys, self.items, strict=True)}
        if self.kind == "array":
            return [item.plain() for item in self.items]
        return self.value


class _Reader:
    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text = text
        self.dialect = dialect
        self.at = 0

    def wrong(self, what: str) -> Malformed:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1
        return Malformed(f"{what} in line {line}, column {column}")

    def skip(self) -> str:
        """Past spaces and comments; returns the next character or nothing."""
        head = self.text[self.at : self.at + 1]
        if head in _BEFORE:
            self.at = skipped(self.text, self.at, len(self.text), self.dialect)[0]
            head = self.text[self.at : self.at + 1]
        return head

    def value(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.wrong("too deep a nesting")
        head = self.skip()
        if head in ("{", "["):
            return self.container(depth, "object" if head == "{" else "array")
        if head == '"':
            return self.string()
        match = _PLAIN.match(self.text, self.at)
        if match is None:
            raise self.wrong("no value")
        node = Node(match.start(), match.end(), json.loads(match.group()))
        self.at = match.end()
        return node

    def string(self) -> Node:
        match = _STRING.match(self.text, self.at)
        try:
            if match is None:
                raise ValueError
            value = json.loads(match.group())
        except ValueError:
            raise self.wrong("no proper string") from None
        self.at = match.end()
        return Node(match.start(), match.end(), value)

    def container(self, depth: int, kind: str) -> Node:
        node = Node(self.at, -1, kind=kind)
        close = "}" if kind == "object" else "]"
        self.at += 1
        while self.skip() != close:
            if node.items and node.commas[-1] < 0:
                raise self.wrong("no comma")
            if kind == "object":
                if self.skip() != '"':
                    raise self.wrong("no key")
                key = self.string()
                node.keys.append(key.value)
                node.begins.append(key.start)
                if self.skip() != ":":
                    raise self.wrong("no colon")
                self.at += 1
            node.items.append(self.value(depth + 1))
            comma = self.skip() == ","
            node.commas.append(self.at if comma else -1)
            self.at += comma
        if node.items and node.commas[-1] >= 0 and not self.dialect.trailing_commas:
            raise self.wrong("a comma too much")
        self.at += 1
        node.end = self.at
        return node


def skipped(text: str, start: int, end: int, dialect: Dialect) -> tuple[int, int, bool]:
    """Past spaces and comments from `start`: where something else begins, where the last comment ends (`start` without
    one), and whether that comment runs to the end of its line.

    Raises:
        Malformed: a comment is not closed.
    """
    at, comment_end, to_line_end = start, start, False
    while at < end:
        if text[at] in _SPACE:
            at = _SPACES.match(text, at, end).end()  # type: ignore[union-attr]  # it matches nothing, too
        elif dialect.comments and text.startswith("//", at):
            while at < end and text[at] not in "\r\n":
                at += 1
            comment_end, to_line_end = at, True
        elif dialect.comments and text.startswith("/*", at):
            closed = text.find("*/", at + 2, end)
            if closed < 0:
                raise Malformed("a comment is not closed")
            at = closed + 2
            comment_end, to_line_end = at, False
        else:
            break
    return at, comment_end, to_line_end


@lru_cache(maxsize=16)
def read(text: str, dialect: Dialect) -> Node:
    """The outermost value; nobody writes into it, so that edits one after the other read a text once.

    Raises:
        Malformed: it is no JSON in this dialect.
    """
    reader = _Reader(text, dialect)
    node = reader.value(0)
    if reader.skip():
        raise reader.wrong("something after the end")
    return node


def find(root: Node, path: Path) -> Node | None:
    """The value at a path of keys and positions, or None."""
    node: Node | None = root
    for step in path:
        if node is None:
            return None
        if isinstance(step, str):
            node = node.get(step) if node.kind == "object" else None
        else:
            node = node.items[step] if node.kind == "array" and step < len(node.items) else None
    return node
