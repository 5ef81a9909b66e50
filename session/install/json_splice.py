"""Edits of JSON as text that leave every other byte as it is; `remove` is the inverse of `add`, to the byte."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from session.install.json_nodes import Dialect, Node, Path, find, read, skipped


def _there(root: Node, path: Path) -> Node:
    node = find(root, path)
    if node is None:
        raise KeyError(path)
    return node


def add(text: str, path: Path, key: str | None, value: Any, dialect: Dialect) -> tuple[str, str | None]:
    """Put a value at the end of the array, or a member at the end of the object, at `path`.

    Returns the new text and, where the container was empty, what stood between its brackets (for `remove`).
    """
    root = read(text, dialect)
    node = _there(root, path)
    style = _Style.of(text, root)
    if not node.items:
        return _add_first(text, node, key, value, dialect, style)
    last = node.items[-1]
    begin = _begin(node, len(node.items) - 1)
    multi = "\n" in text[_gap(node, len(node.items) - 1) : begin]
    trailing = node.commas[-1] >= 0
    tail = node.commas[-1] + 1 if trailing else last.end
    _, at, to_line_end = skipped(text, tail, node.end - 1, dialect)
    indent = _indentation(text, begin)
    lead = style.newline + indent if multi or to_line_end else style.between
    entry = lead + style.member(key, value, indent if multi else None) + ("," if trailing else "")
    return text[: last.end] + ("" if trailing else ",") + text[last.end : at] + entry + text[at:], None


def _add_first(text: str, node: Node, key: str | None, value: Any, dialect: Dialect, style: _Style) -> tuple[str, str]:
    inner = text[node.start + 1 : node.end - 1]
    _, at, to_line_end = skipped(text, node.start + 1, node.end - 1, dialect)
    rest = text[at : node.end - 1]
    if not (style.multi or to_line_end):
        return text[:at] + style.member(key, value, None) + rest + text[node.end - 1 :], inner
    outer = _indentation(text, node.start)
    indent = outer + style.unit
    if "\n" not in rest:
        rest = style.newline + outer
    entry = style.newline + indent + style.member(key, value, indent)
    return text[:at] + entry + rest + text[node.end - 1 :], inner


def replace(text: str, path: Path, value: Any, dialect: Dialect) -> str:
    """Another value in the place of the one at `path`, spread over lines if that one was."""
    root = read(text, dialect)
    node = _there(root, path)
    multi = "\n" in text[node.start : node.end]
    new = _Style.of(text, root).render(value, _indentation(text, node.start) if multi else None)
    return text[: node.start] + new + text[node.end :]


def remove(text: str, path: Path, inner: str | None, dialect: Dialect) -> str:
    """Take out the item or member at `path`; `inner` is what then stands between the brackets of an emptied container
    unless somebody left a comment there.
    """
    root = read(text, dialect)
    node = _there(root, path[:-1])
    step = path[-1]
    index = node.keys.index(step) if isinstance(step, str) else step
    _, at, to_line_end = skipped(text, _gap(node, index), _begin(node, index), dialect)
    end = node.items[index].end
    if to_line_end and text[end:].lstrip(" \t,")[:1] not in ("\r", "\n"):  # the comment would swallow what follows
        at += 2 if text.startswith("\r\n", at) else 1
    cuts = [(at, end)]
    if node.commas[index] >= 0:
        cuts.append((node.commas[index], node.commas[index] + 1))
    elif index:
        cuts.append((node.commas[index - 1], node.commas[index - 1] + 1))
    if len(node.items) == 1:
        left = text[node.start + 1 : node.end - 1]
        for start, end in sorted(cuts, reverse=True):
            left = left[: start - node.start - 1] + left[end - node.start - 1 :]
        if "".join(left.split()) == "".join((inner or "").split()):
            left = inner or ""
        return text[: node.start + 1] + left + text[node.end - 1 :]
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def _begin(node: Node, index: int) -> int:
    return node.begins[index] if node.kind == "object" else node.items[index].start


def _gap(node: Node, index: int) -> int:
    """Where the space before an item begins: after the comma before it, or after the bracket."""
    return node.commas[index - 1] + 1 if index else node.start + 1


@dataclass(frozen=True)
class _Style:
    """How a JSON file is laid out, so that what is put into it looks like the rest.

    `unit` is one step of indentation; `multi` whether an empty container is to be spread over lines.
    """

    newline: str = "\n"
    unit: str = "  "
    multi: bool = True
    colon: str = ": "

    @classmethod
    def of(cls, text: str, root: Node) -> _Style:
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
        return cls(newline, _indentation(text, first) if multi else "  ", multi, colon)

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


def _indentation(text: str, at: int) -> str:
    """The spaces and tabs that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
