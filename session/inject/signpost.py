"""The signpost after a compaction (ADR-0203, stage 3): task, files, real memories, and queries that are known to work.

It stays within its budget of estimated tokens whatever goes in: first texts get a little shorter, then the third query
goes, then texts get shorter still, then whole entries go. Nothing is cut in the middle of our markup, and a query is
left out rather than shortened: a shortened one is not the query that returned something.
"""

from __future__ import annotations

from core.quoting import clip, clip_evenly, clip_path, cost, enclose, one_line
from session.state.task import JOINT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from session.state.schema import Memory

    class Signpost(TypedDict):
        """A recovery text and what went into it."""

        content: str
        files: int
        memories: list[Memory]
        queries: list[str]


HEADING = "## Session Recovery"
SOURCE = "session-recovery"
TASK_CHARS = 200
MEMORY_CHARS = 150
PATH_CHARS = 120
# Tried in this order: characters and tokens of the task, files, memories and tokens of each, queries.
_STEPS = (
    (TASK_CHARS, 200, 5, 3, 150, 3),
    (TASK_CHARS, 60, 5, 3, 38, 3),
    (TASK_CHARS, 60, 3, 3, 33, 3),
    (TASK_CHARS, 200, 5, 3, 150, 2),
    (TASK_CHARS, 60, 5, 3, 45, 2),
    (TASK_CHARS, 60, 3, 3, 38, 2),
    (TASK_CHARS, 60, 3, 3, 38, 1),
    (140, 50, 2, 2, 38, 1),
    (120, 40, 2, 2, 25, 1),
    (100, 30, 1, 1, 25, 1),
    (100, 30, 1, 1, 25, 0),
    (100, 25, 1, 0, 0, 0),
    (80, 20, 0, 0, 0, 0),
    (0, 0, 0, 1, 18, 0),
    (0, 0, 1, 0, 0, 0),
    (0, 0, 0, 0, 0, 1),
)
_FILE_TOKENS = 40


def compose(
    task: str, files: Sequence[str], memories: Sequence[Memory], queries: Sequence[str], max_tokens: int
) -> Signpost | None:
    """The signpost within `max_tokens` estimated tokens, or None where there is nothing to say.

    Args:
        files: oldest first; the newest five are shown, newest first.
        queries: as they were run, safe between double quotes of a shell (`session.state.task.query_of`).
    """
    task = one_line(task)
    paths = [path for path in map(one_line, reversed(files)) if path]
    quoted = [(memory, one_line(memory["text"])) for memory in memories]
    shown = [(memory, line) for memory, line in quoted if line]
    for characters, tokens, most_files, most_memories, memory_tokens, most_queries in _STEPS:
        lines = [HEADING]
        task_line = clip_evenly(task.split(JOINT), JOINT, characters, tokens)
        if task_line:
            lines.append(f"**Task:** {task_line}")
        named = [clip(clip_path(path, PATH_CHARS), PATH_CHARS, _FILE_TOKENS) for path in paths[:most_files]]
        if named:
            lines.append(f"**Modified:** {', '.join(named)}")
        related = [(memory, clip(line, MEMORY_CHARS, memory_tokens)) for memory, line in shown[:most_memories]]
        if related:
            lines += ["**Related memories:**", *(f"- {line}" for _, line in related)]
        asked = list(queries[:most_queries])
        if asked:
            lines.append("**Deeper context:** " + " or ".join(f'`recall "{query}"`' for query in asked))
        content = enclose(SOURCE, lines)
        if len(lines) > 1 and cost(content) <= max_tokens:
            return {
                "content": content,
                "files": len(named),
                "memories": [memory for memory, _ in related],
                "queries": asked,
            }
    return None
