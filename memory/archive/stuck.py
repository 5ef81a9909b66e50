"""A line of a transcript that took longer than the time that hooks have, twice: it is archived without long outputs.

Otherwise each hook would begin with it again, and nothing after it would be archived. Of a large output that is full of
what looks like secrets both ends alone are judged at once. Hot path, for large lines only.
"""

from __future__ import annotations

import os
import time
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]  # `signal` imports enum
from itertools import accumulate, dropwhile

from core import TYPE_CHECKING, files, ids, json_text
from core.errors import Failure
from core.redaction import NAME_PARTS, redact

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from clients.event import Item

    _T = TypeVar("_T")

_TRIES = 2
_END_CHARS = 2_000
_MOST_CHARS = 30_000
"""Of all texts of a line that is cut: it is read in time whatever it holds, margins too."""
_LEAST_APART, _SAMPLES, _SAMPLE, _MOST_FOUND = 20, 8, 800, 7
"""Of a large text that is judged whole: characters between two names, and secrets in so many samples, 4 of each."""
_INNER = " \t('\"+-"  # how a line begins that belongs to what stands before it
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
            if self._lock is not None:
                self._lock.__exit__()
            return None
        finally:
            signal(SIGALRM, before)

    def cut(self, item: Item) -> Item:
        """The item; of a line that failed before, the head and the tail of each long text in it."""
        cut: Item = self._without_long_texts(item) if self._is_cut else item
        return cut

    def ended(self, *, cut: bool = False) -> None:
        """The line is stored; `cut`: without what an output holds too much of."""
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

    def _without_long_texts(self, value: Any, key: str = "") -> Any:
        if isinstance(value, str) and key in _TEXTS:
            if len(value) > min(3 * _END_CHARS, self._room):
                mark = f"[{len(value)} characters left out]"
                value = in_part(value, lambda part: redact(part)[0]) if self._room > 3 * _END_CHARS else mark
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


def is_dense(text: str) -> bool:
    """Whether a large text, by its names and by samples of it, would take long to judge: some 3 s a megabyte."""
    step = len(text) // _SAMPLES
    found = accumulate(min(4, len(redact(text[at : at + _SAMPLE])[1])) for at in range(0, step * _SAMPLES, step))
    return sum(map(text.lower().count, NAME_PARTS)) * _LEAST_APART > len(text) or any(n > _MOST_FOUND for n in found)


def in_part(text: str, plain: Callable[[str], str], size: int = _END_CHARS, margin: int = _END_CHARS) -> str:
    """The head and the tail of a text, so large each, which are judged with a margin, and how much is left out."""
    head, end = "", ""
    is_key = "PRIVATE KEY" in text or ("kind" in text and "Secret" in text)  # which is known by what stands far away
    if '"Secret' not in text and not (is_key and margin == size):
        head, end = plain(text[: size + margin]), tail(text, plain, size, margin)
        head = head[: len(head) // 2 if margin == size else -margin][:size]
    return f"{head}\n[{len(text) - len(head) - len(end)} characters left out]\n{end}".strip()


def tail(text: str, plain: Callable[[str], str], size: int, margin: int) -> str:
    """The end of a text that is longer than size and margin, without the rows of a table and the values of a manifest
    that may have their head before it."""
    kept = plain(text[-size - margin :])
    alone = kept[len(kept) // 2 if margin == size else margin :]
    rows = kept.split("\n")[1:]
    if not rows:
        return "" if "Secret" in text or "values" in text.lower() else alone[-size:]
    signs = [sign for sign in "|\t;," if sign in rows[0]]
    rest = dropwhile(lambda row: row[:1] in _INNER or any(row.count(one) == rows[0].count(one) for one in signs), rows)
    return min(alone, "\n".join(rest), key=len)[-size:]


def left_out() -> list[tuple[str, str]]:
    """The transcripts of which outputs were left out, each with the file that says so."""
    from glob import escape, glob

    paths = sorted(glob(os.path.join(escape(files.home()), *_FOLDER, "*")))
    return [(str(known["source"]), path) for path in paths if (known := _read(path)).get("cut")]


def _read(path: str) -> dict[str, Any]:
    try:
        known = json_text.loads(files.start_of(path, 100_000))
    except json_text.InvalidJSON:
        return {}
    return known if isinstance(known, dict) else {}
