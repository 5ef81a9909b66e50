"""Takes memories in, our own JSON lines and what other tools remember, and prints them as lines. Off the hot path.

They are stored by batches, each whole or not at all; the same file again stores nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import apsw
import orjson

from core import ids
from core.config import Config
from core.errors import USAGE, Failure, usage
from core.output import escaped
from core.records import Document
from core.store import COLLECTIONS, curation, documents, foreign_file, migrate, sqlite
from core.store.sessions import segments
from core.store.upkeep import store_file
from memory import json_form, markdown_memories, near_duplicate, other_stores
from memory.json_form import Incoming
from memory.other_stores import Item, LeftOut, Pieces
from memory.write import CATEGORY_FIELDS, VERDICT_FIELDS, clean_name, composed, take, with_history
from recall import categories
from recall.static_vectors import document_vector

OURS = "ours"
READERS: dict[str, Callable[[str], Pieces]] = {
    "markdown": markdown_memories.bullets,
    "mem0": other_stores.mem0,
    "mcp-memory": other_stores.mcp_memory,
    "claude-mem": other_stores.claude_mem,
    "basic-memory": markdown_memories.notes,
}
BATCH_OF_LINES, BATCH_OF_ITEMS = 500, 20
"""Memories of one transaction: a tenth of a second, which a hook's write waits at most. Items are compared with what is
there, and take longer. Nothing is locked while the next ones are read, redacted and embedded."""
MOST_ITEMS = 200_000
_HEAD = 1024 * 1024
_LISTED = 20
_SHOWN_CHARS = 160
_RESERVED = frozenset((curation.PINNED, "stale"))
"""Tags that do something here, and meant something else there."""

Line = tuple[int, bytes | None]
"""Its number, and None for one that was too long to read."""


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
                with foreign_file.opened(path) as db:
                    if {"type", "project", "created_at_epoch"} <= foreign_file.columns(db, "observations"):
                        return "claude-mem"
                fix = f"export it as JSON or markdown: --format takes {', '.join(READERS)}"
                raise usage("MEMORY_INVALID_ARGS", f"{path} is an SQLite file, but not claude-mem's", fix)
            if path.lower().endswith((".md", ".markdown", ".mdc")):
                return "basic-memory" if markdown_memories.is_note(data.decode("utf-8-sig", "replace")) else "markdown"
            if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b"{"):
                return OURS
            return other_stores.json_form(data + handle.read(other_stores.MOST_JSON_BYTES - _HEAD)) or OURS
    except OSError:
        return OURS  # whose reader says what is wrong


class Report:
    """What became of the pieces of a file, or would; `result` is as JSON has it.

    `merged`: a memory said the same, and has the piece's tags now. `unchanged`: nothing of it was new. `forgotten`: it
    was taken in before and forgotten, and stays so. `first`, `errors` and `leftOut` are the first 20 of each.
    """

    def __init__(self, form: str, preview: bool) -> None:
        self._all, self._refused, self._why = (
            ("lines", "failed", "errors") if form == OURS else ("items", "leftOutCount", "leftOut")
        )
        counts = (self._all, "added", "updated", "merged", "unchanged", "forgotten", self._refused)
        self.result: dict[str, Any] = {"form": form, "preview": preview, **dict.fromkeys(counts, 0)}
        self.result |= {"verdicts": {}, "categories": {}, "redacted": {}, "first": [], self._why: []}

    def read(self) -> int:
        """Count a piece; returns how many there have been."""
        self.result[self._all] += 1
        return int(self.result[self._all])

    def refuse(self, where: str, reason: str, text: str = "") -> None:
        """Count a piece that is not stored, and why."""
        self.result[self._refused] += 1
        is_line = self._why == "errors"
        about = {"line": int(where)} if is_line else {"where": where, "text": _excerpt(text)}
        if len(self.result[self._why]) < _LISTED:
            self.result[self._why].append({**about, "reason": reason})

    def take(self, outcome: str, one: Incoming, document: Document) -> None:
        """Count a memory as it is now: added, updated, merged, unchanged, forgotten, or "" for none of these."""
        for kind in one.redacted:
            self._count("redacted", kind)
        if not outcome:
            return
        self.result[outcome] += 1
        verdict, category = document["write_verdict"], categories.short(document["category_id"])
        if outcome in ("added", "updated"):
            self._count("verdicts", verdict)
            self._count("categories", category)
        if len(self.result["first"]) < _LISTED:
            self.result["first"].append({
                "where": one.where, "outcome": outcome, "id": document["id"], "verdict": verdict,
                "category": category, "tags": document["tags"], "observation": _excerpt(document["text"]),
            })  # fmt: skip

    def _count(self, what: str, name: str) -> None:
        self.result[what][name] = self.result[what].get(name, 0) + 1


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"


def import_lines(
    lines: Iterable[Line], *, preview: bool = False, now: int, config: Config, progress: Callable[[int], None]
) -> dict[str, Any]:
    """Import numbered JSON lines, or say what that would do. Idempotent by id.

    Args:
        progress: told how many bytes are done.

    Raises:
        Failure: what the store says, and how many memories are in: the batches before stay.
    """
    report = Report(OURS, preview)
    longest = config.get_int("memory.max_chars")

    def understood() -> Iterator[Incoming]:
        for number, raw in lines:
            progress(len(raw or b""))
            text = raw.strip(b" \t\r\n\xef\xbb\xbf") if raw is not None else b"-"
            if not text:
                continue
            report.read()
            try:
                if raw is None:
                    raise json_form.BadLineError("longer than 16 MiB")
                yield json_form.from_line(orjson.loads(text), str(number), now=now, longest=longest)
            except orjson.JSONDecodeError as error:
                report.refuse(str(number), f"not JSON: {error.msg}, at character {error.pos}")
            except json_form.BadLineError as error:
                report.refuse(str(number), str(error))

    def put(db: apsw.Connection, one: Incoming, vector: bytes, vectors: bool) -> tuple[str, Document]:
        older = documents.by_id(db, one.document["id"])
        if older is None:
            documents.insert(db, one.document, vector, signatures=vectors)
            return "added", one.document
        if older["collection"] != one.document["collection"]:  # which its row number says
            report.refuse(one.where, f"its id is that of a document in {older['collection']}")
            return "", older
        if older["forgotten_at"] is not None:
            return "forgotten", older
        newer = _updated(older, one, now)
        if newer is None:
            return "unchanged", older
        documents.replace(db, newer, _vector(newer), signatures=vectors)
        return "updated", newer

    return _store(understood(), put, report, BATCH_OF_LINES, config)


def _updated(older: Document, incoming: Incoming, now: int) -> Document | None:
    """The stored document with the fields that the line names, None where they are the same.

    A new text is judged and categorised anew.
    """
    one: dict[str, Any] = {**older}
    becomes: dict[str, Any] = {**incoming.document}
    names = set(incoming.given)
    if all(one[name] == becomes[name] for name in names):
        return None
    if one["text"] != becomes["text"]:
        names.update(VERDICT_FIELDS, CATEGORY_FIELDS, ("fingerprint",))
    if "write_verdict" in names:
        names.update(VERDICT_FIELDS)
    if "category_id" in names:
        names.update(CATEGORY_FIELDS)
    one.update({"updated_at": now}, **{name: becomes[name] for name in names})
    return one  # type: ignore[return-value]  # the keys are those of `older`


def import_items(
    path: str,
    form: str,
    *,
    preview: bool = False,
    now: int,
    config: Config,
    progress: Callable[[int], None],
) -> dict[str, Any]:
    """Take in what another tool remembers, or say what that would do: through the gate, redaction, near duplicates.

    An item is known again by its key, and one that says what a memory says by that memory.

    Args:
        form: one of READERS.
        progress: told how many items are done.

    Raises:
        Failure: IMPORT_FAILED, or what the store says; the batches before stay.
    """
    report = Report(form, preview)

    def prepared() -> Iterator[Incoming]:
        for piece in READERS[form](path):
            reason = piece.reason if isinstance(piece, LeftOut) else ""
            if isinstance(piece, Item):
                if report.read() > MOST_ITEMS:
                    report.refuse(piece.where, f"only the first {MOST_ITEMS:,} are taken in: split the file")
                    return
                progress(1)
                try:
                    yield _incoming(piece, form, now, config)
                except Failure as failure:
                    reason = failure.message
            if reason:
                report.refuse(piece.where, reason, piece.text)

    def put(db: apsw.Connection, one: Incoming, vector: bytes, vectors: bool) -> tuple[str, Document]:
        fresh = one.document
        known = documents.by_id(db, fresh["id"])
        if known is not None:
            return _again(db, known, fresh, vector, now=now, vectors=vectors)
        tokens = near_duplicate.Tokens(fresh["text"])
        same = near_duplicate.find(db, fresh, tokens, vector, vectors=vectors)
        if same is None:
            documents.insert(db, fresh, vector, signatures=vectors)
            return "added", fresh
        tags = list(dict.fromkeys([*same["tags"], *fresh["tags"]]))
        if tags == same["tags"]:
            return "unchanged", same
        curation.set_tags(db, same["rowid"], tags, stale=same["stale"])
        return "merged", {**same, "tags": tags}

    return _store(prepared(), put, report, BATCH_OF_ITEMS, config)


def _incoming(item: Item, form: str, now: int, config: Config) -> Incoming:
    """The item as a document, redacted and judged.

    Raises:
        Failure: it is left out.
    """
    kinds: list[str] = []
    tags = [tag for tag in item.tags if tag.lower() not in _RESERVED]
    document, _ = composed(
        item.text, kinds, category=item.category, tags=tags, source="import", project=item.project, now=now,
        config=config,
    )  # fmt: skip
    if document["write_verdict"] == "discard":
        raise Failure("IMPORT_FAILED", f"the write gate discards it: {document['write_reason']}", "leave it out")
    document["id"] = "im-" + ids.fingerprint(f"{form}\0{item.key}")
    document["context"] = clean_name(item.context, kinds)
    if item.created_at is not None and 0 <= item.created_at < now:
        document["created_at"] = item.created_at
    return Incoming(document, item.where, redacted=kinds)


def _again(
    db: apsw.Connection, known: Document, fresh: Document, vector: bytes, *, now: int, vectors: bool
) -> tuple[str, Document]:
    """An item that was taken in before: what it says anew goes in; what a person made of it stays."""
    if known["forgotten_at"] is not None:
        return "forgotten", known
    said = {known["text"], *(entry["text"] for entry in known["history"])}
    if fresh["text"] in said or known["superseded_by"]:
        return "unchanged", known
    update: Document = {**known, "history": with_history(known), "updated_at": now}
    take(update, fresh, ("text", "context", "fingerprint", "write_verdict", "write_reason", "write_confidence"))
    documents.replace(db, update, vector, signatures=vectors)
    return "updated", update


def _store(
    ready: Iterator[Incoming],
    put: Callable[[apsw.Connection, Incoming, bytes, bool], tuple[str, Document]],
    report: Report,
    size: int,
    config: Config,
) -> dict[str, Any]:
    """Store what comes in; a preview does so in a copy that no file holds, and locks nothing."""
    batch = list(islice(ready, size))
    if not batch:  # what cannot be read makes no store
        return report.result
    try:
        if report.result["preview"]:
            db = migrate.in_memory(sqlite.open_reading())
            db.authorizer = None
        else:
            db = sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=True)
        vectors = sqlite.load_vectors(db)
        if vectors:
            with sqlite.transaction(db):
                documents.ensure_signatures(db)
        while batch:
            made = [_vector(one.document) for one in batch]
            with sqlite.transaction(db):
                outcomes = [put(db, one, vector, vectors) for one, vector in zip(batch, made, strict=True)]
            for one, (outcome, document) in zip(batch, outcomes, strict=True):
                report.take(outcome, one, document)
            batch = list(islice(ready, size))
        segments.catch_up(db)
        if report.result["added"] >= documents.MERGE_AFTER:
            store_file.merge(db, "lexicon")
        sqlite.fold_log(db, over=0)
    except (apsw.Error, Failure) as error:
        failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
        if failure.exit_code == USAGE or report.result["preview"]:
            raise failure from None
        done = sum(report.result[name] for name in ("added", "updated", "merged"))
        fix = f"{failure.fix.partition(';')[0]}: give the same file again, and what is in is left as it is"
        raise Failure(failure.code, f"{failure.message}; {done:,} of its memories are in", fix) from None
    return report.result


def _vector(document: Document) -> bytes:
    return document_vector(document["text"], document["context"], document["title"])


def export_lines(db: apsw.Connection, collections: Sequence[str]) -> Iterator[bytes]:
    """Every memory that was not forgotten as a JSON line with its newline, one at a time; no collections means all."""
    for name in [name for name in COLLECTIONS if name in collections] or [""]:
        for document in documents.every(db, collection=name):
            yield escaped(orjson.dumps(json_form.to_line(document)).decode()).encode() + b"\n"
