"""Import and export of memories as JSON lines. Off the hot path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import apsw
import orjson

from core.config import Config
from core.errors import USAGE, Failure
from core.output import escaped
from core.records import Document
from core.store import documents, sqlite
from core.store.layout import COLLECTIONS
from core.store.sessions import segments
from core.store.upkeep import store_file
from memory import json_form
from memory.json_form import Incoming
from memory.write import CATEGORY_FIELDS, VERDICT_FIELDS
from recall.static_vectors import document_vector

BATCH = 500
"""Lines of one transaction: a tenth of a second, which a hook's write waits at most. Nothing is locked in between,
while the next lines are read, redacted and embedded."""
MOST_ERRORS = 20
_LINE_TOO_LONG = "longer than 16 MiB"

Line = tuple[int, bytes | None]
"""Its number, and None for one that was too long to read."""


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
    db: apsw.Connection | None,
    lines: Iterable[Line],
    *,
    preview: bool = False,
    now: int,
    config: Config,
    progress: Callable[[int], None],
) -> Imported:
    """Import numbered JSON lines, or say what that would do. Idempotent by id.

    Each batch is stored whole or not at all. `progress` is called with the number of bytes done.

    Args:
        db: the store; for a preview as it is, None where there is none yet.

    Raises:
        Failure: what the store says, and how many lines are in: the batches before stay.
    """
    report = Imported()
    longest = config.get_int("memory.max_chars")
    storing = None if preview else db
    taken: dict[str, Document] = {}
    read = stored = 0
    remaining = iter(lines)
    try:
        vectors = storing is not None and sqlite.load_vectors(storing)
        if storing is not None and vectors:
            with sqlite.transaction(storing):
                documents.ensure_signatures(storing)
        while batch := list(islice(remaining, BATCH)):
            read = batch[-1][0]
            understood = [one for line in batch if (one := _understood(line, report, now, longest)) is not None]
            if storing is None:
                _foresee(db, understood, report, now, taken)
            else:
                _store(storing, understood, report, now, vectors)
            stored = read
            progress(sum(len(raw or b"") for _, raw in batch))
        if storing is not None:
            _finish(storing, report)
    except (sqlite.StoreError, Failure) as error:
        failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
        if failure.exit_code == USAGE or preview:  # the input cannot be read
            raise failure from None
        for number, _ in remaining:  # how many there are
            read = number
        raise _stopped(failure, stored, read) from None
    return report


def _finish(db: apsw.Connection, report: Imported) -> None:
    """Leave the store as quick as it was."""
    segments.catch_up(db)
    if report.added >= documents.MERGE_AFTER:
        store_file.merge(db, "lexicon")
    sqlite.fold_log(db, over=0)


def _understood(line: Line, report: Imported, now: int, longest: int) -> Incoming | None:
    """A line as a memory; None for a blank one, and for one that is refused."""
    number, raw = line
    text = raw.strip(b" \t\r\n\xef\xbb\xbf") if raw is not None else b"-"
    if not text:
        return None
    report.lines += 1
    try:
        if raw is None:
            raise json_form.BadLineError(_LINE_TOO_LONG)
        one = json_form.from_line(orjson.loads(text), now=now, longest=longest, number=number)
    except orjson.JSONDecodeError as error:
        report.refuse(number, f"not JSON: {error.msg}, at character {error.pos}")
        return None
    except json_form.BadLineError as error:
        report.refuse(number, str(error))
        return None
    for kind in one.redacted:
        report.redacted[kind] = report.redacted.get(kind, 0) + 1
    return one


def _store(db: apsw.Connection, batch: list[Incoming], report: Imported, now: int, vectors: bool) -> None:
    """Write what is new or changed, in one transaction."""
    made = [_vector(one.document) for one in batch]
    with sqlite.transaction(db):
        for one, vector in zip(batch, made, strict=True):
            older = documents.by_id(db, one.document["id"])
            newer = _counted(older, one, report, now)
            if newer is not None and older is None:
                documents.insert(db, newer, vector, signatures=vectors)
            elif newer is not None:
                documents.replace(db, newer, _vector(newer), signatures=vectors)


def _foresee(
    db: apsw.Connection | None, batch: list[Incoming], report: Imported, now: int, taken: dict[str, Document]
) -> None:
    """Count what would become of the lines; `taken` are those before them: an id may come twice."""
    for one in batch:
        name = one.document["id"]
        older = taken.get(name) or (documents.by_id(db, name) if db is not None else None)
        newer = _counted(older, one, report, now)
        if newer is not None:
            taken[name] = newer


def _vector(document: Document) -> bytes:
    return document_vector(document["text"], document["context"], document["title"])


def _stopped(failure: Failure, stored: int, lines: int) -> Failure:
    """The store's failure, with the lines that are in, of how many, and how to go on."""
    how_many = f"all {lines:,} lines" if stored == lines else f"lines 1 to {stored:,} of {lines:,}"
    what = f"{how_many} are in" if stored else f"none of {lines:,} lines is in"
    fix = f"{failure.fix.partition(';')[0]}: give the same lines again, and what is in is left as it is"
    return Failure(failure.code, f"{failure.message}; {what}", fix, failure.exit_code)


def _counted(older: Document | None, incoming: Incoming, report: Imported, now: int) -> Document | None:
    """What is to be stored of a line, None where it changes nothing; it is counted."""
    if older is None:
        report.added += 1
        return incoming.document
    if older["collection"] != incoming.document["collection"]:  # which its row number says
        report.refuse(incoming.number, f"its id is that of a document in {older['collection']}")
        return None
    if older["forgotten_at"] is not None:
        report.forgotten += 1
        return None
    newer = _updated(older, incoming, now)
    if newer is None:
        report.unchanged += 1
    else:
        report.updated += 1
    return newer


def _updated(older: Document, incoming: Incoming, now: int) -> Document | None:
    """The stored document with the fields that the line names, None where they are the same.

    A new text is judged and categorised anew.
    """
    one: dict[str, Any] = {**older}
    becomes: dict[str, Any] = {**incoming.document}
    names = set(incoming.given)
    if all(one[name] == becomes[name] for name in names):
        return None
    if "text" in names and one["text"] != becomes["text"]:
        names.update(VERDICT_FIELDS, CATEGORY_FIELDS, ("fingerprint",))
    if "write_verdict" in names:
        names.update(VERDICT_FIELDS)
    if "category_id" in names:
        names.update(CATEGORY_FIELDS)
    one.update({"updated_at": now}, **{name: becomes[name] for name in names})
    return one  # type: ignore[return-value]  # the keys are those of `older`


def export_lines(db: apsw.Connection, collections: Sequence[str]) -> Iterator[bytes]:
    """Every memory that was not forgotten as a JSON line with its newline, one at a time; no collections means all."""
    for name in [name for name in COLLECTIONS if name in collections] or [""]:
        for document in documents.every(db, collection=name):
            yield escaped(orjson.dumps(json_form.to_line(document)).decode()).encode() + b"\n"
