"""A session file as entries and the messages in them, whichever client wrote it, with estimates of their tokens.

An entry is what a reader keeps of a line: ids, sizes, calls, files. The texts stay in the file and are read again when
a message is asked for, so that a session of 100 MB takes little memory. Tokens are estimated as pi does, by four
characters as JavaScript counts them: with the same counts the cut falls where pi's falls.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO, Literal, NamedTuple

import orjson

from clients.content import paths, rows, string, table

BlockKind = Literal["text", "thinking", "tool_call", "image"]
Role = Literal["user", "assistant", "tool_result", "bash", "custom", "branch_summary", "compaction_summary"]
EntryKind = Literal["message", "custom_message", "branch_summary", "compaction", "other"]

SAID: tuple[Role, ...] = ("user", "assistant", "tool_result", "bash")  # what extensions add is not said
_IMAGE_UNITS = 4800
_MOST_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """Where a line stands: its number from 1, its offset and size in bytes."""

    number: int
    offset: int
    size: int


class Problems(list[str]):
    """What could not be read."""

    def told(self) -> tuple[str, ...]:
        """The first twenty, and how many more there are."""
        more = len(self) - _MOST_PROBLEMS
        return (*self[:_MOST_PROBLEMS], f"and {more} more problems") if more > 0 else tuple(self)


def lines(handle: BinaryIO, problems: Problems) -> Iterator[tuple[Line, dict[str, Any] | None]]:
    """Every line of a session file that is not empty with its object, None for one that has none."""
    offset = 0
    for number, data in enumerate(handle, 1):
        bare = data.removeprefix(_BOM) if number == 1 else data
        start = offset + len(data) - len(bare)
        offset += len(data)
        if bare.isspace():
            continue
        value = parsed(bare)
        if not isinstance(value, dict):
            what = "not a JSON object" if data.endswith(b"\n") else "cut off"
            problems.append(f"line {number} is {what}")
            value = None
        yield Line(number, start, len(bare)), value


def parsed(data: bytes) -> Any:
    """The JSON value of a line, None where it is none. Half a surrogate pair and what is no UTF-8 are replaced."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        plain = json.dumps(json.loads(data.decode("utf-8", "replace")), ensure_ascii=False)
        return orjson.loads(plain.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class FileOperations:
    """The files that a session read, wrote and edited, as the tool calls name them: each once, in their order."""

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.read or self.written or self.edited)

    @property
    def modified(self) -> list[str]:
        """What was written or edited, sorted: the summary's <modified-files>."""
        return _sorted({*self.edited, *self.written})

    @property
    def read_only(self) -> list[str]:
        """What was read and never modified, sorted: the summary's <read-files>."""
        return _sorted({*self.read} - {*self.edited, *self.written})


NO_FILES = FileOperations()


def together(several: Iterable[FileOperations]) -> FileOperations:
    """All of them as one."""
    several = [one for one in several if one]
    if len(several) <= 1:
        return several[0] if several else NO_FILES
    kinds = zip(*((one.read, one.written, one.edited) for one in several), strict=True)
    return FileOperations(*(tuple(dict.fromkeys(chain.from_iterable(kind))) for kind in kinds))


def calls_in(content: object, uses: Mapping[str, str], *fields: str) -> tuple[tuple[str, ...], FileOperations]:
    """The ids of the calls in an answer, and their files: what each tool does (`FileOperations`) with what it names."""
    calls = [block for block in blocks_of(content) if block.call]
    used = ((uses.get(call.name), call.arguments) for call in calls)
    files = together(FileOperations(**{use: tuple(paths(given, *fields))}) for use, given in used if use)
    return tuple(call.call for call in calls), files


