"""What an edit changed, as clients record it: ranges of lines, and the lines as they are then. Hot path."""

from __future__ import annotations

from clients.content import rows, string, table, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.event import Hunk, Item

MOST_HUNKS = 60
_LINES = 2000
_SIGNS = ("+", "-", " ")


def edited(call: object, hunks: list[Hunk]) -> list[Item]:
    """That a call edited, nothing where it changed no line."""
    return [{"kind": "edited", "call": string(call), "hunks": hunks[:MOST_HUNKS]}] if hunks else []


def of_content(file: str, text: str) -> list[Hunk]:
    """A file that was written as a whole."""
    lines = text.removesuffix("\n").split("\n", _LINES)[:_LINES]
    return [_hunk(file, 1, [("+", line) for line in lines])] if file and text else []


def of_patch(file: str, patch: object) -> list[Hunk]:
    """Hunks as Claude Code records them: `newStart` and `lines`, each with its sign."""
    found = []
    for row in rows(patch):
        lines = map(string, given) if isinstance(given := row.get("lines"), list) else ()
        start = whole(row.get("newStart")) + (row.get("newLines") == 0)
        found.append(_hunk(file, start, [(line[:1], line[1:]) for line in lines if line[:1] in _SIGNS]))
    return [hunk for hunk in found if hunk["start"] and hunk["signs"].strip()]


def of_unified(file: str, diff: str) -> list[Hunk]:
    """A unified diff of one file."""
    found: list[tuple[int, list[tuple[str, str]]]] = []
    left = 0
    for line in diff.split("\n"):
        if line.startswith("@@ "):
            start, left = hunk_at(line)
            found.append((start + (left == 0), []))
        elif found and (line[:1] in _SIGNS if line else left):  # an empty line may have lost its space
            left -= line[:1] != "-"
            found[-1][1].append((line[:1] or " ", line[1:]))
    made = (_hunk(file, start, lines) for start, lines in found if start)
    return [hunk for hunk in made if hunk["signs"].strip()]


def hunk_at(header: str) -> tuple[int, int]:
    """Where a hunk of a unified diff begins in the new file, and how many lines of it it has: `@@ -1,2 +1,3 @@`."""
    start, comma, count = header.partition("+")[2].partition(" ")[0].partition(",")
    if not start[:8].isdecimal() or not (count or "1")[:8].isdecimal():
        return 0, 0
    return int(start[:8]), int(count[:8]) if comma else 1


def of_numbered(file: str, diff: str) -> list[Hunk]:
    """A diff whose lines have their numbers, as pi shows it: `+ 12 text`, those that are removed as of before."""
    found: list[Hunk] = []
    group: list[tuple[str, str]] = []
    start = moved = 0
    for line in [*diff.split("\n"), ""]:
        digits, _, text = line[1:].lstrip(" ").partition(" ")
        sign, number = line[:1], int(digits) if digits.isdecimal() and len(digits) < 8 else 0
        if sign in ("+", "-") and number:
            if not any(one == sign for one, _ in group):
                start = number if sign == "+" else start or number + moved
            group.append((sign, text))
        elif group:
            found.append(_hunk(file, start, group))
            moved += sum(1 if one == "+" else -1 for one, _ in group)
            group, start = [], 0
    return found


def _hunk(file: str, start: int, lines: Sequence[tuple[str, str]]) -> Hunk:
    text = "\n".join([text for sign, text in lines if sign != "-"])
    return {"file": file, "start": start, "signs": "".join([sign for sign, _ in lines]), "text": text}


def changed_range(hunk: Hunk) -> tuple[int, int]:
    """The first and last new line of a hunk. If it only deletes lines, both are the line after the gap."""
    number = hunk["start"]
    first = last = 0
    for sign in hunk["signs"]:
        if sign != " ":
            first, last = first or number, max(last, number)
        number += sign != "-"
    return first, last


def of_changes(changes: object) -> list[Hunk]:
    """What Codex's `apply_patch` changed: a table of files, each with its unified diff or its content."""
    found: list[Hunk] = []
    for path, change in table(changes).items():
        about = table(change)
        found += of_unified(string(about.get("move_path")) or path, string(about.get("unified_diff")))
        if about.get("type") == "add":
            found += of_content(path, string(about.get("content")))
    return found
