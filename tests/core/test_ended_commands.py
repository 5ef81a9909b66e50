"""How a command of the user's ended, in words; what is kept of its output; and how a signal ends a wait for it."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from core.process import process_group
from core.process.process_group import Ended, Interrupts


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        (Ended(0, ""), "exit status 0"), (Ended(-9, " \n"), "exit status -9"),
        (Ended(3, "a\n b"), "exit status 3: a b"),
        (Ended(None, "x", "not-started"), "it could not be started: x"),
        (Ended(1, "", "timeout"), "it took too long and was ended"),
        (Ended(-15, "x", "stopped"), "it was ended with us: x"),
        (Ended(1, "b" + "a" * 500), "exit status 1: " + "a" * 500),
        (Ended(1, "b" + "a" * 499), "exit status 1: b" + "a" * 499),
    ],
)  # fmt: skip
def test_how_it_ended_in_words(ended: Ended, told: str) -> None:
    assert ended.explained() == told


def test_of_its_output_the_last_4_kb_are_kept() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        assert process_group._read(reading) == (b"", True)
        os.write(writing, b"a" + b"b" * 3_999)
        assert process_group._read(reading) == (b"a" + b"b" * 3_999, True)
        os.write(writing, b"a" + b"b" * 4_000)
        os.close(writing)
        assert process_group._read(reading) == (b"b" * 4_000, False)
        assert process_group._read(reading) == (b"", False)
    finally:
        os.close(reading)


def test_a_signal_ends_a_wait_and_what_was_before_is_there_again() -> None:
    before = [signal.getsignal(number) for number in process_group._STOPPING]
    reading, writing = os.pipe()
    try:
        with Interrupts() as interrupts:
            assert interrupts.wait(0, reading) == [] and not interrupts.came()
            os.write(writing, b"x")
            assert interrupts.wait(60, reading) == [reading]
            os.read(reading, 1)
            os.kill(os.getpid(), signal.SIGTERM)
            assert interrupts.wait(60, reading) == [] and interrupts.came()
            os.write(writing, b"x")
            assert interrupts.wait(60, reading) == []
    finally:
        os.close(reading)
        os.close(writing)
    assert [signal.getsignal(number) for number in process_group._STOPPING] == before


def test_what_cannot_be_started_is_told() -> None:
    for words in (["/no/such/program"], [], ["a\0b"]):
        ended = process_group.run(words, seconds=1)
        assert (ended.status, ended.reason) == (None, "not-started") and ended.output


def test_a_wait_is_over_when_the_command_is_or_the_time_or_we_are(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    now, ends_at, asked = [0.0], [9.0], []

    def select(watched: Any, _writing: Any, _odd: Any, seconds: float) -> tuple[list[int], list[int], list[int]]:
        asked.append((tuple(watched), round(seconds, 3)))
        now[0] += seconds
        return [], [], []

    monkeypatch.setattr(process_group.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(process_group.select, "select", select)
    monkeypatch.setattr(process_group, "_is_over", lambda pid: now[0] >= ends_at[0])
    try:
        os.write(writing, b"said")
        assert process_group._until_over(1, reading, 0.25, None) == ("timeout", b"said")
        assert asked == [((reading,), 0.1), ((reading,), 0.1), ((reading,), 0.05)]
        ends_at[0] = now[0]
        os.write(writing, b"last")
        os.close(writing)
        assert process_group._until_over(1, reading, now[0], None) == ("", b"last")
        ends_at[0], asked[:] = now[0] + 0.05, []
        assert process_group._until_over(1, reading, now[0] + 9, None) == ("", b"")
        assert asked == [((), 0.1)], "nothing more can be read"
        stopped = Interrupts()
        stopped._came, ends_at[0] = True, 99.0
        assert process_group._until_over(1, reading, 99, stopped) == ("stopped", b"")
    finally:
        os.close(reading)
