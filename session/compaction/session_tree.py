"""A session of pi as the tree of its entries: the active branch, its text for a model, and its tokens.

Tokens are estimated as pi does, four characters each as JavaScript counts them: with the same numbers, the cut falls
where pi's falls.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import orjson

import clients
from clients.content import IMAGE_CHARS, OURS, as_object, as_objects, as_text, parsed
from clients.entries import Entry
from core import files
from core.errors import Failure, either, usage

Role = Literal["user", "assistant", "tool_result", "bash", "custom", "branch_summary", "compaction_summary", "system"]

ROLES: dict[str, Role] = {
    "prompt": "user", "answer": "assistant", "result": "tool_result", "shell": "bash", "note": "custom",
    "branch_summary": "branch_summary", "compaction": "compaction_summary", "system": "system",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileOperations:
    """The files that a session read, wrote and edited, as the tool calls name them: each once, in order."""

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()

    @property
    def modified(self) -> list[str]:
        """The files that were written or edited, sorted: the summary's <modified-files>."""
        return _sorted({*self.edited, *self.written})

    @property
    def read_only(self) -> list[str]:
        """The files that were read and never modified, sorted: the summary's <read-files>."""
        return _sorted({*self.read} - {*self.edited, *self.written})


@dataclass(frozen=True, slots=True)
class Node:
    """A line of a session, as the model sees it."""

    id: str
    parent: str  # id of the node before it on its branch, "" for the first
    line: dict[str, Any]
    entries: tuple[Entry, ...]  # of the line; the first is the node's own
    role: Role | None  # None: the model does not see it
    omitted: Role | None = None  # its role, if a context edit keeps it from the model

    @property
    def head(self) -> Entry:
        """Its own entry, which the others belong to."""
        return self.entries[0]

    @property
    def starts_turn(self) -> bool:
        """Whether it begins a turn."""
        return self.role in ("user", "bash", "custom", "branch_summary")

    @property
    def used(self) -> int:
        """The tokens of the context after it, as a finished answer reports them."""
        return max(entry.tokens_used for entry in self.entries)

    @property
    def files(self) -> FileOperations:
        """The files of its tool calls, or those that a summary lists."""
        return together(map(_files, self.entries))


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session that was read."""

    client: str
    path: str
    nodes: tuple[Node, ...]  # the active branch, oldest first
    tree: dict[str, Node]  # every node of every branch, by id
    model: str = ""
    problems: tuple[str, ...] = ()  # the first 20 things that could not be read; the rest is a partial result

    def last_compaction(self) -> int:
        """Index of the newest compaction on the active branch, -1 if there is none."""
        kinds = [node.head.kind for node in self.nodes]
        return next((at for at in range(len(kinds) - 1, -1, -1) if kinds[at] == "compaction"), -1)


def read(path: str, client: str = "", leaf: str = "") -> Transcript:
    """Read a session; damaged lines are left out and listed in `problems`.

    Args:
        client: the client that wrote it; "" to find out by its first lines.
        leaf: the node at which to end; "" for the newest.

    Raises TRANSCRIPT_NOT_FOUND, TRANSCRIPT_UNREADABLE, TRANSCRIPT_EMPTY, TRANSCRIPT_UNKNOWN, TRANSCRIPT_UNSUPPORTED
    and ENTRY_UNKNOWN.
    """
    values, problems = _values(path)
    whose = clients.by_name(client or _client_of(values, path))
    tree: dict[str, Node] = {}
    newest = model = ""
    for value in values:
        entries = tuple(whose.entries(value))
        head = entries[0]
        model = next((entry.model for entry in entries if entry.model), model)
        if head.id:
            newest = head.id
            tree[newest] = Node(head.id, head.parent, value, entries, ROLES.get(head.kind))
    if leaf and leaf not in tree:
        raise unknown_entry(path, leaf)
    branch = path_to(leaf or newest, tree)
    if branch and branch[0].parent:
        first = branch[0]
        problems.append(
            f"the branch begins at {first.id}: {first.parent}, its parent, is not in the file or follows it"
        )
    return Transcript(whose.name, path, tuple(branch), tree, model, tuple(problems[:20]))


def path_to(leaf: str, tree: Mapping[str, Node]) -> list[Node]:
    """The nodes from the root to `leaf`, oldest first; empty if there is no such node."""
    path: dict[str, Node] = {}
    node = tree.get(leaf)
    while node is not None and node.id not in path:  # damaged parents may form a circle
        path[node.id] = node
        node = tree.get(node.parent)
    return [*reversed(path.values())]


def together(several: Iterable[FileOperations]) -> FileOperations:
    """The union of several file operations."""
    kinds = zip(*((files.read, files.written, files.edited) for files in (FileOperations(), *several)), strict=True)
    return FileOperations(*(tuple(dict.fromkeys(chain.from_iterable(kind))) for kind in kinds))


def unknown_entry(path: str, identifier: str) -> Failure:
    """That a session has no entry of this id."""
    fix = "name an entry by its id; `joelclaw compaction prepare` shows some"
    return usage("ENTRY_UNKNOWN", f"{path} has no entry {identifier[:80]!r}", fix)


def spoken(nodes: Iterable[Node]) -> list[Node]:
    """The nodes that a summary may show: messages, but not those of ours."""
    said = [node for node in nodes if node.role not in (None, "system")]
    return [node for node in said if not (node.role == "custom" and node.head.text.startswith(OURS))]


def serialize(nodes: Iterable[Node]) -> str:
    """The conversation as pi shows it to a model that summarises, word for word."""
    return "\n\n".join(chain.from_iterable(map(_paragraphs, nodes)))


def tokens(node: Node) -> int:
    """The estimated tokens of a node, 0 if the model does not see it."""
    head = node.head
    if node.role is None:
        return 0
    if head.kind == "system":
        return _rounded(_system_characters(head.content))
    if head.kind == "shell":  # without the words around the command
        return _rounded(_units(head.command) + _units(head.content))
    return _rounded(sum(map(_characters, _parts(head.content))))


def system_tokens(nodes: Iterable[Node]) -> int:
    """The estimated tokens of pi's own instructions: each section and each tool as it was written last."""
    said = [node for node in nodes if node.role in ("system", "compaction_summary")]
    texts: list[str] = []
    sections: dict[str, Any] = {}
    tools: dict[str, Any] = {}
    for system in (entry.content for node in said for entry in node.entries if entry.kind == "system"):
        texts += filter(None, ["\n".join(_texts(system.get("content")))])
        sections |= as_object(system.get("sections"))
        for name in _by_name(system.get("toolsRemoved")):
            tools.pop(name, None)
        tools |= _by_name(system.get("toolsAdded"))
    added = {"toolsAdded": [*tools.values()]} if tools else {}
    return _rounded(_system_characters({"content": "\n\n".join(texts), "sections": sections, **added}))


