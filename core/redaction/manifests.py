"""Finds what a Secret of Kubernetes holds: each value under `data:` and `stringData:`, whatever its key. Hot path.

As YAML, line by line, also with the line numbers that an agent's Read puts before them, and in a diff; as JSON, and as
JSON in JSON. Kind and data stand in any order, and several manifests in one text. Loads `re` where a Secret stands.
"""

from __future__ import annotations

from core.redaction.names import HOLDING, is_placeholder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from core.redaction.assignments import Span

_LABEL = "secret"
_YAML = ("kind: Secret", 'kind: "Secret"', "kind: 'Secret'")
_FIELD = r"[{}]|\\{0,3}\"(kind|data|stringData)\\{0,3}\"[ \t]{0,8}:(?:\s|\\n){0,8}(?:(\\{0,3}\"Secret\\{0,3}\")|(\{))?"
_ENTRY = r"(?:\s|\\n|,){0,64}\\{0,3}\"[^\"\\{}]{1,256}\\{0,3}\"(?:\s|\\n){0,8}:(?:\s|\\n){0,8}(\\{0,3}\")"
_END = r"(?:\s|\\n){0,64}\}"
_LINES = r"(?:[^\n\\]|\\(?!n))*+(?:\n|\\n|\Z)"
_BLOCKS = "|>+-0123456789"


class _Mapping:
    """A mapping that is not closed yet: how far it is indented, and the values that it would hide were it a Secret."""

    __slots__ = ("entries", "found", "holds", "indent", "is_secret")

    def __init__(self, indent: int) -> None:
        self.indent = indent
        self.is_secret = False
        self.found: list[Span] = []
        self.holds = False
        """Whether the lines that follow, indented further, are those of `data`."""
        self.entries = -1
        """How far the keys of `data` are indented; -1 where none has been seen."""


def find_in_manifests(text: str) -> list[Span]:
    """The (start, end, kind) of each value of a Secret; linear in the text."""
    spans: list[Span] = []
    if "Secret" in text and '"kind' in text.replace("\\", ""):
        spans += _in_json(text)
    if any(mark in text for mark in _YAML):
        spans += _in_yaml(text)
    return spans


def _in_json(text: str) -> list[Span]:
    import re

    entry, end = re.compile(_ENTRY), re.compile(_END)
    spans: list[Span] = []
    open_ones: list[_Mapping | None] = [None]
    done = 0
    for match in re.finditer(_FIELD, text):
        if match.start() < done:
            continue
        sign = match.group()
        if sign == "}":
            if len(open_ones) > 1:
                _close(open_ones, spans)
            continue
        if sign == "{":
            open_ones.append(None)
            continue
        field, is_secret, opens = match.groups()
        here = open_ones[-1] or _Mapping(0)
        open_ones[-1] = here
        done = match.end()
        if field == "kind":
            here.is_secret |= bool(is_secret)
        elif opens:
            done = _values(text, done, entry, here)
            closed = end.match(text, done)
            opens = None if closed is not None else opens
            done = closed.end() if closed is not None else done
        if opens:
            open_ones.append(None)
    while open_ones:
        _close(open_ones, spans)
    return spans


def _values(text: str, at: int, entry: re.Pattern[str], holder: _Mapping) -> int:
    """Adds the strings of the JSON object whose fields begin at `at`; returns where the last ends."""
    given = entry.match(text, at)
    while given is not None:
        mark = given.group(1)
        stop = text.find(mark, given.end())
        while stop > 0 and mark == '"' and text[stop - 1] == "\\":
            stop = text.find(mark, stop + 1)
        if stop < 0:
            break
        if not is_placeholder(text[given.end() : stop]):
            holder.found.append((given.end(), stop, _LABEL))
        at = stop + len(mark)
        given = entry.match(text, at)
    return at


def _close(open_ones: list[_Mapping | None], spans: list[Span]) -> None:
    last = open_ones.pop()
    if last is not None and last.is_secret:
        spans += last.found


def _in_yaml(text: str) -> list[Span]:
    import re

    spans: list[Span] = []
    open_ones: list[_Mapping | None] = []
    is_diff = text.startswith("@@ ") or "\n@@ " in text
    for match in re.finditer(_LINES, text):
        line = match.group()
        if not line.strip():
            continue
        offset = _offset(line, is_diff)
        line = line[offset:].removesuffix("\\n").rstrip()
        body = line.lstrip(" ")
        if line.startswith(("---", "...")):
            while open_ones:
                _close(open_ones, spans)
        elif body and body[0] != "#":
            _read(body, match.start() + offset, len(line), open_ones, spans)
    while open_ones:
        _close(open_ones, spans)
    return spans


def _read(body: str, start: int, size: int, open_ones: list[_Mapping | None], spans: list[Span]) -> None:
    """A line of YAML that begins at `start` and has `size` characters with its indentation."""
    is_item = False
    while body.startswith("- "):
        is_item = True
        body = body[2:].lstrip(" ")
    indent = size - len(body)
    here = open_ones[-1] if open_ones else None
    while here is not None and (here.indent > indent or (is_item and here.indent == indent)):
        _close(open_ones, spans)
        here = open_ones[-1] if open_ones else None
    if here is not None and here.holds and indent > here.indent:
        _entry(here, body, start + indent, indent)
        return
    key, found, value = body.partition(":")
    if not found or (value and value[0] not in " \t"):
        return
    if here is None or here.indent < indent:
        here = _Mapping(indent)
        open_ones.append(here)
    value = value.strip()
    here.holds = key in HOLDING and not value
    here.entries = -1
    if key == "kind":
        here.is_secret |= value.strip("\"'") == "Secret"
    elif key in HOLDING and value.startswith("{"):
        _inline(here, value, start + indent + body.index("{"))


def _offset(line: str, is_diff: bool) -> int:
    """Where a line begins behind its number, and behind the sign of a diff."""
    rest = line.lstrip(" ")
    behind = rest.lstrip("0123456789")
    if len(behind) < len(rest) and behind[:1] in ("→", "\t"):
        return len(line) - len(behind) + 1
    return int(is_diff and line[:1] in ("+", "-", " "))


def _entry(holder: _Mapping, body: str, start: int, indent: int) -> None:
    """A line of `data`: a key with its value, or, indented further, more of a value."""
    if holder.entries < 0:
        holder.entries = indent
    begin = 0
    if indent <= holder.entries:
        key, found, _ = body.partition(":")
        begin = len(key) + 1
        if not found or not body[begin:].strip(_BLOCKS + " "):
            return
    _add(holder, body, begin, len(body), start)


def _inline(holder: _Mapping, value: str, start: int) -> None:
    """The values of `{a: b, c: d}`."""
    at = 1
    for part in value[1:].rstrip("} ").split(","):
        key, found, _ = part.partition(":")
        if found:
            _add(holder, value, at + len(key) + 1, at + len(part), start)
        at += len(part) + 1


def _add(holder: _Mapping, text: str, begin: int, end: int, start: int) -> None:
    value = text[begin:end].partition(" #")[0].strip(" \"'")
    if not is_placeholder(value):
        at = start + text.index(value, begin)
        holder.found.append((at, at + len(value), _LABEL))
