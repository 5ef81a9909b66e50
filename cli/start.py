"""What the installed script calls: sets up the process, finds the command in the command line, and runs it.

It prints answers, answers hooks, starts the background jobs that are due, and reports failures and what went wrong on
the way. Hot path.
"""

from __future__ import annotations

import gc
import os
import sys

from cli.output import Answer, StdoutFullError, is_terminal, print_answer, report, runnable, tell, write_out
from core import TYPE_CHECKING, files
from core.errors import FAILED, Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

# These commands start no background job: they do its work themselves, only report, change only a client's settings, or
# run for long.
_WITHOUT_JOBS = ("background", "otel export", "store ", "status", "doctor", "install", "uninstall", "idle run",
                 "completion", "mcp")  # fmt: skip


def start() -> NoReturn:
    """Run the command and exit. Without threads, skip Python's own clean-up at exit, which takes 5 ms."""
    gc.set_threshold(100_000)  # a hot command makes 10,000 objects that stay; collecting took 4 of its 90 ms
    code = 130  # interrupted
    _open_standard_streams()
    try:
        code = main()
        _flush()
    except KeyboardInterrupt:  # before the command or after it: `run` handles it during the command
        pass
    if "threading" in sys.modules:
        sys.exit(code)
    os._exit(code)


def main() -> int:
    """Run the command in `sys.argv`; returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    files.find_no_program_here()
    plain = [word for word in sys.argv[1:] if not word.startswith("-")]
    # A person has typed `hook`: no payload will come.
    is_typed = sys.stdin.isatty() and (len(plain) == 1 or sys.stdout.isatty())
    if plain[:1] == ["hook"] and not is_typed and not {"--help", "-h"}.intersection(sys.argv):
        return hook(plain[1:])  # loading the parser would take a twentieth of a bare start of Python
    from cli import parser

    words, json_asked = parser.take_json_flag([parser.valid_text(word) for word in sys.argv[1:]])
    if words[:1] == ["hook"]:  # typed by a person
        words = ["hook", "--help"]
    if words[:1] in (["checkpoint"], ["inject"]):  # hook scripts call these in the client's environment
        from core import config

        ignored = config.distrust_environment(files.current_folder())
        report_unknown_settings([(config.HOOK_ENVIRONMENT, name) for name in ignored])
    try:
        return run_words(parser.canonical(words), as_json=json_asked or not is_terminal())
    except StdoutFullError as error:
        return report_incomplete_output(words[0] if words else "", error)


def run_words(words: list[str], *, as_json: bool) -> int:
    """Run the command or the background job that the words call, or print a help; returns the exit code."""
    from cli import parser

    command = parser.hot_command(words) if words else None
    if words in (["background", "notice"], ["background", "observe"]):  # only our own commands start these
        return run("background", lambda: background_job(words[1]), as_json=as_json)
    if command is None:
        from cli import declarations

        command = declarations.called(words)
    if command is None:
        from cli import reference

        return reference.print_page(words, as_json=as_json and not parser.asks_for_text(words))
    try:
        options = parser.parse(command, words[len(command.path.split()) :])
    except Failure as failure:
        return report(command.path, failure, as_json=as_json and not parser.asks_for_text(words, command))
    if options is None:
        from cli import reference

        reference.print_help(command.path.split())
        return 0
    prints_text = options.get("raw") or options.get("verbatim")
    return run(command.path, lambda: command.call(options), as_json=as_json and not prints_text)


def run(path: str, call: Callable[[], Answer | int | None], *, as_json: bool) -> int:
    """Call a command, print its answer, and start the background jobs that are due. Returns the exit code."""
    debugging = bool(os.environ.get("JOELCLAW_DEBUG"))
    try:
        answer = call()
        code = answer.exit_code if isinstance(answer, Answer) else answer or 0
        if isinstance(answer, Answer) and (as_json or answer.text is not None):
            print_answer(f"joelclaw {path}", answer)
        elif isinstance(answer, Answer):
            from cli import terminal

            terminal.draw(answer)
    except KeyboardInterrupt:
        code = 130
    except StdoutFullError as error:
        code = report_incomplete_output(path, error)
    except Exception as error:
        if debugging and not isinstance(error, Failure):
            raise
        code = report(path, error, as_json=as_json)
    if lost := files.store_loss:
        tell(runnable(f"joelclaw: {lost.message}; {lost.fix}\n"))
    if code == 0 and not path.startswith(_WITHOUT_JOBS):
        start_due_jobs()
    return code


def start_due_jobs() -> None:
    """Report unknown settings, and start the background jobs that are due."""
    try:
        from core import background, config

        settings = config.load()
        report_unknown_settings(settings.unknown)
        background.start_due(settings)
    except Exception:  # the command has succeeded, and the next command tries again
        if os.environ.get("JOELCLAW_DEBUG"):
            raise


# The hook and our own background jobs


def hook(words: Sequence[str]) -> int:
    """`joelclaw hook AGENT [EVENT]`: answer an agent's event. The exit code is always 0.

    `words` are those of the call after `hook`, without options: a later version may have installed the hook with an
    unknown option. Whatever goes wrong, the agent gets a valid answer, and the fault becomes an event; if our own code
    cannot be imported, it gets nothing.
    """
    import time

    began = time.monotonic()
    agent, event, *_ = *(os.fsencode(word).decode(errors="replace") for word in words), "", ""
    try:
        from cli import input as stdin
        from session.hook import Hook
    except Exception:  # the installation is being replaced
        return 0
    hook = Hook(agent, event, began)
    may_print = True
    most_bytes = 32_000_000  # a tool's event may contain the whole file that it wrote
    try:
        if os.environ.get("JOELCLAW_IN_MODEL"):  # a hook of the model that we run ourselves: record nothing
            stdin.read_object(most_bytes)  # the client may not expect a broken pipe
            _print_answer(hook.empty())
            return 0
        hook.begin()
        text = hook.answer(stdin.read_object(most_bytes))
        may_print = False  # if printing fails, no other answer may follow
        _print_answer(text)
        hook.close()
        report_unknown_settings(hook.ignored_variables, quiet=True)
    except BaseException as error:
        try:
            hook.record_failure(error)  # before the answer: if this hangs, the deadline prints the answer
        except BaseException:  # the disk is full or gone
            pass
        try:
            if may_print:
                hook.claim()
                _print_answer(hook.empty())
        except BaseException:  # stdout is closed
            pass
    return 0


def _print_answer(text: str) -> None:
    if text:
        write_out(text + "\n")


def background_job(job: str) -> Answer:
    """Do the work of a background job."""
    from core import background, config

    background.obey_limit()
    if job == "observe":  # in the home folder, so that no repository can choose the model or its settings
        os.environ["JOELCLAW_HOME"] = files.private_folder(files.home())
        os.chdir(os.environ["JOELCLAW_HOME"])
    settings = config.load()
    if job == "notice":
        from session import compaction

        return Answer(compaction.notify(settings))
    from session import observe_job

    return Answer(observe_job.observe_next(settings))


# Reports


def report_incomplete_output(path: str, error: StdoutFullError) -> int:
    """Report that the output could not be written completely; returns the exit code."""
    tell(f"joelclaw{' ' * bool(path)}{path}: stdout cannot be written: {error}; the output is incomplete\n")
    return FAILED


def report_unknown_settings(unknown: Sequence[tuple[str, str]], *, quiet: bool = False) -> None:
    """Report unknown settings (place and name) on stderr unless `quiet`; variables that a hook ignores, as events."""
    if not unknown:
        return
    from core import clock, config
    from core.quoting import shown
    from core.words import fingerprint
    from otel import log

    for place, name in unknown[:20]:  # a file may hold thousands
        message = config.describe_unknown(place, name)
        if not quiet:
            tell(shown(f"joelclaw: {message}\n"))
        if place == config.HOOK_ENVIRONMENT:
            about = {"key": name[:80], "message": message}
            event = log.new_event(
                "config.variable_ignored", id=fingerprint(message),  # of events with the same id, one is stored
                component="config", level="warn", metadata=about, now=clock.now_ms(),
            )  # fmt: skip
            log.spool([event])


# The process


def _open_standard_streams() -> None:
    """Open those of the three streams that are closed, so that no file we open (the store) becomes stdout."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))


def _flush() -> None:
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # the reader is gone; without this, Python would flush again at its exit and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
