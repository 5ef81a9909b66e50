"""Where `joelclaw` starts: a hook at once, what the declarations know, and Typer for everything else."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_JSON = ("--json", "--toon")
"""Both ask for the envelope: the mirrored CLI takes `--toon` too, and prints JSON."""


def main() -> int:
    """Run the command in `sys.argv`; returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    words, json_asked = take_json_flag([plain(word) for word in sys.argv[1:]])
    if words[:1] == ["hook"] and sys.stdin.isatty() and (len(words) == 1 or sys.stdout.isatty()):  # typed by a person
        words = ["hook", "--help"]
    if words[1:] and words[0] in ("--help", "-h", "help"):
        words = [*words[1:], "--help"]
    if words[:1] == ["hook"] and not {"--help", "-h"} & set(words):
        return _hook(words[1:])
    from cli import commands
    from cli.stdout import StdoutFullError, is_terminal

    as_json = json_asked or not is_terminal()
    words = commands.real(words)
    command = commands.called(words)
    if command is not None:
        from cli import execution

        options = execution.parse(command, words[len(command.path.split()) :])
        if options is not None:
            return execution.run(command, options, as_json=as_json)
    try:
        return _not_read(words, as_json=as_json)
    except StdoutFullError as error:
        from cli import complaints

        return complaints.unprinted(command.path if command is not None else "", error)


def _hook(words: Sequence[str]) -> int:
    """An agent is never told of wrong usage: a later version's flag, or a word too many."""
    from cli.session import hook
    from core import files

    agent, event, *_ = *(word for word in words if not word.startswith("-")), None, None
    code = hook.run({"agent": agent, "event": event})
    corrected = files.take_corrected()
    if corrected:
        from cli import complaints

        complaints.tell_corrected(corrected, quiet=True)
    return code


def _not_read(words: list[str], *, as_json: bool) -> int:
    """What needs more than the declarations: our own background jobs, the versions, and all that Typer explains."""
    helped = {*words} & {"--help", "-h"} and {*words} <= {"--help", "-h", "--all"}
    if words[:1] == ["--version"] or helped or not (words or as_json):
        from cli import reference
        from cli.stdout import write_out

        write_out(reference.versions() if "--version" in words else reference.first_page(whole="--all" in words))
        return 0
    if words[:1] == ["background"]:
        from cli.session import background

        if background.is_job(words[1:]):
            from cli import execution
            from cli.parameter import Command

            job = Command(f"background {words[1]}", "cli.session.background:run", "")
            return execution.run(job, {"words": words[1:]}, as_json=as_json)
    from cli.app import run_app  # Typer: 200 ms

    return run_app(words, as_json=as_json)


def plain(word: str) -> str:
    """A word of argv as text: bytes that are not UTF-8 become U+FFFD."""
    if word.isascii():
        return word
    from core.words import clean

    return clean(word)


def take_json_flag(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words without `--json` and `--toon`, which may stand anywhere before `--`, and whether one was there."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word not in _JSON]
    return [*kept, *words[end:]], len(kept) < end
