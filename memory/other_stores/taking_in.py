"""Stores what a form yields, or shows what that would do: through the write gate, redaction and near duplicates.

The same file again stores nothing: an item is known by its key, and one that said what a memory says by that memory.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from core import ids
from core.errors import USAGE, Failure
from core.store import curation, documents, migrate, sqlite
from core.store.sqlite import apsw
from memory import near_duplicate
from memory.other_stores import form as forms
from memory.other_stores.item import LeftOut
from memory.write import COLLECTION, clean_name, composed
from recall import categories
from recall.static_vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from core.config import Config
    from core.records import Document
    from memory.near_duplicate import Tokens
    from memory.other_stores.item import Item

BATCH = 20
"""Items of one transaction: a tenth of a second, a third over 100,000 memories, which a hook's write waits at most."""
MOST_ITEMS = 200_000
_SHOWN = 20
_SHOWN_CHARS = 160
_RESERVED = frozenset((curation.PINNED, "stale"))
"""Tags that do something here, and meant something else there."""


@dataclass
class TakenIn:
    """What became of the pieces of a file, or would.

    `merged`: a memory said the same, and has the item's tags now. `unchanged`: it had them, or was taken in before.
    `forgotten`: it was taken in before and forgotten, and stays so. `first` and `left_out` are the first 20 of each.
    """

    form: str
    preview: bool
    items: int = 0
    added: int = 0
    updated: int = 0
    merged: int = 0
    unchanged: int = 0
    forgotten: int = 0
    left_out_count: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    redacted: dict[str, int] = field(default_factory=dict)
    first: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)

    def to_result(self) -> dict[str, Any]:
        """As JSON has it."""
        result = asdict(self)
        result["leftOutCount"], result["leftOut"] = result.pop("left_out_count"), result.pop("left_out")
        return result

    def leave_out(self, where: str, reason: str, text: str = "") -> None:
        """Count a piece that is not stored, and why."""
        self.left_out_count += 1
        if len(self.left_out) < _SHOWN:
            self.left_out.append({"where": where, "reason": reason, "text": _excerpt(text)})

    def take(self, outcome: str, item: Item, document: Document) -> None:
        """Count an item: added, updated, merged, unchanged or forgotten."""
        setattr(self, outcome, getattr(self, outcome) + 1)
        if outcome in ("added", "updated"):
            _count(self.verdicts, document["write_verdict"])
            _count(self.categories, categories.short(document["category_id"]))
        if len(self.first) < _SHOWN:
            self.first.append(
                {
                    "where": item.where,
                    "outcome": outcome,
                    "id": document["id"],
                    "verdict": document["write_verdict"],
                    "category": categories.short(document["category_id"]),
                    "tags": document["tags"],
                    "observation": _excerpt(document["text"]),
                }
            )


@dataclass
class _Prepared:
    item: Item
    document: Document
    tokens: Tokens
    vector: bytes


def take_in(
    path: str,
    form: str,
    *,
    reading: apsw.Connection | None,
    writing: Callable[[], apsw.Connection] | None,
    now: int,
    config: Config,
    progress: Callable[[int], None],
) -> TakenIn:
    """Take in a file of another tool's.

    Each batch is stored whole or not at all; who stops it gives the same file again.

    Args:
        form: one of `forms.READERS`.
        reading: the store as it is, for a preview; None where there is none yet.
        writing: opens the store; None for a preview, which stores nothing.
        now: ms since the epoch.
        progress: told how many pieces are done.

    Raises:
        Failure: IMPORT_FAILED, or what the store says; the batches before stay.
    """
    report = TakenIn(form, preview=writing is None)
    pieces = forms.READERS[form](path)
    first = next(pieces, None)  # a file that cannot be read makes no store
    if first is None:
        return report
    shelf = _Shelf(reading, None) if writing is None else _Shelf(None, writing())
    try:
        for batch in _batches(_bounded(first, pieces, report)):
            prepared = [one for item in batch if (one := _prepared(item, report, form, now, config)) is not None]
            shelf.store(prepared, report, now)
            progress(len(batch))
        shelf.finish(report)
    except (apsw.Error, Failure) as error:
        failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
        if failure.exit_code == USAGE or report.preview:
            raise failure from None
        done = report.added + report.updated + report.merged
        raise Failure(
            failure.code,
            f"{failure.message}; {done:,} of its memories are in",
            f"{failure.fix.partition(';')[0]}: give the same file again, and what is in is left as it is",
            failure.exit_code,
        ) from None
    return report


