"""Where a session is kept, as lines of JSON: a plain or a compressed file. Hot path.

A source is named by its path. A client may compress a file that was read before: `plain_path` gives it the same name.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING
from core.files import open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

COMPRESSED = ".zst"


class Unreadable(OSError):
    """A source cannot be read; the message is the reason."""


class Source:
    """A file whose bytes can be read in any order. Close it, or use it in a `with` statement."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, most: int, offset: int) -> bytes:
        """Up to `most` bytes at an offset; fewer only at the end."""
        return os.pread(self._descriptor, most, offset)

    def size(self) -> int:
        """The number of bytes."""
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Stream(Source):
    """A source whose bytes come one after the other. Whoever goes far back makes it begin again."""

    _KEPT = 1024 * 1024  # bytes before the last offset that can be read again

    def __init__(self, descriptor: int, blocks: Callable[[int], Iterator[bytes]]) -> None:
        super().__init__(descriptor)
        self._blocks = blocks
        self._running = blocks(descriptor)
        self._start = b""
        self._window = bytearray()
        self._offset = 0  # of the window
        self._size = -1

    def read(self, most: int, offset: int) -> bytes:
        """As `Source.read`. Raises Unreadable."""
        if offset + most <= len(self._start):  # the head of a file is read again and again
            return self._start[offset : offset + most]
        if offset < self._offset:
            self._running, self._offset = self._blocks(self._descriptor), 0
            self._window.clear()
        while self._offset + len(self._window) < offset + most and (block := next(self._running, None)) is not None:
            if not self._offset and len(self._start) < 4096:
                self._start = bytes(self._window + block)[:4096]
            self._window += block
            if (passed := min(offset - self._KEPT - self._offset, len(self._window))) > self._KEPT:
                del self._window[:passed]
                self._offset += passed
        begin = offset - self._offset
        return bytes(self._window[begin : begin + most])

    def size(self) -> int:
        """The number of bytes, for which all of them are read once."""
        if self._size < 0:
            self._size = sum(map(len, self._blocks(self._descriptor)))
        return self._size


def open_source(path: str) -> Source:
    """Open what a session is kept in. Raises OSError; Unreadable if a package to read it is missing."""
    descriptor = open_file(path)
    try:
        if os.pread(descriptor, 4, 0) != b"\x28\xb5\x2f\xfd":
            return Source(descriptor)
        _decompressor()
        return Stream(descriptor, _decompressed)
    except BaseException:
        os.close(descriptor)
        raise


def plain_path(path: str) -> str:
    """The path of a source before its client compressed it."""
    return path.removesuffix(COMPRESSED)


def existing(path: str) -> str:
    """The path under which a source with this plain path exists now; "" if it is gone."""
    return next(filter(os.path.isfile, (path, path + COMPRESSED)), "")


def _decompressed(descriptor: int) -> Iterator[bytes]:
    """The content of a file that is compressed with Zstandard, in one or several frames."""
    begin = _decompressor()
    frame = begin()
    offset = 0
    while data := os.pread(descriptor, 16 * 1024, offset):  # a few of these bytes may become many
        offset += len(data)
        while data:
            if frame.eof:
                frame = begin()
            try:
                block = frame.decompress(data)
            except Exception as error:  # each of the two modules has an error of its own
                raise Unreadable(f"damaged: {error}") from None
            data = frame.unused_data
            yield block


def _decompressor() -> Any:
    """What returns a new decompressor of a frame: of Python's own module, which came with 3.14, or of `zstandard`."""
    from importlib import import_module

    for name in ("compression.zstd", "zstandard"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        return module.ZstdDecompressor if name == "compression.zstd" else module.ZstdDecompressor().decompressobj
    raise Unreadable("it is compressed; to read it, run pip install zstandard")
