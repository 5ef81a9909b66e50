"""Lines of a transcript that twice took longer than a hook has: they are archived without their long outputs.

Otherwise every hook would begin with such a line again, and nothing after it would be archived. Hot path, for large
lines only.
"""

from __future__ import annotations

import os
import time

from clients.content import given_text
from core import TYPE_CHECKING, files, ids, json_text
from core.errors import Failure
from core.redaction import redact
from memory.archive.texts import END_CHARS, in_part

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from clients.entries import Entry

    _T = TypeVar("_T")

TRIES = 2
MAX_CUT_CHARS = 30_000  # of all texts in a line that is cut: it is read in time whatever it holds
LEAST_S = 0.2  # a line is given at least this long
FOLDER = ("sessions", ".work", "slow")


class _TimeIsUp(BaseException):
    """The archive's time is over. Not an Exception, so that no reader of the line catches it."""


class Attempt:
    """Reading a large line until `until` (monotonic), when it is abandoned.

    The hook may also be killed at any time. So each try is written down before, and while it goes on, a kernel lock
    shows other processes that it has not failed.
    """

    def __init__(self, source: str, offset: int, until: float) -> None:
        self._path = os.path.join(files.home(), *FOLDER, ids.fingerprint(source))
        self._known = _read(self._path)
        self._source = source
        self._offset = offset
        self._until = until
        self._lock: files.FileLock | None = files.FileLock(self._path + ".lock", 0)
        self._is_cut = False
        self._room = MAX_CUT_CHARS
        try:
            self._lock.__enter__()
            tries = self._known.get("tries", 0) if self._known.get("offset") == offset else 0
            self._is_cut = tries >= TRIES
            self._note(tries + 1, self._known.get("cut", 0) + self._is_cut)
        except (OSError, files.LockTimeout, Failure):
            self._lock = None

    def within(self, read: Callable[[], _T]) -> _T | None:
        """What `read` returns; None if it is not done in time, so that what it has changed must be thrown away."""
        if self._is_cut:
            return read()
        import signal

        try:
            before = signal.signal(signal.SIGALRM, _end)
        except ValueError:  # in a thread
            return read()
        try:
            signal.setitimer(signal.ITIMER_REAL, max(LEAST_S, self._until - time.monotonic()))
            try:
                return read()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except _TimeIsUp:
            if self._lock is not None:
                self._lock.__exit__()
            return None
        finally:
            signal.signal(signal.SIGALRM, before)

    def cut(self, entry: Entry) -> Entry:
        """The entry; of a line that failed before, with only the head and the tail of each long text."""
        if self._is_cut:
            entry.text, entry.command = self._shorter(entry.text), self._shorter(entry.command)
            if entry.given is not None:
                entry.given = self._shorter(given_text(entry.given))
            for hunk in entry.hunks:  # the lines of an edit and their signs belong together
                if self._shorter(hunk.text) != hunk.text:
                    hunk.text = hunk.signs = ""
        return entry

    def ended(self, *, cut: bool = False) -> None:
        """Note that the line is stored; `cut`: without parts of a dense output."""
        if self._lock is not None:
            self._note(0, self._known.get("cut", 0) + (cut or self._is_cut))
            self._lock.__exit__()

    def _note(self, tries: int, cut: int) -> None:
        about = {"source": self._source, "offset": self._offset, "tries": tries, "cut": cut}
        try:
            if tries or cut:
                files.write_whole(self._path, json_text.dumps(about).encode("utf-8", "surrogatepass"))
            else:
                os.unlink(self._path)
        except OSError:  # a full disk: the next hook tries again
            pass

    def _shorter(self, text: str) -> str:
        if len(text) > min(3 * END_CHARS, self._room):
            mark = f"[{len(text)} characters left out]"
            text = in_part(text, lambda part: redact(part)[0]) if self._room > 3 * END_CHARS else mark
        self._room -= len(text)
        return text


def _end(*_: object) -> None:
    raise _TimeIsUp


def left_out() -> list[tuple[str, str]]:
    """The transcripts with outputs that were left out, and the files that record this."""
    from glob import escape, glob

    paths = sorted(glob(os.path.join(escape(files.home()), *FOLDER, "*")))
    return [(str(known["source"]), path) for path in paths if (known := _read(path)).get("cut")]


def _read(path: str) -> dict[str, Any]:
    try:
        known = json_text.loads(files.start_of(path, 100_000))
    except json_text.InvalidJSON:
        return {}
    return known if isinstance(known, dict) else {}
