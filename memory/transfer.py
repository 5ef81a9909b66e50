"""Import and export: the JSON lines of `memory export`, and the bullets of a Markdown file such as CLAUDE.md.

Importing the same file again changes nothing: each line or bullet has an id that it keeps.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import apsw
import orjson

from core import clock, words
from core.config import Config
from core.errors import Failure, either, usage
from core.project import repository_of
from core.quoting import clip, escaped
from core.records import Document
from core.redaction import redact
from core.store import documents, sqlite, store_file
from core.store.sqlite import COLLECTIONS, fold_log
from memory import gate, write
from memory.curate import with_iso_times
from memory.knowledge import markdown
from recall.ranking import STALE_MS

LINES = "ours"  # the value of `--format` for our own JSON lines
MARKDOWN = "markdown"
LINES_PER_COMMIT = 500  # takes about 0.1 s, during which a hook's write waits
LISTED = 20  # memories and complaints that a report quotes

Progress = Callable[[int], None]
Line = tuple[int, bytes | None]  # its number, and None for a line too long to read


class Incoming(NamedTuple):
    """An imported memory. `given`: the fields that its line names; `line`: its place in the file, from 1."""

    document: Document
    line: int
    given: frozenset[str] = frozenset()


def detect_format(path: str) -> str:
    """MARKDOWN or LINES, by the file's name."""
    return MARKDOWN if path.lower().endswith((".md", ".markdown", ".mdc")) else LINES


def import_lines(
    lines: Iterable[Line], *, preview: bool, now: int, config: Config, progress: Progress
) -> dict[str, Any]:
    """Store memories from JSON lines and report what became of them; with `preview`, store nothing.

    A bad line is reported and the others are stored. `now` in ms; `progress` receives the bytes read.
    """
    run = _Import(LINES, preview, now)
    return run.store(run.read_lines(lines, progress), LINES_PER_COMMIT, config)


def import_markdown(path: str, *, preview: bool, now: int, config: Config, progress: Progress) -> dict[str, Any]:
    """Store each bullet and paragraph of a Markdown file as a memory; with `preview`, store nothing.

    The memories belong to the project of the repository that contains the file. Raises Failure IMPORT_FAILED.
    """
    run = _Import(MARKDOWN, preview, now)
    per_commit = 20  # comparing a bullet with its neighbours takes 20 times as long as storing a line
    return run.store(run.read_bullets(path, progress), per_commit, config)


def export_lines(db: apsw.Connection, collections: Sequence[str]) -> Iterator[bytes]:
    """Every memory that was not forgotten, as a JSON line with its newline. No collections means all of them."""
    for name in [name for name in COLLECTIONS if name in collections] or [""]:
        for document in documents.every(db, collection=name):
            yield escaped(orjson.dumps(to_line(document)).decode()).encode() + b"\n"


