"""Private files: their paths, how they are written atomically, and how damaged files are set aside; the home's files.

Folders are 0700 and files 0600 whatever the umask, because they hold what people said. If a copied backup has opened
the home, the next write closes it again.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from core import TYPE_CHECKING
from core.errors import Failure, NotAFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OTHERS = 0o077
"""The mode bits of group and others."""
SWITCHES = "switches.json"
"""The file in the home that lists switches and excluded folders: see `core.switches`."""
STORE = "store.db"
SET_ASIDE = ".damaged-"
"""In the name of a file that could not be used: see `set_aside`."""
# The names that we create in a home, without `.lock`; it may hold other files too.
_OURS = frozenset(
    "backups.json cache config.toml install installs knowledge.json outbox sessions spool switches.json trusted.json"
    " workspace acknowledged".split()
)
is_read_only = False
"""Set by `doctor` and `status`: this process writes no file in the home."""
store_loss: Failure | None = None
"""Set when a command opens a store that was lost; the command also reports it."""
shell_path: list[str] = []
"""PATH as the caller's shell has it: see `find_no_program_here`."""


def home() -> str:
    """`$JOELCLAW_HOME`, else `~/.joelclaw`. Asking does not create it."""
    return os.path.abspath(os.environ.get("JOELCLAW_HOME") or os.path.expanduser("~/.joelclaw"))


def current_folder() -> str:
    """The folder the command runs in, "" if it has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def find_no_program_here() -> None:
    """Take relative folders out of PATH, for us and what we start: no project may choose a program by its name."""
    path = os.environ.get("PATH", "")
    shell_path[:] = [path]
    absolute = [folder for folder in path.split(os.pathsep) if folder[:1] == os.sep]
    if len(absolute) <= path.count(os.pathsep):
        os.environ["PATH"] = os.pathsep.join(absolute) or os.defpath


def is_store_lost() -> bool:
    """Whether the home has session files, even hidden, and had a store, which is missing or empty now.

    A new store is a header of a page, until SQLite copies the rest from its log: without the log it is empty.
    """
    store, log = os.path.join(home(), STORE), os.path.join(home(), STORE + "-wal")
    page = 4096  # bytes
    try:
        size = os.path.getsize(store) if os.path.isfile(store) else 0
        if size > page or (size and os.path.exists(log) and os.path.getsize(log)):
            return False
        had_store = any(map(os.path.exists, (store + ".lock", store_mark())))
        names = os.listdir(os.path.join(home(), "sessions"))
        return had_store and any(name.endswith((".json", ".json.forgotten")) for name in names)
    except OSError:
        return False


def store_mark() -> str:
    """The file that says that the home had a store. 0.2.0 wrote it, too."""
    return os.path.join(home(), "acknowledged")


def has_switches() -> bool:
    """Whether anything may be switched off; costs a single stat."""
    return os.path.lexists(os.path.join(home(), SWITCHES))


def private_folder(path: str) -> str:
    """Create the folder and its missing parents, mode 0700; returns the path."""
    if not os.path.isdir(path):
        umask = os.umask(OTHERS)
        try:
            os.makedirs(path, exist_ok=True)
        finally:
            os.umask(umask)
    return path


def open_file(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a file and return its descriptor. Raises NotAFile for anything else: reading a pipe could block forever.

    With `os.O_CREAT`, a missing file is created, but not the missing target of a link.
    """
    flags |= os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    require_file(path)
    try:
        return os.open(path, flags & ~os.O_CREAT)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def require_file(path: str) -> None:
    """Raise NotAFile if there is something else than a file at the path. Nothing is opened."""
    # SQLite deletes and creates its journal at any time, so a missing file is looked for again.
    if not os.path.isfile(path) and os.path.lexists(path) and not os.path.isfile(path):
        what = "it is a folder, a pipe, a device or a link that leads nowhere, not a file"
        raise NotAFile(errno.EINVAL, what, path)


