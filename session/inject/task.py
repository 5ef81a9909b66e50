"""What a session was last asked to do, in the user's own words (ADR-0203). Hot path."""

from __future__ import annotations

from core import words
from core.quoting import CUT, clip, one_line
from session.inject.topics import is_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LINE_CHARS, LAST_CHARS = 150, 100
_LOOKED_BACK = 12
_READ = 2_000
_GO_ON = frozenset("go on ahead continue proceed resume carry keep going and please yes ok okay sure thanks".split())


def last_request(prompts: Sequence[str]) -> str:
    """The last prompt that says what to do, more than "go on"; of prompts oldest first."""
    return next((prompt for prompt in prompts[: -_LOOKED_BACK - 1 : -1] if is_request(prompt)), "")


def quoted(prompts: Sequence[str]) -> str:
    """The last request, and the last words that are more than "go on" where those are others: `"…" · then: "…"`.

    "Commit this" closes what was asked, and a short question goes on from it: each has before it what said more.
    """
    telling = [prompt for prompt in prompts if not _GO_ON.issuperset(words.split(prompt))]
    asked = last_request([one for one in telling if len(one) > LAST_CHARS or "?" not in one])
    told = dict.fromkeys(filter(None, (asked, last_request(telling), *telling[-1:])))
    return " · then: ".join(f'"{opening(one, LAST_CHARS if at else LINE_CHARS)}"' for at, one in enumerate(told))


def opening(prompt: str, characters: int) -> str:
    """How a prompt begins, on one line without marks, cut at the end of a line if it can; of a plan its title."""
    parts = [part.strip() for part in prompt[:_READ].splitlines() if part.strip()]
    if len(parts) > 1 and parts[0].endswith(":") and parts[1].startswith("# "):
        parts = parts[1:2]
    text = "\n".join(part.lstrip("#>*- ") for part in parts)
    end = text.rfind("\n", characters // 2, characters - 1) if len(text) > characters else -1
    return clip(one_line(text if end < 0 else f"{text[:end]} {CUT}"), characters, characters // 2)


def is_in(summary: str, line: str) -> bool:
    """Whether a client's summary repeats what the user asked for, of the line that tells it."""
    asked = line.partition('"')[2].rstrip('"').removesuffix(CUT)
    return " ".join(asked.lower().split()) in " ".join(summary.lower().split())
