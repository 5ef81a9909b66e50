"""Breaks homes: full disks, read-only folders, locks held by others, processes killed half-way."""

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

SLOWEST_S = 50.0  # a command that takes longer hangs; below the deadline of hooks in tests, a minute
DEADLINES_MS = ("300", "3000", "30000")
"""Deadlines to try for a hook that hangs: the first one may be over before it gets to that point."""


def snapshot(folder: Path) -> dict[str, bytes]:
    """The content of every file below the folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def fold_log(home: Path) -> None:
    """Move the write-ahead log into the store, so that the store is a single file."""
    db = apsw.Connection(str(home / "store.db"))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    for name in ("store.db-wal", "store.db-shm"):
        (home / name).unlink(missing_ok=True)


@contextmanager
def write_lock(home: Path) -> Iterator[None]:
    """Hold the store's write lock."""
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
    """Put the home on a disk of its own; yields a function that fills the disk to the last byte."""
    home.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() != 0 or not _mounted("-t", "tmpfs", "-o", f"size={kilobytes}k,mode=700", "none", str(home)):
        pytest.skip("needs the right to mount; the limit on file sizes is tested without it")
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
    """Make the home read-only: by file modes, or for root, who ignores them, by a mount."""
    if os.geteuid() == 0:
        if not _mounted("--bind", str(home), str(home)):
            pytest.skip("root ignores file modes, and may not mount here")
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
    """Wait until a process has opened a file, or has ended."""
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and not _has_open(process.pid, path):
        assert time.monotonic() < until, f"it never opened {path}"
        time.sleep(0.002)


def _has_open(pid: int, path: Path) -> bool:
    try:
        return any(os.readlink(link) == str(path) for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # closed meanwhile, or the process has ended
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
    """Start a command and wait until it has paused, or has ended before it got there.

    Args:
        commit: pause within this commit to the store (1 is the first); it must happen.
        step: pause before this operation on a file or folder of the home: open, rename, remove or mkdir.
    """
    folder = home.parent / f"pause-{time.monotonic_ns()}"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_PAUSE)
    mark = folder / "mark"
    more = {"PYTHONPATH": str(folder), "PAUSE_AT_COMMIT": str(commit), "PAUSE_AT_STEP": str(step)}
    (folder / "stdin").write_bytes(stdin)
    stdin_ = os.open(folder / "stdin" if stdin else os.devnull, os.O_RDONLY)
    process = subprocess.Popen(
        [JOELCLAW, *words],
        stdin=stdin_,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(home, **(env or {}), **more, PAUSE_MARK=str(mark)),
        cwd=folder,
    )
    os.close(stdin_)
    until = time.monotonic() + PATIENCE_S
    while not mark.exists():
        if process.poll() is not None:
            assert not commit, f"ended before commit {commit}: {process.communicate()}"
            break
        assert time.monotonic() < until, "it never paused"
        time.sleep(0.005)
    return process


_PATIENT = """\
import sys, time
if any(word.endswith("joelclaw") for word in sys.orig_argv[:2]):
    import signal
    from core import files
    from otel import log
    log.BUSY_MS = 60 * log.BUSY_MS
    begin = files.FileLock.__init__
    files.FileLock.__init__ = lambda lock, path, wait_s=1.0: begin(lock, path, 60 * wait_s)
    signal.alarm = lambda seconds: 0
    spent, passed = time.process_time, time.perf_counter
    time.process_time, time.perf_counter = lambda: spent() / 60, lambda: passed() / 60
"""


def patient(home: Path) -> dict[str, str]:
    """Variables for commands that wait sixty times as long and may use sixty times the CPU time.

    Within the product's own limits, a busy machine leaves work out.
    """
    folder = home.parent / "patient"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_PATIENT)
    return {"PYTHONPATH": str(folder)}


def stopped(process: subprocess.Popen[bytes], ending: signal.Signals = signal.SIGKILL) -> bytes:
    """Kill a paused command; returns its stderr."""
    process.send_signal(ending)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode != 0
    return err


WITHOUT_RELATIONS = """
DROP INDEX session_parent;
ALTER TABLE session DROP COLUMN forked_at;
ALTER TABLE session DROP COLUMN parent;
ALTER TABLE session DROP COLUMN kind;
ALTER TABLE session DROP COLUMN folders;
ALTER TABLE session DROP COLUMN branches;
ALTER TABLE call DROP COLUMN project;
ALTER TABLE call DROP COLUMN abandoned;
"""
WITHOUT_COLUMNS = f"""
{WITHOUT_RELATIONS}
ALTER TABLE name DROP COLUMN written;
ALTER TABLE session DROP COLUMN ended_at;
ALTER TABLE session DROP COLUMN worktree;
"""
"""SQL that turns a store into one of an older version."""
