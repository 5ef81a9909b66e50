"""Our MCP server in a client's TOML: lines between two marks, put at the end, and cut out again line by line.

Others write between the marks, too: an editor that puts a new table at the end of a file puts it in front of the
comment there. So only the lines that are word for word ours are taken or replaced, wherever the marks are.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from session.install.json_nodes import Malformed

_BEGIN = "# joelclaw: from here on entered by `joelclaw install`, and taken out by `joelclaw uninstall`"
_END = "# joelclaw: end"
_TABLE, _NAME = "mcp_servers", "joelclaw"
_HEADER = f"[{_TABLE}.{_NAME}]"
_SERVER = ('args = ["mcp"]', 'env_vars = ["JOELCLAW_HOME"]')


@dataclass(frozen=True)
class Found:
    """What of ours stands in a text.

    Args:
        lines: all lines, with their ends.
        marks: positions of the lines that are our marks.
        table: where the lines of our server begin and end; None where they are not word for word ours.
        server: whether a server of our name is there, whoever wrote it.
        marked: whether it stands behind our first mark.
    """

    lines: list[str]
    marks: tuple[int, ...]
    table: tuple[int, int] | None
    server: bool
    marked: bool

    @property
    def note(self) -> str:
        """What is to be said of a server that is left as it is; empty where it is ours, or there is none."""
        if not self.server or self.table:
            return ""
        if self.marked:
            return f"[{_TABLE}.{_NAME}] was changed by somebody; it was left as it is"
        return f"a server `{_NAME}` of somebody's is there; it was left as it is"


def put_in(text: str, command: str) -> tuple[str, str]:
    """The text with our server as this version wants it, and what is to be said of one that was left; all else stays.

    Raises:
        Malformed: the text is no TOML, or what it says would change.
    """
    there = _look(text)
    if there.note:
        return text, there.note
    newline = "\r\n" if "\r\n" in text else "\n"
    table = [line + newline for line in (_HEADER, _command(command), *_SERVER)]
    if there.table:
        start, end = there.table
        new = "".join((*there.lines[:start], *table, *there.lines[end:]))
        return (text, _changed()) if _others(new) is None or _others(new) != _others(text) else (new, "")
    rest = _without_marks(there)
    block = "".join((_BEGIN + newline, *table, _END + newline))
    new = rest + (newline if rest else "") + block
    if _others(new) != _others(text):
        raise Malformed("an edit would change what is not ours")
    return new, ""


def take_out(text: str) -> tuple[str, str]:
    """The text without our lines, and what is to be said of a server of our name that was left.

    What others wrote between our marks stays in its place. Where our server says more than we wrote, it stays whole:
    without its first lines the rest would mean something else, or nothing.

    Raises:
        Malformed: the text is no TOML.
    """
    there = _look(text)
    if there.note:
        return text, there.note if there.marked else ""
    new = _without_marks(there)
    left = _parsed(new)
    if left is None or _NAME in _servers(left) or _others(new) != _others(text):
        return text, _changed()
    return new, ""


def is_in(text: str) -> bool:
    """Whether something of ours is there."""
    return any(line in (_BEGIN, _END) for line in text.splitlines())


def _changed() -> str:
    return f"[{_TABLE}.{_NAME}] was changed by somebody; it was left as it is"


def _look(text: str) -> Found:
    """Raises Malformed where the text is no TOML."""
    import tomllib  # for one client's file; it takes as long as half of Python's start

    try:
        server = _NAME in _servers(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise Malformed(str(error)) from None
    lines = text.splitlines(keepends=True)
    bare = [line.rstrip("\r\n") for line in lines]
    begin = bare.index(_BEGIN) if _BEGIN in bare else None
    header = bare.index(_HEADER) if _HEADER in bare else None
    marked = begin is not None and (header is None or begin < header)
    marks = tuple(at for at, line in enumerate(bare) if line in (_BEGIN, _END))
    table = None
    if marked and header is not None and bare[header + 2 : header + 4] == list(_SERVER) and _is_ours(bare[header + 1]):
        table = (header, header + 4)
    return Found(lines, marks, table, server, marked)


def _is_ours(line: str) -> bool:
    """Whether a line names a command of ours, by whatever path."""
    value = (_parsed(line) or {}).get("command")
    return isinstance(value, str) and os.path.basename(value) == _NAME and line == _command(value)


def _command(path: str) -> str:
    return f"command = {json.dumps(path, ensure_ascii=False)}"


def _without_marks(there: Found) -> str:
    """The text without what is ours in it, and without the line end that stood in front of it."""
    start, end = there.table or (0, 0)
    gone = {*there.marks, *range(start, end)}
    first = min(gone, default=len(there.lines))
    before = "".join(there.lines[:first])
    after = "".join(line for at, line in enumerate(there.lines) if at > first and at not in gone)
    if gone and there.lines[first].startswith(_BEGIN):
        # Ours began with a line end. Where the text had none of its own, what follows needs it.
        for newline in ("\r\n", "\n"):
            if before.endswith(newline * 2) or (before.endswith(newline) and not after):
                return before.removesuffix(newline) + after
    return before + after


def _others(text: str) -> dict[str, Any] | None:
    """What the text says without our server; None where it is no TOML."""
    value = _parsed(text)
    if value is None:
        return None
    if isinstance(value.get(_TABLE), dict):
        value[_TABLE].pop(_NAME, None)
        if not value[_TABLE]:
            del value[_TABLE]
    return value


def _servers(value: dict[str, Any]) -> dict[str, Any]:
    found = value.get(_TABLE)
    return found if isinstance(found, dict) else {}


def _parsed(text: str) -> dict[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
