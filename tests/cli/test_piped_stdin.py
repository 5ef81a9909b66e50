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


TEXT = json.dumps({"text": "}" * 2_000, "a": {"b": 1}}).encode() + b"\n"
PIPES = {
    **{f"pieces of {size}": [TEXT[at : at + size] for at in range(0, len(TEXT), size)] for size in (1, 7, 100)},
    "a byte order mark": [b'\xef\xbb\xbf{"a": 1}'], "white space": [b'{"a": 1}' + b" \t\r\n" * 20],
    "no object, and the end": [b"no object", b""], "half an object": [b'{"a": 1'],
}  # fmt: skip


@pytest.mark.parametrize("pieces", PIPES.values(), ids=PIPES)
def test_the_end_of_an_object_or_of_the_pipe_or_silence_ends_the_reading(pieces: list[bytes], feed: Feed) -> None:
    feed(pieces)
    assert stdin.read_object(100_000) == b"".join(pieces)


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
