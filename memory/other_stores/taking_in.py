"""Stores what another tool remembers, or shows what that would do: through the gate, redaction and near duplicates.

The same file again stores nothing: an item is known by its key, and one that said what a memory says by that memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import apsw

from core import ids
from core.config import Config
from core.errors import USAGE, Failure, usage
from core.records import Document
from core.store import curation, documents, foreign_file, sqlite
from core.store.upkeep import store_file
from memory import near_duplicate
from memory.near_duplicate import Tokens
from memory.other_stores import claude_mem, json_stores, markdown_stores
from memory.other_stores.item import MOST_JSON_BYTES, Item, LeftOut
from memory.write import clean_name, composed, take, with_history
from recall import categories
from recall.static_vectors import document_vector

AUTO, OURS = "auto", "ours"
READERS: dict[str, Callable[[str], Iterator[Item | LeftOut]]] = {
    "markdown": markdown_stores.bullets,
    "mem0": json_stores.mem0,
    "mcp-memory": json_stores.mcp_memory,
    "claude-mem": claude_mem.items,
    "basic-memory": markdown_stores.notes,
}
BATCH = 20
"""Items of one transaction: a tenth of a second, a third over 100,000 memories, which a hook's write waits at most."""
MOST_ITEMS = 200_000
_HEAD = 1024 * 1024
_SHOWN = 20
_SHOWN_CHARS = 160
_RESERVED = frozenset((curation.PINNED, "stale"))
"""Tags that do something here, and meant something else there."""


def form_of(path: str) -> str:
    """The form of a file or folder, told by what stands in it: one of READERS, or OURS for anything else.

    Raises:
        Failure: IMPORT_FAILED where it cannot be read; MEMORY_INVALID_ARGS for an SQLite file that is not known.
    """
    if os.path.isdir(path):
        has_notes = any(name.endswith(".md") for _, _, names in os.walk(path) for name in names)
        return "basic-memory" if has_notes else OURS
    try:
        with open(path, "rb") as handle:
            data = handle.read(_HEAD)
            if data.startswith(b"SQLite format 3\0"):
                return _of_sqlite(path)
            if path.lower().endswith((".md", ".markdown", ".mdc")):
                is_note = markdown_stores.is_note(data.decode("utf-8-sig", "replace"))
                return "basic-memory" if is_note else "markdown"
            if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b"{"):
                return OURS
            data += handle.read(MOST_JSON_BYTES - _HEAD)
            return json_stores.form_of(data, whole=not handle.read(1)) or OURS
    except OSError:
        return OURS  # whose reader says what is wrong


def _of_sqlite(path: str) -> str:
    with foreign_file.opened(path) as db:
        if claude_mem.is_store(db):
            return "claude-mem"
    message = f"{path} is an SQLite file, but not claude-mem's"
    raise usage("MEMORY_INVALID_ARGS", message, f"export it as JSON or markdown: --format takes {', '.join(READERS)}")


class Report:
    """What became of the pieces of a file, or would; `result` is as JSON has it.

    `merged`: a memory said the same, and has the item's tags now. `unchanged`: it had them, or was taken in before.
    `forgotten`: it was taken in before and forgotten, and stays so. `first` and `leftOut` are the first 20 of each.
    """

    def __init__(self, form: str, preview: bool) -> None:
        self.form = form
        counts = ("items", "added", "updated", "merged", "unchanged", "forgotten", "leftOutCount")
        self.result: dict[str, Any] = {"form": form, "preview": preview, **dict.fromkeys(counts, 0)}
        self.result |= {"verdicts": {}, "categories": {}, "redacted": {}, "first": [], "leftOut": []}

    def leave_out(self, where: str, reason: str, text: str = "") -> None:
        """Count a piece that is not stored, and why."""
        self.result["leftOutCount"] += 1
        if len(self.result["leftOut"]) < _SHOWN:
            self.result["leftOut"].append({"where": where, "reason": reason, "text": _excerpt(text)})

    def count(self, what: str, name: str) -> None:
        """Count one more of a name."""
        self.result[what][name] = self.result[what].get(name, 0) + 1

    def take(self, outcome: str, item: Item, document: Document) -> None:
        """Count an item: added, updated, merged, unchanged or forgotten."""
        self.result[outcome] += 1
        verdict, category = document["write_verdict"], categories.short(document["category_id"])
        if outcome in ("added", "updated"):
            self.count("verdicts", verdict)
            self.count("categories", category)
        if len(self.result["first"]) < _SHOWN:
            self.result["first"].append({
                "where": item.where, "outcome": outcome, "id": document["id"], "verdict": verdict,
                "category": category, "tags": document["tags"], "observation": _excerpt(document["text"]),
            })  # fmt: skip


