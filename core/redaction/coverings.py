"""What stands between the letters of a text and is not seen: colours of a terminal, zero-width marks; and signs that
look like a plain space, `:` or `=`.

A secret is looked for in copies of the text without them, and taken out of the text where it stood.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from core.redaction.assignments import Span

_ESCAPES = ("\x1b[", "\\u001b[", "\\u001B[", "\\x1b[", "\\x1B[", "\\033[")
_ESCAPE = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;:?]{0,40}[A-Za-z]"
_WIDTHLESS = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_ALIKE = {
    **dict.fromkeys("\u00a0\u2007\u2009\u200a\u202f\u3000", " "),
    "\uff1a": ":",
    "\uff1d": "=",
}  # fmt: skip


def is_covered(text: str) -> bool:
    """Whether anything in the text might cover a secret; cheap where nothing does."""
    if not text.isascii() and (any(sign in text for sign in _ALIKE) or any(mark in text for mark in _WIDTHLESS)):
        return True
    return "[" in text and any(begin in text for begin in _ESCAPES)


def find_covered(text: str, find: Callable[[str], list[Span]]) -> list[Span]:
    """The (start, end, kind) of what `find` finds in the text once it is uncovered, by the positions of the text.

    Without the marks, so that names and values come together; and with a space for each of their characters, so that
    what they part stays parted.
    """
    import re

    plain = text.translate({ord(sign): other for sign, other in _ALIKE.items()})  # one for one
    marks = [match.span() for match in re.finditer(f"{_ESCAPE}|[{_WIDTHLESS}]", plain)]
    if not marks:
        return find(plain)
    parted: list[str] = []
    joined: list[str] = []
    starts: list[int] = []  # of each part in the joined copy, and how many characters of the text stand before that not
    missing: list[int] = []
    done = gone = 0
    for start, end in [*marks, (len(plain), len(plain))]:
        if start > done:
            joined.append(plain[done:start])
            starts.append(done - gone)
            missing.append(gone)
        parted += (plain[done:start], " " * (end - start))
        gone += end - start
        done = end
    spans = find("".join(parted))
    if joined:
        from bisect import bisect_right

        for start, end, kind in find("".join(joined)):
            first = missing[bisect_right(starts, start) - 1]
            last = missing[bisect_right(starts, end - 1) - 1]
            spans.append((start + first, end + last, kind))
    return spans
