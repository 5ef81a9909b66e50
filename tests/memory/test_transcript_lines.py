"""The complete lines of a file are read in bounded pieces; half a line waits, and one that is too long is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory.archive import ingest
from memory.archive.ingest import opened, read


@pytest.mark.parametrize(
    ("data", "offset", "most", "lines", "end", "complete"),
    [
        (b"", 0, 9, [], 0, True),
        (b"one\ntwo\n", 0, 9, [b"one", b"two"], 8, True),
        (b"one\ntwo\n", 0, 7, [b"one"], 4, False),
        (b"one\n\ntw", 0, 9, [b"one", b""], 5, True),
        (b"one\ntwo\n", 4, 9, [b"two"], 8, True),
        (b"longer\nx\n", 0, 3, [b"longer"], 7, False),
        (b"longer", 0, 3, [], 0, True),
    ],
)
def test_what_a_piece_holds(
    tmp_path: Path, data: bytes, offset: int, most: int, lines: list[bytes], end: int, complete: bool
) -> None:
    (tmp_path / "file").write_bytes(data)
    descriptor = opened(str(tmp_path / "file"))
    assert read(descriptor, offset, most) == (lines, end, 0, complete)
    os.close(descriptor)


def test_a_line_that_is_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "LONGEST_LINE", 12)
    monkeypatch.setattr(ingest, "_BLOCK", 5)
    (tmp_path / "file").write_bytes(b"x" * 30 + b"\nnext\n")
    descriptor = opened(str(tmp_path / "file"))
    assert read(descriptor, 0, 4) == ([], 31, 1, False)
    assert read(descriptor, 31, 9) == ([b"next"], 36, 0, True)
    os.close(descriptor)
