"""Our MCP server in a client's TOML."""

from __future__ import annotations

import os
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from session.install.json_edit import Malformed

_TABLE, _NAME = "mcp_servers", "joelclaw"
_MARKS = (
    "# joelclaw: from here on entered by `joelclaw install`, and taken out by `joelclaw uninstall`",
    "# joelclaw: end",
)
"""Earlier versions wrote these lines around the table."""


class Server:
    """What a TOML file says of our server."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._document = _parsed(text)
        if self._document.as_string() != text:
            raise Malformed("it cannot be written back as it is")
        servers = self._document.get(_TABLE)
        self._found = servers.get(_NAME) if isinstance(servers, dict) else None

    @property
    def is_there(self) -> bool:
        """Whether a server of our name is there, whoever wrote it."""
        return self._found is not None

    @property
    def is_ours(self) -> bool:
        """Whether it says what we write and nothing else, by whatever path."""
        plain = _plain(self._found)
        command = plain.get("command") if isinstance(plain, dict) else None
        return isinstance(command, str) and os.path.basename(command) == _NAME and plain == _table(command)

    def put_in(self, command: str) -> str:
        """The text with our server."""
        if self._found is not None:
            self._found["command"] = command
            return self._checked(_without_marks(self._document.as_string()), command)
        text = _without_marks(self.text)
        newline = "\r\n" if "\r\n" in text else "\n"
        lines = tomlkit.dumps({_TABLE: {_NAME: _table(command)}})
        gap = newline if text and not text.endswith("\n") else ""
        gap += newline if text else ""
        return self._checked(text + gap + lines.replace("\n", newline), command)

    def take_out(self) -> str:
        """The text without our server."""
        document = _parsed(_without_marks(self.text))
        servers: Any = document[_TABLE]
        servers.remove(_NAME)
        if not servers:
            document.remove(_TABLE)
        return self._checked(document.as_string(), "")

    def _checked(self, text: str, command: str) -> str:
        wanted, found = _plain(_parsed(self.text)), _plain(_parsed(text))
        for value in (wanted, found):
            servers = value.get(_TABLE, {})
            if servers.pop(_NAME, None) != (_table(command) if command else None) and value is found:
                raise Malformed("our server cannot be written here")
            if not servers:
                value.pop(_TABLE, None)
        if wanted != found:
            raise Malformed("an edit would change what is not ours")
        return text


def same(one: str, other: str) -> bool:
    """Whether two texts say the same."""
    return bool(_plain(_parsed(one)) == _plain(_parsed(other)))


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Malformed(str(error)) from None


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value


def _table(command: str) -> dict[str, Any]:
    return {"command": command, "args": ["mcp"], "env_vars": ["JOELCLAW_HOME"]}


def _without_marks(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if line.rstrip("\r\n") not in _MARKS)
