"""Reads and writes a client's settings, JSON or TOML. What is not ours keeps its value and its order."""

import json
import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

BOM = "\ufeff"
STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
SERVERS = "mcp_servers"
NAME = "joelclaw"


class Malformed(Exception):
    """The client cannot read the text, or it cannot be edited without changing entries of others."""


def parsed(text: str, *, comments: bool) -> Any:
    """The value of a JSON text; `{}` for a blank text. Raises Malformed."""
    plain = _without_comments(text.removeprefix(BOM), comments=comments)
    if not plain.strip():
        return {}
    try:
        return json.loads(plain, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as error:
        raise Malformed(str(error)) from None


def edited(text: str, wanted: dict[str, Any], *, comments: bool) -> str:
    """The JSON text of `wanted`, with the indentation and line ends of `text`. Raises Malformed if it has comments."""
    bom = BOM if text.startswith(BOM) else ""
    if _without_comments(text, comments=comments) != text:
        raise Malformed("it has comments, which would be lost: remove them, or add the hooks by hand")
    indented = re.search(r'\n([ \t]+)"', text)
    new = json.dumps(wanted, ensure_ascii=False, indent=indented[1] if indented else 2)
    if text.endswith("\n") or not text.strip():
        new += "\n"
    return bom + (new.replace("\n", "\r\n") if "\r\n" in text else new)


def same(one: object, other: object) -> bool:
    """Whether two values are equal, whatever the order of their keys."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Malformed(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise Malformed(f"{name} is not JSON")


def _without_comments(text: str, *, comments: bool) -> str:
    """The text with each comment replaced by as many spaces, so that positions stay the same."""
    if not comments:
        return text
    return STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " " * len(found[0]), text)


class TomlServer:
    """Our MCP server in a client's TOML: whether a server of its name exists, and whether it is as we write it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._document = _toml(text)
        if self._document.as_string() != text:
            raise Malformed("it cannot be written back unchanged")
        servers = self._document.unwrap().get(SERVERS)
        found = servers.get(NAME) if isinstance(servers, dict) else None
        command = found.get("command") if isinstance(found, dict) else None
        self.exists = found is not None
        self.is_ours = isinstance(command, str) and os.path.basename(command) == NAME and found == _server(command)

    def put_in(self, command: str) -> str:
        """The text with our server."""
        if self.exists:
            servers: Any = self._document[SERVERS]
            servers[NAME]["command"] = command
            return self._checked(self._document.as_string(), _server(command))
        text = self.text
        newline = "\r\n" if "\r\n" in text else "\n"
        gap = newline * ((not text.endswith("\n")) + 1) if text else ""
        import tomlkit

        lines = tomlkit.dumps({SERVERS: {NAME: _server(command)}}).replace("\n", newline)
        return self._checked(text + gap + lines, _server(command))

    def take_out(self) -> str:
        """The text without our server."""
        document = _toml(self.text)
        servers: Any = document[SERVERS]
        servers.remove(NAME)
        if not servers:
            document.remove(SERVERS)
        return self._checked(document.as_string(), None)

    def _checked(self, text: str, wanted: dict[str, Any] | None) -> str:
        """The text, after checking that our server is as wanted and everything else is unchanged."""
        before, after = (_toml(one).unwrap() for one in (self.text, text))
        servers = [value.get(SERVERS, {}).pop(NAME, None) for value in (before, after)]
        rest = [{key: one for key, one in value.items() if key != SERVERS or one} for value in (before, after)]
        if servers[1] != wanted or rest[0] != rest[1]:
            raise Malformed("our server cannot be added without changing other entries")
        return text


def same_toml(one: str, other: str) -> bool:
    """Whether two texts have the same value."""
    return bool(_toml(one).unwrap() == _toml(other).unwrap())


def _toml(text: str) -> "TOMLDocument":
    import tomlkit  # slow to load, and most commands need none
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Malformed(str(error)) from None


def _server(command: str) -> dict[str, Any]:
    return {"command": command, "args": ["mcp"], "env_vars": ["JOELCLAW_HOME"]}
