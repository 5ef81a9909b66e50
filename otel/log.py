"""The event log: appending events to the store, with the words by which they are found."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.store import events as stored
from core.store import sqlite

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Event

DUPLICATE = "duplicate-id"
NOISE = "debug_backpressure_guard"
NOISE_WINDOW_MS = 60_000


def append(db: apsw.Connection, events: Sequence[Event], *, debug_limit: int) -> int:
    """Store events, in the transaction that is open or in one of its own; returns how many were new and no noise.

    `debug_limit`: debug events kept of one source, component and action in any 60 s, unless they matter.
    """
    if not db.in_transaction:
        with sqlite.transaction(db):
            return append(db, events, debug_limit=debug_limit)
    stored_now = 0
    for event in events:
        try:
            stored_now += not _append(db, event, debug_limit)
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            pass  # another program wrote it to the spool: what cannot be stored would keep back all others
    return stored_now


def append_one(db: apsw.Connection, event: Event, *, debug_limit: int) -> str:
    """Store one event in a transaction of its own; returns why it was not stored (`DUPLICATE`, `NOISE`), else ""."""
    with sqlite.transaction(db):
        return _append(db, event, debug_limit)


def _append(db: apsw.Connection, event: Event, debug_limit: int) -> str:
    if event["component"] == stored.HOOK:
        stored.record_hook(db, event)  # noise or not
    elif "injected" in event:
        stored.record_injection(db, event)
    if not _matters(event) and stored.debug_count(db, event, NOISE_WINDOW_MS) >= debug_limit:
        return DUPLICATE if stored.exists(db, event["id"]) else NOISE
    if not stored.insert(db, event, search_text(event)):
        return DUPLICATE
    stored.count_recalled(db, event)
    return ""


def search_text(event: Event) -> str:
    """The words by which an event is found, lower case, a line each field or metadata entry (the mirrored CLI's)."""
    fields = [event["source"], event["component"], event["action"], event.get("error", "")]
    _leaves("", event["metadata"], fields)
    return "\n".join([line for line in map(as_words, fields) if line])


def as_words(text: str) -> str:
    """Lower case, with a space for each run of ASCII punctuation and white space: `Foo.bar_baz` → `foo bar baz`."""
    return " ".join(text.lower().translate(words.SPACES).split())


def _matters(event: Event) -> bool:
    """Whether an event is kept however often its like came: a compaction, an injection, a failure."""
    if not event["success"] or event["level"] != "debug":
        return True
    about = event["action"].replace("_", ".").split(".")
    return any(part == "compaction" or part.startswith("inject") for part in about) or bool(
        event["metadata"].get("injected")
    )


def _leaves(key: str, value: object, into: list[str]) -> None:
    if isinstance(value, dict):
        if key:
            into.append(key)
        for name, item in value.items():
            _leaves(name, item, into)
    elif isinstance(value, (list, tuple)):
        into.append(key)
        for item in value:
            _leaves("", item, into)
    else:
        into.append(f"{key} {value if isinstance(value, str) else json_text.dumps(value)}")
