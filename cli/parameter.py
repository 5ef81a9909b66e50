"""Declares commands and parameters: both front ends, the help, the docs and the completions are made from them."""

from __future__ import annotations

import os

from core.errors import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    Kind = Literal["text", "whole", "number", "flag", "truth"]

_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")


class Parameter:
    """One parameter: `flags` as `("--limit", "-n")`, or none for a positional word, which may be `required`.

    `kind`: `text`, `whole` and `number` (from `low` to `high`) take a value, `truth` true or false, `flag` none.
    `many`: it may be repeated, and the command gets a list. `choices` are the only values allowed, or what tells them
    where loading them is to wait. `file`: the value is a path, for completions. `takes_flags`: behind its first word
    flags belong to it, but for the command's own by their long names.
    """

    def __init__(
        self, name: str, flags: tuple[str, ...] = (), help: str = "", kind: Kind = "text", default: Any = None, *,
        many: bool = False, required: bool = False, choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = (),
        low: float | None = None, high: float | None = None, metavar: str = "", file: bool = False,
        takes_flags: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.flags, self.help, self.kind, self.default = name, flags, help, kind, default
        self.many, self.required, self._choices, self.low, self.high = many, required, choices, low, high
        self.metavar, self.file, self.takes_flags = metavar or name.upper(), file, takes_flags

    @property
    def is_query(self) -> bool:
        """Whether all words that are left are its text: a query needs no quotes."""
        return not self.flags and self.metavar == "QUERY"

    @property
    def choices(self) -> tuple[str, ...]:
        """The only values allowed; empty where any is."""
        return self._choices() if callable(self._choices) else self._choices

    def convert(self, text: str, code: str) -> Any:
        """The value that a word on the command line stands for."""
        value, wanted = self._value(text)
        if value is None:
            shown = text if len(text) <= 60 else text[:57] + "..."
            name = self.flags[0] if self.flags else self.metavar
            raise usage(code, f"{name} is {shown!r}, which is not {wanted}", f"give {name} {wanted}")
        return value

    def _value(self, text: str) -> tuple[str | bool | float | None, str]:
        if self.choices:
            return text if text in self.choices else None, "one of " + ", ".join(self.choices)
        if self.kind == "truth":
            word = text.lower()
            return word in _TRUE if word in _TRUE + _FALSE else None, "true or false"
        if self.kind not in ("whole", "number"):
            return text, ""
        wanted, low, high = "a whole number" if self.kind == "whole" else "a number", self.low, self.high
        if low is not None:
            wanted += f" from {low:.15g} to {high:.15g}" if high is not None else f" of at least {low:.15g}"
        digits = text[1:] if text[:1] in "+-" else text
        if not text.isascii() or "_" in text or (self.kind == "whole" and not (digits.isdigit() and len(digits) < 19)):
            return None, wanted
        try:
            value: float = int(text) if self.kind == "whole" else float(text)
        except ValueError:
            return None, wanted
        is_in_range = (low is None or value >= low) and (high is None or value <= high)
        return value if value - value == 0 and is_in_range else None, wanted  # no NaN, no infinities


class Command:
    """One command; `run` and `view` (on a terminal; else JSON) are `module:function`.

    `code` is of wrong usage: by default that of its first word, `OTEL_INVALID_ARGS`.
    """

    def __init__(
        self, path: str, run: str, help: str, *parameters: Parameter, code: str = "", view: str = "cli.terminal:told"
    ) -> None:
        self.path, self.run, self.help, self.parameters = path, run, help, parameters
        self.code, self.view = code or f"{path.partition(' ')[0].upper()}_INVALID_ARGS", view

    def defaults(self) -> dict[str, Any]:
        """The options of a call without words."""
        return {p.name: ([] if p.many else False if p.kind == "flag" else p.default) for p in self.parameters}


# What several commands take.
COLLECTIONS = "only observations, episodes or knowledge (comma-separated)"
COLLECTIONS_AND_CALLS = "only observations, episodes, knowledge or calls (comma-separated)"
SESSION = Parameter("session", ("--session",), "session id", metavar="ID")
HITS = Parameter("limit", ("--limit", "-n"), "most hits (default: recall.limit)", kind="whole", low=1, high=100)
RAW = Parameter("raw", ("--raw",), "only the text, no JSON", kind="flag")
VERBATIM = Parameter(
    "verbatim", ("--verbatim",), "only the text, exactly as stored; refused on a terminal", kind="flag"
)
TOKENS = Parameter("tokens", ("--tokens",), "context usage in tokens; needs --window", kind="whole", low=0, metavar="N")
WINDOW = Parameter("window", ("--window",), "the model's context window in tokens", kind="whole", low=1, metavar="W")
HOURS = Parameter("hours", ("--hours",), "how far back, in hours", kind="number", default=24, low=0, high=876_000)

ADAPTER = Parameter("adapter", ("--adapter",), "ignored: there is one adapter", default="", metavar="NAME")

ENVIRONMENT = ("JOELCLAW_SESSION_ID", "SLOG_SESSION_ID", "PI_SESSION_HANDLE")
"""Variables that name the session, the first that is set."""
OF_CLIENTS = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
"""Those in which a client names it (`Client.session_variable`), here so that a recall loads no client."""


def session_named() -> str:
    """The session that our own variables name; "" where none does."""
    named = (os.environ.get(name, "").strip() for name in ENVIRONMENT)
    return next((value for value in named if value), "")


def session_around() -> str:
    """The session that our own variables name, else the one whose client runs this command; "" where none is known."""
    told = [os.environ.get(name, "").strip() for name in OF_CLIENTS]
    around = [session for session in told if session]
    return session_named() or (around[0] if len(around) == 1 else "")


def session_of(given: str | None, code: str) -> str:
    """The session that is written to: the one given, else the one that our own variables name."""
    from session.state import stored_id

    name = (given or "").strip() or session_named()
    if not name:
        raise usage(code, "no session was given", "give --session ID, or set JOELCLAW_SESSION_ID")
    return stored_id(name)
