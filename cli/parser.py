"""Reads the words of a call by the parameters of its command. Hot path: Typer is not imported here.

For the hot commands, which agents run several times a turn, the parameters are in `cli/hot_table.py`, which `make docs`
generates from the Typer declarations. For all others, `cli/declarations.py` reads them from the declaration: Typer 0.29
would load pydantic to convert values, which takes as long as ten bare starts of Python. Typer explains what this parser
does not understand.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.errors import usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from cli.output import Answer

_TRUE_WORDS = ("true", "1", "yes", "on")
_FALSE_WORDS = ("false", "0", "no", "off")


class Parameter:
    """One parameter of a command, as declared with Typer.

    `kind` is `text`, `whole` or `number` (from `low` to `high`), `truth` (an option with the value true or false) or
    `flag` (an option without a value; `off` are the flags that mean no). An argument has no `flags`. `many`: it may be
    repeated, and the command gets a list. `choices` are the only values allowed. `completions` returns
    values from the store.
    """

    kind = "text"
    default: Any = None
    flags: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    many = False
    required = False
    metavar = ""
    help = ""
    completions: Callable[[], list[str]] | None = None

    def __init__(self, name: str, **declared: Any) -> None:
        self.name = name
        self.__dict__.update(declared)

    def convert(self, text: str, code: str) -> Any:
        """The value of a word; raises a Failure with `code` if the parameter does not take it."""
        value, expected = self._value(text)
        if value is None:
            shown = text if len(text) <= 60 else text[:57] + "..."
            name = self.flags[0] if self.flags else self.metavar
            raise usage(code, f"{name} is {shown!r}, which is not {expected}", f"give {name} {expected}")
        return value

    def _value(self, text: str) -> tuple[str | bool | float | None, str]:
        if self.choices:
            return text if text in self.choices else None, "one of " + ", ".join(self.choices)
        if self.kind == "truth":
            word = text.lower()
            return word in _TRUE_WORDS if word in _TRUE_WORDS + _FALSE_WORDS else None, "true or false"
        if self.kind not in ("whole", "number"):
            return text, ""
        expected = "a whole number" if self.kind == "whole" else "a number"
        if self.low is not None:
            expected += f" from {self.low:.15g} to {self.high:.15g}" if self.high is not None else (
                f" of at least {self.low:.15g}")  # fmt: skip
        digits = text[1:] if text[:1] in "+-" else text
        if not text.isascii() or "_" in text or (self.kind == "whole" and not (digits.isdigit() and len(digits) < 19)):
            return None, expected
        try:
            value: float = int(text) if self.kind == "whole" else float(text)
        except ValueError:
            return None, expected
        is_in_range = (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        return value if value - value == 0 and is_in_range else None, expected  # neither NaN nor infinite


class Command:
    """A command that can be called: its path (`memory write`), the function to call, and its parameters.

    `code` is the error code of wrong usage. With `options_last`, words after the first argument belong to the text even
    if they look like short options (`how git add -p`).
    """

    __slots__ = ("code", "function", "help", "options_last", "parameters", "path")

    def __init__(
        self, path: str, function: Callable[..., Any] | str, parameters: Sequence[Parameter], code: str, *,
        help: str = "", options_last: bool = False
    ) -> None:  # fmt: skip
        self.path = path
        self.help = help
        self.function = function
        self.parameters = parameters
        self.code = code
        self.options_last = options_last

    def call(self, options: Mapping[str, Any]) -> Answer | int | None:
        """Call the function, which is given as `module:function` if it has yet to be loaded."""
        function = self.function
        if isinstance(function, str):
            module, _, name = function.partition(":")
            function = getattr(__import__(module, fromlist=[name]), name)
            result: Answer | int | None = function(options)
        else:
            result = function(**options)
        return result


def hot_command(words: Sequence[str]) -> Command | None:
    """The hot command that the first words call, or None."""
    from cli import hot_table

    for path in (words[0], " ".join(words[:2])):
        row = hot_table.COMMANDS.get(path)
        if row is not None:
            function, code, parameters = row
            return Command(path, function, [Parameter(**declared) for declared in parameters], code)
    return None


def parse(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The options of a call, or None if only Typer can read it or explain the error in it.

    Raises a Failure with the command's code if a value is wrong.
    """
    if "--help" in words or "-h" in words:
        return None
    options = {one.name: [] if one.many else one.default for one in command.parameters}
    texts = _parse_flags(command, list(words), options)
    if texts is None:
        return None
    for parameter in command.parameters:
        if parameter.flags:
            continue
        taken = texts if parameter.many else texts[:1]
        texts = texts[len(taken) :]
        if parameter.required and not taken:
            return None
        for word in taken:
            _set(options, parameter, parameter.convert(word, command.code))
    return None if texts else options


def _parse_flags(command: Command, words: list[str], options: dict[str, Any]) -> list[str] | None:
    """Put the values of options into `options`; returns the other words, or None for an unknown option."""
    by_flag = {flag: parameter for parameter in command.parameters for flag in (*parameter.flags, *parameter.off)}
    own = {*by_flag} if command.options_last else None
    texts: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            return texts + words
        if is_text(word, texts, own):
            texts.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = by_flag.get(name)
        if parameter is None or (parameter.kind == "flag" and equals):
            return None
        if parameter.kind == "flag":
            _set_flag(options, parameter, name, command.code)
            continue
        if not equals:
            if parameter.kind == "truth" and (not words or words[0][:1] == "-"):
                value = "true"  # `--success` alone
            elif words:
                value = words.pop(0)
            else:
                return None
        _set(options, parameter, parameter.convert(value, command.code))
    return texts


def _set_flag(options: dict[str, Any], parameter: Parameter, flag: str, code: str) -> None:
    value = flag not in parameter.off
    if options[parameter.name] not in (parameter.default, value):
        pair = f"{parameter.flags[0]} and {parameter.off[0]}"
        raise usage(code, f"{pair} cannot be used together", "give one of them")
    options[parameter.name] = value


def _set(options: dict[str, Any], parameter: Parameter, value: Any) -> None:
    options[parameter.name] = [*options[parameter.name], value] if parameter.many else value


def is_text(word: str, texts: Sequence[str], own: set[str] | None = None) -> bool:
    """Whether a word is text and not an option, given the texts before it.

    Text that begins with a dash contains a space (`- a bullet`). If `own` is given, the text is a shell command whose
    options are text too (`how git add -p`), except the long options in `own`.
    """
    is_long = word[:2] == "--" and word[:3] != "---"
    if not word.startswith("-") or word == "-" or (not is_long and len(word.split(None, 1)) > 1):
        return True
    if own is None or len(" ".join(texts[:1]).split()) != 1:
        return False
    return word.partition("=")[0] not in {flag for flag in own if flag[:2] == "--"} | {"--help", "-h"}
