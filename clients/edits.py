"""What an edit changed, as clients record it: ranges of lines, and the lines as they are then. Hot path."""

from __future__ import annotations

from clients.content import rows, string, table, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clients.event import Hunk, Item

MOST_HUNKS = 60
_LINES = 2000


def edited(call: object, hunks: list[Hunk]) -> list[Item]:
    """That a call edited, nothing where it changed no line."""
    return [{"kind": "edited", "call": string(call), "hunks": hunks[:MOST_HUNKS]}] if hunks else []


def of_content(file: str, text: str) -> list[Hunk]:
    """A file that was written as a whole."""
    lines = text.split("\n", _LINES)[:_LINES]
    return [_hunk(file, 1, [("+", line) for line in lines])] if file and text else []


def of_patch(file: str, patch: object) -> list[Hunk]:
    """Hunks as Claude Code records them: `newStart` and `lines`, each with its sign."""
    found = []
    for row in rows(patch):
        given = row.get("lines")
        shown: list[object] = given if isinstance(given, list) else []
        lines = [(line[:1], line[1:]) for line in map(string, shown)]
        found.append(_hunk(file, whole(row.get("newStart")), lines))
    return [hunk for hunk in found if hunk["last"]]


def of_unified(file: str, diff: str) -> list[Hunk]:
    """A unified diff of one file."""
    found: list[tuple[int, list[tuple[str, str]]]] = []
    for line in diff.split("\n"):
        if line.startswith("@@ "):
            start = line.partition("+")[2].partition(" ")[0].partition(",")[0]
            found.append((int(start[:8]) if start.isdecimal() else 0, []))
        elif found and line[:1] in ("+", "-", " "):
            found[-1][1].append((line[:1], line[1:]))
    return [hunk for start, lines in found if start and (hunk := _hunk(file, start, lines))["last"]]


def of_numbered(file: str, diff: str) -> list[Hunk]:
    """A diff whose lines have their numbers, as pi shows it: `+ 12 text`, those that are removed as of before."""
    found: list[Hunk] = []
    group: list[tuple[str, str]] = []
    start = 0
    for line in [*diff.split("\n"), ""]:
        sign, number, text = line[:1], *_numbered(line[1:])
        if sign in ("+", "-") and number:
            start = start or number
            if sign == "+" and not any(one == "+" for one, _ in group):
                start = number
            group.append((sign, text))
        elif group:
            found.append(_hunk(file, start, group))
            group, start = [], 0
    return [hunk for hunk in found if hunk["last"]]


def _numbered(text: str) -> tuple[int, str]:
    number, _, rest = text.lstrip(" ").partition(" ")
    return (int(number), rest) if number.isdecimal() and len(number) < 8 else (0, "")


def _hunk(file: str, start: int, lines: Iterable[tuple[str, str]]) -> Hunk:
    """A hunk of lines and their signs, of which the first that is there afterwards is `start`."""
    number, first, last, moved = start, 0, 0, 0
    texts: list[str] = []
    for sign, text in lines:
        if sign == "-":
            moved -= 1
            first, last = first or number, max(last, number)
            continue
        texts.append(text)
        if sign == "+":
            moved += 1
            first, last = first or number, number
        number += 1
    return {"file": file, "first": first, "last": last, "moved": moved, "start": start, "text": "\n".join(texts)}


def of_changes(changes: object) -> list[Hunk]:
    """What Codex's `apply_patch` changed: a table of files, each with its unified diff or its content."""
    found: list[Hunk] = []
    for path, change in table(changes).items():
        about = table(change)
        file = string(about.get("move_path")) or path
        if about.get("type") == "add":
            found += of_content(file, string(about.get("content")))
        elif about.get("type") == "update":
            found += of_unified(file, string(about.get("unified_diff")))
    return found
