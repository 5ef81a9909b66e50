"""Events: built (defaults, redaction, limits of size), appended to the store, or spooled until a command stores them.

A hook appends its events to the spool, a file of JSON lines, since a write to the store may have to wait. A later
command stores them, a hook after its answer, or a gateway's refresh, which reads them. The store is imported only by
the functions that need it. Hot path.
"""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, clock, files, json_text, words
from core.errors import Failure, NotAFile
from core.files import SET_ASIDE
from core.redaction import redact, redact_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict, Unpack

    import apsw

    from core.records import Event

    class Details(TypedDict, total=False):
        """What an event may say. Defaults: source `cli`, component `otel-cli`, level `info`, success true."""

        source: str
        component: str
        level: str
        success: bool
        metadata: Mapping[str, Any] | None
        duration_ms: float | None
        error: str | None
        session: str
        """By default from the environment, else the name of the role."""
        system: str
        """By default from the environment, else the host name."""
        role: str
        id: str


MAX_METADATA_BYTES = 65_536  # as JSON; longer values are cut
MAX_NAME_CHARS = 200
MAX_SPOOL_BYTES = 262_144
LEVELS = ("debug", "info", "warn", "error", "fatal")
DUPLICATE = "duplicate-id"
NOISE = "debug_backpressure_guard"
BUSY_MS = 400  # how long events wait for another writer; they can stay in the spool


def new_event(action: str, *, now: int, **details: Unpack[Details]) -> Event:
    """A new event of the time `now` (ms): redacted, with names on one line, within the limits of size."""
    session = details.get("session") or _variable(
        "SLOG_SESSION_ID", "JOELCLAW_SESSION_ID", "JOELCLAW_SESSION_HANDLE", "PI_SESSION_HANDLE"
    )
    system = details.get("system") or _variable("SLOG_SYSTEM_ID", "JOELCLAW_SYSTEM_ID") or host()
    role = details.get("role", "interactive")  # names a session that has no id, as in the mirrored CLI
    if role == "interactive":
        role = "gateway" if _variable("GATEWAY_ROLE") == "central" else _variable("JOELCLAW_ROLE") or role
    success, metadata = details.get("success", True), details.get("metadata")
    duration_ms, error = details.get("duration_ms"), details.get("error")
    event: Event = {
        "id": identifier(details.get("id", "")) or clock.uuid7(),
        "timestamp": now,
        "sessionId": identifier(session or role),
        "systemId": identifier(system) or "unknown",
        "level": parse_level(details.get("level", "info")) or "info",
        "source": _name(details.get("source", "")) or "cli",
        "component": _name(details.get("component", "")) or "otel-cli",
        "action": _name(action),
        "success": success,
        "metadata": _bounded(metadata) if metadata else {},
    }
    if duration_ms is not None and 0 <= duration_ms < 1e15:
        event["duration_ms"] = int(duration_ms) if duration_ms % 1 == 0 else float(duration_ms)
    message = _cut(redact(words.clean(error))[0].strip(), 8_000) if error else ""
    if message or not success:
        event["error"] = message or "operation_failed"
    return event


def parse_level(name: str) -> str | None:
    """The level of a name in any case, also of some that other loggers use; None if it is unknown."""
    name = name.strip().lower()
    name = {"notice": "info", "warning": "warn", "err": "error", "critical": "fatal"}.get(name, name)
    return name if name in LEVELS else None


def identifier(text: str) -> str:
    """An id for storing: hashed if it is too long or looks like a secret, so that equal ids stay equal."""
    if not text:
        return ""
    line = _one_line(text)
    if len(line) > MAX_NAME_CHARS or redact(line)[1]:
        return "hash-" + words.fingerprint(text)
    return line


def query_excerpt(query: str) -> str:
    """The beginning of a query, for an event. It is redacted first: half a secret is not recognised."""
    return redact(query[:4000])[0][:200]


def host() -> str:
    """The name of this machine."""
    name = os.uname().nodename.strip().lower()
    return name.removesuffix(".localdomain").removesuffix(".local")


