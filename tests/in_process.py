"""The command called in this process, as the process of its own that it usually is: 3 ms instead of 100.

What it finds and leaves is its own: arguments, environment, folder, the three standard streams (real descriptors), a
process id that nobody else has, umask, signal handlers, warnings, caches of modules. What Python itself does before and
after a command (imports, the pack of bytecode, exit) and what needs a process that can be waited for, stopped or killed
is not here: those tests are marked `spawned`.
"""

from __future__ import annotations

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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import apsw

from core.process.background_process import LIMIT

_FIRST_PID = 2**22 + 1
"""Above the largest process id of Linux: who asks whether such a process lives is told that it does not."""
_OF_A_PROCESS = ("PYTHON", "LC_", "LANG", "LD_", "JOELCLAW_DETACHED_SECONDS", "JOELCLAW_HOOK_DEADLINE_MS")
"""How the names of variables begin that count when a process starts, or that end it when its time is over."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE)

_FITS_A_PIPE = 16_384

about_processes = False
"""Whether the test that runs is marked `spawned`; `conftest` sets it."""

_feeding: set[int] = set()
"""Our ends of the pipes that are a command's stdin."""
_closing = threading.Lock()


def _forget_feeding() -> None:
    """In a worker that a command forks: with our end open there, the command's stdin would never be at its end."""
    for descriptor in _feeding:
        os.close(descriptor)
    _feeding.clear()
    _closing.release()


os.register_at_fork(before=_closing.acquire, after_in_child=_forget_feeding, after_in_parent=_closing.release)
_pids = itertools.count(_FIRST_PID)
_at_work = threading.Lock()


def possible(more: Mapping[str, str]) -> bool:
    """Whether a command with these variables can be called here: one at a time, and no test of processes."""
    if about_processes or threading.current_thread() is not threading.main_thread():
        return False
    return not any(name.startswith(_OF_A_PROCESS) for name in more)


def call(
    script: str,
    words: tuple[str, ...],
    data: bytes | None,
    environment: Mapping[str, str],
    cwd: Path,
    terminal: int | None = None,
    typed: bool = False,
) -> tuple[int, bytes, bytes]:
    """Run `script WORDS...` with `data` on stdin (None: /dev/null); returns its exit code, stdout and stderr.

    Args:
        terminal: what stdout shall be instead of a file; somebody reads its other end.
        typed: whether it is stdin, too.
    """
    arguments = [os.fsdecode(os.fsencode(word)) for word in (script, *words)]  # as they cross into a process
    if any("\0" in argument for argument in arguments):
        raise ValueError("embedded null byte")
    if not _at_work.acquire(blocking=False):
        raise RuntimeError("two commands at once need processes of their own: mark the test `spawned`")
    try:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, _stdin(data) as given:
            with (
                _descriptors(
                    terminal if typed and terminal is not None else given,
                    out.fileno() if terminal is None else terminal,
                    err.fileno(),
                ),
                _process(arguments, environment, cwd),
                _product(),
                _streams(),
            ):
                code = _main()
            return code, _whole(out), _whole(err)
    finally:
        _at_work.release()


def _main() -> int:
    from cli.main import main

    try:
        return main()
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        sys.stderr.write(f"{left.code}\n")
        return 1
    except BaseException:  # what Python would do with it at the end of a process
        traceback.print_exc()
        return 1


def _whole(file: io.BufferedRandom | tempfile._TemporaryFileWrapper[bytes]) -> bytes:
    file.seek(0)
    return file.read()


@contextlib.contextmanager
def _stdin(data: bytes | None) -> Iterator[int]:
    """A descriptor to read from: a pipe, since that is what commands are given."""
    if data is None:
        null = os.open(os.devnull, os.O_RDONLY)
        try:
            yield null
        finally:
            os.close(null)
        return
    reading, writing = os.pipe()
    if len(data) <= _FITS_A_PIPE:  # what a command waits for is there before it begins
        os.write(writing, data)
        os.close(writing)
        try:
            yield reading
        finally:
            os.close(reading)
        return

    def feed() -> None:
        view = memoryview(data)
        with contextlib.suppress(BrokenPipeError):
            while view:
                view = view[os.write(writing, view) :]
        with _closing:
            _feeding.discard(writing)
            os.close(writing)

    _feeding.add(writing)
    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield reading
    finally:
        os.close(reading)
        feeder.join()


@contextlib.contextmanager
def _descriptors(*given: int) -> Iterator[None]:
    """Put these in the places 0, 1 and 2."""
    before = [os.dup(place) for place in range(3)]
    try:
        for place, descriptor in enumerate(given):
            os.dup2(descriptor, place)
        yield
    finally:
        for place, descriptor in enumerate(before):
            os.dup2(descriptor, place, inheritable=True)
            os.close(descriptor)


@contextlib.contextmanager
def _process(arguments: list[str], environment: Mapping[str, str], cwd: Path) -> Iterator[None]:
    """What a process has of its own."""
    folder = os.open(".", os.O_RDONLY)
    variables, argv, getpid = dict(os.environ), sys.argv, os.getpid
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
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
            _warn_as_python()
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


def _warn_as_python() -> None:
    """The filters and the printer of an interpreter that was given none."""
    warnings.resetwarnings()
    for kind in (ResourceWarning, ImportWarning, PendingDeprecationWarning, DeprecationWarning):
        warnings.simplefilter("ignore", kind)

    def show(message: Warning | str, kind: type[Warning], file: str, line: int, *_: object) -> None:
        sys.stderr.write(warnings.formatwarning(message, kind, file, line))

    warnings.showwarning = show  # type: ignore[assignment]


@contextlib.contextmanager
def _children_reaped() -> Iterator[None]:
    """A process that a command leaves behind would be init's child; ours would stay as one that has ended.

    Its time limit is some seconds; a busy machine has sixty times as many.
    """
    spawn = os.posix_spawn

    def wait(child: int) -> None:
        with contextlib.suppress(ChildProcessError):  # the command has waited for it
            os.waitpid(child, 0)

    def spawned(path: str, words: list[str], environment: dict[str, str], **more: object) -> int:
        if LIMIT in environment:
            environment = {**environment, LIMIT: str(60 * int(environment[LIMIT]))}
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
    """`sys.stdin`, `sys.stdout` and `sys.stderr` over the descriptors."""
    before = sys.stdin, sys.stdout, sys.stderr
    handles = [open(place, mode, closefd=False) for place, mode in enumerate(("rb", "wb", "wb"))]
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
def _product() -> Iterator[None]:
    """What our own modules keep until the end of a process, and the watcher that ends one."""
    from core import files
    from session.hook.call import Deadline

    files.take_corrected()  # a test of that module leaves some, which the command would tell of as its own
    watch, connections = Deadline._watch, {id(one) for one in apsw.connections()}
    Deadline._watch = lambda _: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Deadline._watch = watch  # type: ignore[method-assign]
        for one in apsw.connections():
            if id(one) not in connections and one.filename:  # one in memory is a tokenizer that a module keeps
                with contextlib.suppress(apsw.Error):
                    one.close(True)
        _forget_caches()


def _forget_caches() -> None:
    loaded = sys.modules
    if "otel.otlp.records" in loaded:
        for kept in ("resource",):
            cleared: Callable[[], None] = getattr(loaded["otel.otlp.records"], kept).cache_clear
            cleared()
