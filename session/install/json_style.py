"""How a JSON file is laid out, so that what is put into it looks like the rest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from session.install.json_nodes import Node


@dataclass(frozen=True)
class Style:
    """`unit` is one step of indentation; `multi` whether an empty container is to be spread over lines."""

    newline: str = "\n"
    unit: str = "  "
    multi: bool = True
    colon: str = ": "

    @classmethod
    def of(cls, text: str, root: Node) -> Style:
        """The style of a document, by its first line end and its first member."""
        end = text.find("\n")
        newline = "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
        if not root.items:
            return cls(newline)
        first = root.begins[0] if root.begins else root.items[0].start
        multi = "\n" in text[root.start : first]
        colon = ": "
        if root.begins:
            between = text[text.rfind(":", first, root.items[0].start) + 1 : root.items[0].start]
            colon = ": " if between else ":"
        return cls(newline, indentation(text, first) if multi else "  ", multi, colon)

    @property
    def between(self) -> str:
        """What stands before a further item on the same line."""
        return " " if self.colon == ": " else ""

    def render(self, value: Any, indent: str | None) -> str:
        """A value as text: over lines below `indent`, or on one line where that is None."""
        if indent is None:
            return json.dumps(value, ensure_ascii=False, separators=("," + self.between, self.colon))
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit, separators=(",", self.colon))
        return lines.replace("\n", self.newline + indent)

    def member(self, key: str | None, value: Any, indent: str | None) -> str:
        """A value, with its key if it has one."""
        name = "" if key is None else json.dumps(key, ensure_ascii=False) + self.colon
        return name + self.render(value, indent)


def indentation(text: str, at: int) -> str:
    """The spaces and tabs that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
