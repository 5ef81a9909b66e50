"""Finds secrets in a column of their own: of an SQL `INSERT`, a markdown table, a CSV, what `psql` prints.

A header is a line whose cells are names, one of them a secret's; the lines below with as many cells are its rows.
"""

from __future__ import annotations

import re

from core.redaction.names import Name, Span, family, is_placeholder
from core.redaction.prose import is_bare_secret

_LOOSE = frozenset(["password", "pw", "pass"])
_AROUND = " \t\"'`*[]\r"
_HEADER = re.compile(r"[\w \t\"'`*.|,;+-]{3,400}\Z")
_RULER = frozenset("|+-: \t=")
_INSERT = re.compile(
    r"(?i)\b(?:insert|replace)(?:\s+ignore)?\s+into\s[^(\n]{1,120}\(([^()]{1,2000})\)(?:\s|\\[nr]){0,16}values"
)
_VALUE = re.compile(r"'((?:[^'\\]|\\.|'')*+)'|\"((?:[^\"\\]|\\.|\"\")*+)\"|[(),;]|[^'\"(),;]++|['\"]", re.S)


def find_columns(text: str, names: list[Name]) -> list[Span]:
    """The (start, end, kind) of each secret below a header that has one of the names for a cell."""
    spans: list[Span] = []
    done = 0
    for start, _, _ in sorted(names):
        begin, end = text.rfind("\n", max(0, start - 400), start) + 1, text.find("\n", start, start + 400)
        if begin < done or end < 0:
            continue
        done = end
        header = _unnumbered(text[begin:end])
        delimiter = next((sign for sign in "|\t;," if sign in header), "")
        if not delimiter or not _HEADER.match(header):
            continue
        cells = [cell.strip(_AROUND) for cell in header.split(delimiter)]
        kinds = [family(cell) if cell else "" for cell in cells]
        named = [cell for cell in cells if cell]
        if len(named) > 1 and any(kinds) and all(len(cell.split()) < 4 and len(cell) <= 40 for cell in named):
            done = _rows(text, end + 1, delimiter, kinds, spans)
    return spans


def _unnumbered(line: str) -> str:
    """The line without the number that an agent's Read puts before it."""
    number, arrow, rest = line.partition("→")
    return rest if arrow and number.strip().isdigit() else line


def _rows(text: str, at: int, delimiter: str, kinds: list[str], spans: list[Span]) -> int:
    """Adds the secrets of the rows that begin at `at`; returns where they end."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        cells = line.split(delimiter)
        is_ruler = bool(line.strip()) and _RULER.issuperset(line)
        if not is_ruler and len(cells) != len(kinds):
            return at
        for cell, kind in zip(cells, kinds, strict=False):
            value = _unnumbered(cell).strip(_AROUND) if kind and not is_ruler else ""
            if value and is_bare_secret(value, kind in _LOOSE, True, False):
                start = at + cell.index(value)
                spans.append((start, start + len(value), _label(kind)))
            at += len(cell) + 1
        at = end + 1
    return at


def find_inserted(text: str) -> list[Span]:
    """The (start, end, kind) of each quoted value that an `INSERT` puts into a secret's column."""
    spans: list[Span] = []
    for insert in _INSERT.finditer(text):
        kinds = [family(name.strip(" \t\r\n`\"'[]\\")) for name in insert.group(1).split(",")]
        depth = column = 0
        for match in _VALUE.finditer(text, insert.end()) if any(kinds) else ():
            sign = match.group()
            if sign == "(":
                depth += 1
                column = column if depth > 1 else 0
            elif sign == ")":
                depth -= 1
            elif sign == "," and depth == 1:
                column += 1
            elif sign == ";" or (depth < 1 and sign.strip() and sign != ","):
                break
            elif depth and match.lastindex and column < len(kinds) and kinds[column]:
                given = match.group(match.lastindex)
                if given and not is_placeholder(given):
                    spans.append((*match.span(match.lastindex), _label(kinds[column])))
    return spans


def _label(kind: str) -> str:
    return "password" if kind in _LOOSE else "api-key" if kind == "key" else kind
