"""Edits a client's settings, JSON or TOML, as text: everything else in the file keeps its bytes."""

import json
import re
import tomllib
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

Syntax = Literal["json", "jsonc", "json5", "toml"]
"""`jsonc` is JSON with comments."""

BOM = "\ufeff"
STRING_OR_COMMENT = re.compile(r"""(["'])(?:(?!\1)[^\\]|\\.)*\1|//[^\r\n]*|/\*.*?\*/""", re.DOTALL)
_SPACE = re.compile(r"[\s\ufeff]*")
_NAME = re.compile(r"(?:[^\W\d]|\$|\\u[0-9a-fA-F]{4})(?:[\w$\u200c\u200d]|\\u[0-9a-fA-F]{4})*")
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\(?:\r\n|[\s\S]))*"|' + r"'(?:[^'\\\r\n]|\\(?:\r\n|[\s\S]))*'")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w$.])"
)
_ESCAPE = re.compile(r'\\(?:x([0-9a-fA-F]{2})|(u[0-9a-fA-F]{4})|(\r\n|[\s\S]))|"')
_ESCAPES = {"0": "\\u0000", "v": "\\u000b", '"': '\\"', "\\": "\\\\", **{sign: "\\" + sign for sign in "bfnrt"}}
_WORDS = {"true": True, "false": False, "null": None}


class Malformed(Exception):
    """The client cannot read the text, or it cannot be edited without changing entries of others."""


