"""What a session was last asked to do, in the user's own words (ADR-0203). Hot path."""

from __future__ import annotations

from core import words
from core.quoting import CUT, clip, one_line
from session.inject.topics import is_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LINE_CHARS, LAST_CHARS = 150, 80
_LOOKED_BACK = 12
_READ = 2_000
_GO_ON = frozenset("go on ahead continue proceed resume carry keep going and please yes ok okay sure thanks".split())


def last_request(prompts: Sequence[str]) -> str:
    """The last prompt that says what to do, more than "go on"; of prompts oldest first."""
    return next((prompt for prompt in prompts[: -_LOOKED_BACK - 1 : -1] if is_request(prompt)), "")


def line_of(prompts: Sequence[str]) -> str:
    """`**Task:** "…"`; "" without a request."""
    told = quoted(prompts)
    return f"**Task:** {told}" if told else ""


def quoted(prompts: Sequence[str]) -> str:
    """The last request and, where those are others and more than "go on", the last words: `"…" · then: "…"`; ""
    without a request.

    They are told however short: after "commit this" the request is done.
    """
    request = last_request(prompts)
    if not request:
        return ""
    line, last = f'"{opening(request, LINE_CHARS)}"', prompts[-1]
    is_other = last != request and not _GO_ON.issuperset(words.split(last))
    return f'{line} · then: "{opening(last, LAST_CHARS)}"' if is_other else line


def opening(prompt: str, characters: int) -> str:
    """How a prompt begins, on one line and without marks; of a plan that is handed over its title."""
    parts = [part.strip() for part in prompt[:_READ].splitlines() if part.strip()]
    if len(parts) > 1 and parts[0].endswith(":") and parts[1].startswith("# "):
        parts = parts[1:2]
    return clip(one_line("\n".join(part.lstrip("#>*- ") for part in parts)), characters, characters // 2)


def is_in(summary: str, line: str) -> bool:
    """Whether a client's summary repeats what the user asked for, of the line that tells it."""
    asked = line.partition('"')[2].rstrip('"').removesuffix(CUT)
    return " ".join(asked.lower().split()) in " ".join(summary.lower().split())
