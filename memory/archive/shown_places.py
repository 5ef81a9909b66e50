"""Where names stand: the lines with numbers that a tool call shows, by file. Hot path.

A place is told by the result itself: a numbered read, a search, a diff, a compiler or a stack trace that names file and
line; or by the command, where that says which lines it prints (`sed -n '10,40p' FILE`).
"""

from __future__ import annotations

from itertools import pairwise, takewhile

from core import TYPE_CHECKING, shell_command
from core.names import is_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    Line = tuple[str, int, str, bool | None]
    """A file, the number of a line, its text, and whether it is so in the file; None: in a diff of any state."""

LONGEST_LINE = 400
"""Of a longer one only the start is read: it is data, or was made by a program."""
MOST_LINES = 3000
_PATTERN = frozenset("*?[]{}$")
_NUMBERING = frozenset("grep egrep fgrep rg ack ag cat nl bat".split())
_SILENT = frozenset("cd export set unset true :".split())
_OF_NOW, _OF_ANOTHER = frozenset(("add", "diff", "status")), frozenset(("--cached", "--staged", "--no-index", "-R"))
_WHOLE, _LONGEST_NUMBER = 1 << 30, 8
_DIGITS, _LETTERS = "0123456789", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_IN_PATH = _LETTERS + "_-./@+$"
_BARS = "→\t|│:-"
"""What stands behind the number of a line: of a client's read, `cat -n`, `bat`, `grep -n`, and lines around a match."""
_CUT, _CUT_HERE, _LEFT_OUT = ("Total output lines: ", "<persisted-output>"), " tokens truncated…", "... ["
"""How an output begins that the client has cut, and what stands where the rest of it is left out."""


def lines(text: str, *, file: str = "", first: int = 0, command: str = "") -> list[Line]:
    """The lines of a result whose place is known: by themselves, by the file that was asked for, or by the command."""
    rows = text.split("\n", MOST_LINES)[:MOST_LINES]
    if command and (shown := _printed_by(command)):
        if shown[0][1]:
            kept, cut, _ = text.partition(_CUT_HERE)
            return [] if text.startswith(_CUT) else _counted(kept.split("\n")[:-1] if cut else rows, shown)
        file = shown[0][0]
    found = list(_told(rows, file, of_now=_is_of_now(command) or None))
    if not found and first and file:
        return [(file, first + at, row, True) for at, row in enumerate(rows)]
    if found and not found[0][1]:  # asked to begin at line 0, Claude Code counts from there
        return [(name, number + 1, row, whole) for name, number, row, whole in found]
    return found


def formatted(text: str, command: str) -> tuple[list[str], int]:
    """The files that a formatter says it changed, by name or as they were given to it, else how many they are."""
    if "Fixed " not in text and "reformatted" not in text:
        return [], 0
    import re

    if files := re.findall(r"(?m)^reformatted (\S+)$", text):
        return files, 0
    counts = re.findall(r"(?m)(?:\bFixed |^)(\d{1,3}) files?(?:\.$| reformatted)", text)
    words = [word for step in shell_command.steps(command) for word in step["words"]]
    return list(filter(is_file, words)) if counts else [], max(map(int, counts), default=0)


def _printed_by(command: str) -> list[tuple[str, int, int]]:
    """The files that a command prints or searches, each with the first and last line of it (0: the output says); none
    where anything else may stand between them, or where a filter leaves lines out."""
    found: list[tuple[str, int, int]] = []
    folder, others = "", False
    steps = shell_command.steps(command)
    for at, step in enumerate(steps):
        program, words = step["program"], step["words"]
        if any(not target.startswith(("/dev/null", "&")) for target in step["targets"]):
            return []
        if program in _SILENT:
            if program == "cd" and (len(words) != 2 or not _PATTERN.isdisjoint(words[1])):
                return []
            folder = f"{words[1].rstrip('/')}/" if program == "cd" else folder
            continue
        piped = at > 0 and steps[at - 1]["mark"] == "|"
        files = [word for word in words[1:] if is_file(word) and word[0] != "-" and _PATTERN.isdisjoint(word)]
        if len(files) == 1 and not piped and (span := _span(program, words)):
            if span[0] and step["mark"] == "|" and steps[at + 1]["program"] != "head":
                return []
            found.append((files[0] if files[0][0] in "/~" else folder + files[0], *span))
        elif not step["looks"] or (program == "sed" and files):
            return []
        else:
            others = others or not piped
    counted = [part for part in found if part[1]]
    if not counted:
        return found[:1] if len({file for file, _, _ in found}) == 1 else []
    return counted if len(counted) == len(found) and not others else []


