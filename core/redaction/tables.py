"""Finds secrets in a column of their own: of an SQL `INSERT`, a markdown table, a CSV, what `psql` prints. Hot path.

A header is a line whose cells are names, one of them a secret's; the lines below with as many cells are its rows.
"""

from __future__ import annotations

from core.redaction.names import family, is_placeholder
from core.redaction.prose import is_bare_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.assignments import Name, Span

_LINE = 1_000
_CELL = 40
_COLUMNS = 2_000
_DELIMITERS = ("|", "\t", ";", ",")
_RULER = frozenset("|+-: \t=")
_AROUND = " \t\"'`*[]\r"
_LOOSE = frozenset(["password", "pw", "pass"])
_INSERTS = ("insert into ", "replace into ", "insert ignore into ")
_VALUE = r"'((?:[^'\\]|\\.|'')*+)'|\"((?:[^\"\\]|\\.|\"\")*+)\"|[(),;]|[^'\"(),;]++|['\"]"


def find_columns(text: str, names: list[Name]) -> list[Span]:
    """The (start, end, kind) of each secret below a header that has one of the names for a cell."""
    spans: list[Span] = []
    done = 0
    for start, _, _ in sorted(names):
        if start < done:
            continue
        begin = text.rfind("\n", max(done, start - _LINE), start) + 1
        end = text.find("\n", start, start + _LINE)
        if end < 0:
            done = start + _LINE
            continue
        done = end
        begin = max(begin, done if begin == 0 and start > _LINE else begin)
        line = text[begin:end]
        for delimiter in _DELIMITERS:
            if delimiter in line:
                kinds = _kinds(line, delimiter)
                if any(kinds):
                    done = _rows(text, end + 1, delimiter, kinds, spans)
                break
    return spans


def _kinds(line: str, delimiter: str) -> list[str]:
    """The family of each cell of a header; none where it is a sentence or has no second cell."""
    cells = [cell.strip(_AROUND) for cell in _unnumbered(line).split(delimiter)]
    named = [cell for cell in cells if cell]
    if len(named) < 2 or any(len(cell) > _CELL or len(cell.split()) > 3 for cell in named):
        return []
    if not all(
        cell.replace("_", "a").replace("-", "a").replace(".", "a").replace(" ", "a").isalnum() for cell in named
    ):
        return []
    return [family(cell) if cell else "" for cell in cells]


def _unnumbered(line: str) -> str:
    """The line without the number that an agent's Read puts before it."""
    rest = line.lstrip(" ").lstrip("0123456789")
    return rest[1:] if rest[:1] == "→" else line


def _rows(text: str, at: int, delimiter: str, kinds: list[str], spans: list[Span]) -> int:
    """Adds the secrets of the rows that begin at `at`; returns where they end."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        if _RULER.issuperset(line.strip()) and line.strip():
            at = end + 1
            continue
        cells = line.split(delimiter)
        if len(cells) != len(kinds):
            return at
        for cell, kind in zip(cells, kinds, strict=True):
            value = _unnumbered(cell).strip(_AROUND) if kind else ""
            if value and is_bare_secret(value, kind in _LOOSE, True, False):
                start = at + cell.index(value)
                spans.append((start, start + len(value), _label(kind)))
            at += len(cell) + 1
        at = end + 1
    return at


def find_inserted(text: str, lower: str) -> list[Span]:
    """The (start, end, kind) of each quoted value that an `INSERT` puts into a secret's column."""
    import re

    value = re.compile(_VALUE, re.S)
    spans: list[Span] = []
    done = 0
    for begin in sorted(_places(lower)):
        if begin < done:
            continue
        opened = text.find("(", begin, begin + _CELL * 4)
        closed = text.find(")", opened, opened + _COLUMNS) if opened > 0 else -1
        if closed < 0 or not lower[closed + 1 : closed + 64].lstrip(" \t\n\\nr").startswith("values"):
            continue
        kinds = [family(name.strip(" \t\r\n`\"'[]\\")) for name in text[opened + 1 : closed].split(",")]
        done = closed
        if not any(kinds):
            continue
        at = lower.index("values", closed) + 6
        depth = column = 0
        for match in value.finditer(text, at):
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
            done = match.end()
    return spans


def _places(lower: str) -> list[int]:
    found = []
    for insert in _INSERTS:
        at = lower.find(insert)
        while at >= 0:
            found.append(at + len(insert))
            at = lower.find(insert, at + len(insert))
    return found


def _label(kind: str) -> str:
    return "password" if kind in _LOOSE else "api-key" if kind == "key" else kind
