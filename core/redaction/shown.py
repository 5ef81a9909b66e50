"""What a text shows that hides its secrets: colours, signs that do not show, encoded ones, words of other languages."""

from __future__ import annotations

import re
from bisect import bisect_right

from core.redaction import FOREIGN, INVISIBLE, SIGNS

_ESCAPE = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;:?]{0,40}[A-Za-z]"
_LINK = r"(?:[ \t]{0,2}(?:est|es|é|è|is|это|jest|je|er|är|este)(?=[ \t:])|[ \t]{0,2}(?:是|为|為|は))?"
_FIRSTS = re.escape("".join({one[0] for one in ("\x1b", *SIGNS, *FOREIGN)}))
_HIDING = re.compile(
    f"(?=[{_FIRSTS}{INVISIBLE}])"
    f"(?:({_ESCAPE}|[{INVISIBLE}]+)|({'|'.join(map(re.escape, SIGNS))})"
    f"|(?<![^\\W\\d_])(?:{'|'.join(FOREIGN)})(?![a-z])({_LINK}))",
    re.IGNORECASE,
)


class Copies:
    """A text without what does not show, and a copy that shows all plainly; its places tell those of the text."""

    def __init__(self, text: str) -> None:
        plain: list[str] = []
        spaced: list[str] = []
        self._copied, self._places = [0], [0]  # where pieces of the copy begin, and where they stand in the text
        size = done = 0
        for match in _HIDING.finditer(text):
            start, end = match.span()
            hidden, sign, link = match.groups()
            meant = "" if hidden else SIGNS[sign.lower()] if sign else "password is " if link else "password"
            plain += (text[done:start], meant)
            spaced += (text[done:start], " " * (end - start) if hidden else text[start:end])
            size += start - done
            self._copied += (size, size + len(meant))
            self._places += (start, end)
            size += len(meant)
            done = end
        self.spaced, self.plain = "".join(spaced) + text[done:], "".join(plain) + text[done:]
        self._places.append(len(text))

    def place(self, at: int, behind: int = 0) -> int:
        """Where in the text the character at a place of the plain copy stands, or what is so far `behind` it."""
        piece = bisect_right(self._copied, at) - 1
        return min(self._places[piece] + at + behind - self._copied[piece], self._places[piece + 1])
