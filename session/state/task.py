"""What a session is doing, told from what the user said: the task, its hash, the query and the text for memory.

The limits are those of the mirrored CLI's session-lifecycle: the last three messages make the task (200 characters
each, 500 in all), the last two the query (120 characters, at least 5).
"""

from __future__ import annotations

from core.ids import fingerprint
from core.quoting import clip, one_line
from core.redaction import redact
from core.words import clean
from memory.noise import is_own
from session.state.schema import MESSAGE_CHARS, MESSAGES_KEPT, TASK_CHARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from session.records import Message

MESSAGES_ASKED = 2
"""Of the user's messages, in a recall query."""
QUERY_CHARS = 120
QUERY_LEAST = 5
_READ_CHARS = 4_000
JOINT = " | "
_MARK = "[redacted:"
# What a shell would act on between double quotes.
_UNSAFE = {ord(character): " " for character in '"$\\!'}


def message(text: str) -> Message | None:
    """A user message as the state keeps it, as it begins and redacted; None for an empty one and for an injection come
    back."""
    text = clean(text).strip()
    if not text or is_own(text):
        return None
    # Of a pasted page the start and the length tell it from another.
    known = redact(text[:_READ_CHARS])[0]
    line = one_line(known)
    return {"text": clip(line, MESSAGE_CHARS), "hash": fingerprint(f"{len(text)}:{known}")} if line else None


def added(known: Sequence[Message], given: Sequence[Message]) -> list[Message]:
    """Those of `given` that are not known yet. A hook may hand over the whole conversation, its end, or what is new.

    The longest end of `known` that lies in `given` is where it goes on; the same message twice in a row is one.
    """
    hashes = [entry["hash"] for entry in known]
    best = start = 0
    for end in range(1, len(given) + 1):
        length = min(end, len(hashes))
        while length > best and [entry["hash"] for entry in given[end - length : end]] != hashes[-length:]:
            length -= 1
        if length > best and (length == end or length == len(hashes)):
            best, start = length, end
    fresh: list[Message] = []
    last = hashes[-1] if hashes else ""
    for entry in given[start:]:
        if entry["hash"] != last:
            fresh.append(entry)
        last = entry["hash"]
    return fresh


def text_of(messages: Sequence[Message]) -> str:
    """The task: the last three messages joined."""
    return clip(JOINT.join(entry["text"] for entry in messages[-MESSAGES_KEPT:]), TASK_CHARS)


def hash_of(messages: Sequence[Message]) -> str:
    """What tells one task from the next; empty without a message."""
    return fingerprint(JOINT.join(entry["hash"] for entry in messages[-MESSAGES_KEPT:])) if messages else ""


def query_of(messages: Sequence[Message]) -> str:
    """The recall query: the last two messages, safe between double quotes of a shell; empty where too short.

    When both do not fit, each gets half: a long older message must not hide the new one.
    """
    parts = [part for part in (_searchable(entry["text"]) for entry in messages[-MESSAGES_ASKED:]) if part]
    if len(parts) == 2 and len(parts[0]) + len(parts[1]) >= QUERY_CHARS:
        newest = max(QUERY_CHARS // 2, QUERY_CHARS - 1 - len(parts[0]))
        parts[1] = _cut(parts[1], newest)
        parts[0] = _cut(parts[0], QUERY_CHARS - 1 - len(parts[1]))
    query = _searchable(_cut(" ".join(part for part in parts if part), QUERY_CHARS))
    return query if len(query) >= QUERY_LEAST else ""


def memory_of(task: str, files: Sequence[str]) -> str:
    """The observation that the hot zone writes once per task."""
    return f"Task: {task} | Files: {', '.join(files)}" if files else f"Task: {task}"


def _searchable(text: str) -> str:
    if _MARK in text:
        text = " ".join(word for word in text.split() if _MARK not in word)
    line = one_line(text.translate(_UNSAFE))
    return line.lstrip("-").lstrip().removesuffix("…")


def _cut(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    head = text[:characters]
    if text[characters] != " " and " " in head[characters // 2 :]:
        head = head[: head.rindex(" ")]
    return head.rstrip()