def append(db: apsw.Connection, events: Sequence[Event], *, debug_limit: int = 12) -> list[str]:
    """Store events, in the caller's transaction or in one of its own. Returns "" for each that was stored, or why not.

    DUPLICATE: the id is known. NOISE: more than `debug_limit` debug events of the same source, component and action
    came within 60 seconds, and none that matters (`_matters`).
    """
    from core.store import sqlite

    if not db.in_transaction:
        with sqlite.transaction(db):
            return append(db, events, debug_limit=debug_limit)
    reasons = []
    for event in events:
        try:
            reasons.append(_append(db, event, debug_limit))
        except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError) as fault:
            reasons.append(str(fault))  # another program wrote it to the spool; it must not keep back the others
    return reasons


def spool(events: Sequence[Event]) -> bool:
    """Append events to the spool; returns whether they are there. A full spool takes no more."""
    if not events:
        return True
    try:
        lines = b"".join(json_text.dumps(event).encode() + b"\n" for event in events)
        for _ in range(5):  # a command may take the file away while we write
            descriptor = files.open_anew(spool_path(), os.O_RDWR | os.O_APPEND)
            try:
                size = os.fstat(descriptor).st_size
                if size > MAX_SPOOL_BYTES:
                    return False
                if size and os.pread(descriptor, 1, size - 1) != b"\n":  # the disk was full in the middle of a line
                    os.write(descriptor, b"\n")
                if os.write(descriptor, lines) < len(lines):
                    return False
                # A command renames the file before it reads it. Then write again: an event is stored only once.
                if os.stat(spool_path()).st_ino == os.fstat(descriptor).st_ino:
                    return True
            except FileNotFoundError:
                pass
            finally:
                os.close(descriptor)
    except (OSError, ValueError, TypeError):
        pass
    return False


def store_spooled(more: Sequence[Event] = (), db: apsw.Connection | None = None, *, busy_ms: int = BUSY_MS) -> None:
    """Store the spooled events and `more`. If the store is busy for longer than `busy_ms`, they stay spooled."""
    if not (more or has_spooled()):
        return
    from core.store import sqlite

    opened = None
    try:
        if db is None:
            db = opened = sqlite.open_writing(busy_ms=busy_ms, durable=False)
        else:
            sqlite.set_durability(db, False, busy_ms=busy_ms)
        with sqlite.transaction(db):  # before the files are taken, so that they stay if another process is writing
            events, taken = take_spooled()
            append(db, [*events, *more])
        files.remove(*taken)
    except (Failure, sqlite.StoreError):  # `doctor` and the next reader report a fault of the store
        spool(more)
    finally:
        if opened is not None:
            opened.close()


def has_spooled() -> bool:
    """Whether events are spooled; takes microseconds."""
    try:
        return any(SET_ASIDE not in name for name in os.listdir(_folder()))
    except OSError:
        return False


def is_spool_long() -> bool:
    """Whether hooks have spooled some 30 events, which are cheaper to store together."""
    try:
        return os.stat(spool_path()).st_size > 16_384
    except OSError:
        return False


def take_spooled() -> tuple[list[Event], list[str]]:
    """The spooled events, and the files to remove once they are stored. The later of two with the same id counts."""
    try:
        os.rename(spool_path(), f"{spool_path()}.taken-{os.getpid()}.{time.monotonic_ns()}")
    except OSError:
        pass  # nothing new; a killed process may have left what it took
    return _read(_folder(), "events.jsonl.taken-")


def spooled_in(home: str) -> list[Event]:
    """The events that are spooled in a home, which stays unchanged. The later of two with the same id counts."""
    return _read(os.path.join(home, "spool"), "")[0]


def spool_path() -> str:
    """The file that hooks append to."""
    return os.path.join(_folder(), "events.jsonl")


def search_text(event: Event) -> str:
    """The searchable words of an event, as in the mirrored CLI: in lower case, a line for each field and entry."""
    lines = [event["source"], event["component"], event["action"], event.get("error", "")]
    _collect("", {key: value for key, value in event["metadata"].items() if key != "steps"}, lines)
    return "\n".join([line for line in map(as_words, lines) if line])


def as_words(text: str) -> str:
    """In lower case, with a space for each run of ASCII punctuation and white space: `Foo.bar_baz` → `foo bar baz`."""
    return " ".join(text.lower().translate(words.SPACES).split())


