"""What was edited and not run since, as it is told within a room."""

from __future__ import annotations

import pytest

from core.records import Place
from session.notes import command_runs

FOUND = {
    "src/tide_reader_test.go": [(356, 501)],
    "src/tide_reader.go": [(201, 206), (226, 226)],
    "src/tide.go": [(4, 4), (40, 44), (90, 90), (120, 121)],
}


def defined(file: str, name: str, line: int) -> Place:
    return {"file": file, "name": name, "line": line, "number": 1, "shown": 1, "defines": True}


PLACES = {
    "src/tide_reader_test.go": [defined("src/tide_reader_test.go", "TestReadsNothingWhereTheTideIsOut", 468)],
    "src/tide_reader.go": [
        defined("src/tide_reader.go", "above", 190),
        defined("src/tide_reader.go", "readTide", 203),
        defined("src/tide_reader.go", "late", 300),
    ],
}
NAMES = {file: file.rpartition("/")[2] for file in FOUND}


@pytest.mark.parametrize(
    ("room", "told"),
    [
        (
            200,
            "tide_reader_test.go:356-501 TestReadsNothingWhereTheTideIsOut, tide_reader.go:201-206 readTide,226,"
            " tide.go:4,40-44,90,…",
        ),
        # the files go before the names in them, and the first name before the next
        (
            120,
            "tide_reader_test.go:356-501 TestReadsNothingWhereTheTideIsOut, tide_reader.go:201-206,226,"
            " tide.go:4,40-44,90,…",
        ),
        (90, "tide_reader_test.go:356-501, tide_reader.go:201-206 readTide,226, tide.go:4,40-44,90,…"),
        (60, "tide_reader_test.go:356-501, tide_reader.go:201-206,226 and 1 more file"),
        (30, "tide_reader_test.go:356-501 and 2 more files"),
        (9, ""),
    ],
)
def test_what_has_room(room: int, told: str) -> None:
    assert command_runs.ranges_text(FOUND, PLACES, NAMES, room) == told
