"""What is told of a model command that failed: how it ended, and the last line of its stderr, made harmless."""

from __future__ import annotations

import os

import pytest

from core.errors import Failure
from core.process import model_command
from core.process.model_command import _Exchange, _failed


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        ("exit 3", "llm ended with exit code 3"), ("signal 9", "llm was ended by signal 9"),
        ("stopped", "llm was stopped"),
    ],
)  # fmt: skip
def test_how_it_ended(ended: str, told: str) -> None:
    failure = _failed("llm", ended, b"")
    assert (failure.code, failure.message) == ("MODEL_FAILED", told)
    assert failure.fix == "run it by hand with a prompt on stdin"
    assert _failed("llm", ended, b"first\nlast line\n \n").message == f"{told}: last line"


def test_a_program_that_cannot_be_run() -> None:
    failure = _failed("llm", "errno 13", b"ignored")
    assert (failure.code, failure.message) == ("MODEL_NOT_FOUND", "llm cannot be run: Permission denied")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("a\tb   c", "a b c"), ("\x1b[31mred", "[31mred"), ("x" * 300, "x" * 300), ("x" * 301, "x" * 299 + "…"),
        ("password=hunter2x", "password=[redacted:password]"), ("a\u202eb", "a b"),
    ],
)  # fmt: skip
def test_a_foreign_line_is_made_harmless(line: str, shown: str) -> None:
    assert model_command._one_line(line) == shown


def test_of_stderr_the_last_8_kib_are_kept() -> None:
    exchange = _Exchange([], b"", 1.0, 1)
    reading, writing = os.pipe()
    for part in (b"a" * 8_000, b"b" * 192, b"c"):
        os.write(writing, part)
        assert exchange._read_error(reading) is True
        assert len(exchange._stderr) == min(8_192, 8_000 + 192 * (part != b"a" * 8_000) + (part == b"c"))
    assert exchange._stderr == b"a" * 7_999 + b"b" * 192 + b"c"
    os.close(writing)
    assert exchange._read_error(reading) is False
    os.close(reading)


def test_an_answer_has_no_more_bytes_than_allowed() -> None:
    exchange = _Exchange(["llm"], b"", 1.0, 4)
    reading, writing = os.pipe()
    os.write(writing, b"1234")
    assert exchange._read(reading) is True
    os.write(writing, b"5")
    with pytest.raises(Failure, match="llm answered more than 4 bytes") as raised:
        exchange._read(reading)
    assert raised.value.code == "MODEL_TOO_LONG"
    os.close(writing)
    os.close(reading)