def _variable(*names: str) -> str:
    """The first of these environment variables that is set."""
    return next(filter(None, (os.environ.get(name, "").strip() for name in names)), "")


def _one_line(text: str) -> str:
    return words.printable_line(words.clean(text))


def _name(text: str) -> str:
    redacted = redact(words.clean(text))[0]
    line = _one_line(redacted)
    if line != redacted:  # a line break may have hidden a secret
        line = redact(line)[0]
    return _cut(line, MAX_NAME_CHARS)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _json_value(value: object, depth: int = 0) -> Any:
    """The value with types of JSON only."""
    if isinstance(value, (dict, list, tuple)):
        if depth > 24:  # long before Python's limit of recursion
            return "[cut: too deep]"
        if isinstance(value, dict):
            return {words.clean(str(key)): _json_value(item, depth + 1) for key, item in value.items()}
        return [_json_value(item, depth + 1) for item in value]
    if value is None or isinstance(value, bool) or (isinstance(value, (int, float)) and abs(value) < 1e300):
        return value
    return words.clean(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _bounded(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Redacted metadata of at most `MAX_METADATA_BYTES`: if larger, the long entries are cut, or all left out."""
    redacted: dict[str, Any] = redact_value(_json_value(dict(metadata)))  # type: ignore[assignment]  # dict in, dict out
    if _size(redacted) <= MAX_METADATA_BYTES:
        return redacted
    sizes = {key: _size({key: value}) for key, value in redacted.items()}
    bounded = {
        key: value
        if sizes[key] <= 1_000
        else f"{value[:900] if isinstance(value, str) else ''}… [cut: {sizes[key]} bytes]"
        for key, value in redacted.items()
    }
    return bounded if _size(bounded) <= MAX_METADATA_BYTES else {"_cut": f"{len(bounded)} more entries"}


def _size(value: object) -> int:
    return len(json_text.dumps(value).encode())


def _append(db: apsw.Connection, event: Event, debug_limit: int) -> str:
    from core.store import events as stored_events

    if event["component"] == stored_events.HOOK:
        stored_events.record_hook(db, event)  # noise or not
    elif "injected" in event:
        stored_events.record_injection(db, event)
    if not _matters(event) and stored_events.debug_count(db, event, 60_000) >= debug_limit:
        return NOISE
    return "" if stored_events.insert(db, event, search_text(event)) else DUPLICATE


def _matters(event: Event) -> bool:
    """Whether an event is kept however many of its kind there are: a compaction, an injection, a failure."""
    if not event["success"] or event["level"] != "debug":
        return True
    parts = event["action"].replace("_", ".").split(".")
    is_kept = any(part == "compaction" or part.startswith("inject") for part in parts)
    return is_kept or bool(event["metadata"].get("injected"))


def _collect(key: str, value: object, lines: list[str]) -> None:
    if isinstance(value, dict):
        if key:
            lines.append(key)
        for name, item in value.items():
            _collect(name, item, lines)
    elif isinstance(value, (list, tuple)):
        lines.append(key)
        for item in value:
            _collect("", item, lines)
    else:
        lines.append(f"{key} {value if isinstance(value, str) else json_text.dumps(value)}")


def _folder() -> str:
    return os.path.join(files.home(), "spool")


def _read(folder: str, prefix: str) -> tuple[list[Event], list[str]]:
    events: dict[str, Event] = {}
    read: list[str] = []
    for name in sorted(os.listdir(folder)) if os.access(folder, os.R_OK | os.X_OK) else ():
        path = os.path.join(folder, name)
        if not name.startswith(prefix) or SET_ASIDE in name:
            continue
        try:
            for line in files.read_file(path).splitlines():
                try:
                    event = json_text.loads(line)
                    if isinstance(event["timestamp"], int):
                        events[event["id"]] = event
                except (ValueError, TypeError, LookupError):  # another program has damaged the line
                    pass
            read.append(path)
        except (PermissionError, NotAFile):  # root's, or no file
            try:
                files.set_aside(path if prefix else "")
            except OSError:
                pass
        except OSError:  # another process has stored it by now, or a later command tries again
            pass
    return sorted(events.values(), key=lambda event: event["timestamp"]), read
