"""The messages of a transcript's nodes, read from the file again, and estimates of their tokens."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

import orjson

import clients
from clients.content import characters, rows, string, table, text_of, without_ours
from clients.entries import Entry
from session.compaction.session_tree import ROLES, SEEK_BUFFER, Node, Role, Transcript, opened, parsed

IMAGE_UNITS = 4800  # of an image: pi's estimate, 1200 tokens


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a message; of a tool call the tool's name, its arguments and its id."""

    kind: Literal["text", "thinking", "tool_call", "image"]
    text: str = ""
    name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    call: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation; `excluded`: the user kept it out of the model's context."""

    node: str
    role: Role
    blocks: tuple[Block, ...]
    call: str = ""
    failed: bool = False
    excluded: bool = False

    @property
    def text(self) -> str:
        """The texts of its blocks, without thinking and calls, joined by nothing."""
        return "".join(block.text for block in self.blocks if block.kind == "text")


def messages_of(transcript: Transcript, nodes: Iterable[Node]) -> Iterator[Message]:
    """The messages of nodes, read from the file in turn; bookkeeping has none."""
    client = clients.row(transcript.client)
    with opened(transcript.path, SEEK_BUFFER) as handle:
        for node in nodes:
            yield from _messages(client, node, _entries_again(client, handle, node))


def sizes(transcript: Transcript, nodes: Iterable[Node]) -> Iterator[int]:
    """Estimated tokens of each node, 0 for bookkeeping. Nodes are measured on demand, since it takes time."""
    client = clients.row(transcript.client)
    with ExitStack() as stack:
        handle: BinaryIO | None = None
        for node in nodes:
            size = node.tokens if node.tokens >= 0 else transcript.measured.get(node.id, -1)
            if size < 0:
                handle = handle or stack.enter_context(opened(transcript.path, SEEK_BUFFER))
                size = transcript.measured[node.id] = _tokens(client, node, _entries_again(client, handle, node))
            yield size


def units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def json_of(value: Any) -> str:
    """A JSON value as text."""
    return orjson.dumps(value).decode()


def _entries_again(client: clients.Client, handle: BinaryIO, node: Node) -> list[Entry]:
    if node.size == 0 or node.role is None:
        return []
    handle.seek(node.offset)
    value = parsed(handle.read(node.size))
    return client.entries(value) if isinstance(value, dict) else []


def _messages(client: clients.Client, node: Node, entries: list[Entry]) -> Iterator[Message]:
    """The messages of a node: tool results come before a prompt, a summary comes after the prompts that it keeps."""
    head = entries[0].kind if entries else "node"
    for entry in sorted(entries, key=lambda entry: (entry.kind != "result", entry.kind == "compaction")):
        role = ROLES.get(entry.kind)
        is_part = (entry.kind == "call" and head == "answer") or (entry.kind == "summary" and head == "compaction")
        is_rejection = entry.kind == "prompt" and entry.call  # its words are also in the result
        if role is None or is_part or is_rejection:
            continue
        blocks = _blocks(client, entry)
        if blocks or client.own_rules:
            call, excluded = entry.call if role == "tool_result" else "", entry.kind == "shell" and entry.is_meta
            yield Message(node.id, role, blocks, call, entry.failed is True, excluded)


def _blocks(client: clients.Client, entry: Entry) -> tuple[Block, ...]:
    if entry.kind == "call":
        given = entry.content
        arguments = given if isinstance(given, dict) else {"input": given} if given else {}
        return (Block("tool_call", "", entry.tool, arguments, entry.call),)
    content = entry.content
    if entry.kind == "compaction":
        return (Block("text", entry.summary),) if entry.summary else ()
    if entry.kind == "answer":
        blocks = _parts(content)
        if not any(block.text or block.call for block in blocks):
            blocks = (Block("text", entry.text),) if entry.text else blocks
        return blocks if client.own_rules else tuple(block for block in blocks if block.text or block.call)
    if client.own_rules and entry.kind != "shell":
        return _parts(content)
    # the archive stores a result without its leading spaces; the model sees them
    text = without_ours(text_of(content)) if entry.kind == "result" and client.is_tree else entry.text
    images = [Block("image") for part in rows(content) if part.get("type") == "image"]
    return (*((Block("text", text),) if text else ()), *images)


def _parts(content: object) -> tuple[Block, ...]:
    """The parts of a message's content, as pi and Claude Code write them."""
    if isinstance(content, str):
        return (Block("text", content),)
    found = []
    for part in rows(content):
        kind = part.get("type")
        if kind in ("text", "thinking"):
            found.append(Block(kind, string(part.get(kind))))
        elif kind == "image":
            found.append(Block("image"))
        elif kind in ("toolCall", "tool_use"):
            given = table(part.get("arguments" if kind == "toolCall" else "input"))
            found.append(Block("tool_call", "", string(part.get("name")), given, string(part.get("id"))))
    return tuple(found)


def _tokens(client: clients.Client, node: Node, entries: list[Entry]) -> int:
    """Estimated tokens of a node. pi counts no images in prompts, and a shell command without the words around it."""
    head = entries[0] if entries else Entry("node")
    if head.kind == "compaction" and isinstance(head.content, list):
        return tokens(characters(head.content))
    if head.kind == "shell":
        return tokens(units(head.command) + units(head.content or ""))
    count = 0
    for message in _messages(client, node, entries):
        for block in message.blocks:
            if block.kind == "tool_call":
                count += units(block.name) + units(json_of(block.arguments))
            elif block.kind == "image":
                count += 0 if client.own_rules and message.role == "user" else IMAGE_UNITS
            else:
                count += units(block.text)
    return tokens(count)


def tokens(count: int) -> int:
    """The tokens of a number of characters, rounded up."""
    return -(-count // 4)
