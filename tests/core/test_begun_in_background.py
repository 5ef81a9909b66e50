"""A background process is begun under the first lock that is free, and takes the lock that it was given as its own."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.files import FileLock
from core.process import background_process

Begun = tuple[str, Sequence[str], int]


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch, home: Path) -> list[Begun]:
    """What would be started: the file of the lock's descriptor, words, seconds."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setattr("sys.argv", [__file__])
    found: list[Begun] = []

    def spawn(lock: int, words: Sequence[str], seconds: int) -> None:
        [path] = [path for path in home.iterdir() if path.stat().st_ino == os.fstat(lock).st_ino]
        with path.open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found.append((path.name, words, seconds))

    monkeypatch.setattr(background_process, "_spawn", spawn)
    return found


def test_it_is_begun_under_the_first_lock_that_is_free(spawned: list[Begun], home: Path) -> None:
    locks = [str(home / name) for name in ("a", "b")]
    assert background_process.begin_one(locks, ("status",), 7) is True
    with FileLock(locks[0]):
        assert background_process.begin_one(locks, ("status",), 8) is True
        assert background_process.begin(locks[0], ("status",), 9) is True, "it runs already"
        with FileLock(locks[1]):
            assert background_process.begin_one(locks, ("status",), 9) is True
    assert background_process.begin(locks[1], ("store", "sync"), 9) is True
    assert spawned == [("a", ("status",), 7), ("b", ("status",), 8), ("b", ("store", "sync"), 9)]
    (home / "file").touch()
    assert background_process.begin(str(home / "file" / "lock"), ("status",), 9) is False
    assert len(spawned) == 3


def test_what_cannot_be_spawned_is_not_begun_and_frees_the_lock(
    spawned: list[Begun], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(background_process, "_spawn", fail)
    lock = str(home / "lock")
    assert background_process.begin(lock, ("status",), 1) is False
    assert background_process.wait(lock, 0) is True


def test_the_lock_that_it_was_given_is_its_own_until_it_frees_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(background_process, "_held", [])
    monkeypatch.setattr("signal.alarm", lambda seconds: 0)
    path = tmp_path / "lock"
    path.touch()
    for limit, held in (("7", False), ("", False), ("7", True)):
        descriptor = os.open(path, os.O_RDWR)
        os.set_inheritable(descriptor, True)
        monkeypatch.setenv(background_process.LIMIT, limit)
        monkeypatch.setenv("JOELCLAW_DETACHED_LOCK", str(descriptor) if held or not limit else "x")
        assert background_process.stop_in_time() is bool(limit)
        assert "JOELCLAW_DETACHED_LOCK" not in os.environ
        assert background_process._held == ([descriptor] if held else [])
        assert os.get_inheritable(descriptor) is not held
        background_process.free()
        assert background_process._held == []
        if held:
            with pytest.raises(OSError):
                os.fstat(descriptor)
        else:
            os.close(descriptor)
    monkeypatch.setenv(background_process.LIMIT, "7")
    monkeypatch.setenv("JOELCLAW_DETACHED_LOCK", "99999")
    assert background_process.stop_in_time() is True and background_process._held == []


def test_a_lock_is_waited_for_as_long_as_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    lock, now = str(home / "lock"), [0.0]
    monkeypatch.setattr(background_process.time, "monotonic", lambda: now[0])
    held = FileLock(lock)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += 0.25
        if now[0] == 1.5:
            held.__exit__(None, None, None)

    monkeypatch.setattr(background_process.time, "sleep", sleep)
    with held:
        assert background_process.wait(lock, 0.5) is False and now[0] == 0.5
        assert background_process.wait(lock, 9) is True and now[0] == 1.5
    assert len(slept) == 6
