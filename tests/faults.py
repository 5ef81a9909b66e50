"""Breaks homes: full disks, read-only folders, locks held by others, processes killed half-way."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from conftest import JOELCLAW, PATIENCE_S, clean_environment

SLOWEST_S = 50.0
"""Longer than that and it hung, on the slowest machine; less than the deadline that hooks have in tests, a minute. How
fast a command is, is measured in bench/."""
DEADLINES_MS = ("300", "3000", "30000")
"""For a hook that hangs till its deadline: the first that leaves it the time to come to where it hangs will do."""


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below the folder, by its relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def fold_log(home: Path) -> None:
    """Bring the write-ahead log into the store file and remove it: the store is one file then."""
    db = apsw.Connection(str(home / "store.db"))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    for name in ("store.db-wal", "store.db-shm"):
        (home / name).unlink(missing_ok=True)


@contextmanager
def write_lock(home: Path) -> Iterator[None]:
    """The store's write lock, held by this process."""
    db = apsw.Connection(str(home / "store.db"))
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        db.execute("ROLLBACK")
        db.close()


def _mounted(*words: str) -> bool:
    try:
        return subprocess.run(["mount", *words], capture_output=True).returncode == 0
    except OSError:
        return False


@contextmanager
def small_disk(home: Path, kilobytes: int) -> Iterator[Callable[[], None]]:
    """A home on a disk of its own; yields the function that fills it to the last byte."""
    home.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() != 0 or not _mounted("-t", "tmpfs", "-o", f"size={kilobytes}k,mode=700", "none", str(home)):
        pytest.skip("a disk of its own needs the right to mount; the limit on file sizes is tested all the same")
    try:
        yield lambda: _fill(home)
    finally:
        subprocess.run(["umount", "-l", str(home)], check=True)


def _fill(home: Path) -> None:
    for chunk in (65_536, 4096, 1):
        with open(home / f"ballast-{chunk}", "wb", buffering=0) as ballast:
            try:
                while ballast.write(b"x" * chunk) == chunk:
                    pass
            except OSError:
                continue


@contextmanager
def read_only(home: Path) -> Iterator[None]:
    """A home that nobody can write: mounted read-only for root, whom modes do not stop; by its modes otherwise."""
    if os.geteuid() == 0:
        if not _mounted("--bind", str(home), str(home)):
            pytest.skip("root is stopped by no mode, and may not mount here")
        try:
            if not _mounted("-o", "remount,bind,ro", str(home)):
                pytest.skip("may not remount read-only here")
            yield
        finally:
            subprocess.run(["umount", "-l", str(home)], check=True)
        return
    paths = [home, *home.rglob("*")]
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        yield
    finally:
        for path in paths:
            path.chmod(0o700 if path.is_dir() else 0o600)


def until_open(process: subprocess.Popen[bytes], path: Path) -> None:
    """Wait until a command has a file open, or has ended."""
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and not _has_open(process.pid, path):
        assert time.monotonic() < until, f"it never opened {path}"
        time.sleep(0.002)


def _has_open(pid: int, path: Path) -> bool:
    try:
        return any(os.readlink(link) == str(path) for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # one was closed, or the process has ended
        return False


_PAUSE = """\
import os, sys, time
def pause():
    open(os.environ["PAUSE_MARK"], "w").close()
    while True:
        time.sleep(0.01)
commits = steps = 0
def committing():
    global commits
    commits += 1
    if commits == at_commit:
        pause()
    return False
def connected(db):
    if db.filename.endswith("store.db"):
        db.set_commit_hook(committing)
def audited(event, given):
    global steps
    if event in ("open", "os.rename", "os.remove", "os.mkdir") and str(given[0]).startswith(home):
        steps += 1
        if steps == at_step:
            pause()
at_commit, at_step = int(os.environ["PAUSE_AT_COMMIT"]), int(os.environ["PAUSE_AT_STEP"])
home = os.environ["JOELCLAW_HOME"]
if at_step:
    sys.addaudithook(audited)
if at_commit:
    import apsw
    apsw.connection_hooks.append(connected)
"""


def paused(
    home: Path, *words: str, commit: int = 0, step: int = 0, env: dict[str, str] | None = None, stdin: bytes = b""
) -> subprocess.Popen[bytes]:
    """A command that stands still, on any machine, until it is stopped; or that has ended before it came so far.

    Args:
        commit: within its so-many-th commit to the store; it must come to it.
        step: before the so-many-th file or folder of the home that it opens, renames, removes or makes.
    """
    folder = home.parent / f"pause-{time.monotonic_ns()}"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_PAUSE)
    mark = folder / "mark"
    more = {"PYTHONPATH": str(folder), "PAUSE_AT_COMMIT": str(commit), "PAUSE_AT_STEP": str(step)}
    (folder / "stdin").write_bytes(stdin)
    given = os.open(folder / "stdin" if stdin else os.devnull, os.O_RDONLY)
    process = subprocess.Popen(
        [JOELCLAW, *words],
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(home, **(env or {}), **more, PAUSE_MARK=str(mark)),
        cwd=home.parent,
    )
    os.close(given)
    until = time.monotonic() + PATIENCE_S
    while not mark.exists():
        if process.poll() is not None:
            assert not commit, f"it ended before its commit {commit}: {process.communicate()}"
            break
        assert time.monotonic() < until, "it never came to that point"
        time.sleep(0.005)
    return process


_PATIENT = """\
import sys, time
if any(word.endswith("joelclaw") for word in sys.orig_argv[:2]):
    import signal
    from core import files
    from core.process import background_process
    begin, wait = files.FileLock.__init__, background_process.wait
    files.FileLock.__init__ = lambda lock, path, wait_s=1.0: begin(lock, path, 60 * wait_s)
    background_process.wait = lambda lock, seconds: wait(lock, 60 * seconds)
    signal.alarm = lambda seconds: 0
    spent, passed = time.process_time, time.perf_counter
    time.process_time, time.perf_counter = lambda: spent() / 60, lambda: passed() / 60
"""


def patient(home: Path) -> dict[str, str]:
    """The environment of commands that are not pressed for time.

    They wait for locks and for background jobs sixty times as long, and have sixty times the processor time. Within the
    limits of the product more is left out where many run at once, and on a slow machine.
    """
    folder = home.parent / "patient"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_PATIENT)
    return {"PYTHONPATH": str(folder)}


def stopped(process: subprocess.Popen[bytes], ending: signal.Signals = signal.SIGKILL) -> bytes:
    """Stop a paused command; returns its stderr. It must not have ended well."""
    process.send_signal(ending)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode != 0
    return err


WITHOUT_COLUMNS = """
ALTER TABLE name DROP COLUMN written;
ALTER TABLE session DROP COLUMN ended_at;
ALTER TABLE session DROP COLUMN worktree;
"""
"""Undoes what the last migrations added, for a store of an older version."""
