"""Import and export: the JSON lines of `memory export`, and the bullets of a Markdown file such as CLAUDE.md.

Importing the same file again changes nothing: each line or bullet has an id that it keeps.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

import apsw
import orjson

from core import clock, words
from core.config import Config
from core.errors import USAGE, Failure, usage
from core.project import repository_of
from core.quoting import escaped
from core.records import Document
from core.redaction import redact
from core.store import documents, sqlite, store_file
from core.store.sqlite import COLLECTIONS, fold_log
from memory import gate, write
from memory.curate import with_iso_times
from memory.knowledge import markdown
from recall.query import short_category

LINES = "ours"  # the value of `--format` for our own JSON lines
MARKDOWN = "markdown"
LINES_PER_COMMIT = 500  # takes about 0.1 s, during which a hook's write waits
LISTED = 20  # memories and complaints that a report quotes
MAX_TEXT_CHARS = 1_000_000  # of an episode or a section

Progress = Callable[[int], None]
Line = tuple[int, bytes | None]  # its number, and None for a line too long to read


class BadLineError(ValueError):
    """A line is not a memory; the message says why, without its content."""


@dataclass(frozen=True)
class Incoming:
    """An imported memory. `given`: the fields that its line names; `where`: its place in the file, for people."""

    document: Document
    where: str
    given: frozenset[str] = frozenset()
    redacted: list[str] = field(default_factory=list)


def detect_format(path: str) -> str:
    """MARKDOWN or LINES, by the file's name. Raises Failure MEMORY_INVALID_ARGS for a folder."""
    if os.path.isdir(path):
        fix = "name a file; `joelclaw knowledge sync` takes folders of Markdown"
        raise usage("MEMORY_INVALID_ARGS", f"{path} is a folder", fix)
    return MARKDOWN if path.lower().endswith((".md", ".markdown", ".mdc")) else LINES


def import_lines(
    lines: Iterable[Line], *, preview: bool, now: int, config: Config, progress: Progress
) -> dict[str, Any]:
    """Store memories from JSON lines and report what became of them; with `preview`, store nothing.

    A bad line is reported and the others are stored. `now` in ms; `progress` receives the bytes read.
    """
    run = _LinesImport(preview, now, config)
    return run.store(run.parse(lines, progress), LINES_PER_COMMIT)


def import_markdown(path: str, *, preview: bool, now: int, config: Config, progress: Progress) -> dict[str, Any]:
    """Store each bullet and short paragraph of a Markdown file as a memory; with `preview`, store nothing.

    The memories belong to the project of the repository that contains the file. Raises Failure IMPORT_FAILED.
    """
    run = _MarkdownImport(preview, now, config)
    return run.store(run.parse(path, progress), 20)  # comparing a bullet with its neighbours takes 20 times as long


def export_lines(db: apsw.Connection, collections: Sequence[str]) -> Iterator[bytes]:
    """Every memory that was not forgotten, as a JSON line with its newline. No collections means all of them."""
    for name in [name for name in COLLECTIONS if name in collections] or [""]:
        for document in documents.every(db, collection=name):
            yield escaped(orjson.dumps(to_line(document)).decode()).encode() + b"\n"


class _Import(ABC):
    """An import and its report: how many memories were added, updated, merged and so on, and the first few of each."""

    def __init__(self, form: str, preview: bool, now: int, config: Config) -> None:
        self.preview = preview
        self.now = now
        self.config = config
        counts = dict.fromkeys(("added", "updated", "merged", "unchanged", "forgotten"), 0)
        self.report: dict[str, Any] = {"form": form, "preview": preview, **counts, "redacted": {}, "first": []}

    @abstractmethod
    def put(self, db: apsw.Connection, incoming: Incoming, vectors: bool) -> tuple[str, Document]:
        """Store a memory; returns the count it belongs to ("" for none) and the memory as stored."""

    def store(self, ready: Iterator[Incoming], per_commit: int) -> dict[str, Any]:
        """Store the memories batch by batch; a preview stores them in a copy in memory and takes no lock."""
        batch = list(islice(ready, per_commit))
        if not batch:  # a file without memories does not create a store
            return self.report
        try:
            db = self._open()
            vectors = sqlite.load_vectors(db)
            while batch:
                with sqlite.transaction(db):
                    outcomes = [self.put(db, incoming, vectors) for incoming in batch]
                for incoming, (outcome, document) in zip(batch, outcomes, strict=True):
                    self._count(outcome, incoming, document)
                batch = list(islice(ready, per_commit))
            documents.renew_due_segments(db)
            if self.report["added"] >= documents.MERGE_AFTER:
                store_file.merge(db, "lexicon")
            fold_log(db, over=0)
        except (apsw.Error, Failure) as error:
            failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
            if failure.exit_code == USAGE or self.preview:
                raise failure from None
            done = sum(self.report[name] for name in ("added", "updated", "merged"))
            fix = f"{failure.fix.partition(';')[0]}: import the same file again: what is already stored stays as it is"
            raise Failure(failure.code, f"{failure.message}; {done:,} of its memories are stored", fix) from None
        return self.report

    def _open(self) -> apsw.Connection:
        if not self.preview:
            return sqlite.open_writing(busy_ms=self.config.get_int("store.busy_ms"), durable=True)
        db = sqlite.open_in_memory(sqlite.open_reading())
        db.authorizer = None
        return db

    def _count(self, outcome: str, incoming: Incoming, document: Document) -> None:
        redacted = self.report["redacted"]
        for kind in incoming.redacted:
            redacted[kind] = redacted.get(kind, 0) + 1
        if outcome:
            self.report[outcome] += 1
        if outcome and len(self.report["first"]) < LISTED:
            self.report["first"].append({
                "where": incoming.where, "outcome": outcome, "id": document["id"], "tags": document["tags"],
                "verdict": document["write_verdict"], "category": short_category(document["category_id"]),
                "observation": _excerpt(document["text"]),
            })  # fmt: skip


