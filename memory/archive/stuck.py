"""A line of a transcript that took longer than the time that hooks have, twice: it is archived without long outputs.

Otherwise each hook would begin with it again, and nothing after it would be archived. Hot path, for large lines only.
"""

from __future__ import annotations

import os
import time
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]  # `signal` imports enum

from core import TYPE_CHECKING, files, ids, json_text
from core.errors import Failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from clients.event import Item

    _T = TypeVar("_T")

_TRIES = 2
_END_CHARS = 2_000
_MOST_CHARS = 60_000
"""Of all texts of a line that is cut: it is read in time whatever it holds."""
_TEXTS = ("text", "given", "command")
_LEAST_S = 0.2
_FOLDER = ("sessions", ".work", "slow")


class _TimeIsUp(BaseException):
    """The archive's time is over. No Exception: whatever reads the line is not to catch it."""


class Attempt:
    """Reading one large line by `until` (monotonic), where it is abandoned; the hook may be killed at any time, too.

    While it goes on, a lock of the kernel's is held: what another process works on has not failed.
    """

    def __init__(self, source: str, offset: int, until: float) -> None:
        self._path = os.path.join(files.home(), *_FOLDER, ids.fingerprint(source))
        self._known = _read(self._path)
        self._source, self._offset, self._until = source, offset, until
        self._lock: files.FileLock | None = files.FileLock(self._path + ".lock", 0)
        self._is_cut, self._room = False, _MOST_CHARS
        try:
            self._lock.__enter__()
            tries = self._known.get("tries", 0) if self._known.get("offset") == offset else 0
            self._is_cut = tries >= _TRIES
            self._note(tries + 1, self._known.get("cut", 0) + self._is_cut)
        except (OSError, files.LockTimeout, Failure):
            self._lock = None

    def within(self, read: Callable[[], _T]) -> _T | None:
        """What `read` returns; None where it is not done in time: what it has changed by then is thrown away."""
        if self._is_cut:
            return read()
        try:
            before = signal(SIGALRM, _end)
        except ValueError:  # in a thread
            return read()
        try:
            setitimer(ITIMER_REAL, max(_LEAST_S, self._until - time.monotonic()))
            try:
                return read()
            finally:
                setitimer(ITIMER_REAL, 0)
        except _TimeIsUp:
            self._unlock()
            return None
        finally:
            signal(SIGALRM, before)

    def cut(self, item: Item) -> Item:
        """The item; of a line that failed before, the head and the tail of each long text in it."""
        cut: Item = self._without_long_texts(item) if self._is_cut else item
        return cut

    def ended(self) -> None:
        """The line is stored."""
        if self._lock is not None:
            self._note(0, self._known.get("cut", 0) + self._is_cut)
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
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

    def _without_long_texts(self, value: Any, key: str = "") -> Any:
        if isinstance(value, str) and key in _TEXTS:
            end = min(_END_CHARS, self._room // 2)
            if len(value) > min(3 * _END_CHARS, self._room):
                mark = f"[{len(value) - 2 * end} characters left out]"
                value = f"{value[:end]}\n{mark}\n{value[-end:]}" if end else mark
                self._room -= 2 * end
            else:
                self._room -= len(value)
        elif isinstance(value, dict):
            cut = {name: self._without_long_texts(one, name) for name, one in value.items()}
            # an edit's lines and their signs belong together
            return {**cut, "signs": "", "text": ""} if "signs" in cut and cut["text"] != value["text"] else cut
        elif isinstance(value, list):
            return [self._without_long_texts(one, key) for one in value]
        return value


def _end(*_: object) -> None:
    raise _TimeIsUp


def left_out() -> list[tuple[str, str]]:
    """The transcripts of which outputs were left out, each with the file that says so."""
    folder = os.path.join(files.home(), *_FOLDER)
    try:
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not name.endswith(".lock")]
    except OSError:
        return []
    return [(str(known["source"]), path) for path in paths if (known := _read(path)).get("cut")]


def _read(path: str) -> dict[str, Any]:
    try:
        known = json_text.loads(files.start_of(path, 100_000))
    except json_text.InvalidJSON:
        return {}
    return known if isinstance(known, dict) else {}
