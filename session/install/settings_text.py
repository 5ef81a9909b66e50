"""Edits a client's settings, JSON or TOML, as text: everything else in the file keeps its bytes."""

import json
import os
import re
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError

BOM = "\ufeff"
STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
GAP = re.compile(r"[ \t\r\n]*[:,]?[ \t\r\n]*")
_decoder = json.JSONDecoder()
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
    """The text edited so that its value is `wanted`. New members go to the end. Raises Malformed."""
    bom, text = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    if not _without_comments(text, comments=comments).strip():
        text += "{}\n"
    for _ in range(500):  # each edit removes a difference; ours are some dozens
        if same(parsed(text, comments=comments), wanted):
            return bom + text
        plain = _without_comments(text, comments=comments)
        edit = _Edit(text, plain)
        text = edit.step(edit.root, wanted)
    raise Malformed("it cannot be edited without changing other entries")


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


def _past(plain: str, at: int) -> int:
    found = GAP.match(plain, at)
    return found.end() if found else at


class _Member(NamedTuple):
    """A member of a container: the positions of its beginning (the key), and of the start and end of its value."""

    key: str
    begin: int
    start: int
    end: int
    value: Any


class _Edit:
    """A single edit of a text that keeps its layout: line ends, indentation, and whether it uses several lines."""

    def __init__(self, text: str, plain: str) -> None:
        self.text, self.plain = text, plain
        self.root = _past(plain, 0)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        first = _past(plain, self.root + 1)
        self.multi = plain[first] == "}" or "\n" in text[self.root : first]
        self.unit = _indentation(text, first) if self.multi and plain[first] != "}" else "  "

    def step(self, at: int, wanted: Any) -> str:
        """Remove the first difference between the value that starts at `at` and `wanted`."""
        found, end = _decoder.raw_decode(self.plain, at)
        if type(found) is not type(wanted) or not isinstance(found, (dict, list)):
            multi = "\n" in self.text[at:end]
            new = self._rendered(wanted, _indentation(self.text, at) if multi else None)
            return self.text[:at] + new + self.text[end:]
        members = self._members(at, end)
        if isinstance(found, dict):
            for index, one in enumerate(members):
                if one.key not in wanted:
                    return self._cut(at, end, members, index)
                if not same(one.value, wanted[one.key]):
                    return self.step(one.start, wanted[one.key])
            key = next(name for name in wanted if name not in found)
            return self._added(at, end, members, key, wanted[key])
        before, after = ([json.dumps(one, sort_keys=True) for one in values] for values in (found, wanted))
        codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        tag, index, _, other, _ = next(code for code in codes if code[0] != "equal")
        if tag == "replace":
            return self.step(members[index].start, wanted[other])
        if tag == "delete":
            return self._cut(at, end, members, index)
        return self._added(at, end, members, "", wanted[other])

    def _members(self, at: int, end: int) -> list[_Member]:
        members = []
        is_object, at = self.plain[at] == "{", _past(self.plain, at + 1)
        while at < end - 1:
            begin, key = at, ""
            if is_object:
                key, at = _decoder.raw_decode(self.plain, at)
                at = _past(self.plain, at)
            value, stop = _decoder.raw_decode(self.plain, at)
            members.append(_Member(key, begin, at, stop, value))
            at = _past(self.plain, stop)
        return members

    def _added(self, at: int, end: int, members: list[_Member], key: str, value: Any) -> str:
        """Add a member at the end of the container, after the comments there."""
        text = self.text
        start = members[-1].end if members else at + 1
        kept = text[start : end - 1].rstrip()
        rest = text[start + len(kept) : end - 1]
        if members:
            before = text[(members[-2].end if members[1:] else at + 1) : members[-1].begin]
            multi, indent = "\n" in before or bool(kept), _indentation(text, members[-1].begin)
        else:
            outer = _indentation(text, at)
            multi, indent = self.multi or bool(kept), outer + self.unit
            rest = self.newline + outer if multi else ""
        lead = self.newline + indent if multi else " " if members else ""
        name = json.dumps(key, ensure_ascii=False) + ": " if self.plain[at] == "{" else ""
        entry = lead + name + self._rendered(value, indent if multi else None)
        return text[:start] + ("," if members else "") + kept + entry + rest + text[end - 1 :]

    def _cut(self, at: int, end: int, members: list[_Member], index: int) -> str:
        """Remove a member from the container; comments around it stay."""
        text, one = self.text, members[index]
        left = members[index - 1].end if index else at + 1
        begin = left + len(text[left : one.begin].rstrip())
        if index + 1 < len(members):
            return text[:begin] + text[self.plain.index(",", one.end) + 1 :]
        if index:
            comma = self.plain.index(",", left)
            return text[:comma] + text[comma + 1 : begin] + text[one.end :]
        inner = text[at + 1 : begin] + text[one.end : end - 1]
        return text[: at + 1] + (inner if inner.strip() else "") + text[end - 1 :]

    def _rendered(self, value: Any, indent: str | None) -> str:
        """A value as text: on several lines, indented by `indent`, or on a single line if that is None."""
        if indent is None:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + indent)


def _indentation(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


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


def _toml(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Malformed(str(error)) from None


def _server(command: str) -> dict[str, Any]:
    return {"command": command, "args": ["mcp"], "env_vars": ["JOELCLAW_HOME"]}
