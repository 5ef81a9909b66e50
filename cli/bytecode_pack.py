"""One file with the bytecode of our modules, so that a hot command opens one file and not ninety.

It lies in a `__pycache__` and is believed like the files there: while source and bytecode have the size and time that
stand in it. A module stands there with those that were imported along with it, as one piece: these are loaded without
the search of an `import`, and what they have in common is read once. A pack that is missing or damaged costs a start's
hook .4 of a bare start of Python.
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

    Member = tuple[str, bool, int, int]
    """A module: whether it is a package, its source's time (s since the epoch) and bytes."""
    Piece = list[tuple[Member, CodeType]]
    """Modules in the order of their loading, the imported one last."""

_ROOMS = ("cli", "clients", "core", "memory", "otel", "recall", "session")
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_HEAD = 16
"""The header of a `.pyc` file (magic number, flags, source time and size), and of the pack (magic number, format, index
size)."""
_FORMAT = 2
"""Of the pack; also in its name. What is read as another format than it has may take any memory."""
_BEGINNING = MAGIC_NUMBER + _FORMAT.to_bytes(4, "little")
_MASK = 0xFFFF_FFFF
_TAG = sys.implementation.cache_tag


class Pack:
    """The pack, where Python keeps the bytecode of `core`, as a finder of modules (`sys.meta_path`)."""

    def __init__(self) -> None:
        self.path = f"{_ROOT}/core/__pycache__/rooms-{_FORMAT}.{_TAG}.pack"
        self._descriptor = -1
        self._index: dict[str, tuple[int, int]] = {}
        """Where the piece of a module begins, and ends."""
        self._begin = 0
        self._imported: list[str] = []
        """Modules that were imported on their own, not along with another."""
        self._pieces: dict[str, Piece] = {}
        self._loaded: dict[str, tuple[Member, CodeType]] = {}
        self._already = frozenset(sys.modules)

    def open(self) -> None:
        """Read the index, if there is one."""
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            head = os.pread(self._descriptor, _HEAD, 0)
            length = int.from_bytes(head[8:], "little")
            if head[:8] != _BEGINNING or not 0 < length < 1 << 20:
                return
            index = marshal.loads(os.pread(self._descriptor, length, _HEAD))  # noqa: S302  # as Python its own files
        except (OSError, ValueError, EOFError, TypeError):
            return
        if isinstance(index, dict):
            self._index, self._begin = index, _HEAD + length

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module whose bytecode in the pack matches its source; what it imports is loaded before it."""
        if name.partition(".")[0] not in _ROOMS:
            return None
        last = sys.modules.get(self._imported[-1]) if self._imported else sys
        if last is not None and not getattr(last.__spec__, "_initializing", False):  # none is under way
            self._imported.append(name)
        spec = None
        for member, code in self._piece(name):
            parent = member[0].rpartition(".")[0]
            if member[0] not in sys.modules and (not parent or parent in sys.modules):
                spec = self._spec(member, code)
                if spec is not None and member[0] != name:
                    _load(spec, code)
        return spec if spec is not None and spec.name == name else None

    def _piece(self, name: str) -> Piece:
        """A module behind what is imported along with it; nothing if it cannot be read."""
        try:
            piece = marshal.loads(self._bytes(name)) if name in self._index else None  # noqa: S302  # likewise
        except (OSError, ValueError, EOFError, TypeError):
            piece = None
        if not isinstance(piece, list):
            return []
        self._pieces[name] = piece
        return piece

    def _spec(self, member: Member, code: CodeType) -> ModuleSpec | None:
        name, is_package, *stamp = member
        source = _source(name, is_package=is_package)
        if _stamp(source) != tuple(stamp):  # changed, or gone
            return None
        self._loaded[name] = member, code
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [source[: -len("/__init__.py")]]
        return spec

    def complete(self) -> None:
        """Write the pack again if this process imported modules that it lacks, or in other company."""
        ours = [name for name in sys.modules if name not in self._already and name.partition(".")[0] in _ROOMS]
        new: dict[str, Piece] = {}
        along: set[str] = set()
        for at, name in enumerate(ours, 1):  # in the order in which Python was done with them
            along.add(name)
            if name in self._imported:
                members = {member for member, _ in self._pieces.get(name, ())}
                along.update(member[0] for member in members)
                found = [self._loaded.get(one) or _compiled(one) for one in ours[:at] if one in along]
                piece = [one for one in found if one is not None]
                if found[-1] is not None and not members.issuperset(member for member, _ in piece):
                    new[name] = piece
                along = set()
        if not new or sys.dont_write_bytecode or not os.access(os.path.dirname(self.path), os.W_OK):
            return
        parts = {name: self._bytes(name) for name in self._index} | {name: marshal.dumps(new[name]) for name in new}
        index: dict[str, tuple[int, int]] = {}
        at = 0
        for name, part in parts.items():
            index[name] = at, at + len(part)
            at += len(part)
        listed = marshal.dumps(index)
        data = b"".join((_BEGINNING, len(listed).to_bytes(8, "little"), listed, *parts.values()))
        SourceFileLoader("", "").set_data(self.path, data)  # as Python its own: by rename, in silence where it cannot

    def _bytes(self, name: str) -> bytes:
        begin, end = self._index[name]
        return os.pread(self._descriptor, end - begin, self._begin + begin)


class _Loader(SourceFileLoader):
    """Python's own loader, with the bytecode from the pack."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType | None:  # noqa: ARG002  # as its base
        """The bytecode of its one module."""
        return self._code


def _load(spec: ModuleSpec, code: CodeType) -> None:
    """Do what an import does once it has found the module."""
    name = spec.name
    module = sys.modules[name] = type(sys)(name)
    module.__file__ = spec.origin
    module.__package__, module.__loader__, module.__spec__ = spec.parent, spec.loader, spec
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    try:
        exec(code, module.__dict__)  # noqa: S102  # that of a module of ours
    except Exception:  # who imports it meets that again
        return
    finally:
        del sys.modules[name]
    sys.modules[name] = module  # behind what it has imported itself
    parent, _, tail = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], tail, module)


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


def _compiled(name: str) -> tuple[Member, CodeType] | None:
    """The bytecode that Python cached for one of our modules, if it matches the source."""
    source = getattr(sys.modules[name], "__file__", None) or ""
    is_package = source.endswith("/__init__.py")
    stamp = _stamp(source) if source == _source(name, is_package=is_package) else None
    if stamp is None:
        return None
    folder, _, file_name = source.rpartition("/")
    try:
        with open(f"{folder}/__pycache__/{file_name[:-3]}.{_TAG}.pyc", "rb") as file:
            data = file.read()
    except OSError:
        return None
    head = MAGIC_NUMBER + b"".join(part.to_bytes(4, "little") for part in (0, *stamp))
    return ((name, is_package, *stamp), marshal.loads(data[_HEAD:])) if data.startswith(head) else None  # noqa: S302
