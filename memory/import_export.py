"""Import and export of memories as JSON lines. Off the hot path."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from core.errors import USAGE, Failure
from core.output.shown import escaped
from core.store import documents, sqlite
from core.store.layout import COLLECTIONS
from core.store.sessions import segments
from core.store.sqlite import apsw
from memory import json_form
from memory.import_workers import Line, Prepared, prepare_all
from recall.static_vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from core.config import Config
    from core.records import Document

BATCH = 500
"""Lines of one transaction: a tenth of a second, which a hook's write waits at most. Nothing is locked in between,
while the next lines are read, redacted and embedded."""
MOST_ERRORS = 20
_INLINE = 4
"""Batches imported before other processes are started: most imports are small."""
_DERIVED_OF_TEXT = (
    "write_verdict", "write_confidence", "write_reason", "write_gate_version", "write_gate_fallback", "category_id",
    "category_confidence", "category_source", "fingerprint",
)  # fmt: skip


@dataclass
class Imported:
    """What became of the lines."""

    lines: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    forgotten: int = 0
    failed: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    redacted: dict[str, int] = field(default_factory=dict)

    def refuse(self, number: int, reason: str) -> None:
        """Count a bad line; the first MOST_ERRORS are listed."""
        self.failed += 1
        if len(self.errors) < MOST_ERRORS:
            self.errors.append({"line": number, "reason": reason})


def import_lines(
    db: apsw.Connection,
    lines: Iterable[Line],
    *,
    now: int,
    vectors: bool,
    config: Config,
    progress: Callable[[int], None],
) -> Imported:
    """Import numbered JSON lines; None stands for a line that was too long to read. Idempotent by id.

    Each batch is stored whole or not at all. `progress` is called with the number of bytes done.

    Raises:
        Failure: what the store says, and how many lines are in: the batches before stay.
    """
    report = Imported()
    longest = config.whole("memory.max_chars")
    read = 0
    stored = 0

    def numbered() -> Iterator[Line]:
        nonlocal read
        for line in lines:
            read = line[0]
            yield line

    remaining = numbered()
    try:
        if vectors:
            with sqlite.transaction(db):
                documents.ensure_signatures(db)
        for prepared in prepare_all(_batches(remaining), now, longest, _INLINE):
            report.lines += prepared.lines
            for number, reason in prepared.refused:
                report.refuse(number, reason)
            _store(db, prepared, report, now, vectors)
            stored = prepared.until
            progress(prepared.read_bytes)
        segments.catch_up(db)
        if report.added >= documents.MERGE_AFTER:
            documents.merge_index(db)
        sqlite.fold_log(db, over=0)
    except (sqlite.StoreError, Failure) as error:
        failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
        if failure.exit_code == USAGE:  # the input cannot be read
            raise
        for _ in remaining:  # how many there are
            pass
        raise _stopped(failure, stored, read) from None
    return report


def preview_lines(
    db: apsw.Connection | None,
    lines: Iterable[Line],
    *,
    now: int,
    config: Config,
    progress: Callable[[int], None],
) -> Imported:
    """What `import_lines` would do, of which nothing is stored; `db` is the store as it is, None where there is none.

    Raises:
        Failure: the input cannot be read.
        apsw.Error: the store cannot be read.
    """
    report = Imported()
    before: dict[str, Document] = {}  # of this file: an id may come twice
    for prepared in prepare_all(_batches(iter(lines)), now, config.whole("memory.max_chars"), _INLINE):
        report.lines += prepared.lines
        for number, reason in prepared.refused:
            report.refuse(number, reason)
        for incoming, _ in prepared.documents:
            report.redacted.update({kind: report.redacted.get(kind, 0) + 1 for kind in incoming.redacted})
            identifier = incoming.document["id"]
            older = before.get(identifier) or (documents.by_id(db, identifier) if db is not None else None)
            if older is None:
                before[identifier] = incoming.document
                report.added += 1
            elif _changed(older, incoming):
                before[identifier] = _updated(older, incoming, now)
                report.updated += 1
            else:
                _count_unchanged(older, incoming, report)
        progress(prepared.read_bytes)
    return report


def _stopped(failure: Failure, stored: int, lines: int) -> Failure:
    """The store's failure, with the lines that are in, of how many, and how to go on."""
    how_many = f"all {lines:,} lines" if stored == lines else f"lines 1 to {stored:,} of {lines:,}"
    what = f"{how_many} are in" if stored else f"none of {lines:,} lines is in"
    advice = failure.fix.partition(";")[0]
    fix = f"{advice}: give the same lines again, and what is in is left as it is"
    return Failure(failure.code, f"{failure.message}; {what}", fix, failure.exit_code)


