"""stdin is read in time proportional to its length, even in small pieces: the parsed bytes are counted, not timed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from cli import input as stdin
from core import json_text

Feed = Callable[[list[bytes]], None]


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    """Has stdin hand out these pieces, and then fall silent without an end."""

    def given(pieces: list[bytes]) -> None:
        left = list(reversed(pieces))
        monkeypatch.setattr(os, "isatty", lambda _: False)
        monkeypatch.setattr(os, "read", lambda *_: left.pop())
        monkeypatch.setattr("select.select", lambda *_: ([0] if left else [], [], []))

    return given


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of what was looked at as JSON."""
    lengths: list[int] = []
    loads = json_text.loads

    def counted(text: str) -> object:
        lengths.append(len(text))
        return loads(text)

    monkeypatch.setattr(json_text, "loads", counted)
    return lengths


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_pieces_that_all_end_with_a_brace_are_parsed_a_few_times(size: int, feed: Feed, parsed: list[int]) -> None:
    data = json.dumps({"text": "}" * 20_000}).encode()
    feed([data[at : at + size] for at in range(0, len(data), size)])
    assert stdin.read_object(100_000) == data
    assert sum(parsed) <= 6 * len(data)


def test_an_object_ends_the_reading_of_a_pipe_that_stays_open(feed: Feed, parsed: list[int]) -> None:
    feed([b'{"a": {"b": 1}', b"}\n", b"never read"])
    assert stdin.read_object(1000) == b'{"a": {"b": 1}}\n'
    assert parsed == [len(b'{"a": {"b": 1}'), len(b'{"a": {"b": 1}}\n')]


@pytest.mark.parametrize("tail", [b"", b"\n", b" \t\r\n" * 20])
def test_white_space_after_an_object_is_accepted(tail: bytes, feed: Feed) -> None:
    feed([b'{"a": 1}' + tail, b"never read"])
    assert stdin.read_object(1000) == b'{"a": 1}' + tail


def test_reading_stops_at_the_limit(feed: Feed, parsed: list[int]) -> None:
    feed([b"}" * 600] * 100)
    with pytest.raises(stdin.TooLongError):
        stdin.read_object(1000)
    assert sum(parsed) <= 6 * 1200


def test_the_end_or_a_silent_pipe_ends_the_reading(feed: Feed) -> None:
    feed([b"no object", b""])
    assert stdin.read_object(1000) == b"no object"
    feed([b'{"a": 1'])
    assert stdin.read_object(1000) == b'{"a": 1'