def read_file(path: str, most: int = -1) -> bytes:
    """The first `most` bytes of a file, by default all. Raises NotAFile and OSError."""
    with open(open_file(path), "rb", buffering=0) as file:
        return file.read(most)


def touch_private(path: str) -> None:
    """Create an empty 0600 file, and its folder, unless it exists. Raises NotAFile."""
    _close_home(path)
    if not os.path.exists(path):
        private_folder(os.path.dirname(path))
        os.close(open_file(path, os.O_WRONLY | os.O_CREAT))


def write_whole(path: str, data: bytes) -> None:
    """Replace a file by rename, so that a reader sees the old or the new content, never a part."""
    _close_home(path)
    private_folder(os.path.dirname(path))
    temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        remove(temporary)
        raise


def remove(*paths: str) -> None:
    """Remove files, ignoring errors."""
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            pass


def start_of(path: str, most: int = -1) -> str:
    """The first `most` bytes of a regular file as text, by default all; "" for anything else, such as a pipe."""
    try:
        return read_file(path, most).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _close_home(path: str) -> None:
    """Before writing to a path: close the home to others, if it is open."""
    if is_read_only:
        raise PermissionError(0, "nothing is written while the home is examined", path)
    require_home()
    root = home()
    if _is_open(root) and root != os.path.expanduser("~"):
        close_all(root)


def require_home() -> None:
    """Raise NotADirectoryError if the home cannot be used: see `home_fault`."""
    if fault := home_fault():
        raise NotADirectoryError(errno.ENOTDIR, fault, home())


def home_fault() -> str:
    """Why the home cannot be used: it is not a folder, or it is open and holds foreign files and no store; else ""."""
    root = home()
    try:
        mode = os.stat(root).st_mode
        if not stat.S_ISDIR(mode):
            return "it is not a folder"
        is_ours = root in map(os.path.expanduser, ("~", "~/.joelclaw")) or os.path.exists(os.path.join(root, STORE))
        names = [] if is_ours or not mode & OTHERS else os.listdir(root)
    except OSError:
        return ""
    # A volume may have `lost+found`, a repository's folder `.gitignore`
    others = [name for name in names if not is_in_homes(name) and name[0] != "." and name != "lost+found"]
    return f"it is open to others, and holds other files, such as {min(others)}" if others else ""


def _is_open(path: str) -> bool:
    """Whether group or others have access to a file or folder; a folder that is shared (sticky) stays so."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return bool(mode & OTHERS) and (stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and not mode & stat.S_ISVTX))


def set_aside(path: str) -> str:
    """Rename a file that cannot be used to `<name>.damaged-<µs>` and return the new path."""
    target = f"{path}{SET_ASIDE}{time.time_ns() // 1000}"
    os.rename(path, target)
    return target


def open_anew(path: str, flags: int = os.O_RDWR) -> int:
    """Like `open_file`, but create the file if it is missing, and set aside anything in its way.

    In its way may be a file or folder that a hook run as root left, or something other than a file. Raises OSError.
    """
    _close_home(path)
    try:
        private_folder(os.path.dirname(path))
        return open_file(path, flags | os.O_CREAT)
    except (PermissionError, NotADirectoryError, FileExistsError, NotAFile):
        obstacle, root = path, home() + os.sep
        while not os.access(os.path.dirname(obstacle), os.W_OK | os.X_OK) and obstacle.startswith(root):
            obstacle = os.path.dirname(obstacle)
        is_closed_by_user = os.path.isdir(obstacle) and obstacle != path and os.stat(obstacle).st_uid == os.geteuid()
        if is_closed_by_user or not obstacle.startswith(root) or not os.path.lexists(obstacle):
            raise
        set_aside(obstacle)
    private_folder(os.path.dirname(path))
    return open_file(path, flags | os.O_CREAT)


def open_lock(path: str) -> int:
    """A descriptor of a lock file, which is created."""
    if is_read_only:
        return open_file(path, os.O_RDWR)
    return open_anew(path)


def safe_name(identifier: str) -> str:
    """A file name for any identifier: all but letters, digits, `.`, `_` and `-` is encoded."""
    name = "".join(
        chr(byte) if byte < 128 and (chr(byte).isalnum() or chr(byte) in "_-.") else f"%{byte:02X}"
        for byte in identifier.encode("utf-8", "surrogatepass")
    )
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > 120:
        from core.words import fingerprint

        name = name[:80] + "~" + fingerprint(identifier)
    return name or "%00"


class LockTimeout(Exception):
    """Another process held the lock for longer than we can wait."""


class FileLock:
    """An exclusive lock between processes (`flock`), which the kernel frees when its holder dies."""

    __slots__ = ("_descriptor", "_path", "_wait_s")

    def __init__(self, path: str, wait_s: float = 1.0) -> None:
        self._path = path
        self._wait_s = wait_s
        self._descriptor = -1

    def __enter__(self) -> FileLock:
        self._descriptor = open_lock(self._path)
        deadline = time.monotonic() + self._wait_s
        while not self._is_taken():
            if time.monotonic() >= deadline:
                os.close(self._descriptor)
                raise LockTimeout(self._path)
            time.sleep(0.003)
        return self

    def _is_taken(self) -> bool:
        """Take the lock, if no other process holds it. Raises OSError."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(self._descriptor), os.stat(self._path)):
                return True
        except BlockingIOError:
            return False
        except FileNotFoundError:
            pass
        os.close(self._descriptor)  # the file was removed meanwhile, with the state of its session
        self._descriptor = open_lock(self._path)
        return False

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # even if a process that we forked still has the descriptor
        os.close(self._descriptor)


