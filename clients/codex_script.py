"""Codex's code mode: the tool calls in a script, JavaScript that calls `tools.NAME(…)`, and what the script printed.

Imported only if there is a script. Nothing is executed: a value is known if it is a literal, a list, a sum of texts, a
list of texts that is joined, or a name that was given such a value before.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from clients.entries import Entry
from core import TYPE_CHECKING, json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)|(?P<text>\"(?:[^\"\\\n]++|\\.)*+\"|'(?:[^'\\\n]++|\\.)*+'|`(?:[^`\\]++|\\.)*+`)"
    r"|(?P<name>[A-Za-z_$][\w$]*)|(?P<number>\d[\w.]*)|(?P<sign>=>|[=!<>]==?|\.\.\.|.)",
    re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
MAX_CALLS = 100  # of a script


class Token(NamedTuple):
    """A part of a script; `value` is that of a literal, None if it is unknown."""

    text: str
    value: Any
    start: int
    end: int


def tool_calls(script: str) -> list[tuple[str, Any]]:
    """The calls of tools in a script, in order: the tool's name, and its argument: an object, or text.

    Members whose values are unknown are left out of an object. If all is unknown, or the command, the argument is the
    source text.
    """
    return _Reader(script).calls()[:MAX_CALLS]


def read_output(result: Entry, texts: Sequence[str]) -> None:
    """Note in a result what a script printed: its status, with a header, and the texts after it."""
    status, _, rest = texts[0].partition("\n")
    printed = [text for text in (rest.partition("Output:\n")[2],) if text] + [*texts[1:]]
    result.text = "\n".join(printed).strip("\n")
    result.failed = True if status == "Script failed" else None
    if status.startswith("Script running with cell ID "):
        result.process = f"cell {status.split()[-1]}"
    for text in printed:
        try:
            found = _shell_results(json_text.loads(text))
        except json_text.InvalidJSON:
            found = []
        result.results = [*result.results, *(found or [Entry("result", text=text, failed=_failed_by_text(text))])]


def shares(result: Entry, is_command: Sequence[bool]) -> list[Entry | None]:
    """The result of each call of a script; None if it is unknown, since the script did not print it.

    Args:
        is_command: for each call whether it runs a command, which may fail although the script goes on.
    """
    count, printed = len(is_command), result.results
    if result.process:
        return [Entry("result", text=result.text, failed=None, process=result.process) for _ in is_command]
    if result.failed:
        return [Entry("result", text=result.text, failed=True)] if count == 1 else [None] * count
    commands = [number for number, runs in enumerate(is_command) if runs]
    found: list[Entry | None] = [None if runs else Entry("result") for runs in is_command]
    places = range(count) if len(printed) == count else commands if len(printed) == len(commands) else [0]
    for number, place in enumerate(places):
        own = printed if len(places) < len(printed) else printed[number : number + 1]
        outcomes = [entry.failed for entry in own if entry.failed is not None]
        unknown = None if is_command[place] else False
        share = Entry(
            "result", text="\n".join(entry.text for entry in own), failed=any(outcomes) if outcomes else unknown
        )
        share.process = next((entry.process for entry in own if entry.process), "")
        found[place] = share if own or not is_command[place] else None
    return found


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
    lines = [line for line in text.splitlines() if line.strip()]
    for line in (*lines[:1], *lines[-1:]):
        code = code or re.fullmatch(
            r"\W*(?:process )?exit(?:ed)?(?:[ _-]?(?:code|status))?(?: with code)?\W*(\d+)\W*", line, re.IGNORECASE
        )
    return code[1] != "0" if code else None


class _Reader:
    """Reads a script. Places are numbers of tokens, and an unknown value is None."""

    def __init__(self, script: str) -> None:
        self._script = script
        tokens = (match for match in TOKEN.finditer(script) if match.lastgroup != "space")
        self._tokens = [Token(match[0], _literal(match), *match.span()) for match in tokens]
        self._names: dict[str, Any] = {"true": True, "false": False}
        self._closing: dict[int, int] = {}
        opened: list[int] = []
        for at, token in enumerate(self._tokens):
            if token.text in ("(", "[", "{"):
                opened.append(at)
            elif token.text in (")", "]", "}") and opened:
                self._closing[opened.pop()] = at
        self._closing.update((at, len(self._tokens)) for at in opened)  # the script was cut off

    def calls(self) -> list[tuple[str, Any]]:
        """The calls of tools, with their arguments."""
        found: list[tuple[str, Any]] = []
        for at, token in enumerate(self._tokens):
            if token.text == "=" and self._sign(at - 2) != ".":
                self._names[self._sign(at - 1)] = self._value(at + 1, self._end_of(at + 1))
            elif token.text == "(" and (tool := self._tool_before(at)):
                end = self._closing[at]
                source = self._script[token.end : self._tokens[end - 1].end].strip()
                value = self._value(at + 1, min(self._end_of(at + 1), end))
                is_known = "cmd" in value if tool == "exec_command" and isinstance(value, dict) else value
                found.append((tool, value if is_known and isinstance(value, (str, dict)) else source))
        return found

    def _tool_before(self, at: int) -> str:
        """The name of the tool in `tools.NAME(` or `tools["NAME"](`, "" for another call."""
        if self._sign(at - 3) == "tools" and self._sign(at - 2) == ".":
            return self._sign(at - 1)
        if self._sign(at - 4) == "tools" and self._sign(at - 3) == "[":
            return str(self._tokens[at - 2].value or "")
        return ""

    def _sign(self, at: int) -> str:
        """The text of a token, "" outside the script."""
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""

    def _end_of(self, at: int) -> int:
        """The end of an expression: at a comma, a semicolon, an outer bracket, or a name on another line."""
        begin = at
        while at < len(self._tokens) and self._sign(at) not in (",", ";", ")", "]", "}"):
            gap = self._script[self._tokens[at - 1].end : self._tokens[at].start]
            if at > begin and "\n" in gap and self._sign(at)[0].isalpha():
                break
            at = self._closing.get(at, at) + 1
        return min(at, len(self._tokens))

    def _split(self, at: int, end: int, sign: str) -> list[tuple[int, int]]:
        """The parts of a range between signs that are in no inner bracket."""
        found, begin = [], at
        while at < end:
            if self._sign(at) == sign:
                found.append((begin, at))
                begin = at + 1
            at = self._closing.get(at, at) + 1
        return [*found, (begin, end)] if begin < end else found

    def _value(self, at: int, end: int, depth: int = 8) -> Any:
        if len(parts := self._split(at, end, "+")) > 1:
            return _joined([self._value(*part, depth) for part in parts], "")
        if at + 1 == end:
            token = self._tokens[at]
            if token.text.startswith("`"):
                return self._template(token.value)
            return self._names.get(token.text) if token.value is None else token.value
        close = self._closing.get(at, -1)
        if depth and self._sign(at) == "(" and close == end - 1:
            return self._value(at + 1, close, depth - 1)
        if depth and self._sign(at) == "{" and close == end - 1:
            return self._object(at + 1, close, depth - 1)
        if depth and self._sign(at) == "[":
            values = [self._value(*part, depth - 1) for part in self._split(at + 1, close, ",")]
            if self._sign(close + 2) == "join" and close + 6 == end:
                return _joined(values, self._tokens[close + 4].value)
            return values if close == end - 1 else None
        return None

    def _template(self, text: str) -> str:
        """A template with the values of the names in it; other expressions stay."""
        known = {name: str(value) for name, value in self._names.items() if isinstance(value, (str, int))}
        return re.sub(r"\$\{\s*([\w$]+)\s*\}", lambda found: known.get(found[1], found[0]), text)

    def _object(self, at: int, end: int, depth: int) -> dict[str, Any]:
        found = {}
        for begin, after in self._split(at, end, ","):
            token, is_named = self._tokens[begin], self._sign(begin + 1) == ":"
            found[token.value or token.text] = self._value(begin + 2 * is_named, after, depth)
        return {name: value for name, value in found.items() if value is not None}


def _joined(parts: list[Any], separator: Any) -> str | None:
    """Texts and numbers, joined to a text; None if any is unknown."""
    is_known = all(isinstance(part, (str, int)) for part in (separator, *parts))
    return str(separator).join(map(str, parts)) if is_known else None


def _literal(token: re.Match[str]) -> Any:
    """The value of a literal; None for other tokens."""
    text = token[0]
    if token.lastgroup == "number":
        return int(text) if text.isdecimal() and len(text) < 20 else None
    if token.lastgroup != "text":
        return None

    def plain(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        letters = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
        return chr(int(code, 16)) if code else letters.get(found[3], found[3])

    return ESCAPE.sub(plain, text[1:-1])