class _Prepared(NamedTuple):
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
) -> dict[str, Any]:
    """Take in a file of another tool's.

    Each batch is stored whole or not at all; who stops it gives the same file again.

    Args:
        form: one of READERS.
        reading: the store as it is, for a preview; None where there is none yet.
        writing: opens the store; None for a preview, which stores nothing.
        progress: told how many pieces are done.

    Raises:
        Failure: IMPORT_FAILED, or what the store says; the batches before stay.
    """
    report = Report(form, preview=writing is None)
    items = _items(READERS[form](path), report)
    batch = list(islice(items, BATCH))  # a file that cannot be read makes no store
    if not batch:
        return report.result
    shelf = _Shelf(reading, None) if writing is None else _Shelf(None, writing())
    try:
        while batch:
            shelf.store(
                [one for item in batch if (one := _prepared(item, report, now, config)) is not None], report, now
            )
            progress(len(batch))
            batch = list(islice(items, BATCH))
        shelf.finish(report.result["added"])
    except (apsw.Error, Failure) as error:
        failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
        if failure.exit_code == USAGE or writing is None:
            raise failure from None
        done = sum(report.result[name] for name in ("added", "updated", "merged"))
        raise Failure(
            failure.code,
            f"{failure.message}; {done:,} of its memories are in",
            f"{failure.fix.partition(';')[0]}: give the same file again, and what is in is left as it is",
            failure.exit_code,
        ) from None
    return report.result


def _items(pieces: Iterator[Item | LeftOut], report: Report) -> Iterator[Item]:
    """The items; what is left out is counted."""
    for piece in pieces:
        if isinstance(piece, LeftOut):
            report.leave_out(piece.where, piece.reason, piece.text)
        elif report.result["items"] == MOST_ITEMS:
            report.leave_out(piece.where, f"only the first {MOST_ITEMS:,} are taken in: split the file")
            return
        else:
            report.result["items"] += 1
            yield piece


def _prepared(item: Item, report: Report, now: int, config: Config) -> _Prepared | None:
    """The item as a document, redacted, judged and embedded; None where it is left out."""
    kinds: list[str] = []
    tags = [tag for tag in item.tags if tag.lower() not in _RESERVED]
    try:
        document, tokens = composed(
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
        report.count("redacted", kind)
    document["id"] = "im-" + ids.fingerprint(f"{report.form}\0{item.key}")
    document["context"] = clean_name(item.context, kinds)
    if item.created_at is not None and 0 <= item.created_at < now:
        document["created_at"] = item.created_at
    return _Prepared(item, document, tokens, document_vector(document["text"], document["context"]))


class _Shelf:
    """Where items go: into the store, or for a preview nowhere, beside one that is only read or not there."""

    def __init__(self, reading: apsw.Connection | None, writing: apsw.Connection | None) -> None:
        self._db = reading if writing is None else writing
        self._stores = writing is not None
        self._vectors = self._db is not None and sqlite.load_vectors(self._db)
        self._seen: dict[str, Document] = {}  # what a preview would have stored, by id and by fingerprint
        self._tags: dict[str, list[str]] = {}  # of memories that a preview would have tagged
        if writing is not None and self._vectors:
            with sqlite.transaction(writing):
                documents.ensure_signatures(writing)

    def store(self, prepared: list[_Prepared], report: Report, now: int) -> None:
        """Store a batch in one transaction; counts are those of what is committed."""
        if self._db is not None and self._stores:
            with sqlite.transaction(self._db):
                outcomes = [(one.item, *self._put(one, now)) for one in prepared]
        else:
            outcomes = [(one.item, *self._put(one, now)) for one in prepared]
        for item, outcome, document in outcomes:
            report.take(outcome, item, document)

    def finish(self, added: int) -> None:
        """Leave the store as quick as it was."""
        if self._db is not None and self._stores:
            if added >= documents.MERGE_AFTER:
                store_file.merge(self._db, "lexicon")
            sqlite.fold_log(self._db, over=0)

    def _put(self, one: _Prepared, now: int) -> tuple[str, Document]:
        """Store an item; what became of it, and the document as it is now."""
        fresh, db = one.document, self._db
        known = self._seen.get(fresh["id"]) or (documents.by_id(db, fresh["id"]) if db is not None else None)
        if known is not None:
            return self._again(known, one, now)
        same = self._seen.get(fresh["fingerprint"])
        if same is None and db is not None:
            same = near_duplicate.find(db, fresh, one.tokens, one.vector, vectors=self._vectors)
        if same is not None:
            return self._merged(same, fresh)
        if db is not None and self._stores:
            documents.insert(db, fresh, one.vector, signatures=self._vectors)
        else:
            self._seen |= {fresh["id"]: fresh, fresh["fingerprint"]: fresh}
        return "added", fresh

    def _again(self, known: Document, one: _Prepared, now: int) -> tuple[str, Document]:
        """An item that was taken in before: what it says anew goes in; what a person made of it stays."""
        fresh = one.document
        if known["forgotten_at"] is not None:
            return "forgotten", known
        said = {known["text"], *(entry["text"] for entry in known["history"])}
        if fresh["text"] in said or known["superseded_by"]:
            return "unchanged", known
        update: Document = {**known, "history": with_history(known), "updated_at": now}
        take(update, fresh, ("text", "context", "fingerprint", "write_verdict", "write_reason", "write_confidence"))
        if self._db is not None and self._stores:
            documents.replace(self._db, update, one.vector, signatures=self._vectors)
        return "updated", update

    def _merged(self, same: Document, fresh: Document) -> tuple[str, Document]:
        """What is there says it already, and keeps its words; it gets the tags."""
        had = self._tags.get(same["id"], same["tags"])
        tags = list(dict.fromkeys([*had, *fresh["tags"]]))
        if tags == had:
            return "unchanged", same
        if self._db is not None and self._stores:
            curation.set_tags(self._db, same["rowid"], tags, stale=same["stale"])
        self._tags[same["id"]] = tags
        return "merged", {**same, "tags": tags}


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"
