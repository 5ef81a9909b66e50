"""Finds out that a store has lost what was acknowledged: it is gone, was copied without its log, or put back older.

`acknowledged`, which no copy of `store.db*` carries, holds the number of the last change: that of the last event, and
one more for each commit of no event. A store of ours always has a log and a `store.db.mark`. What was found stays in
`store.db.older` until the user has read it, and removes that. Hot path.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files
from core.errors import Failure
from core.store import MARK, acknowledged

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    import apsw

_FOUND, _TOLD = ".older", ".told"
_WAL_MODE = "\2\2"
_LOCK_WAIT_S = 5.0
_not_kept: dict[str, bytes] = {}
"""By store: a finding that could not be written, for this process."""


def look(db: apsw.Connection, marked: int) -> int:
    """Note a store with a smaller number than its mark, which is older; returns what the mark is to say."""
    last = last_event(db)
    if last < marked:
        _found(db.filename, marked, last)
    return min(last, marked)


def last_event(db: apsw.Connection) -> int:
    """The number of the last event, or other change, that the store ever had."""
    return int(db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'event'").get)


def came_alone(store: str) -> None:
    """Before a store without a log is opened: note that it was copied alone, where it was."""
    try:
        head = files.start_of(store, 20)
        if head[:15] != "SQLite format 3" or head[18:20] != _WAL_MODE:
            return
        with _locked(store):  # another process may be making it
            if not os.path.lexists(store + "-wal") and not os.path.lexists(store + MARK):
                _found(store, 0, 0)
    except (OSError, files.LockTimeout, Failure):  # a home that cannot be written
        pass


def compare(db: apsw.Connection) -> None:
    """Look whether the store is older than its mark, for who has the time: each commit of events looks too."""
    import apsw

    try:
        look(db, _known(db.filename))
    except (OSError, apsw.Error):  # who reads the store next says what is wrong with it
        pass


def _known(store: str) -> int:
    """The number of the last change that was acknowledged; a home of an older version has it in the mark."""
    path = acknowledged(store)
    known = files.start_of(path if os.path.lexists(path) else store + MARK, 20)
    return int(known) if known.isdecimal() else 0


def begin(store: str, number: int) -> None:
    """Make the signs of a store that is known to be whole: after it was restored. Raises OSError."""
    for end in ("-wal", ".lock", MARK):
        files.touch_private(store + end)
    files.write_whole(acknowledged(store), b"%020d" % number)


def is_lost(store: str) -> None:
    """Before an empty store, or none, is opened beside its mark: note that what it held is gone."""
    try:
        with _locked(store):  # another process may have begun the new one
            if not os.path.lexists(store + MARK) or (os.path.exists(store) and os.stat(store).st_size):
                return
            _found(store, _known(store), 0, is_gone=True)
            _unlink(store + _FOUND + _TOLD)
            _unlink(store + MARK)
    except (OSError, files.LockTimeout, Failure):  # noted meanwhile; or a home that cannot be written
        pass


def _locked(store: str) -> AbstractContextManager[object]:
    from contextlib import nullcontext

    return nullcontext() if files.only_look else files.FileLock(store + ".lock", _LOCK_WAIT_S)


def begin_anew(store: str) -> int:
    """A new store begins: what was found of the file before is over, unless it is that the file is gone.

    Returns the number of its last change, from which the new one counts on: the file before, put back, is older."""
    wrong = finding(store)
    if wrong is not None and wrong["code"] != "STORE_LOST":
        _unlink(store + _FOUND)
        _unlink(store + _FOUND + _TOLD)
    return _known(store)


def _unlink(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


def is_untold(store: str) -> bool:
    """Whether a finding was not told yet; from now on it was. Where nothing can be kept, nothing is told."""
    told = store + _FOUND + _TOLD
    try:
        if os.path.exists(told):
            return False
        files.touch_private(told)
        return True
    except OSError:
        return False


def finding(store: str) -> dict[str, Any] | None:
    """What is known to be missing from the store; None where nothing is."""
    import shlex

    from core import clock, json_text

    try:
        kept = json_text.loads(_not_kept.get(store) or files.start_of(store + _FOUND, 1_000))
        acknowledged, has = int(kept["acknowledged"]), int(kept["has"])
        noted = clock.iso(int(kept["at"]))
    except (json_text.InvalidJSON, TypeError, KeyError, ValueError):
        return None
    fix = f"to accept it as it is: rm {shlex.quote(store)}{_FOUND}*"
    if kept.get("gone"):
        if not os.path.exists(store):  # nothing was written since, and the mark says so
            fix = fix.replace("rm ", "rm -f ", 1) + f" {shlex.quote(store + MARK)}"
        held = f", which had come to change {acknowledged}," if acknowledged else ""
        message = f"the store was lost: at {noted} {store}{held} was missing or empty; recall no longer finds it"
        return {"code": "STORE_LOST", "message": message, "fix": fix, "acknowledged": acknowledged, "has": has}
    message = f"{store} came without its log (store.db-wal): what was written last before it was copied may be missing"
    if acknowledged:
        message = (
            f"{store} is older than it should be: its last change is number {has}, of {acknowledged} that were stored."
            " It was copied without its log (store.db-wal), put back from an older copy, or a power cut took the rest"
        )
    fix = f"restore a backup (joelclaw restore FILE --force), or back up the machine that has it all; {fix}"
    return {"code": "STORE_OLDER", "message": message, "fix": fix, "acknowledged": acknowledged, "has": has}


def _found(store: str, acknowledged: int, has: int, *, is_gone: bool = False) -> None:
    from core import clock, json_text

    kept = {"acknowledged": acknowledged, "has": has, "at": clock.now_ms(), "gone": is_gone}
    data = json_text.dumps(kept).encode()
    try:
        files.write_whole(store + _FOUND, data)
    except OSError:
        _not_kept[store] = data
        raise
