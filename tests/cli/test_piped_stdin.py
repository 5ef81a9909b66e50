"""JSON on stdin is read to the end of the pipe, or of the object if the pipe stays open, in a bounded time."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import JOELCLAW, PATIENCE_S, attempt, clean_environment

from cli import input as stdin

Feed = Callable[[list[bytes]], None]


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    """Has stdin hand out these pieces, and then fall silent without an end."""

    def pipe(pieces: list[bytes]) -> None:
        remaining = list(reversed(pieces))
        monkeypatch.setattr(os, "isatty", lambda _: False)
        monkeypatch.setattr(os, "read", lambda *_: remaining.pop())
        monkeypatch.setattr("select.select", lambda *_: ([0] if remaining else [], [], []))

    return pipe


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_an_object_in_pieces_ends_the_reading_of_a_pipe_that_stays_open(size: int, feed: Feed) -> None:
    data = json.dumps({"text": "}" * 2_000, "a": {"b": 1}}).encode() + b"\n"
    feed([data[at : at + size] for at in range(0, len(data), size)])
    assert stdin.read_object(100_000) == data


def test_a_byte_order_mark_is_no_reason_to_wait_for_more(feed: Feed) -> None:
    feed([b'\xef\xbb\xbf{"a": 1}'])
    assert stdin.read_object(1000) == b'\xef\xbb\xbf{"a": 1}'


@pytest.mark.parametrize("tail", [b"", b"\n", b" \t\r\n" * 20])
def test_white_space_after_an_object_is_accepted(tail: bytes, feed: Feed) -> None:
    feed([b'{"a": 1}' + tail])
    assert stdin.read_object(1000) == b'{"a": 1}' + tail


def test_input_over_the_limit_is_read_and_discarded(feed: Feed) -> None:
    """A client that is still writing would get EPIPE."""
    feed([b"}" * 600] * 100 + [b""])
    with pytest.raises(stdin.TooLongError, match=r"more than 0\.001 MB"):
        stdin.read_object(1000)


def test_a_hook_survives_a_payload_of_forty_megabytes(home: Path) -> None:
    command = [JOELCLAW, "hook", "claude"]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment(home))
    client.stdin.write(b'{"session_id": "s", "tool_response": "' + b"x" * 40_000_000 + b'"}')
    out, _ = client.communicate(timeout=PATIENCE_S)
    assert (client.returncode, out) == (0, b"")
    hours = {"JOELCLAW_NOW_MS": str(int(time.time() * 1000))}
    events = attempt(home, "otel", "search", "hook.failed", "--hours", "1", env=hours).result["events"]
    assert [event["error"] for event in events] == ["TooLongError: stdin holds more than 32 MB"]


def test_a_text_that_is_too_long_is_read_to_its_end(home: Path) -> None:
    command = [JOELCLAW, "memory", "write", "-"]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment(home))
    writer.stdin.write(b"tide " * 1_600_000)  # without EPIPE
    out, _ = writer.communicate(timeout=PATIENCE_S)
    assert writer.returncode and not json.loads(out)["ok"]


def test_the_end_or_a_silent_pipe_ends_the_reading(feed: Feed) -> None:
    feed([b"no object", b""])
    assert stdin.read_object(1000) == b"no object"
    feed([b'{"a": 1'])
    assert stdin.read_object(1000) == b'{"a": 1'