class _LinesImport(_Import):
    def __init__(self, preview: bool, now: int, config: Config) -> None:
        super().__init__(LINES, preview, now, config)
        self.report |= {"lines": 0, "failed": 0, "errors": [], "ignored": []}

    def parse(self, lines: Iterable[Line], progress: Progress) -> Iterator[Incoming]:
        """The memories of the good lines; blank lines are skipped."""
        for number, raw in lines:
            progress(len(raw or b""))
            text = raw.strip(b" \t\r\n\xef\xbb\xbf") if raw is not None else b"-"
            if not text:
                continue
            self.report["lines"] += 1
            try:
                if raw is None:
                    raise BadLineError("longer than 16 MiB")
                line = orjson.loads(text)
                incoming = from_line(line, str(number), now=self.now)
                unknown = {redact(key)[0] for key in line.keys() - LINE_KEYS}
                self.report["ignored"] += sorted(unknown - {*self.report["ignored"]})
                yield incoming
            except orjson.JSONDecodeError as error:
                self._refuse(number, f"not JSON: {error.msg}, at character {error.pos}")
            except BadLineError as error:
                self._refuse(number, str(error))

    def put(self, db: apsw.Connection, incoming: Incoming, vectors: bool) -> tuple[str, Document]:
        """A memory is recognised by its id. Only fields that the line names change; a new text is judged again."""
        fresh = incoming.document
        stored = documents.by_id(db, fresh["id"])
        if stored is None:
            return "added", write.store(db, fresh, vectors=vectors)
        if stored["collection"] != fresh["collection"]:  # the row number encodes the collection
            self._refuse(int(incoming.where), f"its id belongs to a document in {stored['collection']}")
            return "", stored
        if stored["forgotten_at"] is not None:
            return "forgotten", stored
        names = set(incoming.given)
        if all(stored[name] == fresh[name] for name in names):  # type: ignore[literal-required]
            return "unchanged", stored
        if stored["text"] != fresh["text"]:
            names.update(write.VERDICT_FIELDS, write.CATEGORY_FIELDS, ("fingerprint",))
        if "write_verdict" in names:
            names.update(write.VERDICT_FIELDS)
        if "category_id" in names:
            names.update(write.CATEGORY_FIELDS)
        updated: Document = {**stored, "updated_at": self.now}
        write.copy_fields(updated, fresh, tuple(names))
        return "updated", write.store(db, updated, vectors=vectors)

    def _refuse(self, number: int, reason: str) -> None:
        self.report["failed"] += 1
        if len(self.report["errors"]) < LISTED:
            self.report["errors"].append({"line": number, "reason": reason})


