"""What other tools remember, as items: Mem0, MCP's memory server, claude-mem, CLAUDE.md and its like."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from markdown_it import MarkdownIt

from core import clock
from core.errors import Failure
from core.project import repository_of
from core.store import foreign_file
from memory.knowledge import markdown_files
from memory.knowledge.markdown import front_matter

MOST_JSON_BYTES = 64 * 1024 * 1024
MOST_MARKDOWN_BYTES = 4 * 1024 * 1024
_MOST_TAGS, _LONGEST_TAG = 16, 60
_LONGEST_PARAGRAPH = 600
_WHITE = b"\xef\xbb\xbf \t\r\n"
_BLOCKS = MarkdownIt("commonmark").enable("table").disable("inline")
_TASK = re.compile(r"\[[ xX-]\]\s+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")


@dataclass(frozen=True)
class Item:
    """One memory of another tool: where it stands, for people; what tells it from others in its store for good."""

    text: str
    where: str
    key: str
    tags: tuple[str, ...] = ()
    context: str = ""
    category: str = ""
    project: str = ""
    created_at: int | None = None


@dataclass(frozen=True)
class LeftOut:
    """A piece of the file that is no memory, and why."""

    where: str
    reason: str
    text: str = ""


Pieces = Iterator[Item | LeftOut]


def json_form(data: bytes) -> str:
    """`mem0` or `mcp-memory`, by the first line where it is a JSON value, else by the whole; "" for neither."""
    first = _parsed(data.lstrip(_WHITE).partition(b"\n")[0])
    if isinstance(first, dict) and isinstance(first.get("text"), str):
        return ""
    value = first if first is not None else _parsed(data)
    is_row = isinstance(first, dict) and first.get("type") in ("entity", "relation")
    if _is_graph(value) or (is_row and ("name" in first or "from" in first)):
        return "mcp-memory"
    return "mem0" if any(map(_is_memory, [first, *(_memories(value) or ())])) else ""


def _read(path: str, most: int) -> bytes:
    try:
        with open(path, "rb") as handle:
            data = handle.read(most + 1)
    except OSError as error:
        raise Failure("IMPORT_FAILED", f"{path}: {error.strerror}", "name a file that can be read") from None
    if len(data) > most:
        raise Failure("IMPORT_FAILED", f"{path} has more than {most:,} bytes", "split it, and import the parts")
    return data


def _parsed(data: bytes) -> Any:
    """A JSON value, None where it is none."""
    try:
        return orjson.loads(data.lstrip(_WHITE))
    except orjson.JSONDecodeError:
        return None


def _lines(data: bytes) -> list[tuple[int, Any]]:
    """The numbered JSON values of a file of lines, None for a line that is none; blank lines are left out."""
    return [(number, _parsed(line)) for number, line in enumerate(data.splitlines(), 1) if line.strip()]


def _tags(values: Iterable[object]) -> tuple[str, ...]:
    """Those of the values that can be tags: short texts on one line, each once."""
    found = dict.fromkeys(map(_line, values))
    return tuple(value for value in found if 0 < len(value) <= _LONGEST_TAG)[:_MOST_TAGS]


def _line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _moment(value: object) -> int | None:
    """Ms since the epoch of an ISO 8601 time or of a number of s or ms; None for anything else."""
    if isinstance(value, str):
        return clock.parse_iso(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e15:
        return None
    return int(value if value > 1e11 else value * 1000)


def _memories(value: Any) -> list[Any] | None:
    """The list of memories that a JSON value of Mem0 holds, None where it holds none."""
    if isinstance(value, dict):
        value = value.get("results", value.get("memories"))
    return value if isinstance(value, list) else None


def _is_memory(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("memory"), str)


def _is_graph(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("entities"), list)


def mem0(path: str) -> Pieces:
    """A list, `{"results": [...]}` or lines of `{id, memory, created_at, …}`; a memory is known again by its id."""
    data = _read(path, MOST_JSON_BYTES)
    found = _memories(_parsed(data))
    for number, one in enumerate(found, 1) if found is not None else _lines(data):
        where = f"memory {number}"
        if not _is_memory(one):
            yield LeftOut(where, "has no text in `memory`")
            continue
        about = one["metadata"] if isinstance(one.get("metadata"), dict) else {}
        named = [about.get(name) for name in ("category", "type", "topic")]
        lists = (one.get("categories"), named, about.get("tags"))
        tags = _tags(["mem0", *(tag for values in lists if isinstance(values, list) for tag in values)])
        key = str(one["id"]) if isinstance(one.get("id"), (str, int)) else one["memory"]
        yield Item(one["memory"].strip(), where, key, tags, created_at=_moment(one.get("created_at")))


def mcp_memory(path: str) -> Pieces:
    """Lines of entities (each observation with the name in front) and relations (a sentence), or `read_graph`."""
    data = _read(path, MOST_JSON_BYTES)
    graph = _parsed(data)
    numbered = _lines(data)
    if _is_graph(graph):
        kinds = (("entity", graph["entities"]), ("relation", graph.get("relations") or []))
        rows = [{"type": kind, **row} if isinstance(row, dict) else row for kind, rows in kinds for row in rows]
        numbered = list(enumerate(rows, 1))
    for number, row in numbered:
        where, one = f"line {number}", row if isinstance(row, dict) else {}
        name, said = _line(one.get("name")), one.get("observations")
        parts = [_line(one.get(end)) for end in ("from", "relationType", "to")]
        if one.get("type") == "relation" and all(parts):
            sentence = f"{parts[0]} {parts[1].replace('_', ' ')} {parts[2]}"
            yield Item(sentence, where, "\0".join(parts), ("mcp-memory", "relation"))
        elif one.get("type") != "entity" or not name or not isinstance(said, list) or not said:
            yield LeftOut(where, "neither a relation nor an entity with a name and observations", name)
            continue
        for at, observation in enumerate(said or (), 1):
            text = observation.strip() if isinstance(observation, str) else ""
            if text:
                full = text if name.lower() in text.lower() else f"{name}: {text}"
                tags = _tags(["mcp-memory", one.get("entityType")])
                yield Item(full, f"{where}, observation {at}", f"{one['name']}\0{text}", tags)
            else:
                yield LeftOut(f"{where}, observation {at}", "an observation that is not text")


def claude_mem(path: str) -> Pieces:
    """The facts of each observation, else its narrative; what summaries of sessions say was learnt, done and noted."""
    with foreign_file.opened(path) as db:
        waiting = os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0
        if waiting:
            reason = f"{waiting:,} bytes of changes are not in the file yet: stop claude-mem and import again"
            yield LeftOut(os.path.basename(path) + "-wal", reason)
        about = ("id", "project", "created_at", "created_at_epoch")
        told = ("text", "facts", "narrative", "concepts", "title", "subtitle", "type", "content_hash")
        for row in foreign_file.rows(db, "observations", (*about, *told)):
            where, title = f"observation {row['id']}", _line(row["title"])
            facts = [fact.strip() for fact in _list(row["facts"]) if isinstance(fact, str) and fact.strip()]
            if not facts:
                titles = " – ".join(filter(None, (title, _line(row["subtitle"]))))
                facts = [_line(row["narrative"]) or _line(row["text"]) or titles]
            if not facts[0]:
                yield LeftOut(where, "says nothing")
                continue
            tags = _tags(["claude-mem", row["type"], *_list(row["concepts"])])
            own = _line(row["content_hash"]) or f"{row['id']}\0{row['created_at_epoch']}"
            for number, fact in enumerate(facts, 1):
                place = f"{where}, fact {number}" if len(facts) > 1 else where
                yield _of_row(row, fact, place, f"observation\0{own}\0{number}", tags, title if title != fact else "")
        parts = ("learned", "completed", "notes")  # what was asked for and what was to come next are over
        for row in foreign_file.rows(db, "session_summaries", (*about, "request", *parts)):
            where = f"summary {row['id']}"
            said = [(name, _line(row[name])) for name in parts if _line(row[name])]
            if not said:
                yield LeftOut(where, "says nothing")
            for name, text in said:
                key = f"summary\0{row['id']}\0{row['created_at_epoch']}\0{name}"
                yield _of_row(
                    row, text, f"{where}, {name}", key, ("claude-mem", "summary", name), _line(row["request"])
                )


def _of_row(row: dict[str, Any], text: str, where: str, key: str, tags: tuple[str, ...], context: str) -> Item:
    at = _moment(row["created_at_epoch"]) or _moment(row["created_at"])
    return Item(text, where, key, tags, context, project=_line(row["project"]), created_at=at)


def _list(value: object) -> list[Any]:
    """A JSON list in a column; a text that is no JSON is a list of one."""
    if not isinstance(value, str) or not value.strip():
        return []
    found = _parsed(value.encode("utf-8", "replace"))
    return found if isinstance(found, list) else [value] if found is None else []


@dataclass
class _Piece:
    """A bullet (`depth` of 1 or more), a paragraph (0) or a heading (its level below 0), on one line."""

    line: int
    depth: int
    text: str


def _pieces(text: str) -> tuple[dict[str, Any], list[_Piece]]:
    """The front matter, and what is said, in order: no code, no tables, no comments."""
    front, body = front_matter(text)
    before = text.count("\n") - body.count("\n")
    body = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), body)
    found: list[_Piece] = []
    depth = 0
    starts = False  # a list item, whose first paragraph is next
    opened: Any = None
    for token in _BLOCKS.parse(body):
        if token.type in ("list_item_open", "list_item_close"):
            starts = token.type == "list_item_open"
            depth += 1 if starts else -1
        elif token.type != "inline":
            opened = token
        elif opened.type in ("heading_open", "paragraph_open") and token.map:
            said = " ".join(token.content.split())
            if depth and not starts and found and found[-1].depth == depth:
                found[-1].text += f" {said}"
            else:
                level = -int(opened.tag[1]) if opened.type == "heading_open" else depth
                found.append(_Piece(before + token.map[0] + 1, level, said))
            starts = False
    return front, found


def _text(path: str) -> str:
    text = markdown_files.decode(_read(path, MOST_MARKDOWN_BYTES))
    if text is None:
        raise Failure("IMPORT_FAILED", f"{path} is not a text file", "name a file of markdown in UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def bullets(path: str) -> Pieces:
    """Each bullet and each short paragraph; the project is that of the repository in which the file lies."""
    name = os.path.basename(path)
    project = repository_of(os.path.dirname(os.path.abspath(path)))
    above: list[_Piece] = []
    found = _pieces(_text(path))[1]
    for piece, behind in zip(found, [*found[1:], None], strict=False):
        piece.text = text = _TASK.sub("", _STRONG.sub(r"\2", piece.text), count=1).strip()
        where = f"line {piece.line}"
        # Headings have depths below 0, the outermost the highest; what is within something has a greater depth.
        if piece.depth < 0:
            above = [*(one for one in above if 0 > one.depth > piece.depth), piece]
            continue
        above = [one for one in above if one.depth < piece.depth]
        if text.endswith(":") and behind is not None and behind.depth > piece.depth:
            above.append(piece)
        elif re.match(r"@[\w~./-]+$", text):
            yield LeftOut(where, "refers to another file: import that one too", text)
        elif not piece.depth and len(text) > _LONGEST_PARAGRAPH:
            yield LeftOut(where, "a long paragraph; `knowledge sync` takes whole documents", text)
        elif text:
            told = " ".join([*(one.text for one in above if one.depth > 0), text])
            context = " > ".join(one.text for one in above if one.depth <= 0)
            yield Item(told, where, f"{name}\0{told}", (name,), context, project=project)
