"""The messages of a transcript's nodes, read from the file again: as records, as flat text, and their tokens."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

import orjson

import clients
from clients import content
from clients.content import rows, string, table, text_of, without_ours
from clients.entries import Entry
from session.compaction.session_tree import ROLES, Node, Role, Transcript, files_of, opened, parsed

_LINE_BUFFER = 64 * 1024  # bytes; single lines are read again


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
        """Its texts, without thinking and calls, joined by nothing."""
        return "".join(self.texts)

    @property
    def texts(self) -> list[str]:
        """The texts of its text blocks."""
        return [block.text for block in self.blocks if block.kind == "text"]


def messages_of(transcript: Transcript, nodes: Iterable[Node]) -> Iterator[Message]:
    """The messages of nodes, read from the file in turn; bookkeeping has none."""
    client = clients.row(transcript.client)
    with opened(transcript.path, _LINE_BUFFER) as handle:
        for node in nodes:
            yield from _messages(client, node, _entries_again(client, handle, node))


def spoken(transcript: Transcript, nodes: Iterable[Node]) -> tuple[Message, ...]:
    """The messages that a summary may show: neither those that the user kept from the model, nor our own."""
    return tuple(
        message
        for message in messages_of(transcript, nodes)
        if not message.excluded and not (message.role == "custom" and message.text.startswith(content.OURS))
    )


def sizes(transcript: Transcript, nodes: Iterable[Node]) -> Iterator[int]:
    """Estimated tokens of each node, 0 for bookkeeping. Nodes are measured on demand, since it takes time."""
    client, measured = clients.row(transcript.client), transcript.measured
    with opened(transcript.path, _LINE_BUFFER) as handle:
        for node in nodes:
            key = (node.id, node.edited_at[0])
            if node.role is not None and key not in measured:
                characters = _characters(client, node, _entries_again(client, handle, node))
                measured[key] = -(-characters // 4)  # rounded up
            yield measured[key] if node.role is not None else 0


def system_size(transcript: Transcript, nodes: Iterable[Node]) -> int:
    """Estimated tokens of the client's own instructions: each section and each tool as it was written last."""
    client = clients.row(transcript.client)
    said = [node for node in nodes if node.role in ("system", "compaction_summary")]
    with opened(transcript.path, _LINE_BUFFER) as handle:
        entries = [entry for node in said for entry in _entries_again(client, handle, node) if entry.kind == "system"]
    texts: list[str] = []
    sections: dict[str, Any] = {}
    tools: dict[str, Any] = {}
    for system in (entry.content for entry in entries):
        texts += filter(None, ["\n".join(block.text for block in _parts(system.get("content")))])
        sections |= table(system.get("sections"))
        for name in _tools(system, "toolsRemoved"):
            tools.pop(name, None)
        tools |= _tools(system, "toolsAdded")
    added = {"toolsAdded": list(tools.values())} if tools else {}
    return -(-_system_characters({"content": "\n\n".join(texts), "sections": sections, **added}) // 4)


def edited(transcript: Transcript, node: Node, edit: Node) -> Node:
    """The node as the model sees it after a context edit."""
    client = clients.row(transcript.client)
    node = node._replace(edited_at=(edit.offset, edit.size))
    with opened(transcript.path, _LINE_BUFFER) as handle:
        entries = _entries_again(client, handle, node)
    return node._replace(files=files_of(entries))


def serialize(messages: Iterable[Message]) -> str:
    """The text of messages, without those that the user kept out of the context."""
    return "\n\n".join(paragraph for message in messages if not message.excluded for paragraph in _paragraphs(message))


def _paragraphs(message: Message) -> Iterator[str]:
    """A message as pi shows it to a model that summarises, word for word."""
    if message.role == "assistant":
        if message.texts:
            yield "[Assistant]: " + "\n".join(message.texts)
        if calls := [_call(block) for block in message.blocks if block.kind == "tool_call"]:
            yield "[Assistant tool calls]: " + "; ".join(calls)
        return
    text = message.text
    if message.role == "compaction_summary":
        begin = "The conversation history before this point was compacted into the following summary:"
        text = f"{begin}\n\n<summary>\n{text}\n</summary>"
    elif message.role == "branch_summary":
        begin = "The following is a summary of a branch that this conversation came back from:"
        text = f"{begin}\n\n<summary>\n{text}</summary>"
    if text and message.role == "tool_result":
        most = 2000  # UTF-16 units
        over = _units(text) - most
        cut = f"{_first_units(text, most)}\n\n[... {over} more characters truncated]"
        yield f"[Tool result]: {cut if over > 0 else text}"
    elif text:
        yield f"[User]: {text}"


def _call(block: Block) -> str:
    given = ", ".join(f"{name}={_json_of(value)}" for name, value in block.arguments.items())
    return f"{block.name}({given})"


def _json_of(value: Any) -> str:
    return orjson.dumps(value).decode()


def _units(text: str) -> int:
    """The length of a text in UTF-16 units, which JavaScript counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _first_units(text: str, count: int) -> str:
    """The first `count` UTF-16 units of a text; a surrogate pair is not cut in two."""
    if text.isascii() or len(text) * 2 <= count:
        return text[:count]
    return text.encode("utf-16-le", "surrogatepass")[: count * 2].decode("utf-16-le", "ignore")


def _entries_again(client: clients.Client, handle: BinaryIO, node: Node) -> list[Entry]:
    if node.size == 0 or node.role is None:
        return []
    value = _value_at(handle, node.offset, node.size)
    if node.edited_at[1]:
        value = client.edited(value, _value_at(handle, *node.edited_at))
    return client.entries(value)


def _value_at(handle: BinaryIO, offset: int, size: int) -> dict[str, Any]:
    handle.seek(offset)
    return table(parsed(handle.read(size)))


def _messages(client: clients.Client, node: Node, entries: list[Entry]) -> Iterator[Message]:
    """The messages of a node: tool results come before a prompt, a summary comes after the prompts that it keeps."""
    head = entries[0].kind if entries else "node"
    if client.own_rules:
        entries = entries[:1]
    for entry in sorted(entries, key=lambda entry: (entry.kind != "result", entry.kind == "compaction")):
        role = ROLES.get(entry.kind)
        is_part = (
            entry.part > 1
            or (entry.kind == "call" and head == "answer")
            or (entry.kind == "summary" and head == "compaction")
        )
        is_rejection = entry.kind == "prompt" and entry.call  # its words are also in the result
        if role in (None, "system") or is_part or is_rejection:
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
    if entry.kind == "compaction":
        return (Block("text", entry.summary),) if entry.summary else ()
    if entry.kind == "answer":
        blocks = _parts(entry.content)
        if not any(block.text or block.call for block in blocks):
            blocks = (Block("text", entry.text),) if entry.text else blocks
        return blocks if client.own_rules else tuple(block for block in blocks if block.text or block.call)
    if client.own_rules and entry.kind != "shell":
        return _parts(entry.content)
    # the archive stores a result without its leading spaces; the model sees them
    text = without_ours(text_of(entry.content)) if entry.kind == "result" and client.is_tree else entry.text
    images = [Block("image") for part in rows(entry.content) if part.get("type") == "image"]
    return (*((Block("text", text),) if text else ()), *images)


def _parts(value: object) -> tuple[Block, ...]:
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


def _characters(client: clients.Client, node: Node, entries: list[Entry]) -> int:
    """The length of a node; of a shell command without the words around it, as pi counts it."""
    head = entries[0] if entries else Entry("node")
    if head.kind == "compaction" and isinstance(head.content, list):
        return content.characters(head.content)
    if head.kind == "system":
        return _system_characters(head.content)
    if head.kind == "shell":
        return _units(head.command) + _units(head.content or "")
    count = 0
    for message in _messages(client, node, entries):
        for block in message.blocks:
            if block.kind == "tool_call":
                count += _units(block.name) + _units(_json_of(block.arguments))
            elif block.kind == "image":
                count += content.IMAGE_CHARS
            else:
                count += _units(block.text)
    return count


def _system_characters(system: dict[str, Any]) -> int:
    count = sum(_units(block.text) for block in _parts(system.get("content")))
    count += sum(_units(string(text)) for text in table(system.get("sections")).values())
    tools = system.get("toolsAdded")
    return count + (_units(_json_of(tools)) if isinstance(tools, list) else 0)


def _tools(system: dict[str, Any], key: str) -> dict[str, Any]:
    value = system.get(key)
    return {string(table(tool).get("name")): tool for tool in value} if isinstance(value, list) else {}
