"""Where names stand: the lines with numbers that a tool call shows, by file. Hot path.

A place is told by the result itself: a numbered read, a search, a diff, a compiler or a stack trace that names file and
line; or by the command, where that says which lines it prints (`sed -n '10,40p' FILE`).
"""

from __future__ import annotations

from core import shell_command
from core.names import defined_in, is_file, names_by_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Line = tuple[str, int, str]
    """A file, the number of a line in it, and its text."""

LONGEST_LINE = 400
"""Of a longer one only the start is read: it is data, or was made by a program."""
MOST_LINES = 3000
_PATTERN = frozenset("*?[]{}$")
_SEARCHERS = frozenset("grep egrep fgrep rg ack ag".split())
_BARS = "→\t|│:-"
"""What stands behind the number of a line: of a client's read, `cat -n`, `bat`, `grep -n`, and lines around a match."""


def lines(text: str, *, file: str = "", first: int = 0, command: str = "") -> list[Line]:
    """The lines of a result that say, or of which is known, where they stand.

    Args:
        file: the one that the tool was asked to show or search.
        first: the number of the first line, of a tool that shows lines as they are; 0 for another.
        command: what a shell ran.
    """
    rows = text.split("\n", MOST_LINES)[:MOST_LINES]
    if command:
        shown = _printed_by(command)
        if len(shown) == 1 and shown[0][1] == 0:
            file = shown[0][0]
        elif shown:
            return _counted(rows, shown)
    found = list(_told(rows, file))
    if not found and first and file:
        return [(file, first + at, row[:LONGEST_LINE]) for at, row in enumerate(rows)]
    return found


def names_at(found: list[Line]) -> Iterator[tuple[str, str, int, bool]]:
    """File, name, line of each identifier in these lines, and whether it is defined there."""
    for (file, number, text), names in zip(found, names_by_line([text for _, _, text in found]), strict=True):
        if names:
            defined = defined_in(text)
            for name in names:
                yield file, name, number, name == defined


def _printed_by(command: str) -> list[tuple[str, int, int]]:
    """The files that a command prints or searches, each with the first and last line of it (0: the output says)."""
    found: list[tuple[str, int, int]] = []
    for step in shell_command.steps(command):
        program, words = step["program"], step["words"]
        files = [word for word in words[1:] if is_file(word) and word[0] != "-" and _PATTERN.isdisjoint(word)]
        if program == "sed" and len(files) == 1 and "-n" in words and (span := _span(words)):
            found.append((files[0], *span))
        elif program in ("cat", "nl", "head", "bat", *_SEARCHERS) and len(files) == 1:
            plain = program in ("cat", "head") and not any(word.startswith("-") and "n" in word for word in words[1:])
            found.append((files[0], 1, 1 << 30) if plain and step["mark"] != "|" else (files[0], 0, 0))
        elif not step["looks"] or (program == "sed" and files):
            return []
    if len(found) > 1 and any(first == 0 for _, first, _ in found):
        return []
    return found


def _span(words: list[str]) -> tuple[int, int] | tuple[()]:
    """The lines that `sed -n` prints, of `10,40p`."""
    for word in words:
        begin, _, end = word.removesuffix("p").partition(",")
        if word.endswith("p") and begin.isdecimal() and (end.isdecimal() or not end) and len(word) < 18:
            return int(begin), int(end or begin)
    return ()


def _counted(rows: list[str], shown: list[tuple[str, int, int]]) -> list[Line]:
    """The lines of files that were printed one behind the other, each as long as was asked."""
    found: list[Line] = []
    at = 0
    for file, first, last in shown:
        part = rows[at : at + last - first + 1]
        found += [(file, first + k, row[:LONGEST_LINE]) for k, row in enumerate(part)]
        at += len(part)
    return found


def _told(rows: list[str], file: str) -> Iterator[Line]:
    """The lines that begin with their number, of `file`; with a file and a number; or that stand in a diff."""
    in_diff, number = "", 0
    for row in rows:
        bare = row.lstrip(" ")
        head = bare[:1]
        if head.isdecimal():
            if file:
                end = 1
                while bare[end : end + 1].isdecimal():
                    end += 1
                if bare[end : end + 1] in _BARS and end < 8 and len(bare) > end:
                    yield file, int(bare[:end]), bare[end + 1 : end + 1 + LONGEST_LINE]
            continue
        if row[:6] == "+++ b/":
            in_diff, number = row[6:].partition("\t")[0], 0
        elif row[:3] == "@@ " and in_diff:
            start = row.partition("+")[2].partition(" ")[0].partition(",")[0]
            number = int(start[:8]) if start.isdecimal() else 0
        elif number and in_diff and row[:1] in ("+", " "):
            yield in_diff, number, row[1 : 1 + LONGEST_LINE]
            number += 1
        elif number and row[:5] == "diff ":
            in_diff, number = "", 0
        elif "." in row and (told := _placed(bare[:LONGEST_LINE])):
            yield told


def _placed(row: str) -> Line | None:
    """File, line and the rest of a line such as `path/name.go:12:5: …`, `path.py-12-…` or `at f (src/a.ts:12:5)`."""
    path, colon, rest = row.partition(":")
    if colon and rest[:1].isdecimal() and is_file(path) and " " not in path:
        digits = _digits(rest)
        return path.removeprefix("./"), int(digits), rest[len(digits) + 1 :]
    at = row.find(".")
    while at > 0:
        end = at + 1
        while row[end : end + 1].isalnum():
            end += 1
        mark = row[end : end + 1]
        if mark and mark in ":-(" and row[end + 1 : end + 2].isdecimal():
            begin = at
            while begin and (row[begin - 1].isalnum() or row[begin - 1] in "_-./@+$"):
                begin -= 1
            path, digits = row[begin:end], _digits(row[end + 1 :])
            if (
                is_file(path)
                and len(digits) < 7
                and (mark != "-" or (begin == 0 and row[end + 1 + len(digits) :][:1] == "-"))
            ):
                behind = row[end + 1 + len(digits) + 1 :]
                return path.removeprefix("./"), int(digits), behind if mark == "-" else row[:begin] + " " + behind
        at = row.find(".", end)
    return None


def _digits(text: str) -> str:
    """The number that a text begins with, cut behind eight digits: no line has such a one."""
    end = 0
    while end < 8 and text[end : end + 1].isdecimal():
        end += 1
    return text[:end]