class _MarkdownImport(_Import):
    def __init__(self, preview: bool, now: int, config: Config) -> None:
        super().__init__(MARKDOWN, preview, now, config)
        self.report |= {"items": 0, "leftOutCount": 0, "leftOut": []}

    def parse(self, path: str, progress: Progress) -> Iterator[Incoming]:
        """The bullets that pass redaction and the write gate, as memories tagged with the file's name."""
        name = os.path.basename(path)
        tags = [] if name.lower() in (documents.PINNED, "stale") else [name]  # those two tags change what recall does
        project = repository_of(os.path.dirname(os.path.abspath(path)))
        for item in markdown.items(_read_text(path)):
            self.report["items"] += 1
            progress(1)
            kinds: list[str] = []
            try:
                draft = write.Draft(item.text, tags=tags, source="import", project=project)
                document = write.compose(draft, kinds, now=self.now)
            except Failure as failure:
                self._leave_out(item, failure.message)
                continue
            if document["write_verdict"] == "discard":
                self._leave_out(item, f"the write gate discards it: {document['write_reason']}")
                continue
            document["id"] = "im-" + words.fingerprint(f"{MARKDOWN}\0{name}\0{item.text}")
            document["context"] = write.clean_name(item.context, kinds)
            yield Incoming(document, f"line {item.line}", redacted=kinds)

    def put(self, db: apsw.Connection, incoming: Incoming, vectors: bool) -> tuple[str, Document]:
        """A bullet that is already stored, edited or forgotten is not changed; a near duplicate is merged."""
        fresh = incoming.document
        stored = documents.by_id(db, fresh["id"])
        if stored is not None:
            return ("unchanged" if stored["forgotten_at"] is None else "forgotten"), stored
        same = write.near_duplicate(db, fresh, vectors=vectors)
        if same is None:
            return "added", write.store(db, fresh, vectors=vectors)
        tags = list(dict.fromkeys([*same["tags"], *fresh["tags"]]))
        if tags == same["tags"]:
            return "unchanged", same
        documents.set_tags(db, same["rowid"], tags, stale=same["stale"])
        return "merged", {**same, "tags": tags}

    def _leave_out(self, item: markdown.Item, reason: str) -> None:
        self.report["leftOutCount"] += 1
        if len(self.report["leftOut"]) < LISTED:
            self.report["leftOut"].append({"where": f"line {item.line}", "text": _excerpt(item.text), "reason": reason})


