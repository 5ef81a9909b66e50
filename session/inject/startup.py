"""What a new session is handed: memories that bear on its kind of work, once (ADR-0204, change 1)."""

from __future__ import annotations

from core.quoting import clip, cost, enclose, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from session.state.schema import Memory

    class Handout(TypedDict):
        """A startup text and the memories in it."""

        content: str
        memories: list[Memory]


HEADING = "## Relevant Memory (auto-retrieved)"
SOURCE = "memory-recall"
CUSTOM_TYPE = "memory-recall"
MAX_MEMORIES = 5
MAX_TOKENS = 400
TEXT_CHARS = 200
_CATEGORY_CHARS = 30


def compose(memories: Sequence[Memory]) -> Handout | None:
    """At most five numbered memories within 400 estimated tokens, best first; None without any."""
    entries = [
        (memory, clip(one_line(memory["category"]), _CATEGORY_CHARS) or "memory", one_line(memory["text"]))
        for memory in memories[:MAX_MEMORIES]
    ]
    entries = [entry for entry in entries if entry[2]]
    for count in range(len(entries), 0, -1):
        for tokens in (TEXT_CHARS, TEXT_CHARS // 3, TEXT_CHARS // 4):
            lines = [
                f"{number}. [{category}] {clip(text, TEXT_CHARS, tokens)}"
                for number, (_, category, text) in enumerate(entries[:count], 1)
            ]
            content = enclose(SOURCE, (HEADING, *lines))
            if cost(content) <= MAX_TOKENS:
                return {"content": content, "memories": [memory for memory, _, _ in entries[:count]]}
    return None