def _sorted(paths: Iterable[str]) -> list[str]:
    """As JavaScript sorts, so that pi and we write the same lists."""
    return sorted(paths, key=lambda path: path.encode("utf-16-be", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a message; of a tool call the tool's name, what it was given, and its id."""

    kind: BlockKind
    text: str = ""
    name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    call: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation, or a text like one; `excluded`: the user kept it out of the model's context."""

    entry: str
    role: Role
    blocks: tuple[Block, ...]
    call: str = ""
    failed: bool = False
    excluded: bool = False

    @property
    def text(self) -> str:
        """The texts of its blocks, without thinking and calls, joined by nothing."""
        return "".join(block.text for block in self.blocks if block.kind == "text")


@dataclass(frozen=True, slots=True)
class Compaction:
    """What an entry of a compaction tells."""

    summary: str
    first_kept: str = ""  # id of the oldest entry that stayed as it was; "" where none did, or the client copies them
    tokens_before: int = 0


class Entry(NamedTuple):
    """One entry of a session file. A tuple, since a large session has 100,000 of them."""

    id: str
    parent: str  # id of the entry before it on its branch, "" for the first
    kind: EntryKind
    line: int  # from 1
    offset: int
    size: int  # where its line stands in the file, in bytes; size 0: nothing to read again
    role: Role | None = None  # of what it says; None for bookkeeping
    tokens: int = -1  # estimated; -1 where nobody has measured it: `session_file.sizes` does
    can_cut: bool = False  # a compaction may keep the session from here on
    starts_turn: bool = False
    used: int = 0  # tokens that the context held after it, as an answer that was not aborted and is no error tells
    calls: tuple[str, ...] = ()  # ids of the tool calls in it
    answers: tuple[str, ...] = ()  # ids of the calls whose results are in it
    files: FileOperations = NO_FILES  # of its tool calls, or what a summary of the client lists
    compaction: Compaction | None = None
    group: str = ""  # lines of one answer share it


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session file, read; window (tokens), model and folder where the file tells them."""

    client: str
    path: str
    entries: tuple[Entry, ...]  # the active branch, oldest first
    tree: dict[str, Entry]  # every entry of every branch, by id
    window: int = 0
    model: str = ""
    measured: dict[str, int] = field(
        default_factory=dict, compare=False, repr=False
    )  # by id, sizes that were asked for
    cwd: str = ""
    problems: tuple[str, ...] = ()  # what could not be read; the rest is what a partial result is made from

    def last_compaction(self) -> int:
        """Index of the newest compaction on the active branch, -1 without one."""
        return next((at for at in range(len(self.entries) - 1, -1, -1) if self.entries[at].kind == "compaction"), -1)


def path_to(leaf: str, tree: Mapping[str, Entry], problems: Problems) -> list[Entry]:
    """The entries from the first one to `leaf`, oldest first; none where there is no such entry."""
    path: list[Entry] = []
    seen: set[str] = set()
    entry = tree.get(leaf)
    while entry is not None:
        if entry.id in seen:
            problems.append(f"the parents of {entry.id} form a circle; the branch begins at {path[-1].id}")
            break
        seen.add(entry.id)
        path.append(entry)
        if entry.parent and entry.parent not in tree:
            problems.append(f"{entry.parent}, the parent of {entry.id}, is not in the file; the branch begins there")
        entry = tree.get(entry.parent)
    path.reverse()
    return path


def blocks_of(value: object) -> tuple[Block, ...]:
    """The parts of a message's content, as pi and Claude Code write them."""
    if isinstance(value, str):
        return (Block("text", value),)
    found = []
    for part in rows(value):
        kind = part.get("type")
        if kind in ("text", "thinking"):
            found.append(Block(kind, string(part.get(kind))))
        elif kind == "image":
            found.append(Block("image"))
        elif kind in ("toolCall", "tool_use"):
            given = table(part.get("arguments" if kind == "toolCall" else "input"))
            found.append(Block("tool_call", "", string(part.get("name")), given, string(part.get("id"))))
    return tuple(found)


def units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def first_units(text: str, count: int) -> str:
    """The beginning of a text, at most so many UTF-16 units; a pair is not cut in two."""
    if text.isascii() or len(text) * 2 <= count:
        return text[:count]
    return text.encode("utf-16-le", "surrogatepass")[: count * 2].decode("utf-16-le", "ignore")


def json_of(value: Any) -> str:
    """A JSON value as text."""
    return orjson.dumps(value).decode()


def tokens(count: int) -> int:
    """Tokens of so many characters."""
    return -(-count // 4)


def tokens_of(blocks: Iterable[Block], *, images: bool = True) -> int:
    """Tokens of a message's parts; pi counts no images in what the user says."""
    count = 0
    for block in blocks:
        if block.kind == "tool_call":
            count += units(block.name) + units(json_of(block.arguments))
        else:
            count += _IMAGE_UNITS * images if block.kind == "image" else units(block.text)
    return tokens(count)
