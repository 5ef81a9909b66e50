"""What is wrong with settings and a project's files, each told once: an event, and `status` while it lasts. Hot path.

A file that was left out, and names that no setting has, with the one that was meant. The latter stop nothing: a newer
version may know them.
"""

from __future__ import annotations

import os

from core import config, files, ids, json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Event

    Places = Sequence[tuple[str, str]]
    """Where something is wrong, and what."""

DROPPED, UNKNOWN = "project.file_dropped", "config.key_unknown"
_MOST_TOLD = 200
_MOST_UNKNOWN = 20
"""Of one look: a file may hold thousands."""
_NAME_CHARS, _PATH_CHARS = 80, 300
_ALIKE = 0.75
_PREFIX = "JOELCLAW_"


def events(dropped: Places, unknown: Places, now: int) -> list[Event]:
    """The events of what was not told yet; it counts as told then.

    Args:
        dropped: path and reason of each file that was left out, as `Config.dropped` has them.
        unknown: where each name stands, and the name, as `Config.unknown` has them.
        now: ms since the epoch.
    """
    left_out = _untold(dropped, "dropped-files.json")
    named = _untold(unknown[:_MOST_UNKNOWN], "unknown-settings.json")
    if not left_out and not named:
        return []
    from otel.event import new_event

    made = []
    for path, reason in left_out:
        path = path[-_PATH_CHARS:]
        about = {"path": path, "reason": reason}
        error = f"{path} {reason}"
        made.append(
            new_event(DROPPED, component="project", level="warn", success=False, error=error, metadata=about, now=now)
        )
    for where, name in named:
        about = {"path": where[-_PATH_CHARS:], "key": name[:_NAME_CHARS], "meant": meant(name)}
        about["message"] = sentence(where, name)
        made.append(new_event(UNKNOWN, component="config", level="warn", metadata=about, now=now))
    return made


def line(event: Event) -> str:
    """What such an event says, for who runs a command by hand."""
    return f"left out: {event.get('error')}" if event["action"] == DROPPED else str(event["metadata"]["message"])


def sentence(where: str, name: str) -> str:
    """What is told of one: `FILE: recall.min_scor: unknown; did you mean recall.min_score`."""
    likely = meant(name)
    return f"{where[-_PATH_CHARS:]}: {name[:_NAME_CHARS]}: unknown{'; did you mean ' + likely if likely else ''}"


def meant(name: str) -> str:
    """The setting that a name resembles most, spelled as it would have to be there; "" where it resembles none."""
    from difflib import get_close_matches

    known = [config.variable(one) for one in config.SETTINGS] if name.startswith(_PREFIX) else list(config.SETTINGS)
    plain = {_plain(one): one for one in known}
    key = _plain(name)
    if key not in plain:  # `min_score` alone means `recall.min_score`
        ends = [one for one in plain if one.rpartition(".")[2] == key.rpartition(".")[2]]
        close = get_close_matches(key, plain, 1, _ALIKE) or (ends if len(ends) == 1 else [])
        key = close[0] if close else ""
    return plain.get(key, "")


def _plain(name: str) -> str:
    """Without what tells the spellings apart: `reserveTokens`, `reserve-tokens`, `reserve_tokens`."""
    return name[:_NAME_CHARS].removeprefix(_PREFIX).lower().replace("_", "").replace("-", "")


def _untold(faults: Places, file: str) -> list[tuple[str, str]]:
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
            files.write_whole(place, json_text.dumps([*told, *fresh][-_MOST_TOLD:]).encode())
        except OSError:  # where nothing can be kept, nothing is told: it would be every time
            return []
    return [marks[mark] for mark in fresh]
