"""Reads the words of a call by the parameters of its command. Hot path: Typer is not imported here.

The commands are declared with Typer, which prints their help. It does not read the calls, so that the same rules and
messages hold for all commands. For the hot commands, which agents run several times a turn, the parameters are in
`cli/hot_table.py`, which `make docs` generates from the declarations. For all others, `cli/declarations.py` reads them
from the declaration.
"""

from __future__ import annotations

from cli.output import is_terminal
from core import TYPE_CHECKING
from core.errors import Failure, either, usage, wrong_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from cli.output import Answer

HELP_FLAGS = ("--help", "-h")
_TRUTHS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
_JSON_FLAGS = ("--json", "--toon")  # the mirrored CLI takes --toon too, and prints JSON
_IGNORED_OPTIONS = {
    "recall": ("--adapter",), "otel": ("--adapter",),
    "sessions": ("--source", "--machine", "--ssh-target", "--max-files"),
}  # fmt: skip
"""Options of the mirrored CLI that have no effect here, by the first word of the commands: each takes a value."""
_IGNORED = "ignored"  # the name of the values of these options
_NEVER_EMPTY = ("memory forget", "memory purge", "memory list", "memory import", "session list", "knowledge sync",
                "backup", "restore", "exclude", "off", "on", "project", "store ")  # fmt: skip
"""Commands that refuse an empty value: without the condition, a purge would delete more.

Others take it as none, as the mirrored CLI does: scripts pass variables that may be empty.
"""


class Parameter:
    """One parameter of a command, as declared with Typer.

    `kind` is `text`, `whole` or `number` (from `low` to `high`), `truth` (an option with the value true or false),
    `named` (`--NAME VALUE` also means `--FIRST-FLAG NAME=VALUE`) or `flag` (an option without a value; `off` are the
    flags that mean no). An argument has no `flags`. `many`: it may be repeated, and the command gets a list. `choices`
    are the only values allowed. `completions` returns values from the store.
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

    def __init__(self, name: str = "", **declared: Any) -> None:
        self.__dict__.update(declared)
        if self.kind == "flag":
            self.default = declared.get("default", False)
        self.name = name or self.flags[0].lstrip("-").replace("-", "_")

    @property
    def shown(self) -> str:
        """The name in messages and listings: the first flag, or what the help calls the argument."""
        return self.flags[0] if self.flags else self.metavar

    def convert(self, text: str, code: str) -> Any:
        """The value of a word; raises a Failure with this code if the parameter does not take it."""
        value, expected = self._value(text)
        if value is None:
            raise wrong_value(self.shown, text, expected, code)
        return value

    def _value(self, text: str) -> tuple[str | bool | float | None, str]:
        if self.choices:
            return text if text in self.choices else None, either(self.choices)
        if self.kind == "truth":
            return _TRUTHS.get(text.lower()), "true or false"
        if self.kind not in ("whole", "number"):
            return text, ""
        most = 10**15  # every program that reads JSON can hold it
        low, high = (-most if self.low is None else self.low), (most if self.high is None else self.high)
        try:
            value: float = int(text) if self.kind == "whole" else float(text)
        except ValueError:
            value = float("nan")
        noun = "a whole number" if self.kind == "whole" else "a number"
        return value if low <= value <= high else None, f"{noun} from {low:.15g} to {high:.16g}"


class Command:
    """A command that can be called: its path (`memory write`), the function to call, and its parameters.

    `code` is the error code of wrong usage.
    """

    def __init__(
        self, path: str, function: Callable[..., Any] | str, parameters: Sequence[Parameter], code: str, *,
        help: str = ""
    ) -> None:  # fmt: skip
        self.path = path
        self.help = help
        self.function = function
        self.parameters = parameters
        self.code = code

    def arguments(self) -> list[Parameter]:
        """The parameters that are no options."""
        return [parameter for parameter in self.parameters if not parameter.flags]

    def defaults(self) -> dict[str, Any]:
        """The options of a call without words."""
        return {parameter.name: [] if parameter.many else parameter.default for parameter in self.parameters}

    def call(self, options: Mapping[str, Any]) -> Answer | int | None:
        """Call the function with these options, and the defaults of the others.

        It is given as `module:function` if it has yet to be loaded.
        """
        function: Any = self.function
        if isinstance(function, str):
            module, _, name = function.partition(":")
            function = getattr(__import__(module, fromlist=[name]), name)
        try:
            result: Answer | int | None = function(**{**self.defaults(), **options})
        except Failure as failure:
            if failure.code == "USAGE":
                failure.code = self.code
            raise
        return result


def hot_command(words: Sequence[str]) -> Command | None:
    """The hot command that the first words call, or None."""
    from cli import hot_table

    hot: dict[str, Any] = hot_table.COMMANDS
    for path in (words[0], " ".join(words[:2])):
        if path in hot:
            function, code, parameters = hot[path]
            read = [
                Parameter(**declared, flags=tuple(names.split()) if names[0] == "-" else (), metavar=names)
                for names, declared in parameters.items()
            ]
            return Command(path, function, read, code)
    return None


def parse(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The options of a call, or None if it asks for the help. Raises a Failure with the command's code."""
    options = command.defaults()
    texts = _parse_options(command, list(words), options)
    if texts is None:
        return None
    for parameter in command.arguments():
        taken = texts if parameter.many else texts[:1]
        texts = texts[len(taken) :]
        for word in taken:
            _set(options, parameter, word, command)
    for parameter in command.parameters:
        if parameter.required and options[parameter.name] in (None, "", []):
            raise _wrong(command, f"{parameter.shown} is missing")
    if texts:
        raise _wrong(command, f"too many words, or a text without quotes: {' '.join(texts)}")
    if options.get("verbatim") and is_terminal():
        about = "--verbatim prints stored text unchanged, which could control the terminal"
        raise usage(command.code, about, "write to a file or a pipe, or leave out --verbatim")
    return options


