"""Two pieces of work at once, for a machine with a second core. Hot path (`threading` costs 1 ms to import)."""

from __future__ import annotations

import sys
from _thread import allocate_lock, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Here = TypeVar("Here")
    There = TypeVar("There")

_SWITCH_S = 0.000_01
"""A thread that comes back from SQLite waits this long for the interpreter; by default 5 ms, and again for each row."""


def beside(here: Callable[[], Here], there: Callable[[], There]) -> tuple[Here, There]:
    """What both return: `here`, which leaves the interpreter to others while it works, and `there` in a second thread.

    Nothing runs on after it: `there` is waited for, also where `here` fails.

    Raises:
        BaseException: what `here` raises, else what `there` does.
    """
    made: list[There] = []
    failed: list[BaseException] = []
    ended = allocate_lock()
    ended.acquire()

    def run() -> None:
        try:
            made.append(there())
        except BaseException as error:
            failed.append(error)
        finally:
            ended.release()

    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        try:
            start_new_thread(run, ())
        except RuntimeError:  # no more threads for this user
            run()
        try:
            found = here()
        finally:
            ended.acquire()
    finally:
        sys.setswitchinterval(usual)
    if failed:
        raise failed[0]
    return found, made[0]
