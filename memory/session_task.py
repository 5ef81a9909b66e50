"""The memory of what a session works on: one a session, rewritten with each new task, the newest first."""

from __future__ import annotations

from core import TYPE_CHECKING, ids
from core.store import documents, sqlite
from memory.write import clean_name, composed, placed, store, succeeding

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.config import Config
    from core.records import Document

CHARS = 1_500  # the longest that such a memory grows; the oldest messages go first
_FILES = " | Files: "
_JOINT = " | "
_EARLIER = "\nEarlier: "


def write(
    db: apsw.Connection,
    text: str,
    *,
    session: str,
    tags: Sequence[str],
    known: Sequence[str] = (),
    now: int,
    vectors: bool,
    config: Config,
    **about: Any,
) -> str:
    """Write a session's task into its memory, which is made where there is none or it was forgotten; returns its id."""
    with sqlite.transaction(db):
        older, free = _own(db, clean_name(session, []), known, tags[-1])
        if older is not None:
            text = grown(older["text"], text, min(CHARS, config.get_int("memory.max_chars")))
        fresh = composed(text, [], session=session, tags=tags, now=now, config=config, **about)
        if older is None:
            fresh["id"] = free
            return placed(db, fresh, now=now, vectors=vectors)[0]["id"]
        if fresh["text"] != older["text"]:
            one = succeeding(older, fresh, now)
            one["tags"] = list(dict.fromkeys([*older["tags"], *fresh["tags"]]))
            one["project"] = fresh["project"] or older["project"]
            one["merged_count"] = older["merged_count"] + 1
            one["supersedes"] = older["supersedes"]
            store(db, one, vectors=vectors)
        return older["id"]


def _own(db: apsw.Connection, session: str, known: Sequence[str], tag: str) -> tuple[Document | None, str]:
    """The memory to go on with, or None, and an id for a new one, which a process that was killed finds again."""
    candidates: list[Document] = []
    while True:
        digits = ids.fingerprint(f"session-task\0{session}\0{len(candidates) + 1}")
        free = f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
        document = documents.by_id(db, free)
        if document is None:
            break
        candidates.append(document)
    candidates += [document for one in known if (document := documents.by_id(db, one)) is not None]
    for document in reversed(candidates):
        is_own = document["session_id"] == session and tag in document["tags"]
        if is_own and document["forgotten_at"] is None and not document["superseded_by"]:
            return document, free
    return None, free


def grown(before: str, text: str, most: int = CHARS) -> str:
    """The new task, and behind it what the memory said before and the new task does not, newest first; `most` chars."""
    told, _, rest = before.partition(_EARLIER)
    new = _messages(text)
    earlier: list[str] = []
    for message in (*reversed(_messages(told)), *rest.split(_JOINT)):
        if message and not any(_same(message, one) for one in (*new, *earlier)):
            earlier.append(message)
    while earlier and len(text) + len(_EARLIER) + len(_JOINT.join(earlier)) > most:
        earlier.pop()
    return text + _EARLIER + _JOINT.join(earlier) if earlier else text


def _messages(told: str) -> list[str]:
    """The messages of a task, the oldest first."""
    return told.rpartition(_FILES)[0 if _FILES in told else 2].removeprefix("Task: ").split(_JOINT)


def _same(one: str, other: str) -> bool:
    """Whether two messages are the same, perhaps cut at different lengths."""
    left, right = one.removesuffix("…"), other.removesuffix("…")
    return left == right or (one != left and right.startswith(left)) or (other != right and left.startswith(right))