def _excerpt(text: str, max_chars: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def _read_text(path: str, max_bytes: int = 4 * 1024 * 1024) -> str:
    try:
        data, is_longer = markdown.read(path, max_bytes)
    except OSError as error:
        raise Failure("IMPORT_FAILED", f"{path}: {error.strerror}", "name a file that can be read") from None
    if is_longer:
        message = f"{path} has more than {max_bytes:,} bytes"
        raise Failure("IMPORT_FAILED", message, "split it, and import the parts")
    text = markdown.decode(data)
    if text is None:
        raise Failure("IMPORT_FAILED", f"{path} is not a text file", "name a Markdown file in UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


# A memory as a JSON line. Times are ISO 8601 in UTC outside, ms since the epoch inside.

# Key of a line → field of the document, and the kind of its value.
_LINE_FIELDS = {
    "context": ("context", "context"), "path": ("path", "path"), "tags": ("tags", "tags"), "title": ("title", "name"),
    "source": ("source", "name"), "session": ("session_id", "name"), "project": ("project", "name"),
    "type": ("observation_type", "name"), "privacy": ("privacy", "name"), "reason": ("write_reason", "name"),
    "gate_version": ("write_gate_version", "name"), "category_source": ("category_source", "name"),
    "superseded_by": ("superseded_by", "name"), "supersedes": ("supersedes", "name"),
    "confidence": ("write_confidence", "share"), "category_confidence": ("category_confidence", "share"),
    "retrieval_priority": ("retrieval_priority", "priority"), "merged_count": ("merged_count", "count"),
    "recall_count": ("recall_count", "count"), "stale": ("stale", "flag"), "history": ("history", "history"),
    "gate_fallback": ("write_gate_fallback", "flag"), "created_at": ("created_at", "time"),
    "updated_at": ("updated_at", "time"), "last_used_at": ("last_used_at", "time"),
}  # fmt: skip
LINE_KEYS = {"id", "collection", "text", "verdict", "category", *_LINE_FIELDS}
"""The keys of a line that have an effect."""


def to_line(document: Document) -> dict[str, Any]:
    """A document as `memory export` prints it: everything that `from_line` takes, without empty fields."""
    view = with_iso_times(document)
    about = {"id": view["id"], "collection": view["collection"], "text": view["text"], "verdict": view["write_verdict"]}
    fields = {key: view[name] for key, (name, _) in {**_LINE_FIELDS, "category": ("category_id", "name")}.items()}
    return {**about, **{key: value for key, value in fields.items() if value}}


def from_line(line: Any, where: str, *, now: int) -> Incoming:
    """The memory in a parsed line, redacted, judged and categorised; `now` in ms. Raises BadLineError."""
    _require(isinstance(line, dict), "not a JSON object")
    line = {key: value for key, value in line.items() if value is not None}
    collection = line.get("collection") or "observations"
    _require(str(collection) in COLLECTIONS, f"collection must be one of {', '.join(COLLECTIONS)}")
    _require(isinstance(line.get("text"), str), "text must be a string" if "text" in line else "text is missing")
    text = words.clean(line["text"]).replace("\0", "\ufffd").strip()
    most = write.MAX_CHARS if collection == "observations" else MAX_TEXT_CHARS
    _require(bool(text), "text is empty")
    _require(len(text) <= most, f"text has {len(text)} characters, at most {most} are taken")
    redacted: list[str] = []
    document = documents.blank(collection, "", _clean_text(text, redacted), now)
    given = {"text"}
    category, annotated = _checked("name", line.get("category", ""), "category", redacted), ""
    if category:
        given.add("category_id")
    if line.get("verdict"):
        document["write_verdict"] = str(line["verdict"]).lower()
        _require(document["write_verdict"] in gate.VERDICTS, f"verdict must be one of {', '.join(gate.VERDICTS)}")
        given.add("write_verdict")
        write.set_ungated(document, "imported with this verdict")
    elif collection != "observations":
        write.set_ungated(document, "archived")
    else:
        verdict = gate.judge(document["text"])
        _require(bool(verdict["text"]), "text is empty behind its annotation")
        document["text"], annotated = verdict["text"], "" if category else verdict["category"]
        write.set_verdict(document, verdict)
    write.set_category(document, category, annotated)
    for key, (name, kind) in _LINE_FIELDS.items():
        if key in line:
            document[name] = _checked(kind, line[key], key, redacted)  # type: ignore[literal-required]
            given.add(name)
    if "updated_at" not in given:
        document["updated_at"] = document["created_at"]
    document["id"] = _identifier(line.get("id"), document, has_time="created_at" in given)
    if collection == "observations":
        document["observation_type"] = document["observation_type"] or "observation_text"
    write.set_fingerprint(document)
    return Incoming(document, where, frozenset(given), redacted)


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise BadLineError(reason)


def _checked(kind: str, value: Any, key: str, redacted: list[str]) -> Any:
    """The stored form of a value. Raises BadLineError if it is not of its kind."""
    try:
        return _converted(kind, value, redacted)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        expected = {
            "tags": "a list of strings", "context": "a string or a list of strings", "flag": "true or false",
            "share": "a number from 0 to 1", "priority": "a number from -1 to 1", "count": "a number from 0 to 1e+15",
            "time": "an ISO 8601 time or ms since 1970", "history": "a list of {text, at, source}",
        }.get(kind, "a string")  # fmt: skip
        raise BadLineError(f"{key} must be {expected}") from None


def _converted(kind: str, value: Any, redacted: list[str]) -> Any:
    if kind in ("tags", "context"):
        separator = "," if kind == "tags" else "\n"
        texts = value.split(separator) if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise TypeError
        return write.clean_tags(texts, redacted) if kind == "tags" else _clean_text("\n".join(texts).strip(), redacted)
    if kind in ("share", "priority", "count"):
        lowest, highest = -1 if kind == "priority" else 0, 1e15 if kind == "count" else 1
        if isinstance(value, bool) or not lowest <= value <= highest:
            raise ValueError
        return int(value) if kind == "count" else float(value)
    if kind == "time":
        at = clock.parse_iso(value) if isinstance(value, str) and not value.isdigit() else int(value)
        if at is None or not 0 <= at <= 253_402_300_799_999:  # the end of the year 9999
            raise ValueError
        return at
    if kind == "history":
        return [
            {
                "text": _clean_text(entry["text"], redacted),
                "at": _converted("time", entry.get("at", 0), redacted),
                "source": _converted("name", entry.get("source", ""), redacted),
            }
            for entry in value
        ]
    if kind == "flag" and isinstance(value, bool):
        return value
    if kind == "flag" or not isinstance(value, str):
        raise TypeError
    if kind == "path":
        return _clean_text(value, redacted)[:4096]
    clean, kinds = _clean_name(value)
    redacted += kinds
    return clean


def _clean_text(text: str, redacted: list[str]) -> str:
    clean, kinds = redact(words.clean(text).replace("\0", "\ufffd"))
    redacted += kinds
    return clean[:MAX_TEXT_CHARS]


@lru_cache(maxsize=4096)  # sources, sessions and projects recur in thousands of lines
def _clean_name(value: str) -> tuple[str, tuple[str, ...]]:
    redacted: list[str] = []
    return write.clean_name(value, redacted), tuple(redacted)


def _identifier(given: Any, document: Document, *, has_time: bool) -> str:
    """The given id, or else a hash of the line, so that importing it again is recognised."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    if given is None:
        at = str(document["created_at"]) if has_time else ""
        about = (document["collection"], document["text"], document["session_id"], at)
        return "im-" + words.fingerprint("\0".join(about))
    if not isinstance(given, str) or not 0 < len(given) <= 200:
        raise BadLineError("id must be 1 to 200 characters")
    identifier = words.clean(given)
    clean = write.clean_name(identifier, [])
    return clean if clean == identifier else "im-" + words.fingerprint(identifier)
