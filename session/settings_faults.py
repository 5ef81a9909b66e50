"""Faults of the settings and the store that are reported once: as an event, and by `status` while they last."""

import os
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches

from core import files, ids, json_text
from core.config import SETTINGS, variable
from core.records import Event
from otel.event import new_event

Places = Sequence[tuple[str, str]]
"""Where something is wrong, and what."""
UNKNOWN = "config.key_unknown"
_MOST_TOLD = 200
_MOST_UNKNOWN = 20
"""Of one look: a file may hold thousands."""
_NAME_CHARS, _PATH_CHARS = 80, 300
_ALIKE = 0.75
_PREFIX = "JOELCLAW_"


def events(unknown: Places, now: int) -> list[Event]:
    """The events of the unknown settings that were not reported yet; from now on they count as reported."""
    made = []
    for where, name in _untold(unknown[:_MOST_UNKNOWN], "unknown-settings.json"):
        about = {"path": where[-_PATH_CHARS:], "key": name[:_NAME_CHARS], "meant": meant(name)}
        about["message"] = sentence(where, name)
        made.append(new_event(UNKNOWN, component="config", level="warn", metadata=about, now=now))
    return made


def sentence(where: str, name: str) -> str:
    """What is told of one: `FILE: recall.min_scor: unknown; did you mean recall.min_score`."""
    likely = meant(name)
    return f"{where[-_PATH_CHARS:]}: {name[:_NAME_CHARS]}: unknown{'; did you mean ' + likely if likely else ''}"


def meant(name: str) -> str:
    """The setting that a name resembles most, spelled as it would have to be there; "" where it resembles none."""
    known = [variable(one) for one in SETTINGS] if name.startswith(_PREFIX) else list(SETTINGS)
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


def _untold(faults: Places, name: str) -> list[tuple[str, str]]:
    """Those that are not among the last that were told, as a file of the cache folder keeps them; now they are."""
    place = os.path.join(files.home(), "cache", name)
    told: list[str] = []
    with suppress(OSError, json_text.InvalidJSON, TypeError), open(place, "rb") as handle:
        told = [str(one) for one in json_text.loads(handle.read())]
    marks = {ids.fingerprint(f"{where}\0{what}"): (where, what) for where, what in faults}
    fresh = [mark for mark in marks if mark not in told]
    with suppress(OSError):
        if fresh:
            files.write_whole(place, json_text.dumps([*told, *fresh][-_MOST_TOLD:]).encode())
        return [marks[mark] for mark in fresh]
    return []  # where nothing can be kept, nothing is told: it would be every time
