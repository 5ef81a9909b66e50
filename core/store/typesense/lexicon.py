"""Words as the cluster indexes them: those of the local file's FTS5 index, since its tokenizer is asked.

Server 0.24 does not stem, folds accents in its own way and splits scripts in its own way; so it gets the finished
terms, and a score can be what the local file would say. A term that is not ASCII goes as a code that the server leaves
alone.
"""

from __future__ import annotations

from core import words
from core.store.sqlite import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Tokenizer = Callable[[str], list[str]]

BARRIER = "0qz0"
"""Stands between the words of a text and their parts, so that no phrase reaches across."""
_LONGEST = 60
_ESCAPE = "0x"
_made: list[Tokenizer] = []


def terms(text: str) -> list[str]:
    """The terms of a text, in order: what FTS5's `porter unicode61 remove_diacritics 2` makes of it, coded."""
    if not _made:
        _made.append(_tokenizer())
    return [term if term.isascii() and len(term) <= _LONGEST else _coded(term) for term in _made[0](text)]


def of_text(text: str) -> str:
    """The field `lexicon`: the terms of a text (its title before it), then those of its parts."""
    own = terms(text)
    parts = words.parts(text)
    return " ".join([*own, BARRIER, *terms(parts)] if parts else own)


def of_context(context: str) -> str:
    """The field `lexicon_context`."""
    return " ".join(terms(context)) if context else ""


def length(lexicon: str, context: str) -> int:
    """How many terms both fields hold: BM25's length of the document."""
    own = lexicon.split()
    return len(own) - (BARRIER in own) + len(context.split())


def _tokenizer() -> Tokenizer:
    made = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    flags = apsw.FTS5_TOKENIZE_DOCUMENT

    def run(text: str) -> list[str]:
        data = text.encode("utf-8", "replace")
        found: Any = made(data, flags, None, include_offsets=False, include_colocated=False)
        return list(found)

    return run


def _coded(term: str) -> str:
    """A term the server would fold, split or cut, as ASCII of its own; the same text has always the same code."""
    data = term.encode("utf-8", "replace")
    if 2 * len(data) <= _LONGEST:
        return _ESCAPE + data.hex()
    from core.ids import fingerprint

    return _ESCAPE + fingerprint(term)
