"""What the installed script calls: sets up the process, finds the command in the command line, runs it, and exits."""

from __future__ import annotations

import gc
import os
import sys

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn


def start() -> NoReturn:
    """Run the command and exit. Without threads, skip Python's own clean-up at exit, which takes 5 ms."""
    gc.set_threshold(100_000)  # a hot command makes 10,000 objects that stay; collecting took 4 of its 90 ms
    code = 130  # interrupted
    if sys.stdout is None or sys.stderr is None or sys.stdin is None:
        _open_standard_streams()
    try:
        code = main()
        _flush()
    except KeyboardInterrupt:  # before the command or after it: `hot.run` handles it during the command
        pass
    if "threading" in sys.modules:
        sys.exit(code)
    os._exit(code)


def main() -> int:
    """Run the command in `sys.argv`; returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    from cli import hot, parser
    from cli.output import StdoutFullError, is_terminal
    from core import files

    files.find_no_program_here()
    words, json_asked = parser.take_json_flag([parser.valid_text(word) for word in sys.argv[1:]])
    if words[:1] == ["hook"] and sys.stdin.isatty() and (len(words) == 1 or sys.stdout.isatty()):  # typed by a person
        words = ["hook", "--help"]
    if words[1:] and words[0] in (*parser.HELP_FLAGS, "help"):
        words = [*words[1:], "--help"]
    if words[:1] == ["hook"] and not {*parser.HELP_FLAGS} & {*words}:
        return hot.hook(words[1:])
    if words[:1] in (["checkpoint"], ["inject"]):  # hook scripts call these in the client's environment
        _distrust_environment(files.current_folder())
    try:
        return run_words(parser.canonical(words), as_json=json_asked or not is_terminal())
    except StdoutFullError as error:
        from cli import errors

        return errors.report_incomplete_output(words[0] if words else "", error)


def _distrust_environment(folder: str) -> None:
    from core import config

    ignored = config.distrust_environment(folder)
    if ignored:
        from cli import errors

        errors.report_unknown_settings([(config.HOOK_ENVIRONMENT, name) for name in ignored], quiet=False)


def run_words(words: list[str], *, as_json: bool) -> int:
    """Run the command or the background job that the words call, or print a help; returns the exit code."""
    from cli import hot, parser
    from core.errors import Failure

    command = parser.hot_command(words) if words else None
    if command is None and hot.is_background_job(words):
        return hot.run("background", lambda: hot.background_job(words[1]), as_json=as_json)
    if command is None:
        from cli import declarations

        command = declarations.called(words)
    if command is None:
        from cli import reference

        return reference.print_page(words, as_json=as_json and not parser.asks_for_text(words))
    try:
        options = parser.parse(command, words[len(command.path.split()) :])
    except Failure as failure:
        from cli import errors

        return errors.report(command.path, failure, as_json=as_json and not parser.asks_for_text(words, command))
    if options is None:
        from cli import reference

        reference.print_help(command.path.split())
        return 0
    prints_text = options.get("raw") or options.get("verbatim")
    return hot.run(command.path, lambda: command.call(options), as_json=as_json and not prints_text)


def _open_standard_streams() -> None:
    """Open those of the three descriptors that are closed, so that no file we open (the store) becomes stdout."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)
    if sys.stdout is None:
        reading, writing = os.pipe()
        os.dup2(writing, 1)
        os.close(reading)
        os.close(writing)
        sys.stdout = open(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)


def _flush() -> None:
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # the reader is gone; without this, Python would flush again at its exit and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