def _bounded(first: Item | LeftOut, pieces: Iterator[Item | LeftOut], report: TakenIn) -> Iterator[Item]:
    """The items; what is left out is counted."""
    piece: Item | LeftOut | None = first
    while piece is not None:
        if isinstance(piece, LeftOut):
            report.leave_out(piece.where, piece.reason, piece.text)
        elif report.items == MOST_ITEMS:
            report.leave_out(piece.where, f"only the first {MOST_ITEMS:,} are taken in: split the file")
            return
        else:
            report.items += 1
            yield piece
        piece = next(pieces, None)


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    remaining = iter(items)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def _prepared(item: Item, report: TakenIn, form: str, now: int, config: Config) -> _Prepared | None:
    """The item as a document, redacted, judged and embedded; None where it is left out."""
    kinds: list[str] = []
    tags = [tag for tag in item.tags if tag.lower() not in _RESERVED]
    try:
        document, _, tokens = composed(
            item.text, kinds, category=item.category, tags=tags, source="import", project=item.project, now=now,
            config=config,
        )  # fmt: skip
    except Failure as failure:
        report.leave_out(item.where, failure.message, item.text)
        return None
    if document["write_verdict"] == "discard":
        report.leave_out(item.where, f"the write gate discards it: {document['write_reason']}", item.text)
        return None
    for kind in kinds:
        _count(report.redacted, kind)
    document["id"] = "im-" + ids.fingerprint(f"{form}\0{item.key}")
    document["context"] = clean_name(item.context, kinds)
    if item.created_at is not None and 0 <= item.created_at < now:
        document["created_at"] = item.created_at
    return _Prepared(item, document, tokens, document_vector(document["text"], document["context"]))


class _Shelf:
    """Where items go: into the store, or for a preview into a store in memory beside the one that is only read."""

    def __init__(self, reading: apsw.Connection | None, writing: apsw.Connection | None) -> None:
        self._into = migrate.in_memory() if writing is None else writing
        self._vectors = sqlite.load_vectors(self._into)
        self._looked_in: list[tuple[apsw.Connection, bool]] = [(self._into, self._vectors)]
        if reading is not None:
            self._looked_in.insert(0, (reading, sqlite.load_vectors(reading)))
        self._tags: dict[str, list[str]] = {}  # of memories that a preview would have tagged
        with sqlite.transaction(self._into):
            if self._vectors:
                documents.ensure_signatures(self._into)

    def store(self, prepared: Sequence[_Prepared], report: TakenIn, now: int) -> None:
        """Store a batch in one transaction; counts are those of what is committed."""
        with sqlite.transaction(self._into):
            outcomes = [self._put(one, now) for one in prepared]
        for outcome, item, document in outcomes:
            report.take(outcome, item, document)

    def finish(self, report: TakenIn) -> None:
        """Leave the store as quick as it was."""
        if not report.preview:
            if report.added >= documents.MERGE_AFTER:
                documents.merge_index(self._into)
            sqlite.fold_log(self._into, over=0)

    def _put(self, one: _Prepared, now: int) -> tuple[str, Item, Document]:
        fresh = one.document
        for db, _ in self._looked_in:
            known = documents.by_id(db, fresh["id"])
            if known is not None:
                return self._again(known, db, one, now)
        for db, vectors in self._looked_in:
            same = near_duplicate.find(
                db, one.tokens, fresh["text"], one.vector, collection=COLLECTION, project=fresh["project"],
                vectors=vectors,
            )  # fmt: skip
            if same is not None:
                return self._merged(same, db, one)
        documents.insert(self._into, fresh, one.vector, signatures=self._vectors)
        return "added", one.item, fresh

    def _again(self, known: Document, db: apsw.Connection, one: _Prepared, now: int) -> tuple[str, Item, Document]:
        """An item that was taken in before: what it says anew goes in; what a person made of it stays."""
        fresh = one.document
        if known["forgotten_at"] is not None:
            return "forgotten", one.item, known
        said = {known["text"], *(entry["text"] for entry in known["history"])}
        if fresh["text"] in said or known["superseded_by"]:
            return "unchanged", one.item, known
        before = {"text": known["text"], "at": known["updated_at"], "source": known["source"]}
        update: Document = {
            **known,
            "text": fresh["text"], "context": fresh["context"], "fingerprint": fresh["fingerprint"],
            "updated_at": now,
            "write_verdict": fresh["write_verdict"], "write_reason": fresh["write_reason"],
            "write_confidence": fresh["write_confidence"],
            "history": [*known["history"], before],
        }  # fmt: skip
        if db is self._into:
            documents.replace(db, update, one.vector, signatures=self._vectors)
        return "updated", one.item, update

    def _merged(self, same: Document, db: apsw.Connection, one: _Prepared) -> tuple[str, Item, Document]:
        """What is there says it already, and keeps its words; it gets the tags."""
        had = self._tags.get(same["id"], same["tags"])
        tags = list(dict.fromkeys([*had, *one.document["tags"]]))
        if tags == had:
            return "unchanged", one.item, same
        if db is self._into:
            curation.set_tags(db, same["rowid"], tags, stale=same["stale"])
        else:
            self._tags[same["id"]] = tags
        return "merged", one.item, {**same, "tags": tags}


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"