def parsed(text: str, syntax: Syntax) -> Any:
    """The value of a text; `{}` for a blank text. Raises Malformed."""
    if syntax == "toml":
        return _parsed_toml(text)
    plain = _without_comments(text.removeprefix(BOM), syntax)
    if not plain.strip():
        return {}
    try:
        if syntax == "json5":
            return _parsed_json5(plain)
        return json.loads(plain, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as error:
        raise Malformed(str(error)) from None


def edited(text: str, wanted: dict[str, Any], syntax: Syntax) -> str:
    """The JSON text edited so that its value is `wanted`. New members go to the end. Raises Malformed."""
    bom, text = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    if not _without_comments(text, syntax).strip():
        text += "{}\n"
    for _ in range(500):  # each edit removes a difference; an installation needs some dozens
        if same(parsed(text, syntax), wanted):
            return bom + text
        text = _Edit(text, _without_comments(text, syntax)).first_difference_removed(wanted)
    raise Malformed("it cannot be edited without changing other entries")


def same(value: object, other: object) -> bool:
    """Whether two values are equal, whatever the order of their keys."""
    return json.dumps(value, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def edited_toml(text: str, wanted: dict[str, Any], *names: str) -> str:
    """The TOML text with the table of these names as in `wanted`, which may differ in nothing else. Raises Malformed.

    The values of the table are strings and lists of strings.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    header = f"[{'.'.join(names)}]"
    start, end = _lines_of_table(lines, header)
    table: Any = wanted
    for name in names:
        table = table.get(name, {})
    new = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
    if table:
        new.insert(0, header)
    if start == len(lines) and lines:  # it is new: a blank line goes before it
        new.insert(0, "" if text.endswith("\n") else newline)
    elif not table and start and not lines[start - 1].strip():  # the same line goes with it
        start -= 1
    result = "".join((*lines[:start], *(line + newline for line in new), *lines[end:]))
    value = _parsed_toml(result)
    if not table and value.get(names[0]) == {}:
        del value[names[0]]
    if not same(value, wanted):
        raise Malformed(f"{header} cannot be edited without changing other entries: do it by hand")
    return result


def _lines_of_table(lines: list[str], header: str) -> tuple[int, int]:
    """The first line of a TOML table and the line after its last; both are the number of lines if there is none."""
    start = next((at for at, line in enumerate(lines) if line.split("#")[0].strip() == header), len(lines))
    end = min(start + 1, len(lines))
    for at in range(end, len(lines)):
        content = lines[at].strip()
        if content.startswith("["):
            break
        if content and not content.startswith("#"):  # a comment at the end belongs to the next table
            end = at + 1
    return start, end


def _parsed_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Malformed(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise Malformed(f"{name} is not JSON")


def _without_comments(text: str, syntax: Syntax) -> str:
    """The text with each comment replaced by as many spaces, so that positions stay the same."""
    if syntax == "json":
        return text
    return STRING_OR_COMMENT.sub(lambda found: found[0] if found[1] else " " * len(found[0]), text)


class _Member(NamedTuple):
    """A member of an object or list: its key ("" in a list), and the positions of its beginning and its value."""

    key: str
    begin: int
    start: int
    end: int
    value: Any


class _Edit:
    """A single edit of a JSON text that keeps its layout: line ends, indentation, and whether it uses several lines.

    `plain` is the text without its comments, with the same positions.
    """

    def __init__(self, text: str, plain: str) -> None:
        self.text, self.plain = text, plain
        self.root = self._next_token(0)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        first = self._next_token(self.root + 1)
        is_empty = plain[first] == "}"
        self.multiline = is_empty or "\n" in text[self.root : first]
        self.unit = self._indentation(first) if self.multiline and not is_empty else "  "

    def first_difference_removed(self, wanted: Any, at: int | None = None) -> str:
        """The text without the first difference between the value that starts at `at` and `wanted`."""
        at = self.root if at is None else at
        value, end = _value_at(self.plain, at)
        if type(value) is not type(wanted) or not isinstance(value, (dict, list)):
            indent = self._indentation(at) if "\n" in self.text[at:end] else None
            return self.text[:at] + self._rendered(wanted, indent) + self.text[end:]
        members = self._members(at, end)
        if isinstance(value, dict):
            for index, member in enumerate(members):
                if member.key not in wanted:
                    return self._without_member(at, end, members, index)
                if not same(member.value, wanted[member.key]):
                    return self.first_difference_removed(wanted[member.key], member.start)
            key = next(name for name in wanted if name not in value)
            return self._with_member(at, end, members, key, wanted[key])
        before, after = ([json.dumps(item, sort_keys=True) for item in items] for items in (value, wanted))
        codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        tag, index, _, other, _ = next(code for code in codes if code[0] != "equal")
        if tag == "replace":
            return self.first_difference_removed(wanted[other], members[index].start)
        if tag == "delete":
            return self._without_member(at, end, members, index)
        return self._with_member(at, end, members, "", wanted[other])

    def _members(self, at: int, end: int) -> list[_Member]:
        members = []
        is_object, at = self.plain[at] == "{", self._next_token(at + 1)
        while at < end - 1:
            begin, key = at, ""
            if is_object:
                key, at = _name_at(self.plain, at)
                at = self._next_token(at)
            value, stop = _value_at(self.plain, at)
            members.append(_Member(key, begin, at, stop, value))
            at = self._next_token(stop)
        return members

    def _with_member(self, at: int, end: int, members: list[_Member], key: str, value: Any) -> str:
        """Add a member at the end of an object or list, after the comments there."""
        text = self.text
        trailing_comma = self.plain.find(",", members[-1].end, end - 1) if members else -1
        start = trailing_comma + 1 or (members[-1].end if members else at + 1)
        comment = text[start : end - 1].rstrip()
        rest = text[start + len(comment) : end - 1]
        if members:
            gap = text[(members[-2].end if members[1:] else at + 1) : members[-1].begin]
            multiline, indent = "\n" in gap or bool(comment), self._indentation(members[-1].begin)
        else:
            outer = self._indentation(at)
            multiline, indent = self.multiline or bool(comment), outer + self.unit
            rest = self.newline + outer if multiline else ""
        lead = self.newline + indent if multiline else " " if members else ""
        name = json.dumps(key, ensure_ascii=False) + ": " if self.plain[at] == "{" else ""
        entry = lead + name + self._rendered(value, indent if multiline else None)
        if trailing_comma >= 0:
            return text[:start] + comment + entry + "," + rest + text[end - 1 :]
        return text[:start] + ("," if members else "") + comment + entry + rest + text[end - 1 :]

    def _without_member(self, at: int, end: int, members: list[_Member], index: int) -> str:
        """Remove a member of an object or list; comments around it stay."""
        text, member = self.text, members[index]
        left = members[index - 1].end if index else at + 1
        begin = left + len(text[left : member.begin].rstrip())
        comma_after = self.plain.find(",", member.end, end - 1)
        if index + 1 < len(members) or (index and comma_after >= 0):
            return text[:begin] + text[comma_after + 1 :]
        if index:
            comma = self.plain.index(",", left)
            return text[:comma] + text[comma + 1 : begin] + text[member.end :]
        inner = text[at + 1 : begin]
        if comma_after >= 0:
            inner += text[member.end : comma_after]
        inner += text[max(member.end, comma_after + 1) : end - 1]
        return text[: at + 1] + (inner if inner.strip() else "") + text[end - 1 :]

    def _rendered(self, value: Any, indent: str | None) -> str:
        """A value as text: on several lines, indented by `indent`, or on a single line if that is None."""
        if indent is None:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + indent)

    def _indentation(self, at: int) -> str:
        """The white space with which the line of a position begins."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _next_token(self, at: int) -> int:
        """The position after white space and a comma or colon."""
        gap = re.compile(r"\s*[:,]?\s*").match(self.plain, at)
        return gap.end() if gap else at


# JSON5, of OpenClaw's settings: unquoted names, single quotes, trailing commas, and numbers such as `.5`


def _parsed_json5(text: str) -> Any:
    """The value of a JSON5 text without comments. Raises ValueError."""
    value, end = _value_at(text, _token_at(text, 0))
    if _token_at(text, end) < len(text):
        raise ValueError(f"something follows the value{_line_of(text, end)}")
    return value


def _value_at(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at a position of a text without comments, and the position after it. Raises ValueError."""
    sign = text[at : at + 1]
    if sign in ("{", "["):
        close = "}" if sign == "{" else "]"
        members: dict[str, Any] = {}
        items: list[Any] = []
        at = _token_at(text, at + 1)
        while text[at : at + 1] != close:
            name = ""
            if sign == "{":
                name, at = _name_at(text, at)
                at = _after(":", text, _token_at(text, at))
                if name in members:
                    raise ValueError(f"the key {name!r} is there twice")
            item, at = _value_at(text, at)
            members[name] = item
            items.append(item)
            at = _token_at(text, at)
            if text[at : at + 1] != close:
                at = _after(",", text, at)
        return (members if sign == "{" else items), at + 1
    if string := _STRING.match(text, at):
        return _unquoted(string[0]), string.end()
    if number := _NUMBER.match(text, at):
        return _number(number[0]), number.end()
    if (word := _NAME.match(text, at)) and word[0] in _WORDS:
        return _WORDS[word[0]], word.end()
    raise ValueError(f"a value is missing{_line_of(text, at)}")


def _name_at(text: str, at: int) -> tuple[str, int]:
    """The name of a member, quoted or not, and the position after it. Raises ValueError."""
    if string := _STRING.match(text, at):
        return _unquoted(string[0]), string.end()
    if name := _NAME.match(text, at):
        return _unquoted(f'"{name[0]}"'), name.end()
    raise ValueError(f"a name is missing{_line_of(text, at)}")


def _token_at(text: str, at: int) -> int:
    """The position after the white space that begins at a position."""
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _after(sign: str, text: str, at: int) -> int:
    """The position of the token after a sign. Raises ValueError if another sign is there."""
    if text[at : at + 1] != sign:
        raise ValueError(f"{sign!r} is missing{_line_of(text, at)}")
    return _token_at(text, at + 1)


def _line_of(text: str, at: int) -> str:
    return f" at line {text.count(chr(10), 0, at) + 1}"


def _unquoted(quoted: str) -> str:
    """The text of a string, whose escapes are first written as JSON has them."""

    def as_json(escape: re.Match[str]) -> str:
        code, unit, sign = escape.groups()
        if escape[0] == '"':
            return '\\"'
        if code or unit:
            return f"\\u00{code}" if code else f"\\{unit}"
        return _ESCAPES.get(sign, "" if sign in ("\n", "\r", "\r\n", "\u2028", "\u2029") else sign)

    return str(json.loads(f'"{_ESCAPE.sub(as_json, quoted[1:-1])}"', strict=False))


def _number(text: str) -> int | float:
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16) * (-1 if text[0] == "-" else 1)
    return int(text) if digits.isdigit() else float(text)
