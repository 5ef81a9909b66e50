"""Where `joelclaw` starts: the first front end, and Typer for everything that it does not know."""

from __future__ import annotations

import sys

from cli import commands, execution, front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_JSON = ("--json", "--toon")
"""Both ask for the envelope: the mirrored CLI takes `--toon` too, and prints JSON."""


def main() -> int:
    """Run the command in `sys.argv`; returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    words, json_asked = take_json_flag([plain(word) for word in sys.argv[1:]])
    as_json = json_asked or not execution.stdout_is_terminal()
    if words[:1] == ["background"] and len(words) > 1:
        return _background(words[1:], as_json=as_json)
    words = commands.real(words)
    found = front.find(words)
    if found is not None:
        command, rest = found
        options = front.parse(command, rest)
        if options is None and command.path == "hook" and not {"--help", "-h"} & set(rest):
            # A later version's flag, or a word too many: an agent is never told of wrong usage.
            loose = [word for word in rest if not word.startswith("-")]
            options = {**command.defaults(), **dict(zip(("agent", "event"), loose, strict=False))}
        if options is not None:
            return execution.run(command, options, as_json=as_json)
    from cli.unread_calls.answer import answer

    code = answer(words, as_json=as_json)
    if code is not None:
        return code
    from cli.app import run_app  # Typer: 200 ms

    return run_app(words, as_json=as_json)


def _background(words: Sequence[str], *, as_json: bool) -> int:
    from cli.session import background
    from core.errors import Failure

    try:
        result = background.run(words)
    except Failure as failure:
        return execution.report("joelclaw", failure, as_json=as_json)
    if result is None:
        from cli.app import run_app

        return run_app(["background", *words], as_json=as_json)
    from cli.answer import Answer, print_answer

    print_answer("joelclaw background " + words[0], Answer(result))
    return 0


def plain(word: str) -> str:
    """A word of argv as text: bytes that are not UTF-8 become U+FFFD."""
    from core.words import clean

    return clean(word)


def take_json_flag(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words without `--json` and `--toon`, which may stand anywhere before `--`, and whether one was there."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word not in _JSON]
    return [*kept, *words[end:]], len(kept) < end
