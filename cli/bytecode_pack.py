"""One file with the bytecode of our modules, so that a hot command opens one file and not ninety.

It lies in a `__pycache__` and is believed like the files there: while source and bytecode have the size and time that
stand in it. One that is missing or damaged costs a prompt's hook .25 of a bare start of Python.
Imports nothing but what Python itself has loaded at its start.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

    Entry = tuple[bool, int, int, int, int]
    """Whether it is a package, its source's time (s since the epoch) and bytes, where its bytecode begins, and ends."""

_ROOMS = ("cli", "clients", "core", "memory", "otel", "recall", "session")
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_HEAD = 16
"""The header of a `.pyc` file (magic number, flags, source time and size), and of the pack (magic number, format, index
size)."""
_FORMAT = 1
"""Of the pack; also in its name. What is read as another format than it has may take any memory."""
_BEGINNING = MAGIC_NUMBER + _FORMAT.to_bytes(4, "little")
_MASK = 0xFFFF_FFFF
_TAG = sys.implementation.cache_tag


class Pack:
    """The pack, where Python keeps the bytecode of `core`, as a finder of modules (`sys.meta_path`)."""

    def __init__(self) -> None:
        self.path = f"{_ROOT}/core/__pycache__/rooms-{_FORMAT}.{_TAG}.pack"
        self._descriptor = -1
        self._index: dict[str, Entry] = {}
        self._begin = 0

    def open(self) -> bool:
        """Read the index; returns whether there is one."""
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            head = os.pread(self._descriptor, _HEAD, 0)
            length = int.from_bytes(head[8:], "little")
            if head[:8] != _BEGINNING or not 0 < length < 1 << 20:
                return False
            index = marshal.loads(os.pread(self._descriptor, length, _HEAD))  # noqa: S302  # as Python its own files
        except (OSError, ValueError, EOFError, TypeError):
            return False
        if isinstance(index, dict):
            self._index, self._begin = index, _HEAD + length
        return bool(self._index)

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module whose bytecode in the pack matches its source."""
        entry = self._index.get(name)
        if entry is None:
            return None
        is_package = entry[0]
        source = _source(name, is_package=is_package)
        if _stamp(source) != entry[1:3]:  # changed, or gone
            return None
        spec = ModuleSpec(name, _Loader(self, name, source), origin=source, is_package=is_package)
        spec.has_location = True
        spec.cached = _pyc(source)
        if is_package:
            spec.submodule_search_locations = [source[: -len("/__init__.py")]]
        return spec

    def code(self, name: str) -> CodeType | None:
        """The bytecode of a module; None if it cannot be read."""
        try:
            code = marshal.loads(self._bytes(self._index[name]))  # noqa: S302  # likewise
        except (OSError, ValueError, EOFError, TypeError):
            code = None
        if isinstance(code, type(_stamp.__code__)):
            return code
        del self._index[name]  # so that it is written anew
        return None

    def complete(self, already: frozenset[str]) -> None:
        """Write the pack again if this process imported modules that it lacks; `already`: those loaded without it."""
        lacking: dict[str, tuple[bool, int, int, bytes]] = {}
        for name, module in list(sys.modules.items()):
            if name in already or name.partition(".")[0] not in _ROOMS:
                continue
            loader = getattr(getattr(module, "__spec__", None), "loader", None)
            known = isinstance(loader, _Loader) and name in self._index
            found = None if known else _compiled(name, getattr(module, "__file__", None))
            if found is not None:
                lacking[name] = found
        if not lacking or sys.dont_write_bytecode or not os.access(os.path.dirname(self.path), os.W_OK):
            return
        modules = {
            name: (*entry[:3], self._bytes(entry))
            for name, entry in self._index.items()
            if _stamp(_source(name, is_package=entry[0])) == entry[1:3]
        } | lacking
        index: dict[str, Entry] = {}
        at = 0
        for name, (is_package, time, size, code) in modules.items():
            index[name] = (is_package, time, size, at, at + len(code))
            at += len(code)
        listed = marshal.dumps(index)
        head = _BEGINNING + len(listed).to_bytes(8, "little")
        self._write(head + listed + b"".join(code for _, _, _, code in modules.values()))

    def _write(self, data: bytes) -> None:
        """Replace the pack by rename, readable as Python's own files are."""
        temporary = f"{self.path}.{os.getpid()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())  # once in an installation: what is believed must not be half there
            os.replace(temporary, self.path)
        except OSError:
            os.unlink(temporary)
            raise

    def _bytes(self, entry: Entry) -> bytes:
        return os.pread(self._descriptor, entry[4] - entry[3], self._begin + entry[3])


class _Loader(SourceFileLoader):
    """Python's own loader, with the bytecode from the pack."""

    def __init__(self, pack: Pack, name: str, path: str) -> None:
        super().__init__(name, path)
        self._pack = pack

    def get_code(self, fullname: str) -> CodeType | None:
        """The bytecode, compiled from the source where the pack's cannot be read."""
        return self._pack.code(fullname) or super().get_code(fullname)


def _pyc(source: str) -> str:
    folder, _, name = source.rpartition("/")
    return f"{folder}/__pycache__/{name[:-3]}.{_TAG}.pyc"


def _source(name: str, *, is_package: bool) -> str:
    stem = f"{_ROOT}/{name.replace('.', '/')}"
    return f"{stem}/__init__.py" if is_package else f"{stem}.py"


def _stamp(source: str) -> tuple[int, int] | None:
    """Time and size of a file, as Python keeps them in its bytecode."""
    try:
        about = os.stat(source)
    except OSError:
        return None
    return int(about.st_mtime) & _MASK, about.st_size & _MASK


def _compiled(name: str, source: str | None) -> tuple[bool, int, int, bytes] | None:
    """The bytecode that Python cached for one of our modules, if it matches the source."""
    is_package = source is not None and source.endswith("/__init__.py")
    stamp = _stamp(source) if source is not None and source == _source(name, is_package=is_package) else None
    if source is None or stamp is None:
        return None
    try:
        with open(_pyc(source), "rb") as file:
            data = file.read()
    except OSError:
        return None
    head = MAGIC_NUMBER + b"".join(part.to_bytes(4, "little") for part in (0, *stamp))
    return (is_package, *stamp, data[_HEAD:]) if data.startswith(head) else None
