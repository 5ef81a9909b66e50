"""What is kept to undo an installation: a receipt of each file in the home, and copies of a client's file beside it."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from glob import escape, glob
from hashlib import sha256

from core import VERSION, clock, files

_MARK = ".joelclaw-backup-"


@dataclass(frozen=True)
class Receipt:
    """Of one client's file, so that taking our part out leaves what was there before."""

    path: str
    fingerprint: str  # the SHA-256 of what we wrote
    version: str
    created: bool = False  # we made the file
    folders: tuple[str, ...] = ()  # those that we made for it, the outermost first
    made: frozenset[str] = frozenset()  # paths in its JSON that are ours, and of the containers that we made for them

    @classmethod
    def of(cls, path: str, data: bytes, *, created: bool, made: frozenset[str] = frozenset()) -> "Receipt":
        """Of a file that now holds `data`."""
        return cls(path, sha256(data).hexdigest(), VERSION, created, (), made)

    def is_of(self, data: bytes) -> bool:
        """Whether a file holds what we wrote, to the byte."""
        return sha256(data).hexdigest() == self.fingerprint

    @classmethod
    def load(cls, path: str) -> "Receipt | None":
        """The receipt of a file; None where there is none, or no proper one."""
        return _read(_place(path), path)

    def save(self) -> None:
        """Keep it."""
        kept = asdict(self)
        kept |= {"folders": list(self.folders), "emptied": sorted(kept.pop("made"))}
        files.write_whole(_place(self.path), json.dumps(kept).encode())


def _read(place: str, path: str = "") -> Receipt | None:
    try:
        with open(place, encoding="utf-8") as file:
            kept = json.load(file)
        folders, made = tuple(map(str, kept["folders"])), frozenset(map(str, kept["emptied"]))
        path = path or str(kept["path"])
        return Receipt(path, kept["fingerprint"], kept["version"], kept["created"] is True, folders, made)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget(path: str) -> None:
    """Drop the receipt of a file, if there is one."""
    with suppress(OSError):
        os.unlink(_place(path))


def _place(path: str) -> str:
    return os.path.join(files.home(), "installs", files.safe_name(path) + ".json")


def back_up(path: str, target: str, data: bytes) -> str:
    """Copy what a file (`target`, where `path` is a link) holds beside it, in its mode; returns the copy's path."""
    at = max([clock.now_ms(), *(_age(name) + 1 for name in backups(path))])  # the order is the age
    while os.path.lexists(name := f"{path}{_MARK}{at}"):
        at += 1
    create(name, data, os.stat(target).st_mode & 0o7777)
    return name


def create(path: str, data: bytes, mode: int | None) -> None:
    """Make a file that is on the disk when this returns; without a mode it has that of any new file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError:
        os.unlink(path)
        raise


def backups(path: str) -> list[str]:
    """All copies of a file, the oldest first."""
    stem = path + _MARK
    found = [name for name in glob(escape(stem) + "*") if name.removeprefix(stem).isdecimal()]
    return sorted((name for name in found if os.path.isfile(name) and not os.path.islink(name)), key=_age)


def thin(path: str) -> None:
    """Delete the copies between the first, which is older than anything of ours, and the last."""
    for name in backups(path)[1:-1]:
        with suppress(OSError):
            os.unlink(name)


def backups_left(path: str) -> list[str]:
    """The copies of a file, the oldest first, once those are deleted that say what the file says."""
    now = _data(path)
    for name in backups(path):
        if now is not None and _data(name) == now:
            with suppress(OSError):
                os.unlink(name)
    return backups(path)


def as_it_was(path: str, text: str, same: Callable[[str, str], bool]) -> str:
    """The newest copy that says the same as a text, and differs from it in white space alone; without one the text."""
    wanted = "".join(text.split())
    for name in reversed(backups(path)):
        with suppress(UnicodeDecodeError):
            old = (_data(name) or b"").decode()
            if ("".join(old.split()) == wanted and same(old, text)) or (not old.strip() and wanted == "{}"):
                return old
    return text


def _age(name: str) -> int:
    return int(name.rpartition(_MARK)[2])


def _data(path: str) -> bytes | None:
    with suppress(OSError), open(path, "rb") as file:
        return file.read()
    return None
