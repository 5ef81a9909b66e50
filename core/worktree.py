"""The lines of a working tree on which names occur now. Hot path."""

from __future__ import annotations

import os
import time

from core import project
from core.names import defined_in
from core.quoting import CUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.records import Place

_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def current_places(folder: str, places: Sequence[Place], deadline: float) -> list[Place]:
    """The places with their present line numbers; those that are gone, or not found by the deadline, are left out.

    Unchanged if the folder does not exist. `deadline` is a monotonic time.
    """
    return [place for place, _ in current_lines(folder, places, deadline)]


def current_lines(folder: str, places: Sequence[Place], deadline: float) -> list[tuple[Place, str]]:
    """Like `current_places`, each with the text of its line: foreign text, "" if the folder does not exist."""
    if not folder or not os.path.isdir(folder):
        return [(place, "") for place in places]
    root = os.path.realpath(folder)
    by_file: dict[str, list[int]] = {}
    for index, place in enumerate(places):
        by_file.setdefault(place["file"], []).append(index)
    current: dict[int, tuple[Place, str]] = {}
    for file in list(by_file)[:12]:
        if time.monotonic() >= deadline:
            break
        try:
            data = project.read_file(os.path.join(root, file), root, 1 << 20) or b""
        except project.UnusableFile:
            continue
        for index in by_file[file] if data else ():
            if time.monotonic() >= deadline:
                break
            match = _nearest_line(data, places[index])
            if match is not None:
                current[index] = match
    return [current[index] for index in sorted(current)]


def excerpt(line: str, name: str, max_chars: int) -> str:
    """A line of a file, cut to `max_chars` around a name, and further if the rest may hold a secret."""
    from core.redaction import may_hold_secret

    text = " ".join(line.split())
    at = max(text.find(name), 0)
    if may_hold_secret(text):  # keep the name and the plain characters after it
        end = at + len(name)
        while end < len(text) and (text[end].isalnum() or text[end] in " _.,:;()[]*"):
            end += 1
        parts = (text[:end].rstrip(), text[at:end].rstrip())
        text = next((part for part in parts if not may_hold_secret(part)), "")
        at = max(text.find(name), 0)
    if len(text) > max_chars:
        if at + len(name) > max_chars - len(CUT):
            text = CUT + text[max(0, at - 20) :].lstrip()
        if len(text) > max_chars:
            text = text[: max_chars - len(CUT)].rstrip() + CUT
    return text


def _nearest_line(data: bytes, place: Place) -> tuple[Place, str] | None:
    """The line with the name that is nearest to its former line; if it was a definition, a definition comes first."""
    name = place["name"]
    if not name:
        last_line = data.count(b"\n") + 1
        return ({**place, "line": min(place["line"], last_line)}, "")
    best: tuple[bool, int] | None = None
    line, text = 0, ""
    for number, raw in _lines_with(data, name.encode("utf-8", "surrogatepass")):
        candidate = raw.decode("utf-8", "replace")
        rank = (place["defines"] and defined_in(candidate) != name, abs(number - place["line"]))
        if best is None or rank < best:
            best, line, text = rank, number, candidate
    if best is None:
        return None
    return {**place, "line": line, "defines": place["defines"] and not best[0]}, text


def _lines_with(data: bytes, name: bytes) -> Iterator[tuple[int, bytes]]:
    """The first lines that have a name as a whole word, with their numbers; long lines are cut around it."""
    number, counted, matches = 1, 0, 0
    max_matches = 400  # with more, the right line cannot be distinguished from the others
    at = data.find(name)
    while at >= 0 and matches < max_matches:
        end = at + len(name)
        if (not at or data[at - 1] not in _NAME_BYTES) and (end == len(data) or data[end] not in _NAME_BYTES):
            number += data.count(b"\n", counted, at)
            counted = at
            line_start = data.rfind(b"\n", 0, at) + 1
            line_end = data.find(b"\n", end)
            line_end = line_end if line_end >= 0 else len(data)
            matches += 1
            yield number, data[max(line_start, at - 2_000) : min(line_end, end + 2_000)]
            end = line_end
        at = data.find(name, end)
