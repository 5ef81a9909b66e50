"""Reading a session as lines of JSON, from a plain or compressed file, a JSON document or a database. Hot path.

Each source has a path. That of a session in a database, or in a file with lines of several sessions, is the path of the
file, `#`, and the session's id. A database is only read, also while its client writes to it.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, json_text
from core.files import open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    import apsw

    Blocks = Iterator[bytes]

COMPRESSED = ".zst"
MAX_HEAD_BYTES = 64 * 1024  # of a JSON document, before its messages


class Unreadable(OSError):
    """A source cannot be read; the message is the reason."""


class database_read:  # noqa: N801  # reads as a statement
    """`with database_read():` raises the errors of SQLite as Unreadable. A plain file needs no SQLite."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from core.store.sqlite import StoreError

        if isinstance(error, StoreError):
            raise Unreadable(str(error)) from None


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
    """A source that can only be read forwards. To read far back, it starts over."""

    _KEPT = 1024 * 1024  # bytes before the last offset that can be read again

    def __init__(self, begin: Callable[[], Blocks], descriptor: int = -1) -> None:
        super().__init__(descriptor)
        self._begin = begin
        self._blocks = begin()
        self._start = b""
        self._window = bytearray()
        self._offset = 0  # of the window
        self._size = -1

    def read(self, most: int, offset: int) -> bytes:
        """As `Source.read`. Raises Unreadable."""
        if offset + most <= len(self._start):  # the head of a file is read again and again
            return self._start[offset : offset + most]
        if offset < self._offset:
            self._blocks, self._offset = self._begin(), 0
            self._window.clear()
        while self._offset + len(self._window) < offset + most and (block := next(self._blocks, None)) is not None:
            if not self._offset and len(self._start) < 4096:
                self._start = bytes(self._window + block)[:4096]
            self._window += block
            if (passed := min(offset - self._KEPT - self._offset, len(self._window))) > self._KEPT:
                del self._window[:passed]
                self._offset += passed
        begin = offset - self._offset
        return bytes(self._window[begin : begin + most])

    def size(self) -> int:
        """The number of bytes. The first call reads all of them."""
        if self._size < 0:
            self._size = sum(map(len, self._begin()))
        return self._size

    def close(self) -> None:
        """Close the file or the database."""
        self._blocks = iter(())
        if self._descriptor >= 0:
            super().close()


class Events(Source):
    """The events of a session in OpenClaw's database, each a line. Only those that are read are fetched."""

    def __init__(self, db: apsw.Connection, session: str) -> None:
        from itertools import accumulate

        super().__init__(-1)
        self._db = db
        self._session = session
        query = "SELECT seq, coalesce(event_utf8_bytes, octet_length(event_json)) + 1 FROM transcript_events"
        with database_read():
            db.execute("BEGIN")  # what the client writes meanwhile is not seen
            rows: list[Any] = db.execute(f"{query} WHERE session_id = ? ORDER BY seq", (session,)).fetchall()
        self._numbers: list[Any] = [number for number, _ in rows]
        self._begins: list[int] = [0, *accumulate(length for _, length in rows)]  # of the lines, and the end

    def read(self, most: int, offset: int) -> bytes:
        """As `Source.read`. Raises Unreadable."""
        from bisect import bisect_left, bisect_right

        first = bisect_right(self._begins, offset) - 1
        numbers = self._numbers[first : bisect_left(self._begins, offset + most)] or [None]
        query = "SELECT event_json, event_zstd FROM transcript_events WHERE session_id = ? AND seq BETWEEN ? AND ?"
        lines = bytearray()
        with database_read():
            rows: Any = self._db.execute(f"{query} ORDER BY seq", (self._session, numbers[0], numbers[-1]))
            for place, (text, packed) in enumerate(rows, first):  # a long one is compressed
                line = text.encode("utf-8", "replace") if packed is None else _decompressor()().decompress(packed)
                length = self._begins[place + 1] - self._begins[place] - 1
                lines += line[:length].replace(b"\n", b" ").ljust(length) + b"\n"
        begin = offset - self._begins[first]
        return bytes(lines[begin : begin + most])

    def size(self) -> int:
        """The number of bytes."""
        return self._begins[-1]

    def close(self) -> None:
        """Close the database."""
        self._db.close()


