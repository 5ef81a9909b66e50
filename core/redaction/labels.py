"""Finds the value of a secret whose name stands in a field of its own: `name: DB_PASSWORD` and below it `value: …`.

Two fields of YAML, JSON, HCL, XML and plist, `--name X --value Y`; and calls that take a password at a known place.
"""

from __future__ import annotations

import re

from core.redaction import CALLS
from core.redaction.names import Name, Span, is_placeholder

_FAMILIES = frozenset(["password", "secret", "token", "api-key", "private-key", "pw", "pass", "key"])
_VALUE = r"(\\{0,3}[\"'`])((?:(?!\1)[^\n]){1,240})\1|(?<!\n)([^\s\"'<>,}\\]{1,240})(?<![({\[])"
_LABEL = re.compile(
    r"(?:name|key|(variable)|field|setting|property|parameter|param|option|entry|-n)[ \t\"'\\:=>]{1,24}[\w./-]{0,40}\Z",
    re.I,
)
_BETWEEN = r"(?:(?!\}|</|/>|\n\n|- |(?:name|key)[\"'\\ ]{0,3}[:=])[\s\S]){0,200}?"
_FIELD = re.compile(rf"{_BETWEEN}(?:value[\"'\\]{{0,3}}[ \t]{{0,24}}[:=][ \t>]{{0,8}}|--value +)(?:{_VALUE})", re.I)
_DEFAULT = re.compile(rf"{_BETWEEN}default[\"'\\]{{0,3}}[ \t]{{0,24}}[:=][ \t]{{0,8}}(?:{_VALUE})", re.I)
_ELEMENT = re.compile(r"[\"'\\]*(?:</key>(?:\s|\\[nt])*<string>|[\"'\\]>)([^<\n]{1,240})<")
_THIRD = ("mysql", "getConnection", "PDO")
"""Calls whose third argument is the password, of the others the second."""
_ARGUMENT = r"[\s,\\]{0,8}(?:'[^'\n]{0,200}'|\"[^\"\n]{0,200}\")"
_IDENTIFIED = re.compile(rf"identified +(?:with +\S{{1,64}} +)?by[ \t]{{1,4}}(?:password )?(?:{_VALUE})", re.I)
_STATEMENTS = ("create user", "create role", "alter user", "alter role", "grant ")


def find_labelled(text: str, names: list[Name]) -> list[Span]:
    """The (start, end, kind) of each value in the field behind the one that holds a name."""
    spans: list[Span] = []
    done = 0
    for start, end, kind in names:
        label = _LABEL.search(text, max(0, start - 64), start) if start >= done and kind in _FAMILIES else None
        if label is None:
            continue
        found = _ELEMENT.match(text, end) or (_DEFAULT if label.group(1) else _FIELD).match(text, end)
        if found is not None and _is_secret(found.group(found.lastindex or 0), kind):
            label_of = {"pw": "password", "pass": "password", "key": "api-key"}
            spans.append((*found.span(found.lastindex or 0), label_of.get(kind, kind)))
            done = found.end()
    return spans


def _is_secret(value: str, kind: str) -> bool:
    if is_placeholder(value) or value[0] in "/~" or "://" in value or value.startswith(("arn:", "var.", "local.")):
        return False
    if kind == "password":
        return " " not in value or len(value.split()) > 2
    return len(value) >= 8 and " " not in value and any(char.isdigit() for char in value)


def find_passed(text: str, lower: str) -> list[Span]:
    """Passwords that a call takes as its second or third argument, and what a user is `IDENTIFIED BY` in SQL."""
    spans: list[Span] = []
    for call in CALLS:
        if call in text:
            before = 2 if call.startswith(_THIRD) else 1
            pattern = rf"{re.escape(call)}(?:{_ARGUMENT}){{{before}}}[\s,\\]{{1,8}}(['\"])([^'\"\n]{{4,200}})\1"
            for match in re.finditer(pattern, text):
                word = match.group(2).strip("\\")
                if len(word) >= 4 and not is_placeholder(word) and " " not in word and not word.isalpha():
                    spans.append((*match.span(2), "password"))
    for match in _IDENTIFIED.finditer(text) if "identified " in lower else ():
        group = match.lastindex or 0
        value = match.group(group).rstrip(";,)")
        head = lower[max(0, match.start() - 160) : match.start()]
        is_statement = text[match.start()] == "I" or any(word in head for word in _STATEMENTS)
        is_told = is_statement and (group == 2 or any(char.isdigit() for char in value))
        if value and is_told and not is_placeholder(value):
            spans.append((match.start(group), match.start(group) + len(value), "password"))
    return spans
