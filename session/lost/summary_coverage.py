"""What a compaction's summary covers: whether a name, a file, a line or a sentence stands in it."""

from __future__ import annotations

from core import words
from core.names import names_in

_LEAST_WORDS = 3
_MOST_PARTS = 4_000
_COVERED_SHARE = 0.7
"""From here on a sentence counts as told by the summary."""
_COVERED_TEXT = 0.6
"""So much of a text in such sentences."""


class SummaryCoverage:
    """What a summary tells; nothing, where it is empty.

    Args:
        summary: what the client kept in place of what was before.
        shared: base names that several files of the session have; such a file is told only with its folder.
    """

    def __init__(self, summary: str, shared: frozenset[str] = frozenset()) -> None:
        identifiers, others = names_in(summary)
        self._names = identifiers | others
        self._shared = shared
        self._text = summary
        self._line = " ".join(summary.split())
        self._said = f" {' '.join(words.split(summary))} "
        self._parts = [_meaning(part) for part in _sentences(summary)[:_MOST_PARTS]]

    def name(self, name: str) -> bool:
        """Whether a name stands in the summary."""
        return name in self._names

    def file(self, path: str) -> bool:
        """Whether a file does: by its name, or, where others are called so too, by its name and folder."""
        folder, _, base = path.rpartition("/")
        if base in self._shared and folder:
            return f"{folder.rpartition('/')[2]}/{base}" in self._text
        return base in self._names or base in self._text

    def line(self, text: str) -> bool:
        """Whether a line, such as a command or an error, does word for word."""
        return " ".join(text.split()) in self._line

    def text(self, text: str) -> bool:
        """Whether most of a text does, sentence by sentence."""
        parts = _sentences(text) or [text]
        covered = sum(len(part) for part in parts if self._share(part) >= _COVERED_SHARE)
        return covered >= _COVERED_TEXT * sum(map(len, parts))

    def _share(self, sentence: str) -> float:
        """Which share of a sentence's words that mean something one sentence of the summary has, 0 to 1."""
        plain = " ".join(words.split(sentence))
        if not plain or f" {plain} " in self._said:
            return 1.0
        asked = _meaning(sentence)
        if len(asked) < _LEAST_WORDS:
            return 0.0
        return max((len(asked & part) for part in self._parts), default=0) / len(asked)


def _sentences(text: str) -> list[str]:
    return [part for line in text.splitlines() for part in line.split(". ") if part.strip()]


def _meaning(text: str) -> frozenset[str]:
    """The words of a text but those that hold sentences together."""
    return frozenset(words.split(text)) - words.STOP_WORDS
