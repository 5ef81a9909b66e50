"""Static text vectors: the sum of the token rows of a table distilled from all-MiniLM-L6-v2 (`bench/distill.py`).

Each row is already multiplied by its token's weight, so that a plain sum is the weighted mean.

The table's file, little endian:

- the header, HEADER_SIZE bytes (its fields: `bench/distill.py`)
- u16 slots of a hash index with open addressing: a row number, or EMPTY; a token's slot is its bytes as an integer,
  modulo the number of slots, which is a prime
- for each token length in bytes, 0 to `longest`: u16, the first row of that length; and one more u16, the count
- the tokens in UTF-8 in row order, shortest first, so that tokens of one length are a run of fixed width
- the rows, 256 int8 each
"""

from __future__ import annotations

import mmap
import os

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DIMENSIONS = 256
SPACE = "minilm-256-v1"  # vectors of different spaces cannot be compared

MAGIC = b"JCLSTAT1"
HEADER_SIZE = 40
EMPTY = 0xFFFF

# A vector is summed as a big integer with a signed 32-bit lane for each component.
_LANE_BYTES = 4 * DIMENSIONS
_ROW_BIAS = int.from_bytes(b"\x80\0\0\0" * DIMENSIONS, "little")
_SUM_BIAS = int.from_bytes(b"\0\0\0\x80" * DIMENSIONS, "little")
_FLIP_SIGN_BIT = bytes([*range(128, 256), *range(128)])
_ASCII: dict[int, str] = {
    **dict.fromkeys((*range(32), 127), ""), **dict.fromkeys(map(ord, "\t\n\r "), " "),
    **{ord(char): f" {char} " for char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"},
}  # fmt: skip


class TableDamaged(Exception):
    """The table file is missing, truncated, or of another version."""


def document_vector(text: str, context: str = "", title: str = "") -> bytes:
    """The vector of a document and its neighbourhood: 256 int8, the largest |component| 127.

    b"" if no word is known, or if the table is damaged (its words still find the document).
    """
    try:
        own, around = _sum(f"{title}\n{text}" if title else text), _sum(context)
    except TableDamaged:
        return b""
    if not own or not around:
        return scaled(_components(own or around)) if own or around else b""
    left, right = _components(own), _components(around)
    context_weight = 0.4  # relative to the text itself
    ratio = context_weight * (sum([x * x for x in left]) / sum([x * x for x in right])) ** 0.5
    return scaled([x + ratio * y for x, y in zip(left, right, strict=True)])


def scaled(components: list[int] | list[float]) -> bytes:
    """Components as int8, the largest |component| 127; b"" if all are 0."""
    peak = max(*components, -min(components))
    if not peak:
        return b""
    factor = 127 / peak
    return bytes([int(component * factor + 128.5) for component in components]).translate(_FLIP_SIGN_BIT)


class Table:
    """An open table file. Raises TableDamaged if its header does not fit its size."""

    def __init__(self, path: str = "") -> None:
        self.path = path = path or os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "minilm-256.i8")
        try:
            with open(path, "rb") as file:
                self._data = data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            raise TableDamaged(f"cannot read the embedding table {path}: {error}") from error
        self.longest = self._number(10, 2)
        self.count = self._number(12, 4)
        first_at = HEADER_SIZE + 2 * self._number(16, 4)
        tokens_at = first_at + 2 * (self.longest + 2)
        self._rows_at = tokens_at + self._number(20, 4)
        if (
            data[:8] != MAGIC
            or self._number(8, 2) != DIMENSIONS
            or self._number(24, 4) != len(data)
            or self._rows_at + DIMENSIONS * self.count != len(data)
        ):
            raise TableDamaged(f"the embedding table {path} is damaged, cut short or of another version")
        self._slots = memoryview(data)[HEADER_SIZE:first_at]
        starts = [self._number(first_at + 2 * length, 2) for length in range(self.longest + 2)]
        # By token length: its first row, the next length's, and where row 0 would be if all tokens had this length.
        self._runs: list[tuple[int, int, int]] = []
        at = tokens_at
        for length in range(self.longest + 1):
            low, high = starts[length], starts[length + 1]
            self._runs.append((low, high, at - low * length))
            at += (high - low) * length

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._data[at : at + size], "little")

    def row_of(self, token: str) -> int:
        """The row of a token ("##" in front if it continues a word), or -1."""
        key = token.encode("utf-8", "replace")
        length = len(key)
        if length > self.longest:
            return -1
        low, high, base = self._runs[length]
        slots = self._slots
        slot = int.from_bytes(key, "little") % (len(slots) >> 1) << 1
        for _ in range(len(slots) // 2):  # ends even if no slot is empty
            row = slots[slot] | slots[slot + 1] << 8
            if row == EMPTY:
                return -1
            at = base + row * length
            if low <= row < high and self._data[at : at + length] == key:
                return row
            slot = (slot + 2) % len(slots)
        return -1

    def row(self, number: int) -> bytes:
        """The int8 components of a row, 0 to count - 1."""
        at = self._rows_at + DIMENSIONS * number
        return self._data[at : at + DIMENSIONS]


class _BertCharacters(dict[int, str]):
    """A translation table for `str.translate` that computes each character's entry when it first occurs."""

    def __missing__(self, code: int) -> str:
        import unicodedata  # a shared library: only text beyond ASCII loads it

        char = chr(code)
        category = unicodedata.category(char)
        if char.isspace():
            entry = " "
        elif category == "Mn" or category[0] == "C" or code == 0xFFFD:
            entry = ""
        elif category[0] == "P" or unicodedata.name(char, "").startswith(("CJK UNIFIED", "CJK COMPATIBILITY I")):
            entry = f" {char} "
        else:
            entry = char.lower()  # character by character: a final sigma is a sigma, as in BERT
        self[code] = entry
        return entry


_characters = _BertCharacters(_ASCII)


def split_words(text: str) -> list[str]:
    """The words of a text as in BERT's uncased tokenizer: each punctuation mark and ideograph a word, no accents."""
    if text.isascii():
        return text.lower().translate(_ASCII).split()
    import unicodedata

    return unicodedata.normalize("NFD", text).translate(_characters).split()


def condition_of_unknown_words(terms: Sequence[str]) -> Callable[[str], bool] | None:
    """What a text must contain if no word of a query has its own vector: the first letters of any word.

    The vectors of numbers, and of the pieces of a word, say little. None for other queries.
    """
    shared = 5  # letters; so a German compound finds its parts
    asked = split_words(" ".join(term for term in terms if " " not in term))
    if any(len(_pieces(word, _word_sums.table or Table())) == 1 for word in asked if not word.isdigit()):
        return None
    return lambda text: any(word[:shared] in " ".join(split_words(text)) for word in asked)


def _pieces(word: str, table: Table) -> list[int]:
    """The rows of a word's tokens, each the longest that the table knows; empty if it does not know a part."""
    size = len(word)
    rows: list[int] = []
    start = 0 if size <= 100 else size  # a longer word is unknown, as in BERT
    while start < size:
        prefix = "##" if start else ""
        ends = range(min(size, start + table.longest), start, -1)
        row, start = next(
            ((row, end) for end in ends if (row := table.row_of(prefix + word[start:end])) >= 0), (-1, size)
        )
        if row < 0:
            return []
        rows.append(row)
    return rows


class _WordSums(dict[str, int]):
    """Word → the sum of its tokens' rows, as a big integer of 256 lanes; 0 for an unknown word."""

    table: Table | None = None

    def __missing__(self, word: str) -> int:
        table = self.table = self.table or Table()
        lanes = bytearray(_LANE_BYTES)
        total = 0
        for row in _pieces(word, table):
            lanes[::4] = table.row(row).translate(_FLIP_SIGN_BIT)  # component + 128
            total += int.from_bytes(lanes, "little") - _ROW_BIAS
        if len(self) >= 4_096:  # 1.1 KB each: 5 MB while many documents are embedded
            self.clear()
        self[word] = total
        return total


_word_sums = _WordSums()


def _sum(text: str) -> int:
    """The sum of the vectors of a text's words, of its first 20,000 characters."""
    return sum(map(_word_sums.__getitem__, split_words(text[:20_000])))


def _components(total: int) -> list[int]:
    """The 256 signed components of a sum."""
    # With its top bit flipped, a lane biased by 2**31 is the two's complement of its value.
    lanes = ((total + _SUM_BIAS) ^ _SUM_BIAS).to_bytes(_LANE_BYTES, "little")
    return memoryview(lanes).cast("i").tolist()