def _values(path: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The JSON objects of a file's lines, and which lines hold none."""
    values: list[dict[str, Any]] = []
    problems: list[str] = []
    try:
        with open(files.open_file(path), "rb") as file:
            for number, line in enumerate(file, 1):
                value = parsed(line)
                if value is not None:
                    values.append(value)
                elif not line.isspace():
                    problems.append(f"line {number} is not a JSON object")
    except (FileNotFoundError, NotADirectoryError):
        raise usage("TRANSCRIPT_NOT_FOUND", f"{path!r} does not exist", "name an existing session file") from None
    except OSError as error:
        fix = "check its permissions and its disk"
        raise Failure("TRANSCRIPT_UNREADABLE", f"{path} cannot be read: {error.strerror}", fix) from None
    if not values and not problems:
        raise Failure("TRANSCRIPT_EMPTY", f"{path} is empty", "name a session with messages")
    return values, problems


def _client_of(values: list[dict[str, Any]], path: str) -> str:
    whose, known = clients.detect(values[:1000]), clients.taking_summaries()
    if whose in known:
        return whose
    if whose:
        what = f"{path} is a transcript of {whose}; only sessions of {either(known)} can be compacted"
        raise Failure("TRANSCRIPT_UNSUPPORTED", what, "name another session file")
    fix = f"name a session file of {either(known)}; for a damaged file, name its client with --client"
    raise Failure("TRANSCRIPT_UNKNOWN", f"{path} is not a transcript of a known client", fix)


def _files(entry: Entry) -> FileOperations:
    if entry.kind not in ("call", "compaction", "branch_summary"):
        return FileOperations()
    read, changed = tuple(entry.read_files), tuple(entry.files)
    return FileOperations(read, changed, ()) if entry.whole else FileOperations(read, (), changed)


def _sorted(paths: Iterable[str]) -> list[str]:
    """Sorted as in JavaScript, so that pi and we write the same lists."""
    return sorted(paths, key=lambda path: path.encode("utf-16-be", "surrogatepass"))


def _paragraphs(node: Node) -> Iterator[str]:
    texts = _texts(node.head.content)
    text = "".join(texts)
    if node.role == "assistant":
        if texts:
            yield "[Assistant]: " + "\n".join(texts)
        if calls := [_call(part) for part in _parts(node.head.content) if part.get("type") == "toolCall"]:
            yield "[Assistant tool calls]: " + "; ".join(calls)
    elif node.role == "tool_result":
        most = 2000  # UTF-16 units
        if (over := _units(text) - most) > 0:
            head = text.encode("utf-16-le", "surrogatepass")[: most * 2].decode("utf-16-le", "ignore")
            text = f"{head}\n\n[... {over} more characters truncated]"
        if text:
            yield f"[Tool result]: {text}"
    elif node.role == "compaction_summary":
        begin = "The conversation history before this point was compacted into the following summary:"
        yield f"[User]: {begin}\n\n<summary>\n{text}\n</summary>"
    elif node.role == "branch_summary":
        begin = "The following is a summary of a branch that this conversation came back from:"
        yield f"[User]: {begin}\n\n<summary>\n{text}</summary>"
    elif node.role == "bash":
        if not node.head.is_meta:  # else the user kept it out of the context
            yield f"[User]: {node.head.text}"
    elif node.role in ("user", "custom") and text:
        yield f"[User]: {text}"


def _parts(value: object) -> list[dict[str, Any]]:
    return [{"type": "text", "text": value}] if isinstance(value, str) else as_objects(value)


def _texts(value: object) -> list[str]:
    return [as_text(part.get("text")) for part in _parts(value) if part.get("type") == "text"]


def _call(part: dict[str, Any]) -> str:
    given = ", ".join(f"{name}={_json_of(value)}" for name, value in as_object(part.get("arguments")).items())
    return f"{as_text(part.get('name'))}({given})"


def _json_of(value: Any) -> str:
    return orjson.dumps(value).decode()


def _characters(part: dict[str, Any]) -> int:
    """The length of a part of a message."""
    kind = part.get("type")
    if kind == "toolCall":
        return _units(part.get("name")) + _units(_json_of(as_object(part.get("arguments"))))
    return IMAGE_CHARS if kind == "image" else _units(part.get(kind)) if kind in ("text", "thinking") else 0


def _system_characters(system: dict[str, Any]) -> int:
    tools = system.get("toolsAdded")
    texts = [*_texts(system.get("content")), *as_object(system.get("sections")).values()]
    return sum(map(_units, texts)) + (_units(_json_of(tools)) if isinstance(tools, list) else 0)


def _by_name(tools: object) -> dict[str, Any]:
    return {as_text(as_object(tool).get("name")): tool for tool in tools} if isinstance(tools, list) else {}


def _rounded(characters: int) -> int:
    return -(-characters // 4)


def _units(text: object) -> int:
    """The length of a text in UTF-16 units, which JavaScript counts; 0 for any other value."""
    return len(as_text(text).encode("utf-16-le", "surrogatepass")) // 2
