"""Files of a project that were left out, each told once: an event, and `status` as long as it lasts. Hot path."""

from __future__ import annotations

import os

from core import files, ids, json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.interface import Event

ACTION = "project.file_dropped"
COMPONENT = "project"
_MOST = 200
_PATH_CHARS = 300


def events(dropped: Sequence[tuple[str, str]], now: int) -> list[Event]:
    """The events of those that were not told yet, with the same reason; they count as told then.

    Args:
        dropped: path and reason of each.
        now: ms since the epoch.
    """
    fresh = untold(dropped, "dropped-files.json")
    if not fresh:
        return []
    from otel.event import new_event

    return [
        new_event(
            ACTION,
            component=COMPONENT,
            level="warn",
            success=False,
            error=f"{path[-_PATH_CHARS:]} {reason}",
            metadata={"path": path[-_PATH_CHARS:], "reason": reason},
            now=now,
        )
        for path, reason in fresh
    ]


def untold(faults: Sequence[tuple[str, str]], file: str) -> list[tuple[str, str]]:
    """Those that are not among the last that were told; from now on they are.

    Args:
        faults: where, and what.
        file: below the cache folder, where what was told is kept.
    """
    if not faults:
        return []
    place = os.path.join(files.home(), "cache", file)
    told: list[str] = []
    try:
        with open(place, "rb") as handle:
            told = [str(one) for one in json_text.loads(handle.read())]
    except (OSError, json_text.InvalidJSON, TypeError):
        pass
    marks = {ids.fingerprint(f"{where}\0{what}"): (where, what) for where, what in faults}
    fresh = [mark for mark in marks if mark not in told]
    if fresh:
        try:
            files.write_whole(place, json_text.dumps([*told, *fresh][-_MOST:]).encode())
        except OSError:  # where nothing can be kept, nothing is told: it would be every time
            return []
    return [marks[mark] for mark in fresh]
