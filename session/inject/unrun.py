"""What a session edited and has not run since. Hot path."""

from __future__ import annotations

from core.project import OUTSIDE
from core.quoting import one_line
from core.shell_command import INTERPRETERS, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.records import Call, Edit, Place

    Ranges = dict[str, list[tuple[int, int]]]
    """Files, the one that was edited most first, and the lines in each."""

_PROSE = (".md", ".mdx", ".rst", ".txt", ".adoc")
_NEAR = 15
"""Lines between two edits that are told as one."""
_RANGES = 3


def ranges(edits: Sequence[Edit], calls: Sequence[Call], is_check: Callable[[str], bool]) -> Ranges:
    """The lines that were edited after the last command that checks anything, be it that it is not told how that came
    out, or after a small program that names their file; of prose and of other folders none."""
    last = next((call["number"] for call in reversed(calls) if is_check(call["command"])), 0)
    found: Ranges = {}
    for edit in sorted(edits, key=lambda one: -one["number"]):
        is_source = not edit["file"].endswith(_PROSE) and not edit["file"].startswith(OUTSIDE)
        if edit["number"] > last and is_source and not _is_run(edit, calls):
            found.setdefault(edit["file"], []).append((edit["first"], edit["last"]))
    most = sorted(found, key=lambda file: -len(found[file]))  # of as many edits the last one first
    return {file: _joined(found[file]) for file in most}


def _is_run(edit: Edit, calls: Sequence[Call]) -> bool:
    """Whether a program within a command names the file's module since: `python3 -c "from alerts import due"`."""
    module = edit["file"].rpartition("/")[2].partition(".")[0]
    later = (call["command"] for call in calls if call["number"] > edit["number"] and module in call["command"])
    run = " ".join(" ".join(step["words"]) for one in later for step in steps(one) if step["program"] in INTERPRETERS)
    return module in "".join(sign if sign.isalnum() or sign == "_" else " " for sign in run).split()


def told(found: Ranges, places: Mapping[str, Sequence[Place]], names: Mapping[str, str], room: int) -> str:
    """`file:610-625 name,640, other.go:12` within so many characters, and how many more files; `names` shows a file."""
    parts: dict[str, list[str]] = {}
    for file, lines in found.items():
        inside = [f"{first}-{last}" if last > first else str(first) for first, last in lines[:_RANGES]]
        inside += ["…"] * (len(lines) > _RANGES)
        length = len(f"{one_line(names.get(file, file))}:{','.join(inside)}, ")
        if length > room:
            break
        room -= length
        parts[file] = inside
    for file, inside in parts.items():
        for at, (first, last) in enumerate(found[file][:_RANGES]):
            defined = (one for one in places.get(file, ()) if one["defines"] and first <= one["line"] <= last)
            name = next((one["name"] for one in defined), "")
            if name and len(name) + 1 <= room:
                room -= len(name) + 1
                inside[at] += f" {name}"
    left = len(found) - len(parts)
    listed = ", ".join(f"{one_line(names.get(file, file))}:{','.join(inside)}" for file, inside in parts.items())
    return listed + (f" and {left} more file{'s' * (left > 1)}" if parts and left else "")


def _joined(parts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges that lie near each other as one, the last edited first."""
    joined: list[tuple[int, int]] = []
    for first, last in parts:
        near = next(
            (at for at, (low, high) in enumerate(joined) if first <= high + _NEAR and last >= low - _NEAR), None
        )
        if near is None:
            joined.append((first, last))
        else:
            joined[near] = min(first, joined[near][0]), max(last, joined[near][1])
    return joined
