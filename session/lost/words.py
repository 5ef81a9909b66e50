"""What the user said before a compaction, and its summary does not tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.quoting import clip
from session.inject import topics
from session.lost.entry import Words, by_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from session.lost.summary_coverage import SummaryCoverage

TEXT_CHARS = 300
_KEY_CHARS = 60
_SPEAKERS = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Said:
    """A message before the compaction. `prompt` counts the user's messages up to it."""

    id: str
    by: str
    text: str
    prompt: int


def said_in(rows: Sequence[tuple[str, str]]) -> list[Said]:
    """The messages of archived episodes, given as id and text, oldest first."""
    found: list[Said] = []
    prompt = 0
    for identifier, text in rows:
        by, _, body = text.partition(": ")
        prompt += by == "user"
        if by in _SPEAKERS and body.strip():
            found.append(Said(identifier, by, body.strip(), prompt))
    return found


def lost_words(said: Sequence[Said], summary: SummaryCoverage, shortest: Callable[[str], str]) -> list[Words]:
    """What the user said, the latest first, each once: no "continue", nothing that the summary repeats.

    Args:
        said: the messages before the compaction, oldest first.
        shortest: a shorter form of an id that means the same memory.
    """
    found: dict[str, Words] = {}
    for one in reversed(said):
        key = "".join(filter(str.isalnum, one.text.lower()))[:_KEY_CHARS]
        is_told = one.by == "user" and (topics.is_topic(one.text) or topics.is_request(one.text))
        if is_told and key not in found and not summary.text(one.text):
            found[key] = Words(
                text=clip(" ".join(one.text.split()), TEXT_CHARS), by=one.by, id=one.id,
                prompts_before=max(0, said[-1].prompt - one.prompt), get=by_id(shortest(one.id)),
            )  # fmt: skip
    return list(found.values())
