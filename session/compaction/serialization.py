"""Writes a conversation as flat text, which a model reads as a record instead of continuing it.

The form is pi's (compaction.md): one paragraph for each text, thought, call and result. A tool's result is cut after
2000 UTF-16 units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clients.entry import Block, Message, first_units, json_of, units

LONGEST_RESULT = 2000
"""UTF-16 units of a tool's result."""
# How pi shows the model a summary in the conversation: word for word, since its own texts have this form.
_COMPACTION = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
_COMPACTION_END = "\n</summary>"
_BRANCH = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
_BRANCH_END = "</summary>"


def serialize(messages: Iterable[Message]) -> str:
    """The text of messages; what the user kept out of the context is left out."""
    return "\n\n".join(paragraph for message in messages if not message.excluded for paragraph in _of(message))


def _of(message: Message) -> Iterator[str]:
    if message.role == "assistant":
        yield from _of_answer(message)
        return
    text = message.text
    if message.role == "tool_result":
        if text:
            yield f"[Tool result]: {_cut(text)}"
        return
    if message.role == "compaction_summary":
        text = f"{_COMPACTION}{text}{_COMPACTION_END}"
    elif message.role == "branch_summary":
        text = f"{_BRANCH}{text}{_BRANCH_END}"
    if text:
        yield f"[User]: {text}"


def _of_answer(message: Message) -> Iterator[str]:
    thinking = [block.text for block in message.blocks if block.kind == "thinking"]
    texts = [block.text for block in message.blocks if block.kind == "text"]
    calls = [_call(block) for block in message.blocks if block.kind == "tool_call"]
    if thinking:
        yield "[Assistant thinking]: " + "\n".join(thinking)
    if texts:
        yield "[Assistant]: " + "\n".join(texts)
    if calls:
        yield "[Assistant tool calls]: " + "; ".join(calls)


def _call(block: Block) -> str:
    given = ", ".join(f"{name}={json_of(value)}" for name, value in block.arguments.items())
    return f"{block.name}({given})"


def _cut(text: str) -> str:
    over = units(text) - LONGEST_RESULT
    if over <= 0:
        return text
    return f"{first_units(text, LONGEST_RESULT)}\n\n[... {over} more characters truncated]"
