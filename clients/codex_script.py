"""Codex's code mode: the tool calls in a script, JavaScript that calls `tools.NAME(…)`, and what the script printed.

Imported only if there is a script. Nothing is executed. The argument of a call counts as far as the script contains it:
literals, also joined or in templates, variables, elements that a loop or `.map` goes over, and parameters. Both
branches of a condition count.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from clients.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)|(?P<text>\"(?:[^\"\\\n]++|\\.)*+\"|'(?:[^'\\\n]++|\\.)*+')|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<number>\d[\w.]*)|(?P<sign>=>|\.\.\.|\?\.|\?\?|&&|\|\||[=!<>]==?|\+[+=]|.)",
    re.DOTALL,
)
TEMPLATE = re.compile(r"((?:[^`\\$]++|\\.|\$(?!\{))*+)(`|\$\{|\Z)", re.DOTALL)
REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,5})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
MAX_STEPS = 200_000  # tokens that are read, also repeatedly, which bounds the time that a script takes


def tool_calls(script: str) -> list[tuple[str, Any]]:
    """The calls of tools in a script, in order: the tool's name, and its argument: an object, or text.

    Members whose values are unknown are left out of an object. If all is unknown, the argument is the source text.
    """
    reader = _Reader(script)
    known: dict[str, Any] = {"tools": _Tool(""), "String": str, "Object": dict}
    try:
        reader.scan(0, len(reader.tokens), known)
        for function in reader.functions:
            if not function.is_called:
                reader.scan(function.begin, function.end, known)
    except RecursionError:  # what was found is kept
        pass
    return reader.calls


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
    """What each of the calls of a script returned; None if the script did not print it, so that it is unknown.

    Args:
        is_command: for each call whether it runs a command, which may fail although the script goes on.
    """
    count = len(is_command)
    found = result.results or ([] if result.failed is None else [result])
    commands = [number for number, runs in enumerate(is_command) if runs]
    groups: list[list[Entry]] = [[] for _ in is_command]
    if result.process:
        groups = [[result]] * count
    elif count == 1 or not (len(found) in (count, len(commands)) or (result.failed and len(found) <= count + 1)):
        groups[0] = [*found]  # whose texts these are is unknown
    else:
        in_order = commands if len(found) == len(commands) != count and not result.failed else range(count)
        for number, entry in enumerate(found):
            groups[in_order[min(number, count - 1)]].append(entry)
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
    kind: str  # text, name, number, regex, sign, end
    text: str
    start: int
    end: int


class _Tool(str):
    """A tool, by its name; "" is the object with all of them."""


class _Function:
    """A function, or the body of a loop. Parameters and body are ranges of tokens."""

    def __init__(self, parameters: list[tuple[int, int]], begin: int, end: int) -> None:
        self.parameters = parameters
        self.begin = begin
        self.end = end
        self.is_called = False


class _Reader:
    """Reads a script. Places are numbers of tokens, `names` the values of variables; an unknown value is None."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.tokens = _tokens(script)
        self.calls: list[tuple[str, Any]] = []
        self.functions: list[_Function] = []
        self._steps = 0
        self._closing: dict[int, int] = {}
        opened: list[int] = []
        for at in range(len(self.tokens)):
            if (sign := self._sign(at)) in ("(", "[", "{"):
                opened.append(at)
            elif sign in (")", "]", "}") and opened:
                self._closing[opened.pop()] = at
        self._closing.update((at, len(self.tokens)) for at in opened)  # the script was cut off
        self._opening = {close: at for at, close in self._closing.items()}

    def scan(self, at: int, end: int, names: dict[str, Any]) -> None:
        """Note the calls in a part of the script."""
        while at < end:
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise RecursionError
            sign = self._sign(at)
            if sign == "=" and self._sign(at - 2) != ".":
                value = self._value(at + 1, self._end_of(at + 1, end), names)
                self._bind(self._opening.get(at - 1, at - 1), value, names)
            elif sign == "function" and self._sign(at + 2) == "(":
                value = names[self._sign(at + 1)] = self._function_at(at, end)
            elif sign == "for" and self._sign(at + 1) == "(":
                at = self._loop(at + 1, end, names)
                continue
            else:
                at = self._call(at, names) if sign == "(" else at + 1
                continue
            if isinstance(value, _Function):
                self.functions.append(value)
                at = value.end
            at += 1

    def _loop(self, at: int, end: int, names: dict[str, Any]) -> int:
        """Scan a loop over known elements, whose head begins at `at`; returns the place after what was scanned."""
        close = self._closing[at]
        pattern = at + 1 + (self._sign(at + 1) in ("const", "let", "var"))
        of = next((place for place in range(pattern, close) if self._sign(place) == "of"), close)
        elements = self._value(of + 1, close, names)
        if not isinstance(elements, list):
            self._bind(pattern, None, names)
            return at + 1
        after = self._closing.get(close + 1) or self._end_of(close + 1, end)
        for element in elements:
            self._enter(_Function([(pattern, of)], close + 1, after), [element], names)
        return after

    def _call(self, at: int, names: dict[str, Any]) -> int:
        """Note a call whose arguments begin at `at`; returns the place after what was scanned."""
        close, begin = self._closing[at], self._begin_of(at - 1)
        is_named = at > 0 and self._sign(at - 1) not in ("async", "function", ")", "")
        called = self._value(begin, at, names) if is_named else None
        values = self._values(at + 1, close, names)
        if isinstance(called, _Tool):
            self.scan(at + 1, close, names)
            source = self.script[self.tokens[at].end : self.tokens[close - 1].end].strip()
            self.calls.append((str(called), values[0] if values and isinstance(values[0], (str, dict)) else source))
        elif isinstance(called, _Function):
            self.scan(at + 1, close, names)
            self._enter(called, values, names)
        elif values and isinstance(values[0], _Function) and isinstance(called, list):
            for element in called:
                self._enter(values[0], [element], names)
        else:
            return at + 1
        return close + 1

    def _enter(self, function: _Function, values: list[Any], names: dict[str, Any], *, scans: bool = True) -> Any:
        """Scan a function that is called with these values, or give its value if its body is an expression."""
        function.is_called = True
        inner = dict(names)
        for number, (parameter, _) in enumerate(function.parameters):
            self._bind(parameter, values[number] if number < len(values) else None, inner)
        return (self.scan if scans else self._value)(function.begin, function.end, inner)

    def _bind(self, at: int, value: Any, names: dict[str, Any]) -> None:
        """Give the names in a pattern (`x`, `[x, y]`, `{x, y: z}`) their values."""
        if self._sign(at) not in ("[", "{"):
            names[self._sign(at)] = value
            return
        for number, (first, _) in enumerate(self._split(at + 1, self._closing[at], ",")):
            is_renamed = self._sign(at) == "{" and self._sign(first + 1) == ":"
            member = _member(value, number if self._sign(at) == "[" else self._sign(first))
            self._bind(first + 2 * is_renamed, member, names)

    def _values(self, at: int, end: int, names: dict[str, Any]) -> list[Any]:
        """The values of expressions between commas."""
        found: list[Any] = []
        for begin, after in self._split(at, end, ","):
            is_spread = self._sign(begin) == "..."
            value = self._value(begin + is_spread, after, names)
            found += value if is_spread and isinstance(value, list) else [value]
        return found

    def _value(self, at: int, end: int, names: dict[str, Any]) -> Any:
        at += self._sign(at) == "await"
        if at >= end or (function := self._function_at(at, end)) is not None:
            return function if at < end else None
        if len(parts := self._split(at, end, "+")) > 1:
            texts = [self._value(*part, names) for part in parts]
            return "".join(map(str, texts)) if all(isinstance(text, (str, int)) for text in texts) else None
        value, at = self._simple(at, names)
        while at < end and value is not None:
            sign, name = self._sign(at), self._sign(at + 1)
            if sign == "[":
                value, at = _member(value, self._value(at + 1, self._closing[at], names)), self._closing[at] + 1
            elif sign not in (".", "?."):  # of a choice, the first value
                return value if sign in ("??", "||") else None
            elif name in ("map", "forEach", "flatMap") and at + 2 == end:  # the list over which it goes
                return value
            elif self._sign(at + 2) == "(" and not isinstance(value, (_Tool, dict)):
                given = self._values(at + 3, self._closing[at + 2], names)
                if name == "map" and isinstance(value, list) and given and isinstance(given[0], _Function):
                    value = [self._enter(given[0], [element], names, scans=False) for element in value]
                else:
                    value = _result(value, name, given)
                at = self._closing[at + 2] + 1
            else:
                value, at = _member(value, name), at + 2
        return value

    def _simple(self, at: int, names: dict[str, Any]) -> tuple[Any, int]:
        """The value that begins at a place, without what follows it, and the place after it."""
        token, close = self.tokens[at], self._closing.get(at, at)
        if token.kind != "sign":
            number = int(token.text) if token.kind == "number" and token.text.isdecimal() else token.text
            return names.get(token.text) if token.kind == "name" else number, at + 1
        if token.text == "[":
            return self._values(at + 1, close, names), close + 1
        if token.text != "{":
            return self._value(at + 1, close, names) if token.text == "(" else None, close + 1
        found: dict[str, Any] = {}
        for begin, after in self._split(at + 1, close, ","):
            is_spread, is_named = self._sign(begin) == "...", self._sign(begin + 1) == ":"
            value = self._value(begin + is_spread + 2 * is_named, after, names)
            found.update(value if is_spread and isinstance(value, dict) else {self.tokens[begin].text: value})
        return {name: value for name, value in found.items() if value is not None}, close + 1

    def _function_at(self, at: int, end: int) -> _Function | None:
        """The function that an expression is, else None."""
        at += self._sign(at) == "async"
        is_arrow = self._sign(at) != "function"
        at += 0 if is_arrow else 1 + (self._sign(at + 1) != "(")
        body = self._closing.get(at, at) + 1
        if is_arrow and self._sign(body) != "=>":
            return None
        body += is_arrow
        is_list = self._sign(at) == "("
        parameters = self._split(at + 1, body - 1 - is_arrow, ",") if is_list else [(at, at + 1)]
        return _Function(parameters, body, self._closing[body] if self._sign(body) == "{" else end)

    def _sign(self, at: int) -> str:
        """The text of a sign or name; "" for a literal."""
        token = self.tokens[at] if 0 <= at < len(self.tokens) else None
        return token.text if token and token.kind in ("sign", "name") else ""

    def _split(self, at: int, end: int, sign: str) -> list[tuple[int, int]]:
        """The parts of a range between signs that are in no inner bracket."""
        found, begin = [], at
        while at < end:
            if self._sign(at) == sign:
                found.append((begin, at))
                begin = at + 1
            at = self._closing.get(at, at) + 1
        return [*found, (begin, end)] if begin < end else found

    def _begin_of(self, at: int) -> int:
        """Where the expression that is called begins; `at` is its last place."""
        while True:
            at = self._opening.get(at, at)
            if self._sign(at - 1) in (".", "?."):
                at -= 2
            elif self._sign(at) in ("[", "(") and (self.tokens[at - 1].kind == "name" or at - 1 in self._opening):
                at -= 1
            else:
                return at

    def _end_of(self, at: int, end: int) -> int:
        """Where an expression ends: at a comma, a semicolon, an outer bracket, or with its line."""
        begin = at
        while at < end and self._sign(at) not in (",", ";", ")", "]", "}"):
            before, token = self.tokens[at - 1], self.tokens[at]
            may_end = at > begin and (before.kind != "sign" or before.text in ")]}")
            if (
                may_end
                and (token.kind != "sign" or token.text == "{")
                and "\n" in self.script[before.end : token.start]
            ):
                break
            at = self._closing.get(at, at) + 1
        return min(at, end)


def _member(value: Any, name: Any) -> Any:
    if isinstance(value, _Tool):
        return _Tool(name) if isinstance(name, str) and not value else None
    if isinstance(value, list) and isinstance(name, int):
        return value[name] if name < len(value) else None
    return value.get(name) if isinstance(value, dict) and isinstance(name, str) else None


def _result(value: Any, name: str, given: list[Any]) -> Any:
    """What a method returns, for the few that put commands together."""
    first = given[0] if given else None
    if value is dict and isinstance(first, dict):
        return {"entries": [*map(list, first.items())], "values": [*first.values()]}.get(name, [*first])
    if isinstance(value, list) and name == "join" and all(isinstance(part, (str, int)) for part in value):
        return (first if isinstance(first, str) else ",").join(map(str, value))
    if value is str:  # String.raw
        return first
    return value.strip() if isinstance(value, str) and name.startswith("trim") else None


def _tokens(script: str) -> list[_Token]:
    """The tokens of a script. A template becomes a sum in brackets: of its texts, and of what is between them."""
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
