"""Finds the value of a secret whose name stands in a field of its own: `name: DB_PASSWORD` and below it `value: …`.

Two fields of YAML, JSON, HCL, XML and plist, `--name X --value Y`, and calls that take a password at a known place.
"""

from __future__ import annotations

from core.redaction.names import is_placeholder
from core.redaction.shapes import CALLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.assignments import Name, Span

_HEAD = 64
_TAIL = 240
_PATH = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/"
_AROUND = " \t\"'\\:=>"
_LABELS = ("name", "key", "variable", "field", "setting", "property", "parameter", "param", "entry", "option", "-n")
_FAMILIES = frozenset(["password", "secret", "token", "api-key", "private-key", "pw", "pass", "key"])

_STATEMENTS = ("create user", "create role", "alter user", "alter role", "grant ")


def find_labelled(text: str, names: list[Name]) -> list[Span]:
    """The (start, end, kind) of each value in the field behind the one that holds a name."""
    spans: list[Span] = []
    done = 0
    for start, end, kind in names:
        if start < done or kind not in _FAMILIES:
            continue
        head = text[max(0, start - _HEAD) : start].rstrip(_PATH)
        bare = head[-24:].rstrip(_AROUND).lower()
        if len(bare) == len(head[-24:]) or not bare.endswith(_LABELS):
            continue
        label = "variable" if bare.endswith("variable") else ""
        at, stop = _value_behind(text, end, label)
        if stop and _is_secret(text[at:stop], kind):
            spans.append((at, stop, "password" if kind in ("pw", "pass") else "api-key" if kind == "key" else kind))
            done = stop
    return spans


def _is_secret(value: str, kind: str) -> bool:
    if is_placeholder(value) or value[0] in "/~" or "://" in value or value.startswith(("arn:", "var.", "local.")):
        return False
    if kind == "password":
        return " " not in value or len(value.split()) > 2
    return len(value) >= 8 and " " not in value and any(char.isdigit() for char in value)


def _value_behind(text: str, end: int, label: str) -> tuple[int, int]:
    """Where the value stands that belongs to the name which ends at `end`; (0, 0) for none."""
    tail = text[end : end + _TAIL]
    rest = tail.lstrip("\"'\\")
    if rest.startswith("</key>"):
        _, found, value = rest.partition("<string>")
        if not found or rest[6:].lstrip(" \t\r\n\\nt").startswith("<string>") is False:
            return 0, 0
        at = end + len(tail) - len(value)
        return _until(text, at, "<")
    if rest.startswith(">") and len(rest) < len(tail):
        return _until(text, end + len(tail) - len(rest) + 1, "<")
    low = tail.lower()
    at = low.find("value")
    if label == "variable":
        at = low.find("default")
    if at < 0 or any(mark in tail[:at] for mark in ("}", "</", "/>", "\n\n", "- ")):
        return 0, 0
    between = low[:at]
    if any(_is_label(between, other) for other in ("name", "key")):
        return 0, 0
    flag = text.startswith("--", end + at - 2)
    at += 5 if label != "variable" else 7
    rest = tail[at:]
    sign = rest.lstrip("\"'\\").lstrip(" \t")
    if flag and rest[:1] == " ":
        sign = " " + sign
    if sign[:1] not in (":", "=", " ") or (sign[:1] == " " and not flag):
        return 0, 0
    value = sign[1:].lstrip(" \t>")
    return value_at(text, end + len(tail) - len(value))


def _is_label(between: str, label: str) -> bool:
    at = between.find(label)
    while at >= 0:
        if between[at + len(label) :].lstrip("\"'\\ ")[:1] in (":", "="):
            return True
        at = between.find(label, at + 1)
    return False


def _until(text: str, at: int, mark: str) -> tuple[int, int]:
    stop = text.find(mark, at, at + _TAIL)
    return (at, stop) if stop > at and text[at:stop].strip() and "\n" not in text[at:stop] else (0, 0)


def find_passed(text: str, lower: str) -> list[Span]:
    """Passwords that a call takes as its second or third argument, and what a user is `IDENTIFIED BY` in SQL."""
    spans = _identified(text, lower)
    for call, place in CALLS:
        at = text.find(call)
        while at >= 0:
            at += len(call)
            value, stop = at, at
            for number in range(place):
                value, stop = _argument(text, stop if not number else stop + 1)
                if not stop:
                    break
            if stop and value < stop:
                word = text[value:stop].strip("\\")
                if len(word) >= 4 and not is_placeholder(word) and " " not in word and not word.isalpha():
                    spans.append((value, stop, "password"))
            at = text.find(call, at)
    return spans


def _argument(text: str, at: int) -> tuple[int, int]:
    """Where the next argument stands, without its quotes: it must be quoted; (0, 0) for anything else."""
    while text[at : at + 1] in (" ", ",", "\\", "\t", "\n") and text[at : at + 1]:
        at += 1
    mark = text[at : at + 1]
    if mark not in ("'", '"'):
        return 0, 0
    stop = text.find(mark, at + 1, at + 200)
    return (at + 1, stop) if stop > 0 else (0, 0)


def _identified(text: str, lower: str) -> list[Span]:
    """With a plugin between, perhaps: `IDENTIFIED WITH x BY '…'`."""
    spans: list[Span] = []
    at = lower.find("identified ")
    while at >= 0:
        at += 11
        words = lower[at : at + 160].split(None, 4)
        by = 2 if words[:1] == ["with"] and words[2:3] == ["by"] else 0 if words[:1] == ["by"] else -1
        if by >= 0 and len(words) > by + 1:
            place = lower.index("by", at if not by else lower.index(words[1], at) + len(words[1])) + 2
            while text[place : place + 1] in (" ", "\t"):
                place += 1
            if lower.startswith("password ", place):
                place += 9
            start, stop = value_at(text, place)
            value = text[start:stop].rstrip(";,)")
            head = lower[max(0, at - 160) : at]
            statement = text[at - 11] == "I" or any(word in head for word in _STATEMENTS)
            told = statement and (start > place or any(char.isdigit() for char in value))
            if value and told and not is_placeholder(value):
                spans.append((start, start + len(value), "password"))
        at = lower.find("identified ", at)
    return spans


def value_at(text: str, at: int) -> tuple[int, int]:
    """Where the value that begins at `at` stands, without its quotes; (0, 0) for none."""
    slashes = 0
    while slashes < 3 and text[at + slashes : at + slashes + 1] == "\\":
        slashes += 1
    mark = text[at + slashes : at + slashes + 1]
    if mark in ("'", '"', "`"):
        stop = text.find(text[at : at + slashes] + mark, at + slashes + 1, at + _TAIL)
        return (at + slashes + 1, stop) if stop > 0 and "\n" not in text[at:stop] else (0, 0)
    stop = at
    limit = min(len(text), at + _TAIL)
    while stop < limit and not text[stop].isspace() and text[stop] not in "\"'<>,}\\":
        stop += 1
    return (at, stop) if stop > at and text[stop - 1 : stop] not in "({[" else (0, 0)
