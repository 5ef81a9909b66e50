"""The complete lines of a file are read in bounded pieces; half a line waits, and one that is too long is left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.archive import transcript_lines
from memory.archive.transcript_lines import read


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[bytes], int]]:
    descriptors: list[int] = []

    def write(data: bytes) -> int:
        (tmp_path / "file").write_bytes(data)
        descriptors.append(os.open(tmp_path / "file", os.O_RDONLY))
        return descriptors[-1]

    yield write
    for descriptor in descriptors:
        os.close(descriptor)


def piece(lines: list[bytes], end: int, *, skipping: bool = False, too_long: int = 0, complete: bool = False) -> Any:
    return {"lines": lines, "end": end, "skipping": skipping, "too_long": too_long, "complete": complete}


@pytest.mark.parametrize(
    ("data", "offset", "most", "skipping", "expected"),
    [
        (b"", 0, 9, False, piece([], 0, complete=True)),
        (b"one\ntwo\n", 0, 9, False, piece([b"one", b"two"], 8, complete=True)),
        (b"one\ntwo\n", 0, 8, False, piece([b"one", b"two"], 8)),
        (b"one\ntwo\n", 0, 7, False, piece([b"one"], 4)),
        (b"one\ntwo\n", 4, 9, False, piece([b"two"], 8, complete=True)),
        (b"one\ntwo\n", 8, 9, False, piece([], 8, complete=True)),
        (b"one\n\ntw", 0, 9, False, piece([b"one", b""], 5, complete=True)),
        (b"half", 0, 9, False, piece([], 0, complete=True)),
        # one line that is longer than a piece
        (b"longer\nx\n", 0, 3, False, piece([b"longer"], 7)), (b"longer", 0, 3, False, piece([], 0, complete=True)),
        (b"longer\n", 0, 6, False, piece([b"longer"], 7)),
        # within a line that is left out
        (b"rest\ntwo\n", 0, 10, True, piece([b"two"], 9, complete=True)),
        (b"rest\ntwo\n", 0, 5, True, piece([], 5)), (b"rest\ntwo\n", 0, 4, True, piece([], 4, skipping=True)),
        (b"rest", 0, 9, True, piece([], 4, skipping=True, complete=True)),
        (b"rest\ntwo", 0, 9, True, piece([], 5, complete=True)),
        (b"rest\ntwo three\n", 0, 8, True, piece([b"two three"], 15)),
    ],
)  # fmt: skip
def test_what_a_piece_holds(
    opened: Callable[[bytes], int], data: bytes, offset: int, most: int, skipping: bool, expected: Any
) -> None:
    assert read(opened(data), offset, most, skipping=skipping) == expected


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (8, piece([b"x" * 8], 9)), (11, piece([b"x" * 11], 12)),
        (12, piece([], 12, skipping=True, too_long=1)), (20, piece([], 12, skipping=True, too_long=1)),
    ],
)  # fmt: skip
def test_a_line_that_is_too_long_is_left_out(
    opened: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch, length: int, expected: Any
) -> None:
    monkeypatch.setattr(transcript_lines, "LONGEST_LINE", 8)
    monkeypatch.setattr(transcript_lines, "_BLOCK", 4)
    assert read(opened(b"x" * length + b"\nnext\n"), 0, 4, skipping=False) == expected
