"""A transcript as the tree of its nodes, for the compaction tools: the active branch, its messages, and their tokens.

A node holds ids, sizes, calls and files of a line. The texts stay in the file and are read again for a message, so that
a session of 100 MB takes little memory. Tokens are estimated as pi does, four characters each as JavaScript counts
them: with the same numbers, the cut falls where pi's falls.
"""

import codecs
import gc
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, BinaryIO, Literal, NamedTuple

import orjson

import clients
from clients.entries import Entry
from core import files
from core.errors import Failure, usage

Role = Literal["user", "assistant", "tool_result", "bash", "custom", "branch_summary", "compaction_summary", "system"]
NodeKind = Literal["message", "custom_message", "branch_summary", "compaction", "other"]

ROLES: dict[str, Role] = {
    "prompt": "user", "answer": "assistant", "call": "assistant", "result": "tool_result", "shell": "bash",
    "note": "custom", "branch_summary": "branch_summary", "compaction": "compaction_summary",
    "summary": "compaction_summary", "system": "system",
}  # fmt: skip


class Line(NamedTuple):
    """A line of a transcript that is not blank."""

    number: int  # from 1
    offset: int
    size: int  # bytes
    value: dict[str, Any] | None  # None if it holds no JSON object


class Problems(list[str]):
    """What could not be read."""

    def first(self, most: int = 20) -> tuple[str, ...]:
        """The first of them, and how many more there are."""
        more = len(self) - most
        return (*self[:most], f"and {more} more problems") if more > 0 else tuple(self)


@dataclass(frozen=True, slots=True)
class FileOperations:
    """The files that a session read, wrote and edited, as the tool calls name them: each once, in order."""

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.read or self.written or self.edited)

    @property
    def modified(self) -> list[str]:
        """The files that were written or edited, sorted: the summary's <modified-files>."""
        return _sorted({*self.edited, *self.written})

    @property
    def read_only(self) -> list[str]:
        """The files that were read and never modified, sorted: the summary's <read-files>."""
        return _sorted({*self.read} - {*self.edited, *self.written})


NO_FILES = FileOperations()


@dataclass(frozen=True, slots=True)
class Compaction:
    """What the client recorded of a compaction."""

    summary: str
    first_kept: str = ""  # id of the oldest node that stayed as it was; "" if none did, or the client copies them
    tokens_before: int = 0


