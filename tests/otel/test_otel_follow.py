"""`otel search --follow` prints every new event once, in stored order, until it is stopped."""

import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, Run, clean_environment

from core.store import sqlite
from otel import log
from otel.log import new_event

PATIENCE_S = 60.0


class Following:
    """A running follower whose lines can be waited for."""

    def __init__(self, home: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [JOELCLAW, "otel", "search", *words, "--follow"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(home),
        )  # fmt: skip
        self.out = self.process.stdout.fileno()
        self.rest = b""

    def line(self, patience_s: float = PATIENCE_S) -> dict[str, Any] | None:
        """The next line, or None when there is none in time."""
        end = time.monotonic() + patience_s
        while b"\n" not in self.rest:
            if not select.select([self.out], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            chunk = os.read(self.out, 65_536)
            if not chunk:
                return None
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def actions(self, count: int) -> list[str]:
        """The actions of the next lines."""
        return [event["action"] for event in (self.line() for _ in range(count)) if event is not None]

    def interrupt(self) -> tuple[int, bytes, bytes]:
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, self.rest + out, err


Emit = Callable[..., None]
Follow = Callable[..., Following]


@pytest.fixture
def following(home: Path) -> Iterator[Follow]:
    started: list[Following] = []

    def start(*words: str) -> Following:
        started.append(Following(home, *words))
        return started[-1]

    yield start
    for follower in started:
        if follower.process.poll() is None:
            follower.process.kill()
        follower.process.communicate()


@pytest.fixture
def emit(home: Path, monkeypatch: pytest.MonkeyPatch) -> Emit:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))

    def store(*actions: str, now: int | None = None) -> None:
        db = sqlite.open_writing(busy_ms=2000, durable=False)
        at = time.time_ns() // 1_000_000 if now is None else now
        log.append(db, [new_event(action, now=at) for action in actions], debug_limit=12)
        db.close()

    return store


def test_backlog_then_what_comes_then_a_quiet_end(run: Run, emit: Emit, following: Follow) -> None:
    for number in range(5):
        emit(f"old.{number}", now=time.time_ns() // 1_000_000 - 1000 + number)
    follower = following("--limit", "3")
    assert follower.actions(3) == ["old.2", "old.3", "old.4"]
    run("otel", "emit", "from.a.process", "--metadata", '{"a": 1}')
    event = follower.line()
    assert (event["action"], event["metadata"]) == ("from.a.process", {"a": 1})
    assert list(event)[:3] == ["id", "ts", "sessionId"]
    assert follower.interrupt() == (0, b"", b"")


def test_spooled_events_are_shown_at_once(run: Run, emit: Emit, following: Follow) -> None:
    emit("first")
    follower = following("*")
    assert follower.actions(1) == ["first"]
    for number in range(2):
        run("recall", f"what waits {number}")
        assert follower.actions(1) == ["memory.recall.completed"]
        run("otel", "emit", f"then.{number}")
        assert follower.actions(1) == [f"then.{number}"]
    assert follower.interrupt() == (0, b"", b"")


def test_only_matching_events_are_followed(emit: Emit, following: Follow) -> None:
    emit("mail.old", "other.old")
    follower = following("mail", "--level", "info")
    assert follower.actions(1) == ["mail.old"]
    emit("other.new", "mail.new")
    assert follower.actions(1) == ["mail.new"]
    assert follower.interrupt()[1] == b""


def test_no_event_is_skipped_or_doubled(emit: Emit, following: Follow) -> None:
    """Same ms, times that go backwards, and bursts larger than anything read at once."""
    emit("first")
    follower = following("*")
    expected = [f"n.{number}" for number in range(1500)]
    assert follower.actions(1) == ["first"]
    for start in range(0, 1500, 300):
        emit(*expected[start : start + 300], now=1_000 if start == 600 else None)
    assert follower.actions(1500) == expected
    assert follower.interrupt() == (0, b"", b"")


def test_waits_for_a_store_and_survives_another(home: Path, emit: Emit, following: Follow) -> None:
    follower = following("*")
    assert follower.line(0.6) is None and follower.process.poll() is None
    emit("a", "b")
    assert follower.actions(2) == ["a", "b"]
    home.rename(home.with_name("moved"))
    emit("c")
    assert follower.actions(1) == ["c"]
    assert follower.interrupt() == (0, b"", b"")


def test_ends_when_the_reader_goes_away(emit: Emit, following: Follow) -> None:
    emit("a")
    follower = following("*")
    assert follower.actions(1) == ["a"]
    assert follower.process.stdout is not None and follower.process.stderr is not None
    follower.process.stdout.close()
    assert follower.process.wait(PATIENCE_S) == 0  # although no event comes
    assert follower.process.stderr.read() == b""
    follower.process.stderr.close()


@pytest.mark.parametrize(("words", "ends"), [([], b"otel-cli"), (["--json"], b"}")])
def test_on_a_terminal(home: Path, emit: Emit, words: list[str], ends: bytes) -> None:
    emit("hostile\x1b[2Jaction")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [JOELCLAW, "otel", "search", "hostile", "--follow", *words],
        stdin=theirs, stdout=theirs, env=clean_environment(home, TERM="dumb", COLUMNS="200"), start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b"\n" not in shown:
        assert select.select([ours], [], [], PATIENCE_S)[0]
        shown += os.read(ours, 65_536)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    os.close(ours)
    assert shown.split(b"\n")[0].strip().endswith(ends)
    assert b"\x1b" not in shown
