"""Codex's code mode: the tool calls in a script, JavaScript that calls `tools.NAME(…)`, and what the script printed.

Imported only if there is a script. Nothing is executed. Values come from literals, also joined or in templates, from
variables and parameters, and from the elements of a list in a loop or `.map`. A call is read once for each value that a
name in it has. Both branches of a condition count.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from clients.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)|(?P<text>\"(?:[^\"\\\n]++|\\.)*+\"|'(?:[^'\\\n]++|\\.)*+')|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<number>\d[\w.]*)|(?P<sign>=>|\.\.\.|\?\.|\?\?|&&|\|\||[=!<>]==?|\+[+=]|.)",
    re.DOTALL,
)
TEMPLATE = re.compile(r"((?:[^`\\$]++|\\.|\$(?!\{))*+)(`|\$\{|\Z)", re.DOTALL)
REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,5})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
MAX_CALLS = 100  # of a script


def tool_calls(script: str) -> list[tuple[str, Any]]:
    """The calls of tools in a script, in order: the tool's name, and its argument: an object, or text.

    Members whose values are unknown are left out of an object. If all is unknown, the argument is the source text.
    """
    reader = _Reader(script)
    try:
        found = reader.calls()
        return reader.calls() if "=>" in script or "function" in script else found  # now all names are known
    except RecursionError:  # brackets that are nested too deep
        return []


def read_output(result: Entry, texts: Sequence[str]) -> None:
    """Note in a result what a script printed: its status, with a header, and the texts after it."""
    status, _, rest = texts[0].partition("\n")
    printed = [text for text in (rest.partition("Output:\n")[2],) if text] + [*texts[1:]]
    failed = True if status == "Script failed" else None
    result.text, result.failed = "\n".join(printed).strip("\n"), failed
    if status.startswith("Script running with cell ID "):
        result.process = f"cell {status.split()[-1]}"
    is_error = failed and printed and printed[-1].startswith("Script error:")
    for text in printed[:-1] if is_error else printed:
        try:
            found = _shell_results(json.loads(text))
        except (ValueError, RecursionError):
            found = []
        result.results += found or [Entry("result", text=text, failed=_failed_by_text(text))]
    if failed:
        result.results.append(Entry("result", text=printed[-1] if is_error else "", failed=True))


def shares(result: Entry, is_command: Sequence[bool]) -> list[Entry | None]:
    """The result of each call of a script; None if it is unknown, since the script did not print it.

    Args:
        is_command: for each call whether it runs a command, which may fail although the script goes on.
    """
    count = len(is_command)
    found = result.results or ([] if result.failed is None else [result])
    commands = [number for number, runs in enumerate(is_command) if runs]
    groups: list[list[Entry]] = [[result] if result.process else [] for _ in is_command]
    fits = len(found) in (count, len(commands)) or (result.failed and len(found) <= count + 1)
    places = commands if len(found) == len(commands) and not result.failed else range(count)
    for number, entry in enumerate(found if not result.process else ()):
        groups[places[min(number, len(places) - 1)] if fits else 0].append(
            entry
        )  # else the first call gets all of them
    shared: list[Entry | None] = []
    for group, runs in zip(groups, is_command, strict=True):
        outcomes = [entry.failed for entry in group if entry.failed is not None]
        failed = any(outcomes) if outcomes or runs or result.failed else False
        entry = Entry(
            "result", text="\n".join(entry.text for entry in group), failed=failed if outcomes or not runs else None
        )
        entry.process = next((entry.process for entry in group if entry.process), "")
        shared.append(entry if group or not (runs or result.failed) else None)
    return shared


def _shell_results(value: Any, depth: int = 4) -> list[Entry]:
    """The results of commands in a value that a script printed, such as that of `Promise.all`."""
    if isinstance(value, dict) and "output" in value and not {"exit_code", "session_id", "chunk_id"}.isdisjoint(value):
        code, session = value.get("exit_code"), value.get("session_id")
        entry = Entry("result", text=str(value["output"]), failed=None if code is None else code != 0)
        entry.process = str(session) if code is None and session is not None else ""
        return [entry]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [entry for part in inner for entry in _shell_results(part, depth - 1)] if depth else []


def _failed_by_text(text: str) -> bool | None:
    """Whether a command failed, by an exit code in the first or last line of a text, or in JSON that was cut off."""
    code = re.match(r'\s*\{[^{}\[]*?"exit_code":\s*(\d+)', text[:1000])
    for line in [line for line in text.splitlines() if line.strip()][:: max(1, len(text.splitlines()) - 1)]:
        code = code or re.fullmatch(
            r"\W*(?:process )?exit(?:ed)?(?:[ _-]?(?:code|status))?(?: with code)?\W*(\d+)\W*", line, re.IGNORECASE
        )
    return code[1] != "0" if code else None


class _Token(NamedTuple):
    kind: str  # text, name, number, regex, sign
    text: str
    start: int
    end: int


class _Tool(str):
    """A tool, by its name; "" is the object with all of them."""


class _Reader:
    """Reads a script. Places are numbers of tokens. An unknown value is None."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._tokens = _tokens(script)
        # the text of each sign or name; "" for a literal, and after the end
        self._signs = [token.text if token.kind in ("sign", "name") else "" for token in self._tokens] + [""] * 4
        self._names: dict[str, list[Any]] = {  # the values in turn
            "tools": [_Tool()], "String": [str], "Object": [dict], "true": [True], "false": [False],
        }  # fmt: skip
        self._turn = 0
        self._closing: dict[int, int] = {}
        opened: list[int] = []
        for at, sign in enumerate(self._signs):
            if sign in ("(", "[", "{"):
                opened.append(at)
            elif sign in (")", "]", "}") and opened:
                self._closing[opened.pop()] = at
        self._closing.update((at, len(self._tokens)) for at in opened)  # the script was cut off
        self._opening = {close: at for at, close in self._closing.items()}

    def calls(self) -> list[tuple[str, Any]]:
        """The calls of tools, each as often as its argument has other values."""
        found: list[tuple[str, Any]] = []
        for at in range(len(self._tokens)):
            sign, before = self._sign(at), self._opening.get(at - 1, at - 1)
            if sign == "=" and self._sign(at - 2) != ".":
                self._bind(before, self._in_turn(self._value, at + 1, self._end_of(at + 1)))
            elif sign == "of":
                elements = self._value(at + 1, self._end_of(at + 1))
                self._bind(before, elements if isinstance(elements, list) else [])
            elif sign == "=>" or (sign == "function" and self._sign(at + 2) == "("):
                self._bind_parameters(at)
            elif sign == "(" and isinstance(tool := self._value(self._begin_of(at - 1), at), _Tool):
                source = self._script[self._tokens[at].end : self._tokens[self._closing[at] - 1].end].strip()
                for values in self._in_turn(self._values, at + 1, self._closing[at]):
                    given = values[0] if values and isinstance(values[0], (str, dict)) else source
                    found.append((str(tool), given or source))
        return found[:MAX_CALLS]

    def _in_turn(self, read: Callable[[int, int], Any], at: int, end: int) -> list[Any]:
        """What `read` returns for a range, for each of the values of the names in it."""
        names = (
            self._names.get(self._sign(place), ())
            for place in range(at, end)
            if self._sign(place + 1) != ":" and self._sign(place - 1) not in (".", "?.")
        )
        found = []
        for self._turn in range(min(max(map(len, names), default=1) or 1, MAX_CALLS)):
            found.append(read(at, end))
        self._turn = 0
        return found

    def _bind_parameters(self, at: int) -> None:
        """Give the parameters of a function what the script passes: elements of a list, or arguments."""
        first = at + 2 if self._sign(at) == "function" else self._opening.get(at - 1, at - 1)
        parts = self._split(first + 1, self._closing[first], ",") if first in self._closing else [(first, first + 1)]
        before = first - 1 - (self._sign(first - 1) == "async")
        if self._sign(before) == "(" and self._sign(before - 2) in (".", "?."):  # `.map(x => …)`
            elements = self._value(self._begin_of(before - 1), before - 2)
            passed = [[element] for element in elements] if isinstance(elements, list) else []
        else:
            name = self._sign(before - (self._sign(before) == "="))
            places = [place for place in range(len(self._tokens)) if self._sign(place) == name and place + 1 != first]
            called = [place + 1 for place in places if self._sign(place + 1) == "("]
            passed = [
                values for place in called for values in self._in_turn(self._values, place + 1, self._closing[place])
            ]
        for number, (begin, _) in enumerate(parts):
            self._bind(begin, [values[number] if number < len(values) else None for values in passed])

    def _bind(self, at: int, values: list[Any]) -> None:
        """Give the names in a pattern (`x`, `[x, y]`, `{x, y: z}`) their values in turn."""
        if self._sign(at) not in ("[", "{"):
            self._names[self._sign(at)] = values[:MAX_CALLS]
            return
        for number, (first, _) in enumerate(self._split(at + 1, self._closing[at], ",")):
            is_renamed = self._sign(at) == "{" and self._sign(first + 1) == ":"
            name = number if self._sign(at) == "[" else self._sign(first)
            self._bind(first + 2 * is_renamed, [_member(value, name) for value in values])

    def _values(self, at: int, end: int) -> list[Any]:
        """The values of expressions between commas."""
        found: list[Any] = []
        for begin, after in self._split(at, end, ","):
            is_spread = self._sign(begin) == "..."
            value = self._value(begin + is_spread, after)
            found += value if is_spread and isinstance(value, list) else [value]
        return found

    def _value(self, at: int, end: int) -> Any:
        at += self._sign(at) == "await"
        if at >= end or "=>" in (self._sign(at + 1), self._sign(self._closing.get(at, at) + 1)):
            return None
        if len(parts := self._split(at, end, "+")) > 1:
            return _joined([self._value(*part) for part in parts], "")
        value, at = self._simple(at)
        while at < end and value is not None:
            sign, name = self._sign(at), self._sign(at + 1)
            if sign == "[":
                value, at = _member(value, self._value(at + 1, self._closing[at])), self._closing[at] + 1
            elif sign not in (".", "?."):  # of a choice, the first value
                return value if sign in ("??", "||") else None
            elif self._sign(at + 2) == "(" and not isinstance(value, (_Tool, dict)):
                value = _result(value, name, self._values(at + 3, self._closing[at + 2]))
                at = self._closing[at + 2] + 1
            else:
                value, at = _member(value, name), at + 2
        return value

    def _simple(self, at: int) -> tuple[Any, int]:
        """The value that begins at a place, without what follows it, and the place after it."""
        token, close = self._tokens[at], self._closing.get(at, at)
        if token.kind != "sign":
            if token.kind == "name":
                values = self._names.get(token.text) or [None]
                return values[self._turn % len(values)], at + 1
            return int(token.text) if token.kind == "number" and token.text.isdecimal() else token.text, at + 1
        if token.text == "[":
            return self._values(at + 1, close), close + 1
        if token.text != "{":
            return self._value(at + 1, close) if token.text == "(" else None, close + 1
        found: dict[str, Any] = {}
        for begin, after in self._split(at + 1, close, ","):
            is_spread, is_named = self._sign(begin) == "...", self._sign(begin + 1) == ":"
            value = self._value(begin + is_spread + 2 * is_named, after)
            found.update(value if is_spread and isinstance(value, dict) else {self._tokens[begin].text: value})
        return {name: value for name, value in found.items() if value is not None}, close + 1

    def _sign(self, at: int) -> str:
        return self._signs[max(at, -1)]

    def _split(self, at: int, end: int, sign: str) -> list[tuple[int, int]]:
        """The parts of a range between signs that are in no inner bracket."""
        found, begin = [], at
        while at < end:
            if self._signs[at] == sign:
                found.append((begin, at))
                begin = at + 1
            at = self._closing.get(at, at) + 1
        return [*found, (begin, end)] if begin < end else found

    def _begin_of(self, at: int) -> int:
        """The beginning of the expression that ends here."""
        while True:
            at = self._opening.get(at, at)
            if self._sign(at - 1) in (".", "?."):
                at -= 2
            elif self._sign(at) in ("[", "(") and (self._tokens[at - 1].kind == "name" or at - 1 in self._opening):
                at -= 1
            else:
                return at

    def _end_of(self, at: int) -> int:
        """The end of an expression: at a comma, a semicolon, an outer bracket, or with its line."""
        begin = at
        while at < len(self._tokens) and self._sign(at) not in (",", ";", ")", "]", "}"):
            before, token = self._tokens[at - 1], self._tokens[at]
            may_end = at > begin and (before.kind != "sign" or before.text in ")]}")
            may_begin = token.kind != "sign" or token.text == "{"
            if may_end and may_begin and "\n" in self._script[before.end : token.start]:
                break
            at = self._closing.get(at, at) + 1
        return min(at, len(self._tokens))


