"""Edits as clients record them (patches, diffs, whole contents), read into hunks. Hot path."""

from __future__ import annotations

from clients.content import rows, string, table, whole


class Hunk:
    """Neighbouring lines that an edit changed."""

    __slots__ = ("file", "signs", "start", "text")

    def __init__(self, file: str, start: int, lines: list[tuple[str, str]]) -> None:
        self.file = file
        self.start = start  # number of the first line after the edit
        self.signs = "".join([sign for sign, _ in lines])  # of each line: "+", "-" or " "
        self.text = "\n".join([text for sign, text in lines if sign != "-"])  # the lines after the edit

    def changed_lines(self) -> tuple[int, int]:
        """The first and the last new line. If the hunk only deletes lines, both are the line after the gap."""
        number = self.start
        first = last = 0
        for sign in self.signs:
            if sign != " ":
                first, last = first or number, max(last, number)
            number += sign != "-"
        return first, last


def of_content(file: str, text: str, max_lines: int = 2000) -> list[Hunk]:
    """A file that was written as a whole: its first lines."""
    lines = text.removesuffix("\n").split("\n", max_lines)[:max_lines]
    return [Hunk(file, 1, [("+", line) for line in lines])] if file and text else []


def of_patch(file: str, patch: object) -> list[Hunk]:
    """Hunks as Claude Code records them: `newStart` and `lines`, each with its sign."""
    found = []
    for row in rows(patch):
        lines = map(string, given) if isinstance(given := row.get("lines"), list) else ()
        start = whole(row.get("newStart")) + (row.get("newLines") == 0)
        found.append(Hunk(file, start, [(line[:1], line[1:]) for line in lines if line[:1] in ("+", "-", " ")]))
    return [hunk for hunk in found if hunk.start and hunk.signs.strip()]


def of_unified(file: str, diff: str) -> list[Hunk]:
    """A unified diff of one file."""
    found: list[tuple[int, list[tuple[str, str]]]] = []
    left = 0
    for line in diff.split("\n"):
        if line.startswith("@@ "):
            start, left = hunk_at(line)
            found.append((start + (left == 0), []))
        elif found and (line[:1] in "+- " if line else left):  # an empty line may have lost its space
            left -= line[:1] != "-"
            found[-1][1].append((line[:1] or " ", line[1:]))
    hunks = (Hunk(file, start, lines) for start, lines in found if start)
    return [hunk for hunk in hunks if hunk.signs.strip()]


def hunk_at(header: str) -> tuple[int, int]:
    """The first line and the number of lines that a hunk has in the new file, from its header `@@ -1,2 +1,3 @@`."""
    start, comma, count = header.partition("+")[2].partition(" ")[0].partition(",")
    if not start[:8].isdecimal() or not (count or "1")[:8].isdecimal():
        return 0, 0
    return int(start[:8]), int(count[:8]) if comma else 1


def of_numbered(file: str, diff: str) -> list[Hunk]:
    """A diff with numbered lines, as pi shows it: `+ 12 text`. Removed lines have their old numbers."""
    found: list[Hunk] = []
    group: list[tuple[str, str]] = []
    start = moved = 0
    for line in [*diff.split("\n"), ""]:
        digits, _, text = line[1:].lstrip(" ").partition(" ")
        sign, number = line[:1], int(digits) if digits.isdecimal() and len(digits) < 8 else 0
        if sign in ("+", "-") and number:
            if all(other != sign for other, _ in group):
                start = number if sign == "+" else start or number + moved
            group.append((sign, text))
        elif group:
            found.append(Hunk(file, start, group))
            moved += sum(1 if sign == "+" else -1 for sign, _ in group)
            group, start = [], 0
    return found


def of_changes(changes: object) -> list[Hunk]:
    """What Codex's `apply_patch` changed: a table of files, each with its unified diff or its content."""
    found: list[Hunk] = []
    for path, change in table(changes).items():
        about = table(change)
        found += of_unified(string(about.get("move_path")) or path, string(about.get("unified_diff")))
        if about.get("type") == "add":
            found += of_content(path, string(about.get("content")))
    return found