def is_locked(path: str) -> bool:
    """Whether a process holds this lock."""
    if not os.path.exists(path):
        return False
    try:
        with FileLock(path, 0):
            return False
    except LockTimeout:
        return True


# The files of a home: which are ours, permissions that are closed, leftovers of killed writers


def is_in_homes(name: str) -> bool:
    """Whether an entry of the home is ours, including locks, damaged files and leftovers."""
    if _is_temporary(name):
        name = name.rsplit(".", 2)[0].rstrip("0123456789").removesuffix(".")
    return name.partition(SET_ASIDE)[0].removesuffix(".lock") in _OURS or name.startswith(STORE)


def close_all(root: str) -> list[str]:
    """Close the home and all our files in it to others; returns those that were open."""
    closed = []
    for path in open_entries(root):
        try:
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~OTHERS)
            closed.append(path)
        except OSError:  # it is gone by now, or another user's
            pass
    return closed


def open_entries(root: str) -> list[str]:
    """The home and our files in it that others can read. If the home is private, they can read none."""
    paths = entries(root) if _is_open(root) else ()
    return [path for path in paths if _is_open(path) and (path == root or not os.path.islink(path))]


def entries(root: str, onerror: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """The home, and our folders and files in it; no link is followed."""
    yield root
    for folder, folders, names in os.walk(root, onerror=onerror):
        if folder == root:
            folders[:] = filter(is_in_homes, folders)
            names = list(filter(is_in_homes, names))
        yield from (os.path.join(folder, name) for name in sorted((*folders, *names)))


def leftovers(root: str) -> list[str]:
    """Files in the home that killed writers left more than an hour ago: no writer takes that long."""
    found = []
    for path in filter(_is_temporary, entries(root)):
        try:
            status = os.lstat(path)
        except OSError:  # gone by now
            continue
        is_ours = not path.startswith(os.path.join(root, "workspace"))  # which may hold the user's own files
        if is_ours and stat.S_ISREG(status.st_mode) and status.st_mtime < time.time() - 3600:
            found.append(path)
    return found


def sweep_temporary(root: str) -> int:
    """Remove `leftovers`; returns how many."""
    found = leftovers(root)
    remove(*found)
    return len(found)


def _is_temporary(name: str) -> bool:
    """Whether a name ends like our temporary files: `.PID.tmp`, `.PID.NANOSECONDS.tmp`."""
    return name.endswith(".tmp") and name.split(".")[-2].isdigit()
