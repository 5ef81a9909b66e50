"""Large lines of a transcript that take longer to read than a hook has. Hot path, for such lines only.

Every hook would begin with such a line again, and nothing after it would be archived. So a line that failed twice is
archived without most of its long texts. A try counts as failed until its piece is stored: it is recorded before it
begins, since the hook may be killed at any time. The file of a transcript holds the offset of the line, the tries, and
whether any output of the transcript was ever cut.
"""

from __future__ import annotations

import os
import time

from clients.content import given_text
from core import TYPE_CHECKING, files, json_text, words
from core.redaction import redact
from memory.archive.texts import END_CHARS, in_part

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clients.entries import Entry


def begin(source: str, offset: int) -> bool:
    """Record a try to read the line at `offset`; returns whether two tries failed, so that its texts must be cut."""
    known = _record(_path(source))
    tries = known.get("tries", 0) if known.get("offset") == offset else 0
    must_cut: bool = tries >= 2
    _save(source, offset, tries + 1, cut=must_cut or bool(known.get("cut")))
    return must_cut


def finishes_by(deadline: float, read: Callable[[], None]) -> bool:
    """Call `read`, but interrupt it at the deadline (`time.monotonic()`); returns whether it came to its end.

    If it did not, what it has changed must be thrown away. It has 0.2 s in any case.
    """
    import signal

    class TimeIsUp(BaseException):
        """Not an Exception, so that no reader of the line catches it."""

    def interrupt(*_: object) -> None:
        raise TimeIsUp

    try:
        before = signal.signal(signal.SIGALRM, interrupt)
    except ValueError:  # in a thread there are no signals
        read()
        return True
    try:
        signal.setitimer(signal.ITIMER_REAL, max(0.2, deadline - time.monotonic()))
        try:
            read()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TimeIsUp:
        return False
    finally:
        signal.signal(signal.SIGALRM, before)
    return True


class Cutter:
    """Cuts the entries of a line. All texts together keep 30,000 characters, which are redacted in time."""

    def __init__(self) -> None:
        self._room = 30_000

    def cut(self, entry: Entry) -> Entry:
        """The entry with only the head and the tail of each long text."""
        entry.text, entry.command = self._shorter(entry.text), self._shorter(entry.command)
        if entry.given is not None:
            entry.given = self._shorter(given_text(entry.given))
        for hunk in entry.hunks:  # the lines of an edit and their signs belong together
            if self._shorter(hunk.text) != hunk.text:
                hunk.text = hunk.signs = ""
        return entry

    def _shorter(self, text: str) -> str:
        longest = 3 * END_CHARS
        if len(text) > min(longest, self._room):
            mark = f"[{len(text)} characters left out]"
            text = in_part(text, lambda part: redact(part)[0]) if self._room > longest else mark
        self._room -= len(text)
        return text


def note_stored(source: str, *, is_cut: bool) -> None:
    """Note that a piece was stored, with or without parts of its outputs, so that its first line did not fail."""
    _save(source, -1, 0, cut=is_cut or bool(_record(_path(source)).get("cut")))


def left_out() -> list[tuple[str, str]]:
    """The transcripts with outputs that were left out, and the files that record this."""
    from glob import escape, glob

    paths = sorted(glob(os.path.join(escape(_folder()), "*")))
    return [(str(known["source"]), path) for path in paths if (known := _record(path)).get("cut")]


def _folder() -> str:
    return os.path.join(files.home(), "sessions", ".work", "slow")


def _path(source: str) -> str:
    return os.path.join(_folder(), words.fingerprint(source))


def _record(path: str) -> dict[str, Any]:
    try:
        known = json_text.loads(files.start_of(path, 100_000))
    except json_text.InvalidJSON:
        return {}
    return known if isinstance(known, dict) else {}


def _save(source: str, offset: int, tries: int, *, cut: bool) -> None:
    path, record = _path(source), {"source": source, "offset": offset, "tries": tries, "cut": cut}
    if not (tries or cut):
        files.remove(path)
        return
    try:
        files.write_whole(path, json_text.dumps(record).encode("utf-8", "surrogatepass"))
    except OSError:  # a full disk: the next hook tries again
        pass
