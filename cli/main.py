"""Finds the command in the command line: hot commands go to `cli/hot.py`, all others to `cli/app.py`."""

from __future__ import annotations

import sys

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_JSON_FLAGS = ("--json", "--toon")  # the mirrored CLI takes --toon too, and prints JSON
_HELP_FLAGS = ("--help", "-h")
_IGNORED_OPTIONS = {
    "recall": ("--adapter",), "otel": ("--adapter",),
    "sessions": ("--source", "--machine", "--ssh-target", "--max-files"),
}  # fmt: skip
"""Options of the mirrored CLI that have no effect here, by the first word of the commands: each takes a value."""
_NOTE_DETAILS = ("channel", "decision", "evidence", "loop-id", "project", "run-id", "skip-reason", "story-id", "tools",
                 "turn-id", "usefulness")  # fmt: skip
"""Options of the mirrored `knowledge note`, which here are `--detail NAME=VALUE`."""


def main() -> int:
    """Run the command in `sys.argv`; returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    words, json_asked = take_json_flag([valid_text(word) for word in sys.argv[1:]])
    if words[:1] == ["hook"] and sys.stdin.isatty() and (len(words) == 1 or sys.stdout.isatty()):  # typed by a person
        words = ["hook", "--help"]
    if words[1:] and words[0] in ("--help", "-h", "help"):
        words = [*words[1:], "--help"]
    from cli import hot, parser
    from cli.output import Answer, StdoutFullError, is_terminal

    if words[:1] == ["hook"] and not {"--help", "-h"} & {*words}:
        return hot.hook(words[1:])
    as_json = json_asked or not is_terminal()
    words = canonical(words)
    try:
        command = parser.hot_command(words) if words else None
        if command is not None and not _asks_help(words):

            def call() -> Answer | int | None:
                options = parser.parse(command, words[len(command.path.split()) :])
                if options is not None:
                    return command.call(options)
                from cli.app import run_with_typer  # slow: it prints the help, or explains the error

                return run_with_typer(words)

            return hot.run(command.path, call, as_json=as_json)
        return _run_other(words, as_json=as_json)
    except StdoutFullError as error:
        from cli import errors

        return errors.report_incomplete_output(words[0] if words else "", error)


def _asks_help(words: Sequence[str]) -> bool:
    return "--help" in words or "-h" in words


def _run_other(words: list[str], *, as_json: bool) -> int:
    """Run a command that is not hot, a background job, or print the first page of the help."""
    from cli import hot

    if words[:1] == ["--version"] or _is_first_page(words) or not (words or as_json):
        from cli import reference
        from cli.output import write_out

        write_out(reference.versions() if "--version" in words else reference.first_page(whole="--all" in words))
        return 0
    if hot.is_background_job(words):
        return hot.run("background", lambda: hot.background_job(words[1]), as_json=as_json)
    from cli.app import run_app

    return run_app(words, as_json=as_json)


def _is_first_page(words: Sequence[str]) -> bool:
    return bool({*words} & {*_HELP_FLAGS}) and {*words} <= {*_HELP_FLAGS, "--all"}


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


def canonical(words: list[str]) -> list[str]:
    """The call in its present form: older and mirrored names are replaced, and options without effect dropped."""
    first, second = (*words[:2], "", "")[:2]
    if first == "session" and second in ("search", "extract", "inspect"):
        words = ["sessions", *words[1:]]
    elif (first, second) == ("recall", "show") and len(words) > 2 and not words[2].isalpha():
        if "".join(words[3:4])[:1] in "-":  # `recall show 2`; any other words are a query
            words = words[1:]
    elif (first, second) == ("memory", "forget") and "--purge" in words:
        words = ["memory", "purge", *(word for word in words[2:] if word != "--purge")]
    elif first in ("install", "uninstall") and "--all" in words:
        words = [word if word != "--all" else "all" for word in words]
    elif (first, second) == ("knowledge", "note"):
        words = _details(words)
    ignored = _IGNORED_OPTIONS.get(words[0]) if words else None
    return _without(words, ignored) if ignored else words


def _without(words: Sequence[str], ignored: Sequence[str]) -> list[str]:
    """The words without these options and their values."""
    kept: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*kept, word, *rest]
        if word in ignored:
            rest[:1] = []
        elif word.partition("=")[0] not in ignored:
            kept.append(word)
    return kept


def _details(words: Sequence[str]) -> list[str]:
    """`knowledge note --decision TEXT` as `knowledge note --detail decision=TEXT`."""
    changed: list[str] = []
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name[:2] == "--" and name[2:] in _NOTE_DETAILS and (equals or rest):
            changed += ["--detail", f"{name[2:]}={value if equals else rest.pop(0)}"]
        else:
            changed.append(name + equals + value)
    return changed
