"""Finds the secrets that are known by their place: a field, a call, a column, a manifest.

`name: DB_PASSWORD` and below it `value: …`; calls that take a password at a known place; columns of an SQL `INSERT`, a
table or a CSV; the values of a Kubernetes Secret, in YAML (also in an agent's Read, in a diff) and JSON.
"""

from __future__ import annotations

import re

from core.redaction import CALLS
from core.redaction.values import (
    LOOSE,
    Name,
    Span,
    family,
    is_described,
    is_in_field,
    is_made_up,
    is_placeholder,
    label,
)

_VALUE = r"(\\{0,3}[\"'`])((?:(?!\1)[^\n]){1,240})\1|(?<!\n)([^\s\"'<>,}\\]{1,240})(?<![({\[])"
_LABEL = re.compile(
    r"(?:name|key|(variable)|field|setting|property|parameter|param|option|entry|-n)[ \t\"'\\:=>]{1,24}[\w./-]{0,40}\Z",
    re.I,
)
_BETWEEN = r"(?:(?!\}|</|/>|\n\n|- |(?:name|key)[\"'\\ ]{0,3}[:=])[\s\S]){0,200}?"
_FIELD = re.compile(rf"{_BETWEEN}(?:value[\"'\\]{{0,3}}[ \t]{{0,24}}[:=][ \t>]{{0,8}}|--value +)(?:{_VALUE})", re.I)
_DEFAULT = re.compile(rf"{_BETWEEN}default[\"'\\]{{0,3}}[ \t]{{0,24}}[:=][ \t]{{0,8}}(?:{_VALUE})", re.I)
_ELEMENT = re.compile(r"[\"'\\]*(?:</key>(?:\s|\\[nt])*<string>|[\"'\\]>(?:\s*<value>)?)([^<\n]{1,240})<")
_ARGUMENT = r"[\s,\\]{0,8}(?:'[^'\n]{0,200}'|\"[^\"\n]{0,200}\")"
_VARIABLE = r"\s{0,8}(?:\{[^{}\n]{0,120}\}|[^\s,'\"(){}][^,'\"(){}\n]{0,80}),"
_PASSWORD_ARGUMENT = re.compile(r"[\s,\\]{1,8}(['\"])([^'\"\n]{4,200})\1")
_IDENTIFIED = re.compile(rf"identified +(?:with +\S{{1,64}} +)?by[ \t]{{1,4}}(?:password )?(?:{_VALUE})", re.I)
_CELL_MARGIN = " \t\"'`*[]\r"
_HEADER = re.compile(r"[\w \t\"'`*.|,;+-]{3,400}\Z")
_INSERT = re.compile(
    r"(?i)\b(?:insert|replace)(?:\s+ignore)?\s+into\s[^(\n]{1,120}\(([^()]{1,2000})\)(?:\s|\\[nr]){0,16}values"
)
_INSERTED = re.compile(r"'((?:[^'\\]|\\.|'')*+)'|\"((?:[^\"\\]|\\.|\"\")*+)\"|[(),;]|[^'\"(),;]++|['\"]", re.S)
_YAML_LINE = r"((?:- |[ \t])*)([^\n\\]*+(?:\\(?!n)[^\n\\]*+)*+)(?:\n|\\n|\Z)|\n|\\n"
_YAML_KIND = re.compile(r"kind:[ \t]*[\"']?Secret[\"']?\s*$")
_YAML_DATA = re.compile(r"(?:data|stringData):\s*(?:$|\{)")
_YAML_VALUE = re.compile(r"(?:\\{0,3}[\"']?[\w./-]+\\{0,3}[\"']?:(?=\s|$)[ \t]*)?[\"']?([^\"'\n]*)")
_YAML_PAIR = re.compile(r"[\w.-]+:[ \t]*[\"']?([^\s,}\"'$][^,}\"'\n]*)")
_JSON_KIND = re.compile(r"\"kind\\{0,3}\"\s{0,8}:\s{0,8}\\{0,3}\"Secret\\{0,3}\"")
_JSON_DATA = r"\"(?:data|stringData)\\{0,3}\"(?:\s|\\n){0,8}:(?:\s|\\n){0,8}\{((?:\$\{\w*\}|\{\{[^{}]*\}\}|[^{}])*+)"
_JSON_SIGN = re.compile(rf"[{{}}]|{_JSON_KIND.pattern}|{_JSON_DATA}")
_JSON_PAIR = re.compile(
    r"\"[^\"\\]++\\{0,3}\"(?:\s|\\n){0,8}:(?:\s|\\n){0,8}(?:\"((?:[^\"\\]|\\.)*+)|\\+\"([^\"\\]*+))"
)


