"""Import and export: the JSON lines of `memory export`, and the bullets of a Markdown file such as CLAUDE.md.

Importing the same file again changes nothing: each line or bullet has an id that it keeps.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

import apsw
import orjson
from markdown_it import MarkdownIt

from core import ids
from core.config import Config
from core.errors import USAGE, Failure, usage
from core.output import escaped
from core.project import repository_of
from core.records import Document
from core.store import documents, sqlite, store_file
from core.store import progress as stored_progress
from core.store.rows import COLLECTIONS
from core.store.sqlite import fold_log
from memory import json_form, near_duplicate
from memory.json_form import Incoming
from memory.knowledge import markdown
from memory.write import CATEGORY_FIELDS, VERDICT_FIELDS, Draft, clean_name, compose, copy_fields, store
from recall.query import short_category

LINES = "ours"  # the value of `--format` for our own JSON lines
MARKDOWN = "markdown"
LINES_PER_COMMIT = 500  # takes about 0.1 s, during which a hook's write waits
LISTED = 20  # memories and complaints that a report quotes

_BLOCKS = MarkdownIt("commonmark").enable("table").disable("inline")

Progress = Callable[[int], None]
Line = tuple[int, bytes | None]  # its number, and None for a line too long to read


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
            yield escaped(orjson.dumps(json_form.to_line(document)).decode()).encode() + b"\n"


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
        """Store a memory; returns the count it belongs to ("" for none) and the memory as it is now."""

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
            stored_progress.renew_due_segments(db)
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
        self.report |= {"lines": 0, "failed": 0, "errors": []}

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
                    raise json_form.BadLineError("longer than 16 MiB")
                yield json_form.from_line(orjson.loads(text), str(number), now=self.now)
            except orjson.JSONDecodeError as error:
                self._refuse(number, f"not JSON: {error.msg}, at character {error.pos}")
            except json_form.BadLineError as error:
                self._refuse(number, str(error))

    def put(self, db: apsw.Connection, incoming: Incoming, vectors: bool) -> tuple[str, Document]:
        """A memory is recognised by its id. Only fields that the line names change; a new text is judged again."""
        fresh = incoming.document
        stored = documents.by_id(db, fresh["id"])
        if stored is None:
            return "added", store(db, fresh, vectors=vectors)
        if stored["collection"] != fresh["collection"]:  # the row number encodes the collection
            self._refuse(int(incoming.where), f"its id belongs to a document in {stored['collection']}")
            return "", stored
        if stored["forgotten_at"] is not None:
            return "forgotten", stored
        names = set(incoming.given)
        if all(stored[name] == fresh[name] for name in names):  # type: ignore[literal-required]
            return "unchanged", stored
        if stored["text"] != fresh["text"]:
            names.update(VERDICT_FIELDS, CATEGORY_FIELDS, ("fingerprint",))
        if "write_verdict" in names:
            names.update(VERDICT_FIELDS)
        if "category_id" in names:
            names.update(CATEGORY_FIELDS)
        updated: Document = {**stored, "updated_at": self.now}
        copy_fields(updated, fresh, tuple(names))
        return "updated", store(db, updated, vectors=vectors)

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
        for item in markdown_items(_read_text(path)):
            if item.left_out:
                self._leave_out(item, item.left_out)
                continue
            self.report["items"] += 1
            progress(1)
            kinds: list[str] = []
            try:
                draft = Draft(item.text, tags=tags, source="import", project=project)
                document = compose(draft, kinds, now=self.now)
            except Failure as failure:
                self._leave_out(item, failure.message)
                continue
            if document["write_verdict"] == "discard":
                self._leave_out(item, f"the write gate discards it: {document['write_reason']}")
                continue
            document["id"] = "im-" + ids.fingerprint(f"{MARKDOWN}\0{name}\0{item.text}")
            document["context"] = clean_name(item.context, kinds)
            yield Incoming(document, item.where, redacted=kinds)

    def put(self, db: apsw.Connection, incoming: Incoming, vectors: bool) -> tuple[str, Document]:
        """A bullet that is already stored, was edited or was forgotten stays as it is; a near duplicate is merged."""
        fresh = incoming.document
        stored = documents.by_id(db, fresh["id"])
        if stored is not None:
            return ("unchanged" if stored["forgotten_at"] is None else "forgotten"), stored
        same = near_duplicate.find(db, fresh, vectors=vectors)
        if same is None:
            return "added", store(db, fresh, vectors=vectors)
        tags = list(dict.fromkeys([*same["tags"], *fresh["tags"]]))
        if tags == same["tags"]:
            return "unchanged", same
        documents.set_tags(db, same["rowid"], tags, stale=same["stale"])
        return "merged", {**same, "tags": tags}

    def _leave_out(self, item: "Item", reason: str) -> None:
        self.report["leftOutCount"] += 1
        if len(self.report["leftOut"]) < LISTED:
            self.report["leftOut"].append({"where": item.where, "text": _excerpt(item.text), "reason": reason})


def _excerpt(text: str, max_chars: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


@dataclass(frozen=True)
class Item:
    """A bullet or paragraph of a Markdown file; `left_out` says why it is not a memory."""

    line: int
    text: str
    context: str = ""
    left_out: str = ""

    @property
    def where(self) -> str:
        """Where to find it in the file, for people."""
        return f"line {self.line}"


def markdown_items(text: str, max_paragraph_chars: int = 600) -> Iterator[Item]:
    """Each bullet and paragraph, with the headings above it as context, in order.

    A bullet that ends in ":" introduces the ones nested below it: it becomes the beginning of their texts.
    """
    headings: list[_Block] = []
    parents: list[_Block] = []
    blocks = _blocks(text)
    for block, following in zip_longest(blocks, blocks[1:]):
        without_bold = re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", block.text)
        said = re.sub(r"\[[ xX-]\]\s+", "", without_bold, count=1).strip()  # without the box of a task
        if block.is_heading:
            headings = [*(heading for heading in headings if heading.depth < block.depth), block]
            parents = []
            continue
        parents = [parent for parent in parents if parent.depth < block.depth]
        has_nested = following is not None and not following.is_heading and following.depth > block.depth
        if said.endswith(":") and has_nested:
            parents.append(_Block(block.line, block.depth, said))
        elif re.match(r"@[\w~./-]+$", said):
            yield Item(block.line, said, left_out="refers to another file: import that one too")
        elif not block.depth and len(said) > max_paragraph_chars:
            yield Item(block.line, said, left_out="a long paragraph; `knowledge sync` takes whole documents")
        elif said:
            introduced = [parent.text for parent in parents if parent.depth]
            above = [heading.text for heading in headings] + [parent.text for parent in parents if not parent.depth]
            yield Item(block.line, " ".join([*introduced, said]), " > ".join(above))


@dataclass
class _Block:
    """A heading (`depth`: its level), a bullet (`depth` 1 or more) or a paragraph (`depth` 0), as one line of text."""

    line: int
    depth: int
    text: str
    is_heading: bool = False


def _blocks(text: str) -> list[_Block]:
    """The headings, bullets and paragraphs of a Markdown text, without code, tables, comments and front matter."""
    body = markdown.front_matter(text)[1]
    skipped = text.count("\n") - body.count("\n")
    body = re.sub(r"(?s)<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), body)
    blocks: list[_Block] = []
    depth = 0
    is_new_bullet = False
    opened: Any = None
    for token in _BLOCKS.parse(body):
        if token.type in ("list_item_open", "list_item_close"):
            is_new_bullet = token.type == "list_item_open"
            depth += 1 if is_new_bullet else -1
        elif token.type != "inline":
            opened = token
        elif opened.type in ("heading_open", "paragraph_open") and token.map:
            said = " ".join(token.content.split())
            is_heading = opened.type == "heading_open"
            if depth and not is_new_bullet and blocks and (blocks[-1].depth, blocks[-1].is_heading) == (depth, False):
                blocks[-1].text += f" {said}"  # a second paragraph of the same bullet
            else:
                level = int(opened.tag[1]) if is_heading else depth
                blocks.append(_Block(skipped + token.map[0] + 1, level, said, is_heading))
            is_new_bullet = False
    return blocks


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