class Node(NamedTuple):
    """A line of a transcript. A tuple, since a large session has 100,000 of them."""

    id: str
    parent: str  # id of the node before it on its branch, "" for the first
    kind: NodeKind
    line: int  # from 1
    offset: int
    size: int  # bytes of the line; 0: nothing to read again
    role: Role | None = None  # None: bookkeeping
    is_empty: bool = False  # a summary of a branch without a text, which the model does not see
    can_cut: bool = False  # a compaction may keep the session from here on
    starts_turn: bool = False
    used: int = 0  # tokens of the context after it, as a finished answer reports them
    calls: tuple[str, ...] = ()  # ids of its tool calls
    answers: tuple[str, ...] = ()  # ids of the calls whose results it holds
    files: FileOperations = NO_FILES  # of its tool calls, or those that a client's summary lists
    compaction: Compaction | None = None
    group: str = ""  # shared by the nodes of an answer
    rollback: int = 0  # turns that the user took back here
    edits: str = ""  # id of the node that the model no longer sees as it was; of size 0: no longer sees at all
    omitted: Role | None = None  # its role, if an edit keeps it from the model
    edited_at: tuple[int, int] = (0, 0)  # offset and size of the line with what the model sees in its place


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript that was read; window (tokens), model and folder if the file names them."""

    client: str
    path: str
    nodes: tuple[Node, ...]  # the active branch, oldest first
    tree: dict[str, Node]  # every node of every branch, by id
    window: int = 0
    model: str = ""
    cwd: str = ""
    problems: tuple[str, ...] = ()  # what could not be read; the rest is a partial result
    measured: dict[tuple[str, int], int] = field(default_factory=dict, compare=False, repr=False)
    """tokens by id and offset of an edit, once asked for"""

    def last_compaction(self) -> int:
        """Index of the newest compaction on the active branch, -1 if there is none."""
        return next((at for at in range(len(self.nodes) - 1, -1, -1) if self.nodes[at].kind == "compaction"), -1)


def read(path: str, client: str = "", leaf: str = "") -> Transcript:
    """Read a transcript; damaged lines are left out and listed in `problems`.

    Args:
        client: who wrote it; "" to find out by its first lines.
        leaf: the node at which to end; "" for the newest.

    Raises TRANSCRIPT_NOT_FOUND, TRANSCRIPT_UNREADABLE, TRANSCRIPT_EMPTY, TRANSCRIPT_UNKNOWN, TRANSCRIPT_UNSUPPORTED
    and ENTRY_UNKNOWN.
    """
    with opened(path) as handle, ExitStack() as stack:
        if gc.isenabled():  # nothing here makes reference cycles, and looking for them takes half of the time
            gc.disable()
            stack.callback(gc.enable)
        problems = Problems()
        found, whose = _detected(lines(handle, problems), path, client)
        reader = _Reader(whose, problems)
        for line in found:
            reader.add(line)
        nodes = reader.nodes
        if leaf:
            place = max((place for place, node in enumerate(nodes) if node.id == leaf), default=-1)
            if place < 0:
                raise unknown_entry(path, leaf)
            nodes = nodes[: place + 1]
        branch = _active_branch(clients.row(whose), nodes, reader.tree, problems)
        reader.tree.update({node.id: node for node in branch})
    return Transcript(
        whose, path, tuple(branch), reader.tree, reader.window, reader.model, reader.cwd, problems.first()
    )


def path_to(leaf: str, tree: Mapping[str, Node], problems: Problems) -> list[Node]:
    """The nodes from the root to `leaf`, oldest first; empty if there is no such node."""
    path: list[Node] = []
    seen: set[str] = set()
    node = tree.get(leaf)
    while node is not None:
        if node.id in seen:
            problems.append(f"the parents of {node.id} form a circle; the branch begins at {path[-1].id}")
            break
        seen.add(node.id)
        path.append(node)
        if node.parent and node.parent not in tree:
            problems.append(f"{node.parent}, the parent of {node.id}, is not in the file; the branch begins there")
        node = tree.get(node.parent)
    path.reverse()
    return path


def together(several: Iterable[FileOperations]) -> FileOperations:
    """The union of several file operations."""
    several = [files for files in several if files]
    if len(several) <= 1:
        return several[0] if several else NO_FILES
    kinds = zip(*((files.read, files.written, files.edited) for files in several), strict=True)
    return FileOperations(*(tuple(dict.fromkeys(chain.from_iterable(kind))) for kind in kinds))


def unknown_entry(path: str, identifier: str) -> Failure:
    """That a session has no entry of this id."""
    fix = "name an entry by its id; `joelclaw compaction prepare` shows some"
    return usage("ENTRY_UNKNOWN", f"{path} has no entry {identifier[:80]!r}", fix)


def lines(handle: BinaryIO, problems: Problems) -> Iterator[Line]:
    """Every line that is not blank; those without a JSON object are problems."""
    offset = 0
    for number, data in enumerate(handle, 1):
        bare = data.removeprefix(codecs.BOM_UTF8) if number == 1 else data
        start = offset + len(data) - len(bare)
        offset += len(data)
        if bare.isspace():
            continue
        value = parsed(bare)
        if not isinstance(value, dict):
            is_complete = data.endswith(b"\n")
            problems.append(f"line {number} is {'not a JSON object' if is_complete else 'cut off'}")
            value = None
        yield Line(number, start, len(bare), value)


def parsed(data: bytes) -> Any:
    """The JSON value of a line, or None. Half a surrogate pair and bytes that are no UTF-8 are replaced."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        plain = json.dumps(json.loads(data.decode("utf-8", "replace")), ensure_ascii=False)
        return orjson.loads(plain.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


class _Reader:
    """Collects the nodes of a transcript, and the model, window and folder that it names last."""

    def __init__(self, client: str, problems: Problems) -> None:
        self.nodes: list[Node] = []
        self.tree: dict[str, Node] = {}
        self.window = 0
        self.model = ""
        self.cwd = ""
        self._client = clients.row(client)
        self._problems = problems
        self._groups: set[str] = set()

    def add(self, line: Line) -> None:
        """Add a line. What subagents said, and a line without a place in the tree, is left out."""
        entries = self._client.entries(line.value) if line.value is not None else []
        if not entries or entries[0].is_side:
            return
        for entry in entries:
            self.window = entry.window or self.window
            self.model = entry.model or self.model
            self.cwd = self.cwd or entry.folder
        node = self._node(line, entries)
        if not node.id:
            if node.role is not None:
                self._problems.append(f"line {line.number} is an entry without an id")
            return
        if node.id in self.tree:
            self._problems.append(f"line {node.line} has the id of line {self.tree[node.id].line} and replaces it")
        self.nodes.append(node)
        self.tree[node.id] = node

    def _node(self, line: Line, entries: list[Entry]) -> Node:
        head = entries[0]
        identifier, parent = head.id, head.parent
        if not self._client.is_tree:  # a sequence of lines, in which an id may come twice
            identifier = identifier if identifier and identifier not in self.tree else f"line-{line.number}"
            parent = self.nodes[-1].id if self.nodes else ""
        answers = tuple(entry.call for entry in entries if entry.kind == "result" and entry.call)
        role = "tool_result" if any(entry.kind == "result" for entry in entries) else ROLES.get(head.kind)
        size = line.size if role or (head.edits and head.content is not None) else 0
        node = Node(identifier, parent, _kind(head), line.number, line.offset, size, role)
        is_first = not head.group or head.group not in self._groups
        calls = tuple(entry.call for entry in entries if entry.kind == "call" and entry.call)
        calls = calls if head.kind != "result" else ()  # a result's own calls are answered in it
        is_empty = role == "branch_summary" and not head.text
        self._groups.add(head.group)
        return node._replace(
            is_empty=is_empty,
            can_cut=role not in (None, "tool_result", "compaction_summary", "system") and is_first and not is_empty,
            starts_turn=role in ("user", "bash", "custom", "branch_summary") and not is_empty,
            used=max((entry.tokens_used for entry in entries), default=0),
            calls=calls,
            answers=answers,
            files=files_of(entries),
            compaction=_compaction(head),
            group=head.group,
            rollback=head.turns,
            edits=head.edits,
        )


def _kind(head: Entry) -> NodeKind:
    if head.kind in ("compaction", "branch_summary"):
        return head.kind
    if head.kind == "note":
        return "custom_message"
    return "message" if head.kind in ROLES and head.kind != "summary" else "other"


def _compaction(head: Entry) -> Compaction | None:
    if head.kind not in ("compaction", "summary"):
        return None
    return Compaction(head.summary, head.first_kept, head.tokens_before)


def files_of(entries: Iterable[Entry]) -> FileOperations:
    """The files of the calls of a line, or those that a client's summary lists."""
    return together(map(_files, entries))


def _files(entry: Entry) -> FileOperations:
    if entry.kind not in ("call", "compaction", "branch_summary"):
        return NO_FILES
    read, changed = tuple(entry.read_files), tuple(entry.files)
    return FileOperations(read, changed, ()) if entry.whole else FileOperations(read, (), changed)


def _active_branch(client: clients.Client, nodes: list[Node], tree: dict[str, Node], problems: Problems) -> list[Node]:
    """The branch that ends with the newest node, without turns that were taken back."""
    branch = path_to(nodes[-1].id, tree, problems) if nodes and client.is_tree else _without_rollbacks(nodes)
    if client.parallel_calls:
        branch = _with_parallel_calls(branch, nodes)
    return _with_summaries(branch)


def _without_rollbacks(nodes: list[Node]) -> list[Node]:
    branch: list[Node] = []
    for node in nodes:
        if node.rollback:
            _take_back(branch, node.rollback)
        branch.append(node)
    _move_usage(branch)
    return branch


def _take_back(branch: list[Node], turns: int) -> None:
    """Drop the newest turns, but nothing from before a compaction; nothing at all if there are fewer turns."""
    for index in range(len(branch) - 1, -1, -1):
        if branch[index].kind == "compaction":
            return
        turns -= branch[index].starts_turn
        if turns == 0:
            del branch[index:]
            return


def _move_usage(branch: list[Node]) -> None:
    """Move the newest usage to its answer. It is written after the tools have run and does not count their results;
    when a limit changes, it is repeated for the same answer."""
    newest = next((at for at in range(len(branch) - 1, -1, -1) if branch[at].used), -1)
    for answer in range(newest - 1, -1, -1):
        if branch[answer].role == "assistant":
            branch[answer] = branch[answer]._replace(used=branch[newest].used)
            branch[answer + 1 : newest + 1] = [node._replace(used=0) for node in branch[answer + 1 : newest + 1]]
        if branch[answer].role == "assistant" or branch[answer].kind == "compaction":
            return


def _with_parallel_calls(path: list[Node], nodes: list[Node]) -> list[Node]:
    """The branch with all parallel calls and results: each result names its own call as its parent, so that a
    single result has descendants."""
    on_path = {node.id for node in path}
    groups = {node.group for node in path if node.group}
    parallel = [node for node in nodes if node.id not in on_path and node.group in groups]
    calls = {call for node in (*path, *parallel) for call in node.calls}
    answered = {call for node in path for call in node.answers}
    for node in nodes:
        missing = [call for call in node.answers if call in calls and call not in answered]
        if missing and node.id not in on_path:
            parallel.append(node)
            answered.update(missing)
    return sorted((*path, *parallel), key=lambda node: node.line) if parallel else path


def _with_summaries(path: list[Node]) -> list[Node]:
    """Merge each compaction with the summary on the next line; a single summary counts as a compaction."""
    found: list[Node] = []
    boundary = -1
    for node in path:
        if node.kind == "compaction":
            boundary = -1 if node.compaction and node.compaction.summary else len(found)
        elif node.compaction is not None and boundary < 0:
            node = node._replace(kind="compaction")
        elif node.compaction is not None:
            before = found[boundary]
            compaction = replace(before.compaction or node.compaction, summary=node.compaction.summary)
            found[boundary] = before._replace(offset=node.offset, size=node.size, compaction=compaction)
            boundary = -1
            node = node._replace(size=0, role=None, compaction=None)
        found.append(node)
    return found


def _sorted(paths: Iterable[str]) -> list[str]:
    """Sorted as in JavaScript, so that pi and we write the same lists."""
    return sorted(paths, key=lambda path: path.encode("utf-16-be", "surrogatepass"))


@contextmanager
def opened(path: str, buffer: int = 1024 * 1024) -> Iterator[BinaryIO]:
    """A transcript, open for reading. Raises TRANSCRIPT_NOT_FOUND and TRANSCRIPT_UNREADABLE, also while it is read."""
    try:
        with open(files.open_file(path), "rb", buffering=buffer) as handle:
            yield handle
    except (FileNotFoundError, NotADirectoryError):
        raise usage("TRANSCRIPT_NOT_FOUND", f"{path!r} does not exist", "name an existing session file") from None
    except OSError as error:
        fix = f"check its permissions and its disk, or name a session file of {_titles()}"
        raise Failure("TRANSCRIPT_UNREADABLE", f"{path} cannot be read: {error.strerror}", fix) from None


def _detected(found: Iterator[Line], path: str, client: str) -> tuple[Iterator[Line], str]:
    """All lines, and the client that wrote them, as the first 1,000 lines or 32 MB show."""
    first: list[Line] = []
    size = 0
    for line in found:
        first.append(line)
        size += line.size
        whose = client or clients.detect([line.value])
        if whose in clients.with_entries():
            return chain(first, found), whose
        if whose:
            what = f"{path} is a transcript of {whose}; compactions of {', '.join(clients.with_entries())} are known"
            raise Failure("TRANSCRIPT_UNSUPPORTED", what, "name a session of one of them")
        if len(first) >= 1000 or size > 32 * 1024 * 1024:
            break
    if not first:
        raise Failure("TRANSCRIPT_EMPTY", f"{path} is empty", "name a session with messages")
    fix = f"name a session file of {_titles()}; for a damaged file, name its client with --client"
    raise Failure("TRANSCRIPT_UNKNOWN", f"{path} is not a transcript of a known client", fix)


def _titles() -> str:
    return clients.either(clients.row(name).title for name in clients.with_entries())