def find_structured(text: str, lower: str, names: list[Name]) -> list[Span]:
    """The (start, end, kind) of each secret known by its field, call, column or manifest."""
    spans = _in_fields(text, lower, names) + _in_calls(text, lower) + _in_columns(text, names)
    if "into " in lower:
        spans += _in_inserts(text)
    if "Secret" in text:
        spans += _in_json_manifests(text)
        if re.search(r"kind:[ \t]*[\"']?Secret", text):
            spans += _in_yaml_manifests(text)
    return spans


def _in_fields(text: str, lower: str, names: list[Name]) -> list[Span]:
    """Each value in the field after a field that contains a name."""
    spans: list[Span] = []
    done = 0
    for start, end, kind in names:
        is_labelled = kind in LOOSE or kind in ("secret", "token", "api-key", "private-key", "key")
        if start < done or not is_labelled or not is_in_field(lower, start):
            continue
        field = _LABEL.search(text, max(0, start - 64), start)
        if field is None:
            continue
        match = _ELEMENT.match(text, end) or (_DEFAULT if field.group(1) else _FIELD).match(text, end)
        if match is not None and _fits_field(match.group(match.lastindex or 0), kind):
            spans.append((*match.span(match.lastindex or 0), label(kind)))
            done = match.end()
    return spans


def _fits_field(value: str, kind: str) -> bool:
    if is_placeholder(value) or value[0] in "/~" or "://" in value or value.startswith("arn:"):
        return False
    if kind == "password":
        return " " not in value or len(value.split()) > 2
    return len(value) >= 8 and " " not in value and any(map(str.isdigit, value))


def _in_calls(text: str, lower: str) -> list[Span]:
    """Passwords that a call takes as its second or third argument, and those of `IDENTIFIED BY` in SQL."""
    spans: list[Span] = []
    for call in CALLS:
        if call in text:
            before = 2 if call.startswith(("mysql", "getConnection", "PDO")) else 1
            for match in re.finditer(rf"{re.escape(call)}(?:{_ARGUMENT}|({_VARIABLE})){{{before}}}", text):
                argument, is_sure = _PASSWORD_ARGUMENT.match(text, match.end()), not match.group(1)
                while argument is not None:
                    word = argument.group(2).strip("\\")
                    is_plain = word.isalpha() and (word[1:].islower() or word.isupper() or family(word))
                    is_sure &= not is_plain and not is_placeholder(word) and "@" not in word
                    if " " not in word and (is_sure or (is_made_up(word) and is_described(word, "password"))):
                        spans.append((*argument.span(2), "password"))
                    argument, is_sure = _PASSWORD_ARGUMENT.match(text, argument.end()), False
    for match in _IDENTIFIED.finditer(text) if "identified " in lower else ():
        group = match.lastindex or 0
        value = match.group(group).rstrip(";,)")
        head = lower[max(0, match.start() - 160) : match.start()]
        statements = ("create user", "create role", "alter user", "alter role", "grant ")
        is_statement = text[match.start()] == "I" or any(statement in head for statement in statements)
        if is_statement and (group == 2 or any(map(str.isdigit, value))) and not is_placeholder(value):
            spans.append((match.start(group), match.start(group) + len(value), "password"))
    return spans


def _in_columns(text: str, names: list[Name]) -> list[Span]:
    """Each secret below a header, a line whose cells are names; its rows are the lines below with as many cells."""
    spans: list[Span] = []
    done = 0
    for start, end, _ in names if any(map(text.__contains__, "|\t;,")) else ():
        if text[end : end + 3].lstrip(" \"'`*]")[:1] not in ("|", "\t", ";", ",", "\n", "\r"):
            continue
        begin, end = text.rfind("\n", max(0, start - 400), start) + 1, text.find("\n", start, start + 400)
        if begin < done or end < 0:
            continue
        done = end
        header = _without_line_number(text[begin:end])
        delimiter = next((sign for sign in "|\t;," if sign in header), "")
        if not delimiter or not _HEADER.match(header):
            continue
        cells = [cell.strip(_CELL_MARGIN) for cell in header.split(delimiter)]
        kinds = [family(cell) if cell else "" for cell in cells]
        named = [cell for cell in cells if cell]
        if len(named) > 1 and any(kinds) and all(len(cell.split()) < 4 and len(cell) <= 40 for cell in named):
            done = _add_rows(text, end + 1, delimiter, kinds, spans)
    return spans


def _without_line_number(line: str) -> str:
    """The line without the number that an agent's Read puts before it."""
    number, arrow, rest = line.partition("→")
    return rest if arrow and number.strip().isdigit() else line


