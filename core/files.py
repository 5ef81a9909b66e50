"""Private files: where they lie, how they are written whole, and how a damaged one is set aside.

Folders are 0700 and files 0600 whatever the umask (they hold what people said); where a backup that was copied back
made them wider, the next write puts them right.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time

from core import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_UNSAFE_LIMIT = 120
_OTHERS = 0o077
"""What a mode gives to anybody but the owner."""
SWITCHES = "switches.json"
"""What is switched off, in the home: see `core.repository.switches`."""
# What we put into a home, without `.lock`: it may hold other things too (`tests/core/test_home_names.py`).
_OURS = frozenset(
    "cache config.toml install installs knowledge.json outbox sessions spool trusted.json workspace".split()
) | {SWITCHES, "backups.json"}
_STORE = "store.db"
_STALE_S = 3600
"""No writer takes so long: its temporary file was left by one that was killed."""
_corrected: list[str] = []


def home() -> str:
    """`$JOELCLAW_HOME`, else `~/.joelclaw`. Not created by asking."""
    return os.path.abspath(os.environ.get("JOELCLAW_HOME") or os.path.expanduser("~/.joelclaw"))


def current_folder() -> str:
    """The folder in which the command runs, "" where it was removed meanwhile."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def is_in_home(path: str) -> bool:
    """Whether a path is the home's, or leads into it: what a user asks to be written there would be lost in ours."""
    real, ours = os.path.realpath(path), os.path.realpath(home())
    return real == ours or real.startswith(ours + os.sep)


def has_switches() -> bool:
    """Whether anything may be switched off, for the price of one stat."""
    return os.path.lexists(os.path.join(home(), SWITCHES))


def is_store_older() -> bool:
    """Whether the store was found to lack something (`core.store.upkeep.completeness`), for the price of one stat."""
    return os.path.lexists(os.path.join(home(), _STORE + ".older"))


def private_folder(path: str) -> str:
    """Make the folder and those above it that are missing, mode 0700; returns the path.

    Raises:
        OSError: it cannot be made.
    """
    if not os.path.isdir(path):
        parent = os.path.dirname(path)
        if parent != path:
            private_folder(parent)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
        else:
            os.chmod(path, 0o700)
    return path


def touch_private(path: str) -> None:
    """Create an empty 0600 file unless it is there; the folder is made too."""
    if os.path.exists(path):
        _look(path)
    else:
        _look()
        private_folder(os.path.dirname(path))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)


def write_whole(path: str, data: bytes) -> None:
    """Replace a file by rename, so that a reader sees the old content or the new, never a part.

    Raises:
        OSError: nothing was replaced.
    """
    folder = private_folder(os.path.dirname(path))
    _look(folder)
    temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.fchmod(descriptor, 0o600)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def take_corrected() -> list[str]:
    """What others could use and now cannot, by its path in the home: of this process, each told once."""
    found = _corrected[:]
    _corrected.clear()
    return found


def _look(*paths: str) -> None:
    """Put the home right where it, or one of these in it, is open to others.

    What was open in a home that was closed is closed without a word: nobody else could get at it.
    """
    root = home()
    if not os.path.isdir(root):
        return
    for path in (root, *paths):
        if path != root and not path.startswith(root + os.sep):
            continue
        if _open_to_others(path) and root != os.path.expanduser("~"):
            _put_right(root, path)
            return


def _put_right(root: str, seen: str) -> None:
    """Take from others what they may do with the home and what is ours in it; links are left alone.

    Args:
        seen: what was found to be open. Where its mode cannot be changed (a file system without modes) nothing else is
            looked at.
    """
    reachable = _open_to_others(root)
    closed = _close(root, seen)
    if os.stat(seen).st_mode & _OTHERS:
        return
    closed += _close(root, root)
    try:
        names = os.listdir(root)
    except OSError:
        return
    for name in names:
        if is_in_homes(name):
            top = os.path.join(root, name)
            closed += _close(root, top)
            for folder, folders, files in os.walk(top):
                for entry in (*folders, *files):
                    closed += _close(root, os.path.join(folder, entry))
    if reachable:
        _corrected.extend(closed)


