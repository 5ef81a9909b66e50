"""Changes a client's settings as text, JSON or TOML: what says the same afterwards keeps its bytes."""

import json
import os
import re
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError

_BOM = "\ufeff"
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_GAP = re.compile(r"[ \t\r\n]*[:,]?[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_MOST_EDITS = 500
_TABLE, _NAME = "mcp_servers", "joelclaw"


class Malformed(Exception):
    """The text is not what the client reads, or cannot be changed without changing what is not ours."""


def parsed(text: str, *, comments: bool) -> Any:
    """What a text says; `{}` where it is blank."""
    plain = _without_comments(text.removeprefix(_BOM), comments=comments)
    if not plain.strip():
        return {}
    try:
        return json.loads(plain, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as error:
        raise Malformed(str(error)) from None


def edited(text: str, wanted: dict[str, Any], *, comments: bool) -> str:
    """The text changed so that it says `wanted`, one difference after the other; what is new goes to the end."""
    bom, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    if not _without_comments(text, comments=comments).strip():
        text += "{}\n"
    for _ in range(_MOST_EDITS):
        if same(parsed(text, comments=comments), wanted):
            return bom + text
        plain = _without_comments(text, comments=comments)
        edit = _Edit(text, plain)
        text = edit.step(edit.root, wanted)
    raise Malformed("it cannot be edited without changing other entries")


def same(one: object, other: object) -> bool:
    """Whether two values are the same JSON, in whatever order their keys are."""
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
    """The text with spaces in the place of comments, so that every position stays."""
    if not comments:
        return text
    return _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " " * len(found[0]), text)


def _past(plain: str, at: int) -> int:
    found = _GAP.match(plain, at)
    return found.end() if found else at


class _Member(NamedTuple):
    """A value in a container: where it (with its key) begins, where the value starts and ends."""

    key: str
    begin: int
    start: int
    end: int
    value: Any


class _Edit:
    """One change of a text, in its own layout: line end, step of indentation, whether it is spread over lines."""

    def __init__(self, text: str, plain: str) -> None:
        self.text, self.plain = text, plain
        self.root = _past(plain, 0)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        first = _past(plain, self.root + 1)
        self.multi = plain[first] == "}" or "\n" in text[self.root : first]
        self.unit = _indentation(text, first) if self.multi and plain[first] != "}" else "  "

    def step(self, at: int, wanted: Any) -> str:
        """The text with the first difference between the value that starts at `at` and `wanted` gone."""
        found, end = _DECODER.raw_decode(self.plain, at)
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
                key, at = _DECODER.raw_decode(self.plain, at)
                at = _past(self.plain, at)
            value, stop = _DECODER.raw_decode(self.plain, at)
            members.append(_Member(key, begin, at, stop, value))
            at = _past(self.plain, stop)
        return members

    def _added(self, at: int, end: int, members: list[_Member], key: str, value: Any) -> str:
        """A member more at the end of the container, behind the comments there."""
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
        """The container without a member; comments around it stay."""
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
        """A value as text: over lines below `indent`, or on one line where that is None."""
        if indent is None:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + indent)


def _indentation(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


class TomlServer:
    """Our MCP server in a client's TOML: whether one of its name is there, and says what we write, by whatever path."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._document = _toml(text)
        if self._document.as_string() != text:
            raise Malformed("it cannot be written back unchanged")
        servers = self._document.unwrap().get(_TABLE)
        found = servers.get(_NAME) if isinstance(servers, dict) else None
        command = found.get("command") if isinstance(found, dict) else None
        self.exists = found is not None
        self.is_ours = isinstance(command, str) and os.path.basename(command) == _NAME and found == _server(command)

    def put_in(self, command: str) -> str:
        """The text with our server."""
        if self.exists:
            servers: Any = self._document[_TABLE]
            servers[_NAME]["command"] = command
            return self._checked(self._document.as_string(), _server(command))
        text = self.text
        newline = "\r\n" if "\r\n" in text else "\n"
        gap = newline * ((not text.endswith("\n")) + 1) if text else ""
        lines = tomlkit.dumps({_TABLE: {_NAME: _server(command)}}).replace("\n", newline)
        return self._checked(text + gap + lines, _server(command))

    def take_out(self) -> str:
        """The text without our server."""
        document = _toml(self.text)
        servers: Any = document[_TABLE]
        servers.remove(_NAME)
        if not servers:
            document.remove(_TABLE)
        return self._checked(document.as_string(), None)

    def _checked(self, text: str, wanted: dict[str, Any] | None) -> str:
        """The text, once it says of our server what it should, and of all else what it said before."""
        before, after = (_toml(one).unwrap() for one in (self.text, text))
        servers = [value.get(_TABLE, {}).pop(_NAME, None) for value in (before, after)]
        rest = [{key: one for key, one in value.items() if key != _TABLE or one} for value in (before, after)]
        if servers[1] != wanted or rest[0] != rest[1]:
            raise Malformed("our server cannot be added without changing other entries")
        return text


def same_toml(one: str, other: str) -> bool:
    """Whether two texts say the same."""
    return bool(_toml(one).unwrap() == _toml(other).unwrap())


def _toml(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Malformed(str(error)) from None


def _server(command: str) -> dict[str, Any]:
    return {"command": command, "args": ["mcp"], "env_vars": ["JOELCLAW_HOME"]}
