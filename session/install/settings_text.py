"""Settings files of clients as text: read with their positions, and edited so that everything else keeps its bytes.

JSON may have comments and be written as loosely as JSON5 allows, whichever client reads it.
"""

import ast
import json
import re
from difflib import SequenceMatcher
from typing import Any, NamedTuple

TOKEN = re.compile(
    r"""(?P<space>[\s\ufeff]+|//[^\r\n]*|/\*.*?\*/)|(?P<mark>[{}\[\]:,])"""
    r"""|(?P<string>"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')|(?P<word>[^\s{}\[\]:,"'/]+)|(?P<other>.)""",
    re.DOTALL,
)
"""A token of JSON5; comments are space."""


class Malformed(Exception):
    """The client cannot read the text, or it cannot be edited without changing entries of others."""


class Member(NamedTuple):
    """A member of an object or list: its name ("" in a list), where it begins, and whether a comma follows it."""

    name: str
    start: int
    node: "Node"
    comma: int | None  # its position


class Node(NamedTuple):
    """A value, and its positions in the text."""

    value: Any
    start: int
    end: int
    members: list[Member]


def parsed(text: str, *, is_toml: bool = False) -> Any:
    """The value of a JSON or TOML text; `{}` for a blank text. Raises Malformed."""
    if is_toml:
        import tomllib

        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise Malformed(str(error)) from None
    root = _Reader(text).root()
    return {} if root is None else root.value