class _Import:
    """An import and its report: how many memories were added, updated, merged and so on, and the first few of each."""

    def __init__(self, form: str, preview: bool, now: int) -> None:
        self.now = now
        counts = "added updated merged unchanged forgotten lines failed items leftOutCount staleAge"
        self.report: dict[str, Any] = {"form": form, "preview": preview, **dict.fromkeys(counts.split(), 0)}
        self.report |= {"redacted": Counter(), "first": [], "errors": [], "ignored": [], "leftOut": []}

    def store(self, ready: Iterator[Incoming], per_commit: int, config: Config) -> dict[str, Any]:
        """Store the memories batch by batch; a preview stores them in a copy in memory and takes no lock."""
        batch = list(islice(ready, per_commit))
        if not batch:  # a file without memories does not create a store
            return self.report
        if self.report["preview"]:
            db = sqlite.open_in_memory(sqlite.open_reading())
        else:
            db = sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=True)
        while batch:
            with sqlite.transaction(db):
                outcomes = [self._put(db, incoming) for incoming in batch]
            for incoming, (outcome, document) in zip(batch, outcomes, strict=True):
                self.report["staleAge"] += outcome == "added" and self._is_stale(document)
                self._note(outcome, "first", {
                    "where": f"line {incoming.line}", "outcome": outcome, "id": document["id"],
                    "tags": document["tags"], "verdict": document["write_verdict"],
                    "category": document["category_id"].removeprefix("jc:"), "observation": _excerpt(document["text"]),
                })  # fmt: skip
            batch = list(islice(ready, per_commit))
        documents.renew_due_segments(db)
        if self.report["added"] >= documents.MERGE_AFTER:
            store_file.merge(db, "lexicon")
        fold_log(db, over=0)
        return self.report

    def _is_stale(self, document: Document) -> bool:
        """Whether recall leaves out a new memory because of its age."""
        is_unused = not document["recall_count"] and documents.PINNED not in document["tags"]
        confirmed_at = max(document["created_at"], document["updated_at"])
        return document["collection"] == "observations" and is_unused and self.now - confirmed_at > STALE_MS

    def _note(self, counted: str, listed: str, about: dict[str, Any]) -> None:
        """Count a memory or a complaint, and quote the first few."""
        self.report[counted] += 1
        if len(self.report[listed]) < LISTED:
            self.report[listed].append(about)

    def read_lines(self, lines: Iterable[Line], progress: Progress) -> Iterator[Incoming]:
        """The memories of the good lines; blank lines are skipped."""
        for number, raw in lines:
            progress(len(raw or b""))
            text = raw.strip(b" \t\r\n\xef\xbb\xbf") if raw is not None else b"-"
            if not text:
                continue
            self.report["lines"] += 1
            redacted: list[str] = []
            try:
                _require(raw is not None, "longer than 16 MiB")
                line = orjson.loads(text)
                incoming = from_line(line, number, redacted, now=self.now)
                unknown = {redact(key)[0] for key in line.keys() - LINE_KEYS}
                self.report["ignored"] += sorted(unknown - {*self.report["ignored"]})
                self.report["redacted"].update(redacted)
                yield incoming
            except orjson.JSONDecodeError as error:
                self._refuse(number, f"not JSON: {error.msg}, at character {error.pos}")
            except Failure as failure:
                self._refuse(number, failure.message)

    def _refuse(self, number: int, reason: str) -> None:
        self._note("failed", "errors", {"line": number, "reason": reason})

    def read_bullets(self, path: str, progress: Progress) -> Iterator[Incoming]:
        """The bullets that pass redaction and the write gate, as memories tagged with the file's name."""
        name = os.path.basename(path)
        tags = [] if name.lower() in (documents.PINNED, "stale") else [name]  # those two tags change what recall does
        project = repository_of(os.path.dirname(os.path.abspath(path)))
        text = markdown.text_of(path)
        if text is None:
            raise Failure("IMPORT_FAILED", f"{path} cannot be read as text", "name a Markdown file in UTF-8")
        for item in markdown.items(text):
            self.report["items"] += 1
            progress(1)
            kinds: list[str] = []
            try:
                draft = write.Draft(item.text, tags=tags, source="import", project=project)
                document = write.compose(draft, kinds, now=self.now)
                is_noise = document["write_verdict"] == "discard"
                reason = f"the write gate discards it: {document['write_reason']}" if is_noise else ""
            except Failure as failure:
                reason = failure.message
            if reason:
                about = {"where": f"line {item.line}", "text": _excerpt(item.text), "reason": reason}
                self._note("leftOutCount", "leftOut", about)
                continue
            document["id"] = "im-" + words.fingerprint(f"{MARKDOWN}\0{name}\0{item.text}")
            document["context"] = write.clean_name(item.context, kinds)
            self.report["redacted"].update(kinds)
            yield Incoming(document, item.line)

    def _put(self, db: apsw.Connection, incoming: Incoming) -> tuple[str, Document]:
        """Store a memory; returns the count that it belongs to, and the memory as stored.

        It is recognised by its id. Only fields that its line names change; a new text is judged again. A bullet
        changes nothing, and is not stored if it says the same as another memory, perhaps in other words.
        """
        fresh = incoming.document
        stored = documents.by_id(db, fresh["id"])
        if stored is None:
            same = write.near_duplicate(db, fresh) if self.report["form"] == MARKDOWN else None
            return ("merged", same) if same else ("added", write.store(db, fresh))
        if stored["forgotten_at"] is not None:
            return "forgotten", stored
        changed = [name for name in incoming.given if stored[name] != fresh[name]]  # type: ignore[literal-required]
        if not changed:
            return "unchanged", stored
        if "text" in changed:
            changed += [*write.VERDICT_FIELDS, *write.CATEGORY_FIELDS, "fingerprint"]
        updated: Document = {**stored, "updated_at": self.now}
        write.copy_fields(updated, fresh, changed)
        return "updated", write.store(db, updated)


def _excerpt(text: str) -> str:
    return clip(" ".join(text.split()), 160)


# A memory as a JSON line. Times are ISO 8601 in UTC outside, ms since the epoch inside.

# Key of a line → field of the document, and the kind of its value.
_LINE_FIELDS = {
    "context": ("context", "text"), "path": ("path", "text"), "tags": ("tags", "tags"), "title": ("title", "name"),
    "source": ("source", "name"), "session": ("session_id", "name"), "project": ("project", "name"),
    "type": ("observation_type", "name"), "privacy": ("privacy", "name"), "reason": ("write_reason", "name"),
    "gate_version": ("write_gate_version", "name"), "category_source": ("category_source", "name"),
    "superseded_by": ("superseded_by", "name"), "supersedes": ("supersedes", "name"),
    "confidence": ("write_confidence", "number"), "category_confidence": ("category_confidence", "number"),
    "retrieval_priority": ("retrieval_priority", "number"), "merged_count": ("merged_count", "count"),
    "recall_count": ("recall_count", "count"), "stale": ("stale", "flag"), "history": ("history", "history"),
    "gate_fallback": ("write_gate_fallback", "flag"), "created_at": ("created_at", "time"),
    "updated_at": ("updated_at", "time"), "last_used_at": ("last_used_at", "time"),
}  # fmt: skip
_KINDS = {
    "text": "a string", "name": "a string", "tags": "a list of strings", "flag": "true or false",
    "number": "a number from -1 to 1", "count": "a whole number from 0", "history": "a list of {text, at, source}",
    "time": "an ISO 8601 time or ms since 1970",
}  # fmt: skip
LINE_KEYS = {"id", "collection", "text", "verdict", "category", *_LINE_FIELDS}
"""The keys of a line that have an effect."""


