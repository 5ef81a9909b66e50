"""Names in settings that no setting has, each told once, with the one that was meant; `status` as long as they last.

They stop nothing: a newer version may know them. Hot path, but for what is told.
"""

from __future__ import annotations

from core import config
from session import dropped_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.interface import Event

ACTION = "config.key_unknown"
COMPONENT = "config"
_MOST = 20
"""Of one look: a file may hold thousands."""
_NAME_CHARS = 80
_PATH_CHARS = 300
_ALIKE = 0.75
_PREFIX = "JOELCLAW_"


def events(unknown: Sequence[tuple[str, str]], now: int) -> list[Event]:
    """The events of those that were not told yet; they count as told then.

    Args:
        unknown: where each stands, and its name, as `Config.unknown` has them.
        now: ms since the epoch.
    """
    fresh = dropped_files.untold(unknown[:_MOST], "unknown-settings.json")
    if not fresh:
        return []
    from otel.event import new_event

    return [
        new_event(
            ACTION,
            component=COMPONENT,
            level="warn",
            metadata={
                "path": where[-_PATH_CHARS:], "key": name[:_NAME_CHARS], "meant": meant(name),
                "message": sentence(where, name),
            },
            now=now,
        )
        for where, name in fresh
    ]  # fmt: skip


def sentence(where: str, name: str) -> str:
    """What is told of one: `FILE: recall.min_scor: unknown; did you mean recall.min_score`."""
    likely = meant(name)
    ending = f"; did you mean {likely}" if likely else ""
    return f"{where[-_PATH_CHARS:]}: {name[:_NAME_CHARS]}: unknown{ending}"


def meant(name: str) -> str:
    """The setting that a name resembles most, spelled as it would have to be there; "" where it resembles none."""
    if name.startswith(_PREFIX):
        variables = [config.variable(one).removeprefix(_PREFIX) for one in config.SETTINGS]
        found = _nearest(name.removeprefix(_PREFIX), variables)
        return _PREFIX + found if found else ""
    return _nearest(name, list(config.SETTINGS))


def _nearest(name: str, names: Sequence[str]) -> str:
    plain = {_plain(one): one for one in names}
    if _plain(name) in plain:
        return plain[_plain(name)]
    from difflib import get_close_matches

    close = get_close_matches(name[:_NAME_CHARS], names, 1, _ALIKE)
    if close:
        return str(close[0])
    key = _plain(name.rpartition(".")[2])
    same = [one for one in names if _plain(one.rpartition(".")[2]) == key]
    return same[0] if len(same) == 1 else ""


def _plain(name: str) -> str:
    """Without what tells the spellings apart: `reserveTokens`, `reserve-tokens`, `reserve_tokens`."""
    return name[:_NAME_CHARS].lower().replace("_", "").replace("-", "")
