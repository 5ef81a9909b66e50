"""Our own commands in the background. Each runs under a lock and is killed after a time limit. Hot path."""

from __future__ import annotations

import fcntl
import os
import sys
import time

from core import TYPE_CHECKING, clock, files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.config import Config

LIMIT = "JOELCLAW_DETACHED_SECONDS"
"""Variable with the time limit of a background command, in seconds."""
LOCK_DESCRIPTOR = "JOELCLAW_DETACHED_LOCK"
"""Variable with the descriptor of the lock that a background command inherits."""

_inherited_locks: list[int] = []


def start(words: Sequence[str], limit_s: int, lock: str) -> None:
    """Start `joelclaw WORDS...` under a lock, to be killed after `limit_s` seconds, unless it is held or that fails."""
    if not os.path.isfile(sys.argv[0]):
        return
    try:
        descriptor = files.open_lock(lock)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _withhold_descriptors()
            os.set_inheritable(descriptor, True)
            program = [sys.executable, sys.argv[0], *words]
            environment = {**os.environ, LIMIT: str(limit_s), LOCK_DESCRIPTOR: str(descriptor)}
            no_input = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)
            actions = [no_input, (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
            # In a process group of its own, so that a client that kills its hook's group does not kill this.
            os.posix_spawn(program[0], program, environment, file_actions=actions, setpgroup=0)
        finally:
            os.close(descriptor)
    except OSError:
        pass


def _withhold_descriptors() -> None:
    """Pass no descriptor on that this process has inherited: whoever waits for its end would wait for the job's."""
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            try:
                os.set_inheritable(int(name), False)
            except OSError:  # that of the listing itself
                pass


def obey_limit() -> bool:
    """In a command: take over the lock and the time limit from `start`. Returns whether this is a background command.

    The kernel ends the process when its time is up.
    """
    seconds = os.environ.pop(LIMIT, "")
    descriptor = os.environ.pop(LOCK_DESCRIPTOR, "")
    if seconds and descriptor.isdecimal():
        try:
            os.set_inheritable(int(descriptor), False)
            _inherited_locks.append(int(descriptor))
        except OSError:  # the variable was not set by `start`
            pass
    if seconds.isdecimal():
        import signal

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(seconds))
    return bool(seconds)


def release_lock() -> None:
    """In a background command: release its lock before it ends."""
    while _inherited_locks:
        os.close(_inherited_locks.pop())


def start_due(config: Config) -> None:
    """Start the jobs that are switched on and due: push, export and prune. Costs a few `stat` calls."""
    if config.get_str("store.backend") == "typesense" and os.path.exists(outbox_lock()):
        # what the cluster did not confirm when a push is killed is sent again
        _start_if_due(("store", "push"), 30, 40, outbox_lock(), outbox_lock())
    if config.get_str("otel.export") == "auto":
        _start_if_due(("otel", "export"), 60, 60, export_lock(), export_lock())
    store_lock = os.path.join(files.home(), "store.db.lock")  # is created with the store
    if os.path.exists(store_lock):
        prune_lock = os.path.join(files.home(), "cache", "store-prune.lock")
        _start_if_due(("store", "prune"), clock.DAY_MS // 1000, 600, prune_lock, store_lock)


def outbox_lock() -> str:
    """The path of the lock that `store push` holds. If the file exists, this home has a cluster."""
    return os.path.join(files.home(), "outbox.lock")


def export_lock() -> str:
    """The path of the lock that `otel export` holds."""
    return os.path.join(files.home(), "cache", "otel-export.lock")


def _start_if_due(words: tuple[str, str], every_s: int, limit_s: int, lock: str, mark: str) -> None:
    """Start a job if the last start, the time of the file `mark`, is `every_s` seconds ago."""
    try:
        # a time of the file system, so not compared with our clock, which tests can freeze
        if 0 <= time.time() - os.stat(mark).st_mtime < every_s:
            return
        os.utime(mark)
    except FileNotFoundError:
        pass
    except OSError:  # the home is read-only
        return
    start(words, limit_s, lock)