def _member(value: Any, name: Any) -> Any:
    if isinstance(value, _Tool):
        return _Tool(name) if isinstance(name, str) and not value else None
    if isinstance(value, list) and isinstance(name, int):
        return value[name] if name < len(value) else None
    return value.get(name) if isinstance(value, dict) and isinstance(name, str) else None


def _result(value: Any, name: str, given: list[Any]) -> Any:
    """What a method returns, for the few that put commands together."""
    first = given[0] if given else None
    if value is dict and isinstance(first, dict):  # Object
        return [[*pair] for pair in first.items()] if name == "entries" else [*first.values()]
    if isinstance(value, list) and name == "join":
        return _joined(value, first if isinstance(first, str) else ",")
    return first if value is str else None  # String.raw


def _joined(parts: list[Any], separator: str) -> str | None:
    """Texts and numbers as one text; None if any is unknown."""
    return separator.join(map(str, parts)) if all(isinstance(part, (str, int)) for part in parts) else None


def _tokens(script: str) -> list[_Token]:
    """The tokens of a script. A template becomes a sum in brackets, of its texts and the expressions between them."""
    found: list[_Token] = []
    braces: list[bool] = []  # of each open brace: whether it is that of a template
    at = 0
    while at < len(script) and (match := TOKEN.match(script, at)):
        kind, text, end = match.lastgroup or "", match[0], match.end()
        before = found[-1] if found else _Token("sign", "", 0, 0)
        may_divide = (before.kind != "sign" or before.text in (")", "]", "}")) and before.text != "return"
        is_template = text == "`" or (text == "}" and bool(braces) and braces.pop())
        if is_template and (part := TEMPLATE.match(script, end)):
            inner = part[1] if before.text == "raw" else _unescaped(part[1])
            signs = ("(" if text == "`" else ")+", "+(" if part[2] == "${" else ")")
            braces += [True] * (part[2] == "${")
            end = part.end()
            found += [_Token("sign", sign, at, at) for sign in signs[0]]
            found.append(_Token("text", inner, at, end))
            found += [_Token("sign", sign, end, end) for sign in signs[1]]
        elif text == "/" and not may_divide and (match := REGEX.match(script, at)):
            end = match.end()
            found.append(_Token("number", "regex", at, end))
        elif kind != "space":
            braces += [False] * (text == "{")
            found.append(_Token(kind, _unescaped(text[1:-1]) if kind == "text" else text, at, end))
        at = end
    return found


def _unescaped(text: str) -> str:
    """The text of a literal."""

    def plain(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        letters = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
        return chr(int(code, 16)) if code else letters.get(found[4], found[4])

    return ESCAPE.sub(plain, text) if "\\" in text else text