def _parse_options(command: Command, words: list[str], options: dict[str, Any]) -> list[str] | None:
    """Put the values of options into `options`; returns the other words, or None if there is a flag for the help."""
    by_flag = {flag: parameter for parameter in command.parameters for flag in (*parameter.flags, *parameter.off)}
    by_flag |= {flag: Parameter(_IGNORED) for flag in _IGNORED_OPTIONS.get(command.path.partition(" ")[0], ())}
    texts: list[str] = []
    switches: dict[str, str] = {}  # a parameter's flag that was given
    while words:
        word = words.pop(0)
        if word == "--":
            texts += words
            break
        if is_text(word):
            texts.append(word)
            continue
        if word in HELP_FLAGS:
            return None
        flag, _, value = word.partition("=") if word.startswith("--") else (word[:2], "", word[2:])
        parameter = by_flag.get(flag)
        if parameter is None:
            raise _unknown_option(command, flag)
        if parameter.kind == "flag":
            if word != flag:
                raise _wrong(command, f"{flag} takes no value")
            options[parameter.name] = _switched(switches, parameter, flag, command)
            continue
        if word == flag and parameter.kind == "truth" and (not words or words[0][:1] == "-"):
            value = "true"  # `--success` without a value
        elif word == flag and not words:
            raise _wrong(command, f"{flag} needs a value")
        elif word == flag:
            value = words.pop(0)
        if parameter.kind == "named" and flag != parameter.flags[0]:
            value = f"{flag[2:]}={value}"
        _set(options, parameter, value, command)
    options.pop(_IGNORED, None)
    return texts


def _switched(switches: dict[str, str], parameter: Parameter, flag: str, command: Command) -> bool:
    """Whether a flag switches on or off; raises a Failure after its opposite: `--dry-run --yes` must not delete."""
    before = switches.setdefault(parameter.name, flag)
    if (before in parameter.off) != (flag in parameter.off):
        raise _wrong(command, f"{flag} contradicts {before}")
    return flag not in parameter.off


def _wrong(command: Command, message: str) -> Failure:
    return usage(command.code, message[:2_000], f"see what it takes: joelclaw {command.path} --help")


def _unknown_option(command: Command, flag: str) -> Failure:
    from difflib import get_close_matches

    flags = [flag for parameter in command.parameters for flag in (*parameter.flags, *parameter.off)]
    near = get_close_matches(flag, flags, 1, 0.7) if len(flag) > 2 else []
    return _wrong(command, f"there is no option {flag}" + "".join(f"; did you mean {name}?" for name in near))


def _set(options: dict[str, Any], parameter: Parameter, text: str, command: Command) -> None:
    is_query = not parameter.flags and parameter.metavar in ("QUERY", "TEXT")
    if not text.strip() and not is_query and command.path.startswith(_NEVER_EMPTY):
        raise _wrong(command, f"{parameter.shown} is empty")
    value = parameter.convert(text, command.code)
    options[parameter.name] = [*options[parameter.name], value] if parameter.many else value


def is_text(word: str) -> bool:
    """Whether a word is text and no option. Text that begins with a dash contains a space (`- a bullet`)."""
    is_long = word[:2] == "--" and word[:3] != "---"
    return not word.startswith("-") or word == "-" or (not is_long and len(word.split(None, 1)) > 1)


# The words before they are parsed


def valid_text(word: str) -> str:
    """A word of the command line as text: bytes that are not UTF-8 become U+FFFD."""
    if word.isascii():
        return word
    from core.words import clean

    return clean(word)


def take_json_flag(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words without `--json` and `--toon`, which may come anywhere before `--`, and whether any was given."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word not in _JSON_FLAGS]
    return [*kept, *words[end:]], len(kept) < end


def asks_for_text(words: Sequence[str], command: Command | None = None) -> bool:
    """Whether a flag asks for plain text on stdout, where an error must not be printed: a script would pass it on."""
    names = [name for name in ("raw", "verbatim") if command is None or name in command.defaults()]
    given = [word.partition("=")[0] for word in words]
    return any(f"--{name}" in given[: [*given, "--"].index("--")] for name in names)


def canonical(words: list[str]) -> list[str]:
    """The call in its present form: older and mirrored names are replaced."""
    first, second = (*words[:2], "", "")[:2]
    if first == "session" and second in ("search", "extract"):
        words = ["sessions", *words[1:]]
    elif (first, second) == ("recall", "show") and "".join(words[3:4])[:1] in "-":  # more words are a query
        words = words[1:]
    elif (first, second) == ("memory", "forget") and "--purge" in words:
        words = ["memory", "purge", *(word for word in words[2:] if word != "--purge")]
    elif first in ("install", "uninstall") and "--all" in words:
        words = [word if word != "--all" else "all" for word in words]
    return words
