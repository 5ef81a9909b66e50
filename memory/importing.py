"""Takes memories in, our own JSON lines and what other tools remember, and prints them as lines. Off the hot path."""

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
from core.store import COLLECTIONS, curation, documents, fold_log, foreign_file, migrate, sqlite
from core.store.sessions import segments
from core.store.upkeep import store_file
from memory import json_form, near_duplicate, other_stores
from memory.json_form import Incoming
from memory.other_stores import LeftOut, Pieces
from memory.write import CATEGORY_FIELDS, VERDICT_FIELDS, clean_name, composed, store, take, with_history
from recall import categories

OURS = "ours"
READERS: dict[str, Callable[[str], Pieces]] = {
    "markdown": other_stores.bullets,
    "mem0": other_stores.mem0,
    "mcp-memory": other_stores.mcp_memory,
    "claude-mem": other_stores.claude_mem,
}
BATCH_OF_LINES, BATCH_OF_ITEMS = 500, 20
"""Memories of one transaction: a tenth of a second, which a hook's write waits at most. Items are compared with what is
there, and take longer. Nothing is locked while the next ones are read and redacted."""
MOST_ITEMS = 200_000
_HEAD = 1024 * 1024
_LISTED = 20
_SHOWN_CHARS = 160
_RESERVED = frozenset((curation.PINNED, "stale"))  # tags that do something here, and meant something else there

Progress = Callable[[int], None]
Line = tuple[int, bytes | None]  # its number, and None for one that was too long to read


def form_of(path: str) -> str:
    """The form of a file, told by what stands in it: one of READERS, or OURS for anything else."""
    if os.path.isdir(path):
        fix = "name a file; `joelclaw knowledge sync` takes folders of markdown"
        raise usage("MEMORY_INVALID_ARGS", f"{path} is a folder", fix)
    try:
        with open(path, "rb") as handle:
            data = handle.read(_HEAD)
            if data.startswith(b"SQLite format 3\0"):
                with foreign_file.opened(path) as db:
                    if {"type", "project", "created_at_epoch"} <= foreign_file.columns(db, "observations"):
                        return "claude-mem"
                fix = f"export it as JSON or markdown; --format takes {', '.join(READERS)}"
                raise usage("MEMORY_INVALID_ARGS", f"{path} is an SQLite file, but not claude-mem's", fix)
            if path.lower().endswith((".md", ".markdown", ".mdc")):
                return "markdown"
            if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b"{"):
                return OURS
            return other_stores.json_form(data + handle.read(other_stores.MOST_JSON_BYTES - _HEAD)) or OURS
    except OSError:
        return OURS  # whose reader says what is wrong


def import_file(
    source: Iterable[Line] | str, form: str, *, preview: bool = False, now: int, config: Config, progress: Progress
) -> dict[str, Any]:
    """Take in numbered JSON lines of our own, or the path of another tool's file; or say what that would do."""
    run = _Import(form, preview, now, config)
    if isinstance(source, str):
        return run.store(run.of_items(READERS[form](source), progress), BATCH_OF_ITEMS)
    return run.store(run.of_lines(source, progress), BATCH_OF_LINES)