def _add_rows(text: str, at: int, delimiter: str, kinds: list[str], spans: list[Span]) -> int:
    """Add the secrets of the rows that begin at `at`; returns where they end."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        cells = line.split(delimiter)
        is_ruler = bool(line.strip()) and not line.strip("|+-: \t=")
        if not is_ruler and len(cells) != len(kinds):
            return at
        for cell, kind in zip(cells, kinds, strict=False):
            value = _without_line_number(cell).strip(_CELL_MARGIN) if kind and not is_ruler else ""
            if value and is_described(value, kind):
                start = at + cell.index(value)
                spans.append((start, start + len(value), label(kind)))
            at += len(cell) + 1
        at = end + 1
    return at


def _in_inserts(text: str) -> list[Span]:
    """Each quoted value that an `INSERT` puts into a secret's column."""
    spans: list[Span] = []
    for insert in _INSERT.finditer(text):
        kinds = [family(name.strip(" \t\r\n`\"'[]\\")) for name in insert.group(1).split(",")]
        depth = column = 0
        for match in _INSERTED.finditer(text, insert.end()) if any(kinds) else ():
            sign = match.group()
            if sign == "(":
                depth += 1
                column = column if depth > 1 else 0
            elif sign == ")":
                depth -= 1
            elif sign == "," and depth == 1:
                column += 1
            elif sign == ";" or depth > 8 or (depth < 1 and sign.strip() and sign != ","):
                break
            elif depth and match.lastindex and any(kinds[column : column + 1]):
                value = match.group(match.lastindex)
                spans += [] if is_placeholder(value) else [(*match.span(match.lastindex), label(kinds[column]))]
    return spans


def _in_json_manifests(text: str) -> list[Span]:
    """Each value of a Kubernetes Secret in JSON."""
    spans: list[Span] = []
    opened = [0]  # where the enclosing objects begin
    secrets: set[int] = set()
    data: list[tuple[int, tuple[int, int]]] = []
    for match in _JSON_SIGN.finditer(text) if _JSON_KIND.search(text) else ():
        if match.group() == "}":
            opened.pop()
            opened = opened or [-match.end()]  # an object that was opened before the text
        elif match.group() == "{":
            opened.append(match.end())
        elif match.lastindex:
            data.append((opened[-1], match.span(1)))
            opened.append(match.end())
        else:
            secrets.add(opened[-1])
    for owner, span in data:
        for pair in _JSON_PAIR.finditer(text, *span) if owner in secrets else ():
            _add(pair, spans)
    return spans


def _in_yaml_manifests(text: str) -> list[Span]:
    """Each value of a Kubernetes Secret in YAML."""
    spans: list[Span] = []
    sign = "[-+ ]" if "@@ " in text else ""
    lines = [  # indentation, whether an item of a list begins, content, position
        (len(indent), "-" in indent, body, match.start(2))
        for match in re.finditer(rf"(?:[ \t]*\d+(?:→|\t)|{sign}){_YAML_LINE}", text)
        for indent, body in (match.groups(),)
        if body and body[0] != "#"
    ]
    for number, (indent, begins, body, start) in enumerate(lines):
        if not body.startswith(("data:", "stringData:")) or not _YAML_DATA.match(body):
            continue
        above = range(number - 1, max(-1, number - 201), -1)
        below = range(number + 1, min(len(lines), number + 200))
        if not any(_has_kind(lines, numbers, indent, begins) for numbers in (above, below)):
            continue
        if "{" in body:
            for pair in _YAML_PAIR.finditer(text, start + body.index("{"), start + len(body)):
                _add(pair, spans)
        for inner, _, value, at in lines[number + 1 :]:
            if inner <= indent:
                break
            match = _YAML_VALUE.match(text, at, at + len(value))
            if match is not None and match.group(1).strip("|>+-0123456789 "):
                _add(match, spans)
    return spans


def _has_kind(lines: list[tuple[int, bool, str, int]], numbers: range, indent: int, begins: bool) -> bool:
    """Whether the mapping that the lines of these numbers belong to, upwards or downwards, is a Secret."""
    for number in numbers:
        other, item, body, _ = lines[number]
        if other < indent or body.startswith(("---", "...")) or (numbers.step < 0 and begins):
            return False
        if numbers.step > 0 and item and other == indent:
            return False
        if other == indent and _YAML_KIND.match(body):
            return True
        begins = item and other == indent
    return False


def _add(match: re.Match[str], spans: list[Span]) -> None:
    group = match.lastindex or 0
    value = match.group(group).partition(" #")[0].rstrip()
    if not is_placeholder(value):
        spans.append((match.start(group), match.start(group) + len(value), "secret"))
