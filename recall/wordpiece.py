"""Text to WordPiece tokens: BERT's uncased basic tokenisation and its greedy split, without `re`.

The rules are those of BERT (Devlin et al. 2019) as the uncased MiniLM tokenizer applies them: control characters go,
text is lower-cased and loses its accents, each punctuation mark and each CJK ideograph is a word of its own, and a
word is split greedily into the longest tokens the vocabulary has.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WORD_LIMIT = 100
"""Characters; a longer word is unknown, as in BERT."""

_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_SPACES = "\t\n\r "
_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)

_ASCII: dict[int, str] = dict.fromkeys((*range(32), 127), "")
_ASCII.update({ord(char): " " for char in _SPACES})
_ASCII.update({ord(char): f" {char} " for char in _PUNCTUATION})


class _Unicode(dict[int, str]):
    """A translation table that works out each character's entry when it first meets it."""

    def __missing__(self, code: int) -> str:
        import unicodedata  # a shared library: only text beyond ASCII pays for it

        char = chr(code)
        category = unicodedata.category(char)
        if char.isspace() or category[0] == "Z":
            entry = " "
        elif category == "Mn" or category[0] == "C" or code == 0xFFFD:
            entry = ""
        elif category[0] == "P" or any(low <= code <= high for low, high in _CJK):
            entry = f" {char} "
        else:
            entry = char.lower()  # by itself: a final sigma is a sigma, as in BERT
        self[code] = entry
        return entry


_beyond_ascii = _Unicode(_ASCII)


def words(text: str) -> list[str]:
    """The words of `text`: lower case, no accents, punctuation and ideographs alone. Takes any string."""
    if text.isascii():
        return text.lower().translate(_ASCII).split()
    import unicodedata

    return unicodedata.normalize("NFD", text).translate(_beyond_ascii).split()


def pieces(word: str, lookup: Callable[[str], int], longest: int) -> list[int]:
    """The rows of the tokens of one word, longest token first.

    `lookup` gives a token's row or -1; a token inside a word starts with "##". `longest` is the length in characters
    of the vocabulary's longest token. Empty when the word is over WORD_LIMIT or some part of it is no token.
    """
    size = len(word)
    if size > WORD_LIMIT:
        return []
    rows: list[int] = []
    start = 0
    while start < size:
        prefix = "##" if start else ""
        for end in range(min(size, start + longest), start, -1):
            row = lookup(prefix + word[start:end])
            if row >= 0:
                break
        else:
            return []
        rows.append(row)
        start = end
    return rows
