"""What somebody gave, as the value of a setting. Loaded only where something was given."""

from __future__ import annotations

from core import TYPE_CHECKING
from core.config import ENVIRONMENT
from core.errors import Failure

if TYPE_CHECKING:
    from core.config import Setting, Value

_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
"""How the environment, which holds only text, spells a boolean."""


def checked(name: str, setting: Setting, given: Value | None, where: str) -> Value:
    """A value as its setting's type; None stands for anything but a single value."""
    kind = type(setting.default)
    if kind is str:
        if isinstance(given, str) and (not setting.choices or given in setting.choices):
            return given
    elif kind is bool:
        truth = _WORDS.get(given.strip().lower()) if isinstance(given, str) and where == ENVIRONMENT else given
        if isinstance(truth, bool):
            return truth
    elif given is not None and not isinstance(given, bool):
        try:
            number = float(given)
            if setting.low <= number <= setting.high and (kind is float or number == int(number)):
                return int(number) if kind is int else number
        except (ValueError, OverflowError):
            pass
    found = "a list, a table, a date or a number that is too long" if given is None else repr(given)
    message = f"{where}: {name} is {found}, which is not {_wanted(setting)}"
    raise Failure("CONFIG_INVALID", message, f"set {name} to {_wanted(setting)}")


def _wanted(setting: Setting) -> str:
    """The permitted values of a setting, in words."""
    if setting.choices:
        return "one of " + ", ".join(setting.choices)
    if isinstance(setting.default, bool):
        return "true or false"
    if isinstance(setting.default, str):
        return "text"
    kind = "a whole number" if isinstance(setting.default, int) else "a number"
    return f"{kind} from {setting.low:.12g} to {setting.high:.12g}"
