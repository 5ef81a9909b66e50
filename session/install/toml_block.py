"""Our MCP server in a client's TOML: a block of lines between two marks, put at the end and cut out again."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from session.install.json_nodes import Malformed

_BEGIN = "# joelclaw: from here on entered by `joelclaw install`, and taken out by `joelclaw uninstall`"
_END = "# joelclaw: end"
_TABLE, _NAME = "mcp_servers", "joelclaw"


def put_in(text: str, command: str) -> str:
    """The text with our server as this version wants it; a server of that name that is not ours stays, and all else.

    Raises:
        Malformed: the text is no TOML, or what it says would change.
    """
    rest, span = take_out(text), _span(text)
    before = _read(rest)
    if _NAME in _servers(before):
        return text
    newline = "\r\n" if "\r\n" in rest else "\n"
    lines = (
        _BEGIN,
        f"[{_TABLE}.{_NAME}]",
        f"command = {json.dumps(command, ensure_ascii=False)}",
        'args = ["mcp"]',
        'env_vars = ["JOELCLAW_HOME"]',
        _END,
    )
    block = "".join(line + newline for line in lines)
    new = text[: span[0]] + block + text[span[1] :] if span else rest + (newline if rest else "") + block
    after = _read(new)
    _servers(after).pop(_NAME, None)
    if not _servers(after) and _TABLE not in before:
        after.pop(_TABLE, None)
    if after != before:
        raise Malformed("an edit would change what is not ours")
    return new


def take_out(text: str) -> str:
    """The text without our block.

    Raises:
        Malformed: a mark of ours is there without the other.
    """
    span = _span(text)
    if span is None:
        return text
    start, end = span
    for newline in ("\r\n", "\n"):
        if text.endswith(newline, 0, start):
            start -= len(newline)
            break
    return text[:start] + text[end:]


def is_in(text: str) -> bool:
    """Whether our block is there."""
    return _BEGIN in text


def has_foreign(text: str) -> bool:
    """Whether a server of our name is there that we did not enter.

    Raises:
        Malformed: the text is no TOML.
    """
    return _NAME in _servers(_read(take_out(text)))


def _span(text: str) -> tuple[int, int] | None:
    start = text.find(_BEGIN)
    if start < 0:
        return None
    end = text.find(_END, start)
    if end < 0:
        raise Malformed(f"the line `{_END}` is missing")
    end += len(_END)
    return start, end + (2 if text.startswith("\r\n", end) else 1 if text.startswith("\n", end) else 0)


def _servers(value: dict[str, Any]) -> dict[str, Any]:
    found = value.get(_TABLE)
    return found if isinstance(found, dict) else {}


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Malformed(str(error)) from None
