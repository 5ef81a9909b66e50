"""Two pieces of work at once: both are done when it returns, whatever becomes of them."""

from __future__ import annotations

import _thread
import sys
import time

import pytest

from core.process import parallel as module
from core.process.parallel import beside


def test_both_return_what_they_make() -> None:
    assert beside(lambda: "here", lambda: "there") == ("here", "there")


def test_one_goes_on_while_the_other_waits() -> None:
    """Each waits for the other: one after the other they would never end."""
    begun, going = _thread.allocate_lock(), _thread.allocate_lock()
    begun.acquire()
    going.acquire()

    def here() -> bool:
        begun.release()
        return going.acquire(timeout=10)

    def there() -> bool:
        going.release()
        return begun.acquire(timeout=10)

    assert beside(here, there) == (True, True)


def test_it_waits_for_the_second_where_the_first_fails() -> None:
    ended = []

    def there() -> None:
        time.sleep(0.05)
        ended.append(True)

    def here() -> None:
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        beside(here, there)
    assert ended == [True]


def test_what_the_second_raises_is_raised() -> None:
    def there() -> None:
        raise LookupError("there")

    with pytest.raises(LookupError, match="there"):
        beside(lambda: None, there)


def test_without_a_thread_both_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "start_new_thread", none)
    assert beside(lambda: 1, lambda: 2) == (1, 2)


def test_threads_take_turns_as_before_afterwards() -> None:
    usual = sys.getswitchinterval()
    beside(lambda: None, lambda: None)
    assert sys.getswitchinterval() == usual