def _batches(remaining: Iterator[Line]) -> Iterator[list[Line]]:
    while batch := list(islice(remaining, BATCH)):
        yield batch


def _store(db: apsw.Connection, prepared: Prepared, report: Imported, now: int, vectors: bool) -> None:
    """Write what is new or changed, in one transaction."""
    work: list[tuple[json_form.Incoming, bytes]] = []
    for incoming, vector in prepared.documents:
        for kind in incoming.redacted:
            report.redacted[kind] = report.redacted.get(kind, 0) + 1
        older = documents.by_id(db, incoming.document["id"])
        if older is None or _changed(older, incoming):
            work.append((incoming, vector))
        else:
            _count_unchanged(older, incoming, report)
    if not work:
        return
    with sqlite.transaction(db):
        for incoming, vector in work:
            # Again, now that nobody else can write: another import, or an earlier line of this batch.
            older = documents.by_id(db, incoming.document["id"])
            if older is None:
                documents.insert(db, incoming.document, vector, signatures=vectors)
                report.added += 1
            elif _changed(older, incoming):
                one = _updated(older, incoming, now)
                if one["context"] != incoming.document["context"] or one["title"] != incoming.document["title"]:
                    vector = document_vector(one["text"], one["context"], one["title"])
                documents.replace(db, one, vector, signatures=vectors)
                report.updated += 1
            else:
                _count_unchanged(older, incoming, report)


def _count_unchanged(older: Document, incoming: json_form.Incoming, report: Imported) -> None:
    """Count a line that changes nothing, and why where it is not the same as what is stored."""
    if older["collection"] != incoming.document["collection"]:
        report.refuse(incoming.number, f"its id is that of a document in {older['collection']}")
    elif older["forgotten_at"] is not None:
        report.forgotten += 1
    else:
        report.unchanged += 1


def _changed(older: Document, incoming: json_form.Incoming) -> bool:
    was: dict[str, Any] = {**older}
    becomes: dict[str, Any] = {**incoming.document}
    # A forgotten memory stays as it is; and an id is of one collection, which its row number says.
    if older["forgotten_at"] is not None or older["collection"] != incoming.document["collection"]:
        return False
    return any(was[name] != becomes[name] for name in incoming.given)


def _updated(older: Document, incoming: json_form.Incoming, now: int) -> Document:
    """The stored document with the fields that the line names; a new text is judged and categorised anew."""
    one: dict[str, Any] = {**older}
    becomes: dict[str, Any] = {**incoming.document}
    names = set(incoming.given)
    if older["text"] != incoming.document["text"]:
        names.update(_DERIVED_OF_TEXT)
    if "write_verdict" in names:
        names.update(_DERIVED_OF_TEXT[:5])
    if "category_id" in names:
        names.update(_DERIVED_OF_TEXT[5:8])
    for name in names:
        one[name] = becomes[name]
    if "updated_at" not in names:
        one["updated_at"] = now
    return one  # type: ignore[return-value]  # the keys are those of `older`


def export_lines(db: apsw.Connection, collections: Sequence[str]) -> Iterator[bytes]:
    """Every memory that was not forgotten as a JSON line with its newline, one at a time; no collections means all."""
    for name in [name for name in COLLECTIONS if name in collections] or [""]:
        for document in documents.every(db, collection=name):
            yield escaped(orjson.dumps(json_form.to_line(document)).decode()).encode() + b"\n"
