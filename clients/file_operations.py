"""Which files a session read, wrote and edited: kept over compactions, so that a summary can list them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileOperations:
    """Paths as the tool calls name them, each once, in the order of their first use."""

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.read or self.written or self.edited)


NONE = FileOperations()


def together(several: Iterable[FileOperations]) -> FileOperations:
    """All of them as one, each path once, in their order."""
    several = [one for one in several if one]
    if len(several) <= 1:
        return several[0] if several else NONE
    read: dict[str, None] = {}
    written: dict[str, None] = {}
    edited: dict[str, None] = {}
    for one in several:
        read.update(dict.fromkeys(one.read))
        written.update(dict.fromkeys(one.written))
        edited.update(dict.fromkeys(one.edited))
    return FileOperations(tuple(read), tuple(written), tuple(edited))


def modified(ops: FileOperations) -> tuple[str, ...]:
    """What was written or edited, sorted: the summary's <modified-files>."""
    return _sorted({*ops.edited, *ops.written})


def read_only(ops: FileOperations) -> tuple[str, ...]:
    """What was read and never modified, sorted: the summary's <read-files>."""
    return _sorted({*ops.read} - {*ops.edited, *ops.written})


def _sorted(paths: Iterable[str]) -> tuple[str, ...]:
    """In the order of UTF-16 units, as pi sorts, so that both write the same lists."""
    return tuple(sorted(paths, key=lambda path: path.encode("utf-16-be", "surrogatepass")))