def is_in_homes(name: str) -> bool:
    """Whether an entry of this name in a home is ours: also its lock, what was damaged, and what a writer left."""
    if name.endswith(".tmp") and _is_ours(name):
        name = name.rsplit(".", 2)[0].rstrip("0123456789").removesuffix(".")
    return name.partition(".damaged-")[0].removesuffix(".lock") in _OURS or name.startswith(_STORE)


def _open_to_others(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & _OTHERS)
    except OSError:
        return False


def _close(root: str, path: str) -> list[str]:
    """Take from others what they may do with this; its path in the home, where there was something to take."""
    try:
        mode = os.lstat(path).st_mode
        if mode & _OTHERS and not stat.S_ISLNK(mode):
            os.chmod(path, stat.S_IMODE(mode) & ~_OTHERS)
            return [os.path.relpath(path, root)]
    except OSError:  # somebody else's, or gone by now
        pass
    return []


def sweep_temporary() -> int:
    """Remove what killed writers left in the home, older than an hour; how many files."""
    return _remove(stale_temporary())


def stale_temporary() -> list[str]:
    """What killed writers left in the home, older than an hour."""
    root = home()
    return [path for name in ("", "sessions", "cache", "installs") for path in _stale(os.path.join(root, name))]


def sweep_beside(path: str) -> int:
    """Remove what killed writers of this file left beside it, older than an hour; how many files."""
    return _remove(_stale(os.path.dirname(path), os.path.basename(path) + "."))


def _remove(paths: list[str]) -> int:
    swept = 0
    for path in paths:
        try:
            os.unlink(path)
            swept += 1
        except OSError:  # another sweeps, too
            pass
    return swept


def _stale(folder: str, prefix: str = "") -> list[str]:
    found = []
    before = time.time() - _STALE_S
    try:
        entries = os.scandir(folder)
    except OSError:
        return []
    with entries:
        for entry in entries:
            if not entry.name.endswith(".tmp") or not entry.name.startswith(prefix) or not _is_ours(entry.name):
                continue
            try:
                if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < before:
                    found.append(entry.path)
            except OSError:  # another sweeps, too
                pass
    return found


def _is_ours(name: str) -> bool:
    """Whether a name ends as those of our temporary files do: `.PID.tmp`, `.PID.NANOSECONDS.tmp`."""
    return name.split(".")[-2].isdigit()


def set_aside(path: str) -> str:
    """Rename a damaged file to `<name>.damaged-<ms>` beside it, and return the new path. Never deletes."""
    target = f"{path}.damaged-{clock.now_ms()}"
    count = 1
    while os.path.exists(target):
        count += 1
        target = f"{path}.damaged-{clock.now_ms()}-{count}"
    os.rename(path, target)
    return target


def safe_name(identifier: str) -> str:
    """A file name for any identifier: what is not a letter, digit, `.`, `_` or `-` is percent-encoded.

    Different identifiers give different names; a long one ends in its fingerprint.
    """
    parts = []
    for byte in identifier.encode("utf-8", "surrogatepass"):
        character = chr(byte)
        plain = byte < 128 and (character.isalnum() or character in "_-.")
        parts.append(character if plain else f"%{byte:02X}")
    name = "".join(parts)
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > _UNSAFE_LIMIT:
        from core.ids import fingerprint

        name = name[:80] + "~" + fingerprint(identifier)
    return name or "%00"


class LockTimeout(Exception):
    """Another process held the lock for longer than we may wait."""


class FileLock:
    """An exclusive lock between processes (`flock`); the kernel frees it when its holder dies."""

    __slots__ = ("_descriptor", "_path", "_wait_s")

    def __init__(self, path: str, wait_s: float = 1.0) -> None:
        self._path = path
        self._wait_s = wait_s
        self._descriptor = -1

    def __enter__(self) -> FileLock:
        touch_private(self._path)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        deadline = time.monotonic() + self._wait_s
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return self
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(self._descriptor)
                    self._descriptor = -1
                    raise LockTimeout(self._path) from None
                time.sleep(0.003)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
