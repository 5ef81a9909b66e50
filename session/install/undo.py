"""What an uninstall needs: a receipt for each file that we changed, and backups next to the client's files."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from glob import escape, glob
from hashlib import sha256

from core import VERSION, clock, files

BACKUP_SUFFIX = ".joelclaw-backup-"


@dataclass(frozen=True)
class Receipt:
    """What an installation did to one file of a client, so that an uninstall can restore it."""

    path: str
    fingerprint: str  # the SHA-256 of what we wrote
    version: str
    created: bool  # we created the file
    folders: tuple[str, ...]  # that we created for it, the outermost first

    @classmethod
    def of(cls, path: str, data: bytes, *, created: bool, folders: Iterable[str]) -> "Receipt":
        """The receipt for a file that now holds `data`."""
        return cls(path, sha256(data).hexdigest(), VERSION, created, tuple(folders))

    def is_of(self, data: bytes) -> bool:
        """Whether a file holds exactly what we wrote."""
        return sha256(data).hexdigest() == self.fingerprint

    @classmethod
    def load(cls, path: str) -> "Receipt | None":
        """The receipt of a file; None if there is none or it is damaged."""
        try:
            with open(_receipt_path(path), encoding="utf-8") as file:
                value = json.load(file)
            folders = tuple(map(str, value["folders"]))
            return cls(path, value["fingerprint"], value["version"], value["created"] is True, folders)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self) -> None:
        """Store the receipt."""
        files.write_whole(_receipt_path(self.path), json.dumps(asdict(self)).encode())


def delete_receipt(path: str) -> None:
    """Delete the receipt of a file, if there is one."""
    files.remove(_receipt_path(path))


def missing_folders(path: str) -> list[str]:
    """The folders that have to be created for a file, the outermost first."""
    folder, missing = os.path.dirname(path), list[str]()
    while folder and not os.path.isdir(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def remove_empty_folders(folders: Sequence[str]) -> None:
    """Remove those of these folders that are empty, the last first."""
    for folder in reversed(folders):
        with suppress(OSError):
            os.rmdir(folder)


def back_up(path: str, target: str, data: bytes) -> str:
    """Back up the data of a file next to it, with the mode of `target`, the file itself. Returns the new path."""
    at = max([clock.now_ms(), *(_time_of(name) + 1 for name in backups(path))])  # later than every other backup
    while os.path.lexists(name := f"{path}{BACKUP_SUFFIX}{at}"):
        at += 1
    create(name, data, os.stat(target).st_mode & 0o7777)
    return name


def create(path: str, data: bytes, mode: int | None) -> None:
    """Create a file and sync it to the disk. Without a mode, the umask decides."""
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
    """All backups of a file, the oldest first."""
    stem = path + BACKUP_SUFFIX
    found = [name for name in glob(escape(stem) + "*") if name.removeprefix(stem).isdecimal()]
    return sorted((name for name in found if os.path.isfile(name) and not os.path.islink(name)), key=_time_of)


def delete_middle_backups(path: str) -> None:
    """Delete the backups between the first, which is from before our first change, and the last."""
    for name in backups(path)[1:-1]:
        with suppress(OSError):
            os.unlink(name)


def useful_backups(path: str) -> list[str]:
    """Delete the backups that equal the file; returns the others, the oldest first."""
    now = _data(path)
    for name in backups(path):
        if now is not None and _data(name) == now:
            with suppress(OSError):
                os.unlink(name)
    return backups(path)


def original(path: str, is_original: Callable[[str], bool]) -> bytes | None:
    """The newest backup that holds what the file held before our entries; None if there is none."""
    for name in reversed(backups(path)):
        data = _data(name)
        with suppress(UnicodeDecodeError):
            if data is not None and is_original(data.decode()):
                return data
    return None


def _receipt_path(path: str) -> str:
    return os.path.join(files.home(), "installs", files.safe_name(path) + ".json")


def _time_of(backup: str) -> int:
    return int(backup.rpartition(BACKUP_SUFFIX)[2])


def _data(path: str) -> bytes | None:
    with suppress(OSError), open(path, "rb") as file:
        return file.read()
    return None
