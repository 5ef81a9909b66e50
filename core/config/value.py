"""What one setting is, and whether a value is one of its own. Hot path."""

from __future__ import annotations

from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    Value = str | int | float | bool

ENVIRONMENT = "the environment"
_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")


class Setting:
    """One setting: its type is that of `default`; numbers are held to `low`..`high`."""

    __slots__ = ("choices", "default", "high", "low", "trusted", "what")

    def __init__(
        self,
        default: Value,
        what: str,
        low: float = 0,
        high: float = 1e12,
        choices: tuple[str, ...] = (),
        trusted: bool = False,
    ) -> None:
        self.default = default
        self.what = what
        self.low = low
        self.high = high
        self.choices = choices
        self.trusted = trusted


def checked(name: str, setting: Setting, given: Value | None, where: str) -> Value:
    """A value as its setting has it.

    Args:
        name: as it was spelled.
        given: None for what is no single value.
        where: the file, or `ENVIRONMENT`.

    Raises:
        Failure: CONFIG_INVALID; it names what is wanted.
    """
    kind = type(setting.default)
    wrong = Failure("CONFIG_INVALID", "", "")
    try:
        if given is None:
            raise ValueError
        if kind is str:
            if not isinstance(given, str) or (setting.choices and given not in setting.choices):
                raise ValueError
            return given
        if kind is bool:
            return _truth(given, where)
        if isinstance(given, bool):
            raise ValueError
        number = float(given)
        if not setting.low <= number <= setting.high or (kind is int and number != int(number)):
            raise ValueError
        return int(number) if kind is int else number
    except (ValueError, OverflowError):
        wanted = (
            "one of " + ", ".join(setting.choices)
            if setting.choices
            else "text"
            if kind is str
            else "true or false"
            if kind is bool
            else f"{'a whole number' if kind is int else 'a number'} from {setting.low:.12g} to {setting.high:.12g}"
        )
        found = "a list, a table, a date or too long a number" if given is None else repr(given)
        wrong.message = f"{where}: {name} is {found}, which is not {wanted}"
        wrong.fix = f"set {name} to {wanted}"
        raise wrong from None


def _truth(given: Value, where: str) -> bool:
    """A boolean of TOML, or a word of the environment, which holds text only.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(given, bool):
        return given
    word = given.strip().lower() if isinstance(given, str) and where == ENVIRONMENT else ""
    if word not in _TRUE + _FALSE:
        raise ValueError
    return word in _TRUE
