"""A piece of a transcript that took longer than the time that hooks have, twice: it is archived without long outputs.

Otherwise each hook would begin with it again, and nothing after it would be archived. Hot path, for large pieces only.
"""

from __future__ import annotations

import os

from core import files, ids, json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import Item

_TRIES = 2
_END_CHARS = 2_000
_FOLDER = ("sessions", ".work", "slow")


class Attempt:
    """Reading one large piece, which the deadline may end at any time."""

    def __init__(self, source: str, offset: int) -> None:
        self._path = os.path.join(files.home(), *_FOLDER, ids.fingerprint(source))
        self._known = _read(self._path)
        self._source, self._offset = source, offset
        self._lock: files.FileLock | None = files.FileLock(self._path + ".lock", 0)
        self._is_cut = False
        try:
            self._lock.__enter__()
            tries = self._known.get("tries", 0) if self._known.get("offset") == offset else 0
            self._is_cut = tries >= _TRIES
            self._note(tries + 1, self._known.get("cut", 0) + self._is_cut)
        except (OSError, files.LockTimeout):
            self._lock = None

    def cut(self, item: Item) -> Item:
        """The item; of a piece that failed before, the head and the tail of each long text in it."""
        cut: Item = _without_long_texts(item) if self._is_cut else item
        return cut

    def ended(self) -> None:
        """The piece was read, however it is stored."""
        if self._lock is not None:
            self._note(0, self._known.get("cut", 0) + self._is_cut)
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


def _without_long_texts(value: Any) -> Any:
    if isinstance(value, str) and len(value) > 3 * _END_CHARS:
        left_out = len(value) - 2 * _END_CHARS
        return f"{value[:_END_CHARS]}\n[{left_out} characters left out]\n{value[-_END_CHARS:]}"
    if isinstance(value, dict):
        return {key: _without_long_texts(one) for key, one in value.items()}
    return [_without_long_texts(one) for one in value] if isinstance(value, list) else value


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
