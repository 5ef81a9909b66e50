"""Where names stand in a project's files now, so that no stale place is told. Hot path."""

from __future__ import annotations

import os
import time

from core.names import defined_in
from core.repository import project_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.records import Place

MOST_FILES = 12
_MOST_BYTES = 1 << 20
_MOST_LINES = 400
"""Most lines of a file with the name: with more, a line cannot be told from the others."""
_LINE_BYTES = 2000
_SHOWN_BEFORE = 20
_PLAIN = " _.,:;()[]*"
"""Characters, besides letters and digits, that a shown line may have after a name and before a value."""
_JOINING = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def look_up(folder: str, places: Sequence[Place], deadline: float) -> list[Place]:
    """The places with their present lines, by the deadline; as they were recorded where the folder is not there."""
    return [place for place, _ in look_up_lines(folder, places, deadline)]


def look_up_lines(folder: str, places: Sequence[Place], deadline: float) -> list[tuple[Place, str]]:
    """The same, each with its present line: foreign text; "" if the folder does not exist."""
    if not folder or not os.path.isdir(folder):
        return [(place, "") for place in places]
    root = os.path.realpath(folder)
    by_file: dict[str, list[int]] = {}
    for at, place in enumerate(places):
        by_file.setdefault(place["file"], []).append(at)
    found: dict[int, tuple[Place, str]] = {}
    for file in list(by_file)[:MOST_FILES]:
        if time.monotonic() >= deadline:
            break
        data = _content(file, root)
        for at in by_file[file] if data else ():
            if time.monotonic() >= deadline:
                break
            now = _nearest(data, places[at])
            if now is not None:
                found[at] = now
    return [found[at] for at in sorted(found)]


def shown(line: str, name: str, characters: int) -> str:
    """A line of a file within a number of characters, cut around a name; less where it might hold a secret."""
    from core.quoting import CUT
    from core.redaction import may_hold_secret

    text = " ".join(line.split())
    at = max(text.find(name), 0)
    if may_hold_secret(text):
        end = at + len(name)
        while end < len(text) and (text[end].isalnum() or text[end] in _PLAIN):
            end += 1
        parts = (text[:end].rstrip(), text[at:end].rstrip())
        text = next((part for part in parts if not may_hold_secret(part)), "")
        at = max(text.find(name), 0)
    if len(text) > characters:
        if at + len(name) > characters - len(CUT):
            text = CUT + text[max(0, at - _SHOWN_BEFORE) :].lstrip()
        if len(text) > characters:
            text = text[: characters - len(CUT)].rstrip() + CUT
    return text


def _content(file: str, root: str) -> bytes:
    """A file of the project, b"" if it is gone, outside, not a regular file or too large."""
    try:
        return project_file.read(os.path.join(root, file), root, _MOST_BYTES) or b""
    except project_file.Unusable:
        return b""


def _nearest(data: bytes, place: Place) -> tuple[Place, str] | None:
    """The line with the name that is nearest to where it was; a definition first, if it was one."""
    name = place["name"]
    if not name:
        last = data.count(b"\n") + 1
        return ({**place, "line": min(place["line"], last)}, "")
    best: tuple[bool, int] | None = None
    line, text = 0, ""
    for number, raw in _lines_with(data, name.encode("utf-8", "surrogatepass")):
        here = raw.decode("utf-8", "replace")
        rank = (place["defines"] and defined_in(here) != name, abs(number - place["line"]))
        if best is None or rank < best:
            best, line, text = rank, number, here
    if best is None:
        return None
    return {**place, "line": line, "defines": place["defines"] and not best[0]}, text


def _lines_with(data: bytes, name: bytes) -> Iterator[tuple[int, bytes]]:
    """The first lines that have a name as a whole word, with their numbers."""
    number, counted, found = 1, 0, 0
    at = data.find(name)
    while at >= 0 and found < _MOST_LINES:
        end = at + len(name)
        if (not at or data[at - 1] not in _JOINING) and (end == len(data) or data[end] not in _JOINING):
            number += data.count(b"\n", counted, at)
            counted = at
            begin = data.rfind(b"\n", 0, at) + 1
            over = data.find(b"\n", end)
            over = over if over >= 0 else len(data)
            found += 1
            yield number, data[max(begin, at - _LINE_BYTES) : min(over, end + _LINE_BYTES)]
            end = over
        at = data.find(name, end)