def same(value: object, other: object) -> bool:
    """Whether two values are equal, whatever the order of their keys."""
    return json.dumps(value, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def edited(text: str, wanted: dict[str, Any]) -> str:
    """The JSON text edited so that its value is `wanted`. New members go to the end. Raises Malformed."""
    for _ in range(500):  # each edit removes a difference; an installation needs some dozens
        root = _Reader(text).root()
        if root is None:
            text += "{}\n"
        elif same(root.value, wanted):
            return text
        else:
            text = _Edit(text, root).first_difference_removed(root, wanted)
    raise Malformed("it cannot be edited without changing other entries")


def edited_toml(text: str, wanted: dict[str, Any], name: str, key: str) -> str:
    """The TOML text with the table `[name.key]` as in `wanted`, which may differ in nothing else. Raises Malformed.

    The values of the table are strings and lists of strings.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    header, table = f"[{name}.{key}]", wanted.get(name, {}).get(key)
    blank, rest = r"[ \t\r]*", r"(?:#.*)?(?:\n|\Z)"
    setting = rf"(?:{blank}(?:#.*)?\n)*{blank}[^\[#\s].*(?:\n|\Z)"  # a comment at the end belongs to the next table
    result = re.sub(rf"(?m)(?:^{blank}\n)?^{blank}{re.escape(header)}{blank}{rest}(?:{setting})*", "", text, count=1)
    if table:
        if result:
            result += newline if result.endswith("\n") else newline * 2
        rows = [header, *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in table.items()), ""]
        result += newline.join(rows)
    value = parsed(result, is_toml=True)
    if value.get(name) == {} and name not in wanted:
        del value[name]
    if not same(value, wanted):
        raise Malformed(f"{header} cannot be edited without changing other entries: do it by hand")
    return result


class _Reader:
    """Reads the value of a JSON5 text with the positions of all values in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [token for token in TOKEN.finditer(text) if token.lastgroup != "space"][::-1]

    def root(self) -> Node | None:
        """The value of the text; None for a blank text. Raises Malformed."""
        try:
            root = self.value() if self.tokens else None
        except RecursionError:
            raise Malformed("it is nested too deeply") from None
        if self.tokens:
            raise self.unexpected(self.tokens[-1])
        return root

    def value(self) -> Node:
        token = self.next()
        if token[0] in ("{", "["):
            return self.container(token)
        return Node(self.scalar(token), token.start(), token.end(), [])

    def container(self, opening: re.Match[str]) -> Node:
        members: list[Member] = []
        closing = "}" if opening[0] == "{" else "]"
        while (token := self.next())[0] != closing:
            if members and members[-1].comma is None:
                raise self.unexpected(token)
            name = ""
            if closing == "}":
                name = token[0] if token.lastgroup == "word" else self.scalar(token)
                if any(name == member.name for member in members):
                    raise Malformed(f"the key {name!r} is there twice")
                if (colon := self.next())[0] != ":":
                    raise self.unexpected(colon)
            else:
                self.tokens.append(token)
            node = self.value()
            has_comma = self.tokens and self.tokens[-1][0] == ","
            members.append(Member(name, token.start(), node, self.next().start() if has_comma else None))
        names, values = [member.name for member in members], [member.node.value for member in members]
        value = dict(zip(names, values, strict=True)) if closing == "}" else values
        return Node(value, opening.start(), token.end(), members)

    def scalar(self, token: re.Match[str]) -> Any:
        """A string, number or word. JSON5 writes them as JSON or, for what an installation meets, as Python does."""
        for read in (json.loads, ast.literal_eval):
            try:
                return read(token[0])
            except (ValueError, SyntaxError):
                continue
        raise self.unexpected(token)

    def next(self) -> re.Match[str]:
        if not self.tokens:
            raise Malformed("its end is missing")
        return self.tokens.pop()

    def unexpected(self, token: re.Match[str]) -> Malformed:
        return Malformed(f"{token[0][:40]!r} is unexpected at line {self.text.count(chr(10), 0, token.start()) + 1}")


class _Edit:
    """A single edit of a JSON text that keeps its layout: line ends, indentation, and whether it uses several lines."""

    def __init__(self, text: str, root: Node) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.multiline = not root.members or "\n" in text[root.start : root.members[0].start]
        self.unit = self.indentation(root.members[0].start) if self.multiline and root.members else "  "

    def first_difference_removed(self, node: Node, wanted: Any) -> str:
        """The text without the first difference between a value and the wanted value."""
        value, members = node.value, node.members
        if type(value) is not type(wanted) or not isinstance(value, (dict, list)):
            indent = self.indentation(node.start) if "\n" in self.text[node.start : node.end] else None
            return self.text[: node.start] + self.rendered(wanted, indent) + self.text[node.end :]
        if isinstance(value, dict):
            for index, member in enumerate(members):
                if member.name not in wanted:
                    return self.without_member(node, index)
                if not same(member.node.value, wanted[member.name]):
                    return self.first_difference_removed(member.node, wanted[member.name])
            name = next(name for name in wanted if name not in value)
            return self.with_member(node, name, wanted[name])
        before, after = ([json.dumps(item, sort_keys=True) for item in items] for items in (value, wanted))
        codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        tag, index, _, other, _ = next(code for code in codes if code[0] != "equal")
        if tag == "replace":
            return self.first_difference_removed(members[index].node, wanted[other])
        if tag == "delete":
            return self.without_member(node, index)
        return self.with_member(node, "", wanted[other])

    def with_member(self, node: Node, name: str, value: Any) -> str:
        """Add a member at the end of an object or list, after the comments there."""
        text, last = self.text, node.members[-1] if node.members else None
        close = node.end - 1
        at = len(text[:close].rstrip())  # after the last comment
        multiline = "\n" in text[node.start : close] or (last is None and self.multiline)
        indent = self.indentation(last.start) if last else self.indentation(node.start) + self.unit
        entry = self.newline + indent if multiline else " " if last else ""
        entry += json.dumps(name, ensure_ascii=False) + ": " if isinstance(node.value, dict) else ""
        entry += self.rendered(value, indent if multiline else None)
        rest = text[at:close]
        if at == node.start + 1:
            rest = self.newline + self.indentation(node.start) if multiline else ""
        if last is None or last.comma is not None:
            return text[:at] + entry + "," * (last is not None) + rest + text[close:]
        return text[: last.node.end] + "," + text[last.node.end : at] + entry + rest + text[close:]

    def without_member(self, node: Node, index: int) -> str:
        """Remove a member of an object or list and a comma; comments around it stay."""
        member = node.members[index]
        comma = member.comma if member.comma is not None else node.members[index - 1].comma if index else None
        cuts = [(len(self.text[: member.start].rstrip()), member.node.end)]
        cuts += [] if comma is None else [(comma, comma + 1)]
        text, close = self.text, node.end - 1
        for start, end in sorted(cuts, reverse=True):
            text, close = text[:start] + text[end:], close - (end - start)
        is_empty = not text[node.start + 1 : close].strip()
        return text[: node.start + 1] + text[close:] if is_empty else text

    def rendered(self, value: Any, indent: str | None) -> str:
        """A value as text: on several lines, indented by `indent`, or on a single line if that is None."""
        if indent is None:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + indent)

    def indentation(self, at: int) -> str:
        """The white space with which the line of a position begins."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]