def open_source(path: str) -> Source:
    """Open the source of a session. Raises OSError; Unreadable if its form is unknown or needs a missing package."""
    file, session = _split(path)
    if session:
        if kind_of(file) == "database" and _sessions_query(file) == _EVENTS:
            return Events(_open_database(file), session)
        return Stream(lambda: _session_lines(file, session))
    descriptor = open_file(path)
    try:
        kind = _kind_of_file(descriptor)
        if kind == "database":
            raise Unreadable("a database without sessions of a known client")
        if kind == "document":
            return Stream(lambda: _document_lines(descriptor), descriptor)
        if not kind:
            return Source(descriptor)
        _decompressor()
        return Stream(lambda: _decompressed(descriptor), descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def kind_of(path: str) -> str:
    """Whether a file is a `database` or a `document` with messages, or is `compressed`; else ""."""
    try:
        with open(open_file(path), "rb") as file:
            return _kind_of_file(file.fileno())
    except (OSError, ValueError):
        return ""


def _kind_of_file(descriptor: int) -> str:
    head = os.pread(descriptor, 4096, 0)
    if head.startswith(b"SQLite format 3\0"):
        return "database"
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return "compressed"
    if b"}\n{" in head:  # lines of objects
        return ""
    head = os.pread(descriptor, MAX_HEAD_BYTES, 0)
    return "document" if b'"messages"' in head and _is_document(head.decode("utf-8", "replace")) else ""


def real_path(path: str) -> str:
    """The real path of a source, without links and without the suffix of a compressed file."""
    file, session = _split(path)
    return os.path.realpath(file).removesuffix(COMPRESSED) + f"#{session}" * bool(session)


def plain_path(path: str) -> str:
    """The path of a file before its client compressed it."""
    return path.removesuffix(COMPRESSED)


def existing(path: str) -> str:
    """The path under which the source with this `real_path` exists now; "" if it is gone."""
    return next((name for name in (path, path + COMPRESSED) if os.path.isfile(_split(name)[0])), "")


def _split(path: str) -> tuple[str, str]:
    """The file of a source, and the session in it if the file is a database, else ""."""
    file, _, session = path.rpartition("#")
    return (file, session) if file and not os.path.exists(path) and os.path.isfile(file) else (path, "")


# Compressed files


def _decompressed(descriptor: int) -> Blocks:
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
            except Exception as error:  # each of the two packages has an error of its own
                raise Unreadable(f"damaged: {error}") from None
            data = frame.unused_data
            yield block


def _decompressor() -> Any:
    """A function that returns a new decompressor: from Python's own package (since 3.14) or from `zstandard`."""
    from importlib import import_module

    for name in ("compression.zstd", "zstandard"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        return module.ZstdDecompressor if name == "compression.zstd" else module.ZstdDecompressor().decompressobj
    raise Unreadable("it is compressed; to read it, run pip install zstandard")


# JSON documents: an object with a list of messages and fields before or after it


def _is_document(head: str) -> bool:
    """Whether this is the beginning of an object with a list of messages."""
    at = _next(head, 0, "\ufeff")
    try:
        while at < len(head) and head[at] in "{,":
            key, at = json_text.loads_at(head, _next(head, at + 1))
            at = _next(head, at, ": \t\r\n")
            if key == "messages":
                return head[at : at + 1] == "["
            _, at = json_text.loads_at(head, at)
            at = _next(head, at)
    except json_text.InvalidJSON:
        pass
    return False


def _next(text: str, at: int, passed: str = " \t\r\n") -> int:
    """The place of the next character that is not passed over."""
    while at < len(text) and text[at] in passed:
        at += 1
    return at


def _document_lines(descriptor: int) -> Blocks:
    """The fields around the messages as a line, and each message."""
    try:
        document = json_text.loads(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
    except json_text.InvalidJSON as error:
        raise Unreadable(f"damaged, or not written to its end: {error}") from None
    messages = document.pop("messages")
    for value in (document, *messages):
        yield json_text.dumps(value).encode("utf-8", "replace") + b"\n"


# Databases: each kind has a query of its sessions (id, last change in ms, bytes, and what else shows a change), and
# a function that yields the lines of a session.


def sessions_in(database: str) -> list[tuple[str, str, int, int]]:
    """The sessions in a client's database: the path, the state, the time of the last change (ms), and the size of each.

    Raises Unreadable.
    """
    states = [
        (str(session), f"{at} {size} {more}", int(at or 0), int(size or 0))
        for session, at, size, more in _rows(database, _sessions_query(database))
    ]
    return [(f"{database}#{session}", state, at, size) for session, state, at, size in states]


def session_key(path: str) -> str:
    """The key that OpenClaw's commands use for the session in its database; "" if there is none."""
    file, session = _split(path)
    try:
        rows = _rows(file, "SELECT session_key FROM session_windows WHERE session_id = ?", session)
    except OSError:
        return ""
    return str(rows[0][0]) if rows else ""


def _session_lines(database: str, session: str) -> Blocks:
    if kind_of(database) != "database":
        with open(open_file(database), "rb") as file:
            current = ""  # the session of a line that names none, or is no JSON, is that of the line before
            for line in file:
                named = _object(line).get("session")
                current = str(named) if isinstance(named, (str, int)) else current
                if current == session:
                    yield line
        return
    db = _open_database(database)
    try:
        with database_read():
            db.execute("BEGIN")  # what the client writes meanwhile is not seen
            yield from _messages_with_parts(db, session)
    finally:
        db.close()


def _open_database(path: str) -> apsw.Connection:
    from urllib.parse import quote

    from core.store.sqlite import apsw, open_unchanged

    # Otherwise SQLite would create a log next to a database in WAL mode.
    if not any(os.path.exists(path + end) for end in ("-wal", "-journal")):
        return open_unchanged(path)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(f"file:{quote(path)}?mode=ro", flags=flags)
    db.set_busy_timeout(1000)
    return db


def _rows(database: str, query: str, *values: str) -> list[tuple[Any, ...]]:
    """The rows of a query. Raises Unreadable."""
    with database_read():
        db = _open_database(database)
        try:
            return db.execute(query, values).fetchall()
        finally:
            db.close()


def _sessions_query(database: str) -> str:
    """The query of a database's sessions, which tells its kind. Raises Unreadable."""
    tables = {name for (name,) in _rows(database, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables >= {"session", "message", "part"}:
        return _MESSAGES
    if "transcript_events" in tables:
        return _EVENTS
    raise Unreadable("a database without sessions of a known client")


_PARTS = "count(*) AS count, max(time_updated) AS at, sum(octet_length(data)) AS size"
_MESSAGES = (
    "SELECT id, max(time_updated, coalesce(message.at, 0), coalesce(part.at, 0)), message.size + part.size,"
    " time_updated || ' ' || message.count || ' ' || part.count FROM session"
    f" LEFT JOIN (SELECT session_id, {_PARTS} FROM message GROUP BY 1) AS message ON message.session_id = id"
    f" LEFT JOIN (SELECT session_id, {_PARTS} FROM part GROUP BY 1) AS part ON part.session_id = id"
)
"""The sessions of OpenCode."""
_EVENTS = (
    "SELECT session_id, max(created_at), sum(octet_length(coalesce(event_json, event_zstd))), count(*)"
    " FROM transcript_events GROUP BY 1"
)
"""The sessions of OpenClaw."""


def _messages_with_parts(db: apsw.Connection, session: str) -> Blocks:
    """OpenCode: a line about the session, and one for each message, in the form in which it exports them."""
    from core.store.sqlite import fetch_dicts

    row: dict[str, Any] = next(iter(fetch_dicts(db, "SELECT * FROM session WHERE id = ?", (session,))), {})
    folder, parent, title = (row.get(name) for name in ("directory", "parent_id", "title"))
    about = {"id": session, "directory": folder, "path": {"cwd": folder}, "parentID": parent, "title": title}
    yield json_text.dumps({"info": about}).encode() + b"\n"
    parts: dict[object, list[object]] = {}
    for part, message in db.execute("SELECT id, message_id FROM part WHERE session_id = ? ORDER BY id", (session,)):
        parts.setdefault(message, []).append(part)
    query = "SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id"
    for (message,) in db.execute(query, (session,)).fetchall():
        info = _object(db.execute("SELECT data FROM message WHERE id = ?", (message,)).get)
        given = [
            _object(db.execute("SELECT data FROM part WHERE id = ?", (part,)).get) for part in parts.get(message, ())
        ]
        line = {"info": {"id": message, "sessionID": session, **info}, "parts": given}
        yield json_text.dumps(line).encode("utf-8", "replace") + b"\n"
    if back := _object(row.get("revert")):  # the user took back what follows a message, until the next prompt
        yield json_text.dumps({"info": {"id": session, "revert": back}}).encode() + b"\n"


def _object(data: object) -> dict[str, Any]:
    try:
        value = json_text.loads(data) if isinstance(data, (str, bytes)) else None
    except json_text.InvalidJSON:
        value = None
    return value if isinstance(value, dict) else {}