def to_line(document: Document) -> dict[str, Any]:
    """A document as `memory export` prints it: everything that `from_line` takes, without empty fields."""
    view = with_iso_times(document)
    about = {"id": view["id"], "collection": view["collection"], "text": view["text"], "verdict": view["write_verdict"]}
    fields = {key: view[name] for key, (name, _) in _LINE_FIELDS.items()} | {"category": view["category_id"]}
    return {**about, **{key: value for key, value in fields.items() if value}}


def from_line(line: Any, number: int, redacted: list[str], *, now: int) -> Incoming:
    """The memory in a parsed line, redacted, judged and categorised; `now` in ms. Raises Failure if it is none."""
    _require(isinstance(line, dict), "not a JSON object")
    line = {key: value for key, value in line.items() if value is not None}
    collection = line.get("collection") or "observations"
    _require(str(collection) in COLLECTIONS, f"collection must be {either(COLLECTIONS)}")
    _require(isinstance(line.get("text"), str), "text must be a string" if "text" in line else "text is missing")
    given = {"text"}
    category = line.get("category", "")
    _require(isinstance(category, str), "category must be a string")
    if collection == "observations":
        document = write.compose(write.Draft(line["text"], category=category), redacted, now=now)
    else:
        text = _stored("text", line["text"].strip(), redacted)
        _require(bool(text), "text is empty")
        document = write.ungated(collection, "", text, write.clean_name(category, redacted), now)
    if category:
        given.update(write.CATEGORY_FIELDS)
    if line.get("verdict"):
        document["write_verdict"] = str(line["verdict"]).lower()
        _require(document["write_verdict"] in gate.VERDICTS, f"verdict must be {either(gate.VERDICTS)}")
        document["write_confidence"] = 1.0
        document["write_reason"] = "imported with this verdict"
        document["write_gate_fallback"] = False
        given.update(write.VERDICT_FIELDS)
    for key, (name, kind) in _LINE_FIELDS.items():
        if key in line:
            value = _stored(kind, line[key], redacted)
            _require(value is not None, f"{key} must be {_KINDS[kind]}")
            document[name] = value  # type: ignore[literal-required]
            given.add(name)
    if "updated_at" not in given:
        document["updated_at"] = document["created_at"]
    document["id"] = _identifier(line.get("id"), document, has_time="created_at" in given)
    return Incoming(document, number, frozenset(given))


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise usage("IMPORT_FAILED", reason, "")


def _stored(kind: str, value: Any, redacted: list[str]) -> Any:
    """The stored form of a value; None if it is not of its kind."""
    if kind == "name" and isinstance(value, str):
        return write.clean_name(value, redacted)
    if kind == "text" and isinstance(value, str):
        clean, kinds = redact(words.clean(value).replace("\0", "\ufffd"))
        redacted += kinds
        max_chars = 1_000_000  # of an episode or a section
        return clean[:max_chars]
    if kind == "tags" and isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return write.clean_tags(value, redacted)
    if isinstance(value, bool):
        return value if kind == "flag" else None
    if kind in ("number", "count") and isinstance(value, int | float if kind == "number" else int):
        lowest, highest = (-1, 1) if kind == "number" else (0, 10**15)
        return value if lowest <= value <= highest else None
    if kind == "time":
        at = clock.parse_iso(value) if isinstance(value, str) else value
        return int(at) if isinstance(at, int | float) and 0 <= at <= 253_402_300_799_999 else None  # the year 9999
    if kind == "history" and isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        fields = (("text", "text", None), ("at", "time", 0), ("source", "name", ""))
        entries = [
            {key: _stored(of, entry.get(key, default), redacted) for key, of, default in fields} for entry in value
        ]
        return entries if all(None not in entry.values() for entry in entries) else None
    return None


def _identifier(given: Any, document: Document, *, has_time: bool) -> str:
    """The given id, or else a hash of the line, so that importing it again is recognised."""
    if given is None:
        at = str(document["created_at"]) if has_time else ""
        about = (document["collection"], document["text"], document["session_id"], at)
        return "im-" + words.fingerprint("\0".join(about))
    _require(isinstance(given, str) and 0 < len(given) <= 200, "id must be 1 to 200 characters")
    clean = write.clean_name(given, [])
    return clean if clean == given else "im-" + words.fingerprint(words.clean(given))
