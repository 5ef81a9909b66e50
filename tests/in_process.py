"""Runs a command inside the test process: 3 ms instead of 100.

The command gets its own arguments, environment, folder, standard streams (real file descriptors), process id, umask,
signal handlers and warning filters. It shares the imported modules. Tests of start-up, exit, kills and signals need a
real process; they are marked `spawned`.
"""

import contextlib
import gc
import io
import itertools
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import apsw

from core import files
from core.background import LIMIT

FIRST_PID = 2**22 + 1  # above Linux's largest process id, so that no such process is alive
PATIENCE = 60  # factor for the time limit of background jobs, because the tests' machine is busy
STARTUP_VARIABLES = ("PYTHON", "LC_", "LANG", "LD_", "JOELCLAW_DETACHED_SECONDS", "JOELCLAW_HOOK_DEADLINE_MS")
"""Prefixes of variables that only count when a process starts, or that end it when its time is up."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE)

about_processes = False  # whether the running test is marked `spawned`; set by `conftest`
_pids = itertools.count(FIRST_PID)
_running = threading.Lock()


def possible(more: Mapping[str, str]) -> bool:
    """Whether a command with these extra variables can run here rather than in a process of its own."""
    if about_processes or threading.current_thread() is not threading.main_thread():
        return False
    return not any(name.startswith(STARTUP_VARIABLES) for name in more)


def call(
    script: str,
    words: tuple[str, ...],
    data: bytes | None,
    environment: Mapping[str, str],
    cwd: Path,
    terminal: int | None = None,
    typed: bool = False,
) -> tuple[int, bytes, bytes]:
    """Run `script WORDS...` with `data` on stdin (None: /dev/null); returns exit code, stdout and stderr.

    Args:
        terminal: a descriptor to use as stdout instead of a file; the caller reads its other end.
        typed: whether the terminal is stdin, too.
    """
    arguments = [os.fsdecode(os.fsencode(word)) for word in (script, *words)]  # as they would cross into a process
    if any("\0" in argument for argument in arguments):
        raise ValueError("embedded null byte")
    if not _running.acquire(blocking=False):
        raise RuntimeError("two commands at once need processes of their own: mark the test `spawned`")
    try:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, _stdin(data) as stdin_file:
            stdin = terminal if typed and terminal is not None else stdin_file.fileno()
            stdout = out.fileno() if terminal is None else terminal
            with (
                _descriptors(stdin, stdout, err.fileno()),
                _process_state(arguments, environment, cwd),
                _module_state(),
                _streams(),
            ):
                code = _main()
            return code, _content(out), _content(err)
    finally:
        _running.release()


def _main() -> int:
    from cli.start import main

    try:
        return main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except BaseException:  # Python would print it and exit with 1
        traceback.print_exc()
        return 1


def _stdin(data: bytes | None) -> IO[bytes]:
    if data is None:
        return open(os.devnull, "rb")
    file = tempfile.TemporaryFile()
    file.write(data)
    file.seek(0)
    return file


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


@contextlib.contextmanager
def _descriptors(*replacements: int) -> Iterator[None]:
    """Use these descriptors as 0, 1 and 2."""
    before = [os.dup(number) for number in range(3)]
    try:
        for number, descriptor in enumerate(replacements):
            os.dup2(descriptor, number)
        yield
    finally:
        for number, descriptor in enumerate(before):
            os.dup2(descriptor, number, inheritable=True)
            os.close(descriptor)


@contextlib.contextmanager
def _process_state(arguments: list[str], environment: Mapping[str, str], cwd: Path) -> Iterator[None]:
    """Set what each process has for itself, and restore it."""
    folder = os.open(".", os.O_RDONLY)
    variables, argv, getpid = dict(os.environ), sys.argv, os.getpid
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    mask = os.umask(0o022)
    os.umask(mask)
    collecting, thresholds, switching = gc.isenabled(), gc.get_threshold(), sys.getswitchinterval()
    pid = next(_pids)
    try:
        os.chdir(cwd)
        _set_environment(environment)
        sys.argv = arguments
        os.getpid = lambda: pid
        with warnings.catch_warnings(), _children_reaped():
            _default_warnings()
            yield
    finally:
        os.getpid, sys.argv = getpid, argv
        _set_environment(variables)
        os.fchdir(folder)
        os.close(folder)
        os.umask(mask)
        for number, handler in handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        gc.set_threshold(*thresholds)
        (gc.enable if collecting else gc.disable)()
        sys.setswitchinterval(switching)


def _set_environment(variables: Mapping[str, str]) -> None:
    before = dict(os.environ)
    for name in before.keys() - variables.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in variables.items() if before.get(name) != value})
    if before.get("TZ") != variables.get("TZ"):
        time.tzset()


def _default_warnings() -> None:
    """Filter and print warnings as a plain interpreter does."""
    warnings.resetwarnings()
    for kind in (ResourceWarning, ImportWarning, PendingDeprecationWarning, DeprecationWarning):
        warnings.simplefilter("ignore", kind)

    def show(message: Warning | str, kind: type[Warning], file: str, line: int, *_: object) -> None:
        sys.stderr.write(warnings.formatwarning(message, kind, file, line))

    warnings.showwarning = show  # type: ignore[assignment]


@contextlib.contextmanager
def _children_reaped() -> Iterator[None]:
    """Reap background processes, which would otherwise stay as zombies, and give them more time."""
    spawn = os.posix_spawn

    def wait(child: int) -> None:
        with contextlib.suppress(ChildProcessError):  # the command waited for it
            os.waitpid(child, 0)

    def spawned(path: str, words: list[str], environment: dict[str, str], **more: object) -> int:
        if LIMIT in environment:
            environment = {**environment, LIMIT: str(PATIENCE * int(environment[LIMIT]))}
        child = spawn(path, words, environment, **more)  # type: ignore[arg-type]
        threading.Thread(target=wait, args=(child,), daemon=True).start()
        return child

    os.posix_spawn = spawned  # type: ignore[assignment]
    try:
        yield
    finally:
        os.posix_spawn = spawn


@contextlib.contextmanager
def _streams() -> Iterator[None]:
    """Put `sys.stdin`, `sys.stdout` and `sys.stderr` over the descriptors."""
    before = sys.stdin, sys.stdout, sys.stderr
    handles = [open(number, mode, closefd=False) for number, mode in enumerate(("rb", "wb", "wb"))]
    sys.stdin = io.TextIOWrapper(handles[0], "utf-8", "surrogateescape")  # type: ignore[arg-type]
    sys.stdout = io.TextIOWrapper(handles[1], "utf-8", "surrogateescape")  # type: ignore[arg-type]
    sys.stderr = io.TextIOWrapper(handles[2], "utf-8", "backslashreplace", line_buffering=True)  # type: ignore[arg-type]
    ours = sys.stdin, sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in ours:
            with contextlib.suppress(OSError, ValueError):
                stream.close()


@contextlib.contextmanager
def _module_state() -> Iterator[None]:
    """Reset what our modules keep until the end of a process, and switch off the deadline, which would end ours."""
    from session.hook import Hook

    watch, connections = Hook._watch, {id(db) for db in apsw.connections()}
    Hook._watch = lambda _: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Hook._watch = watch  # type: ignore[method-assign]
        files.store_loss = None
        for db in apsw.connections():
            if id(db) not in connections and db.filename:  # those in memory are tokenizers that a module keeps
                with contextlib.suppress(apsw.Error):
                    db.close(True)
