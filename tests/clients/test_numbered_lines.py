"""The numbered lines of an import: from a file or stdin, each up to a length; a longer one is told and skipped."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from cli import bulk
from core.errors import Failure


def lines(data: bytes, longest: int = 4) -> list[tuple[int, bytes | None]]:
    return list(bulk._lines(io.BytesIO(data), longest))


def test_a_line_that_is_too_long_is_none() -> None:
    rows: list[tuple[bytes, list[tuple[int, bytes | None]]]] = [
        (b"", []),
        (b"a", [(1, b"a")]),
        (b"a\n\nb\n", [(1, b"a\n"), (2, b"\n"), (3, b"b\n")]),
        (b"abc\nd", [(1, b"abc\n"), (2, b"d")]),
        (b"abcd\ne", [(1, None), (2, b"e")]),
        (b"abcdefghij\nk\n", [(1, None), (2, b"k\n")]),
        (b"abcdefg\nk", [(1, None), (2, b"k")]),
        (b"abcd", [(1, None)]),
        (b"abcde", [(1, None)]),
    ]
    for data, read in rows:
        assert lines(data) == read


@pytest.mark.parametrize(
    ("name", "told"),
    [("none", "No such file or directory"), ("", "Is a directory")],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, told: str) -> None:
    where = str(tmp_path / name)
    with (
        pytest.raises(Failure) as caught,
        bulk.numbered(where, longest=9, code="ODD", holds="JSON lines") as (found, _),
    ):
        list(found)
    assert (caught.value.code, caught.value.exit_code) == ("ODD", 2)
    assert caught.value.message.endswith(told)


def test_a_device_may_never_end_but_null_does(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    endless = {}
    for name in ("/dev/zero", os.devnull, str(tmp_path / "file")):
        with open(name, "rb") as handle:
            endless[name] = bulk.is_endless(handle)
    assert endless == {"/dev/zero": True, os.devnull: False, str(tmp_path / "file"): False}
    with os.fdopen(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK), "rb") as handle:
        assert not bulk.is_endless(handle), "a pipe ends with its writer"
    with (
        pytest.raises(Failure, match="/dev/zero is a device"),
        bulk.numbered("/dev/zero", longest=9, code="C", holds="x"),
    ):
        pass
