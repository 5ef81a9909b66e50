"""Settings that do not exist, in config.toml or the environment: described, and reported once as an event."""

import os
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches

from core import files, ids, json_text
from core.config import SETTINGS, variable
from core.records import Event
from otel.event import new_event

PREFIX = "JOELCLAW_"
MAX_NAME_CHARS = 80
MAX_PATH_CHARS = 300


def new_events(unknown: Sequence[tuple[str, str]], now: int) -> list[Event]:
    """An event for each unknown setting that was not reported before: its place and its name. `now` is in ms."""
    events = []
    for place, name in _unreported(unknown[:20]):  # a file may hold thousands
        about = {"path": place[-MAX_PATH_CHARS:], "key": name[:MAX_NAME_CHARS], "meant": closest_setting(name)}
        about["message"] = describe(place, name)
        events.append(new_event("config.key_unknown", component="config", level="warn", metadata=about, now=now))
    return events


def describe(place: str, name: str) -> str:
    """A line about an unknown setting: `FILE: recall.min_scor: unknown; did you mean recall.min_score`."""
    closest = closest_setting(name)
    hint = f"; did you mean {closest}" if closest else ""
    return f"{place[-MAX_PATH_CHARS:]}: {name[:MAX_NAME_CHARS]}: unknown{hint}"


def closest_setting(name: str) -> str:
    """The setting that was probably meant, "" if none is similar. `min_score` means `recall.min_score`."""
    names = [variable(setting) for setting in SETTINGS] if name.startswith(PREFIX) else list(SETTINGS)
    by_key = {_key(known): known for known in names}
    key = _key(name)
    if key not in by_key:
        endings = [known for known in by_key if known.rpartition(".")[2] == key.rpartition(".")[2]]
        close = get_close_matches(key, by_key, 1, 0.75) or (endings if len(endings) == 1 else [])
        key = close[0] if close else ""
    return by_key.get(key, "")


def _key(name: str) -> str:
    """The name without differences in spelling: `reserveTokens`, `reserve-tokens` and `reserve_tokens` are the same."""
    return name[:MAX_NAME_CHARS].removeprefix(PREFIX).lower().replace("_", "").replace("-", "")


def _unreported(unknown: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The settings that are not in a list of reported ones in the cache; adds them to the list."""
    path = os.path.join(files.home(), "cache", "unknown-settings.json")
    reported: list[str] = []
    with suppress(OSError, json_text.InvalidJSON, TypeError), open(path, "rb") as handle:
        reported = [str(mark) for mark in json_text.loads(handle.read())]
    by_mark = {ids.fingerprint(f"{place}\0{name}"): (place, name) for place, name in unknown}
    new = [mark for mark in by_mark if mark not in reported]
    with suppress(OSError):
        if new:
            files.write_whole(path, json_text.dumps([*reported, *new][-200:]).encode())
        return [by_mark[mark] for mark in new]
    return []  # the list cannot be written, so each command would report them again