def _span(program: str, words: list[str]) -> tuple[int, int] | tuple[()]:
    """The lines of a file that a program prints as they are, (0, 0) of one that prints each with its number."""
    options = [word for word in words[1:] if word.startswith("-")]
    short = "".join(word for word in options if not word.startswith("--"))
    if program == "sed" and options == ["-n"]:
        for word in words:
            begin, _, end = word.removesuffix("p").partition(",")
            if word.endswith("p") and begin.isdecimal() and (end.isdecimal() or not end) and len(word) < 18:
                return int(begin), int(end or begin)
    if program == "head":
        count = short.removeprefix("-n").removeprefix("-") or next(filter(str.isdecimal, words[1:]), "10")
        return (1, int(count)) if count.isdecimal() and len(count) < _LONGEST_NUMBER else ()
    if program == "cat" and not options:
        return 1, _WHOLE
    numbered = ("n" in short and "o" not in short) or "--line-number" in options or program in ("ack", "ag", "bat")
    if program == "nl":  # alone it counts no empty lines
        numbered = "-ba" in options or "-b a" in " ".join(words)
    return (0, 0) if numbered and program in _NUMBERING else ()


def _counted(rows: list[str], shown: list[tuple[str, int, int]]) -> list[Line]:
    """The lines of files that were printed one behind the other; of several none where one was shorter than asked."""
    rows = rows[:-1] if rows and not rows[-1] else rows
    if len(shown) > 1 and len(rows) != sum(last - first + 1 for _, first, last in shown):
        return []
    found: list[Line] = []
    for file, first, last in shown:
        found += [(file, first + at, row, True) for at, row in enumerate(rows[: last - first + 1])]
        rows = rows[last - first + 1 :]
    return found


def _is_of_now(command: str) -> bool:
    """Whether the diffs that a command prints are of the working tree, whole lines of them: `git diff a.go | head`."""
    steps = shell_command.steps(command) if "git " in command else []
    git = [step for step in steps if step["program"] == "git"]
    diffs = [step["words"][step["words"].index("diff") + 1 :] for step in git if step["verb"] == "diff"]
    asked = [word for words in diffs for word in takewhile("--".__ne__, words)]
    piped = [behind["program"] for one, behind in pairwise(steps) if one["mark"] == "|"]
    is_now = all(word not in _OF_ANOTHER and (word.startswith("-") or is_file(word)) for word in asked)
    return bool(git) and is_now and _OF_NOW.issuperset(one["verb"] for one in git) and set(piped) <= {"cat", "head"}


def _told(rows: list[str], file: str, *, of_now: bool | None) -> Iterator[Line]:
    """The lines that begin with their number, of `file`; with a file and a number; or that stand in a diff."""
    in_diff, number, left = "", 0, 0
    for row in rows:
        if _CUT_HERE in row or row[:5] == _LEFT_OUT:
            in_diff, left = "", 0
        if left and row[:1] in ("+", " ", "-", "\\", ""):
            if row[:1] in ("+", " ", ""):  # an empty line may have lost its space
                yield in_diff, number, row[1:], of_now
                number, left = number + 1, left - 1
            continue
        left = 0
        if row[:6] == "+++ b/":
            in_diff = row[6:].partition("\t")[0]
        elif in_diff and (header := row[row.find("? ") + 2 :] if row[:1] == "(" else row)[:4] == "@@ -":
            from clients.edits import hunk_at

            number, left = hunk_at(header)
        elif row[:5] == "diff ":
            in_diff = ""
        else:
            bare = row.lstrip(" ")
            if "0" <= bare[:1] <= "9":
                digits = _digits(bare)
                mark = bare[len(digits) : len(digits) + 1]
                if file and mark and mark in _BARS and len(digits) < _LONGEST_NUMBER:
                    yield file, int(digits), bare[len(digits) + 1 :], True
            elif "." in row and (told := _placed(bare[:LONGEST_LINE])):
                yield *told, False


def _placed(row: str) -> tuple[str, int, str] | None:
    """File, line and the rest of a line such as `path/name.go:12:5: …`, `path.py-12-…` or `at f (src/a.ts:12:5)`."""
    path, colon, rest = row.partition(":")
    if colon and rest[:1].isdecimal() and is_file(path) and " " not in path:
        digits = _digits(rest)
        return path.removeprefix("./"), int(digits), rest[len(digits) + 1 :]
    at = row.find(".")
    while at > 0:
        end = len(row) - len(row[at + 1 :].lstrip(_LETTERS))
        mark, digits = row[end : end + 1], _digits(row[end + 1 :])
        if digits and mark in ":-(" and len(digits) < 7:
            begin = len(row[:at].rstrip(_IN_PATH))
            path, behind = row[begin:end], row[end + 1 + len(digits) :]
            if is_file(path) and (mark != "-" or (begin == 0 and behind[:1] == "-")):
                return path.removeprefix("./"), int(digits), row[:begin] + " " * (mark != "-") + behind[1:]
        at = row.find(".", end)
    return None


def _digits(text: str) -> str:
    """The number that a text begins with, cut behind eight digits: no line has such a one."""
    return text[: min(8, len(text) - len(text.lstrip(_DIGITS)))]