class _Import:
    """One import, and what becomes of the pieces: `result` is as JSON has it."""

    def __init__(self, form: str, preview: bool, now: int, config: Config) -> None:
        self._form, self._preview, self._now, self._config = form, preview, now, config
        self._is_ours = form == OURS
        self._all, self._refused, self._why = (
            ("lines", "failed", "errors") if self._is_ours else ("items", "leftOutCount", "leftOut")
        )
        counts = (self._all, "added", "updated", "merged", "unchanged", "forgotten", self._refused)
        self.result: dict[str, Any] = {"form": form, "preview": preview, **dict.fromkeys(counts, 0)}
        self.result |= {"redacted": {}, "first": [], self._why: []}

    def of_lines(self, lines: Iterable[Line], progress: Progress) -> Iterator[Incoming]:
        """The lines as memories; a bad one is refused, a blank one passed over."""
        longest = self._config.get_int("memory.max_chars")
        for number, raw in lines:
            progress(len(raw or b""))
            text = raw.strip(b" \t\r\n\xef\xbb\xbf") if raw is not None else b"-"
            if not text:
                continue
            self.result["lines"] += 1
            try:
                if raw is None:
                    raise json_form.BadLineError("longer than 16 MiB")
                yield json_form.from_line(orjson.loads(text), str(number), now=self._now, longest=longest)
            except orjson.JSONDecodeError as error:
                self._refuse(str(number), f"not JSON: {error.msg}, at character {error.pos}")
            except json_form.BadLineError as error:
                self._refuse(str(number), str(error))

    def of_items(self, pieces: Pieces, progress: Progress) -> Iterator[Incoming]:
        """Another tool's items as memories, through redaction and the gate; what is left out is told."""
        for piece in pieces:
            if isinstance(piece, LeftOut):
                self._refuse(piece.where, piece.reason, piece.text)
                continue
            if self.result["items"] == MOST_ITEMS:
                self._refuse(piece.where, f"only the first {MOST_ITEMS:,} are imported: split the file")
                return
            self.result["items"] += 1
            progress(1)
            kinds: list[str] = []
            tags = [tag for tag in piece.tags if tag.lower() not in _RESERVED]
            try:
                document = composed(
                    piece.text, kinds, category=piece.category, tags=tags, source="import", project=piece.project,
                    now=self._now, config=self._config,
                )  # fmt: skip
            except Failure as failure:
                self._refuse(piece.where, failure.message, piece.text)
                continue
            if document["write_verdict"] == "discard":
                self._refuse(piece.where, f"the write gate discards it: {document['write_reason']}", piece.text)
                continue
            document["id"] = "im-" + ids.fingerprint(f"{self._form}\0{piece.key}")
            document["context"] = clean_name(piece.context, kinds)
            if piece.created_at is not None and 0 <= piece.created_at < self._now:
                document["created_at"] = piece.created_at
            yield Incoming(document, piece.where, redacted=kinds)

    def store(self, ready: Iterator[Incoming], size: int) -> dict[str, Any]:
        """Store what comes in; a preview does so in a copy that no file holds, and locks nothing."""
        batch = list(islice(ready, size))
        if not batch:  # what cannot be read makes no store
            return self.result
        try:
            if self._preview:
                db = migrate.in_memory(sqlite.open_reading())
                db.authorizer = None
            else:
                db = sqlite.open_writing(busy_ms=self._config.get_int("store.busy_ms"), durable=True)
            vectors = sqlite.load_vectors(db)
            put = self._put_line if self._is_ours else self._put_item
            while batch:
                with sqlite.transaction(db):
                    outcomes = [put(db, one, vectors) for one in batch]
                for one, (outcome, document) in zip(batch, outcomes, strict=True):
                    self._count(outcome, one, document)
                batch = list(islice(ready, size))
            segments.catch_up(db)
            if self.result["added"] >= documents.MERGE_AFTER:
                store_file.merge(db, "lexicon")
            fold_log(db, over=0)
        except (apsw.Error, Failure) as error:
            failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
            if failure.exit_code == USAGE or self._preview:
                raise failure from None
            done = sum(self.result[name] for name in ("added", "updated", "merged"))
            fix = f"{failure.fix.partition(';')[0]}: import the same file again: what is already stored stays as it is"
            raise Failure(failure.code, f"{failure.message}; {done:,} of its memories are stored", fix) from None
        return self.result

    def _put_line(self, db: apsw.Connection, one: Incoming, vectors: bool) -> tuple[str, Document]:
        """Known by its id; only what the line names changes, and a new text is judged and categorised anew."""
        older = documents.by_id(db, one.document["id"])
        if older is None:
            return "added", store(db, one.document, vectors=vectors)
        if older["collection"] != one.document["collection"]:  # which its row number says
            self._refuse(one.where, f"its id belongs to a document in {older['collection']}")
            return "", older
        if older["forgotten_at"] is not None:
            return "forgotten", older
        becomes: dict[str, Any] = {**one.document}
        names = set(one.given)
        if all(older[name] == becomes[name] for name in names):  # type: ignore[literal-required]
            return "unchanged", older
        if older["text"] != becomes["text"]:
            names.update(VERDICT_FIELDS, CATEGORY_FIELDS, ("fingerprint",))
        if "write_verdict" in names:
            names.update(VERDICT_FIELDS)
        if "category_id" in names:
            names.update(CATEGORY_FIELDS)
        newer: Document = {**older, "updated_at": self._now}
        take(newer, one.document, tuple(names))
        return "updated", store(db, newer, vectors=vectors)

    def _put_item(self, db: apsw.Connection, one: Incoming, vectors: bool) -> tuple[str, Document]:
        """Known by its key: what it says anew goes in, what a person made of it stays; else by what says the same."""
        fresh = one.document
        known = documents.by_id(db, fresh["id"])
        if known is not None and known["forgotten_at"] is not None:
            return "forgotten", known
        if known is not None:
            said = {known["text"], *(entry["text"] for entry in known["history"])}
            if fresh["text"] in said or known["superseded_by"]:
                return "unchanged", known
            update: Document = {**known, "history": with_history(known), "updated_at": self._now}
            take(update, fresh, ("text", "context", "fingerprint", "write_verdict", "write_reason", "write_confidence"))
            return "updated", store(db, update, vectors=vectors)
        same = near_duplicate.find(db, fresh, vectors=vectors)
        if same is None:
            return "added", store(db, fresh, vectors=vectors)
        tags = list(dict.fromkeys([*same["tags"], *fresh["tags"]]))
        if tags == same["tags"]:
            return "unchanged", same
        curation.set_tags(db, same["rowid"], tags, stale=same["stale"])
        return "merged", {**same, "tags": tags}

    def _refuse(self, where: str, reason: str, text: str = "") -> None:
        about = {"line": int(where)} if self._is_ours else {"where": where, "text": _excerpt(text)}
        self.result[self._refused] += 1
        if len(self.result[self._why]) < _LISTED:
            self.result[self._why].append({**about, "reason": reason})

    def _count(self, outcome: str, one: Incoming, document: Document) -> None:
        """Count a memory as it is now: added, updated, merged, unchanged, forgotten, or "" for none of these."""
        redacted = self.result["redacted"]
        for kind in one.redacted:
            redacted[kind] = redacted.get(kind, 0) + 1
        if outcome:
            self.result[outcome] += 1
        if outcome and len(self.result["first"]) < _LISTED:
            self.result["first"].append({
                "where": one.where, "outcome": outcome, "id": document["id"], "tags": document["tags"],
                "verdict": document["write_verdict"], "category": categories.short(document["category_id"]),
                "observation": _excerpt(document["text"]),
            })  # fmt: skip


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"


def export_lines(db: apsw.Connection, collections: Sequence[str]) -> Iterator[bytes]:
    """Every memory that was not forgotten as a JSON line with its newline, one at a time; no collections means all."""
    for name in [name for name in COLLECTIONS if name in collections] or [""]:
        for document in curation.every(db, collection=name):
            yield escaped(orjson.dumps(json_form.to_line(document)).decode()).encode() + b"\n"
