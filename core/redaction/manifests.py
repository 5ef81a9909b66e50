"""Finds each value under `data:` and `stringData:` of a Secret of Kubernetes, whatever its key.

In YAML, also with the line numbers of an agent's Read and in a diff, and in JSON, also in JSON in JSON.
"""

from __future__ import annotations

import re

from core.redaction.names import Span, is_placeholder

Line = tuple[int, bool, str, int]
"""How far a line of YAML is indented, whether an item begins there, what it says, and where that stands."""

_MOST_LINES = 200
"""Of a manifest between its kind and its data."""
_LINE = r"((?:- |[ \t])*)([^\n\\]*+(?:\\(?!n)[^\n\\]*+)*+)(?:\n|\\n|\Z)|\n|\\n"
_KIND = re.compile(r"kind:[ \t]*[\"']?Secret[\"']?\s*$")
_HOLDER = re.compile(r"(?:data|stringData):\s*(?:$|\{)")
_VALUE = re.compile(r"(?:\\{0,3}[\"']?[\w./-]+\\{0,3}[\"']?:(?=\s|$)[ \t]*)?[\"']?([^\"'\n]*)")
_PAIR = re.compile(r"[\w.-]+:[ \t]*[\"']?([^\s,}\"'$][^,}\"'\n]*)")
_JSON_KIND = re.compile(r"\"kind\\{0,3}\"\s{0,8}:\s{0,8}\\{0,3}\"Secret\\{0,3}\"")
_JSON_HOLDER = re.compile(
    r"\"(?:data|stringData)\\{0,3}\"(?:\s|\\n){0,8}:(?:\s|\\n){0,8}\{((?:\$\{\w*\}|\{\{[^{}]*\}\}|[^{}])*+)"
)
_JSON_PAIR = re.compile(
    r"\"[^\"\\]++\\{0,3}\"(?:\s|\\n){0,8}:(?:\s|\\n){0,8}(?:\"((?:[^\"\\]|\\.)*+)|\\+\"([^\"\\]*+))"
)


def find_in_manifests(text: str) -> list[Span]:
    """The (start, end, kind) of each value of a Secret."""
    spans: list[Span] = []
    if _JSON_KIND.search(text):
        _in_json(text, spans)
    if re.search(r"kind:[ \t]*[\"']?Secret", text):
        _in_yaml(text, spans)
    return spans


def _in_json(text: str, spans: list[Span]) -> None:
    kinds = [match.span() for match in _JSON_KIND.finditer(text)]
    at = 0
    for holder in _JSON_HOLDER.finditer(text):
        while at < len(kinds) and kinds[at][1] <= holder.start():
            at += 1
        before = at and _is_balanced(text, kinds[at - 1][1], holder.start())
        if before or (at < len(kinds) and _is_balanced(text, holder.end(1) + 1, kinds[at][0])):
            for pair in _JSON_PAIR.finditer(text, *holder.span(1)):
                _add(pair, spans)


def _is_balanced(text: str, start: int, end: int) -> bool:
    """Whether what stands between both is in the same object."""
    depth = 0
    for sign in text[start:end] if end - start < 8_000 else "}":
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return not depth


def _in_yaml(text: str, spans: list[Span]) -> None:
    sign = "[-+ ]" if "@@ " in text else ""
    lines: list[Line] = [
        (len(match.group(1)), "-" in match.group(1), match.group(2), match.start(2))
        for match in re.finditer(rf"(?:[ \t]*\d+(?:→|\t)|{sign}){_LINE}", text)
        if match.group(2) and match.group(2)[0] != "#"
    ]
    for number, (indent, _, body, start) in enumerate(lines):
        if not body.startswith(("data:", "stringData:")) or not _HOLDER.match(body):
            continue
        if not _is_secret(lines, number):
            continue
        if "{" in body:
            for pair in _PAIR.finditer(text, start + body.index("{"), start + len(body)):
                _add(pair, spans)
        for below in range(number + 1, len(lines)):
            inner, _, value, at = lines[below]
            if inner <= indent:
                break
            given = _VALUE.match(text, at, at + len(value))
            if given is not None and given.group(1).strip("|>+-0123456789 "):
                _add(given, spans)


def _is_secret(lines: list[Line], number: int) -> bool:
    """Whether the mapping that the line belongs to is of the kind."""
    indent, begins = lines[number][:2]
    for step in (-1, 1):
        first = begins
        at = number + step
        while 0 <= at < len(lines) and abs(at - number) < _MOST_LINES:
            other, item, body, _ = lines[at]
            if other < indent or body.startswith(("---", "...")) or (step < 0 and first):
                break
            if step > 0 and item and other == indent:
                break
            if other == indent and _KIND.match(body):
                return True
            first = item and other == indent
            at += step
    return False


def _add(match: re.Match[str], spans: list[Span]) -> None:
    group = match.lastindex or 0
    value = match.group(group).partition(" #")[0].rstrip()
    if value and not is_placeholder(value):
        spans.append((match.start(group), match.start(group) + len(value), "secret"))
