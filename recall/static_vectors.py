"""Static sentence vectors: the sum of its tokens' rows in a table distilled from all-MiniLM-L6-v2.

The table is made by `bench/distill.py`. A row holds its token's weight, too, so that a plain sum is the weighted mean.

The file, little endian: the header; u16 slots of a hash index by open addressing (a row, or EMPTY; a token's slot is
its bytes as one integer modulo the number of slots, a prime); for each token length in bytes, from 0 to `longest`, a
u16 with the first row of that length, and one more with the count; the UTF-8 of the tokens in the order of the rows,
shortest first, so that those of one length are one fixed-width run; the rows, int8.
"""

from __future__ import annotations

import mmap
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSIONS = 256
SPACE = "minilm-256-v1"  # the name of the vector space: vectors of different spaces do not compare
TEXT_LIMIT = 20_000  # characters of a text that count
CONTEXT_WEIGHT = 0.4  # how much the neighbouring turns count in a turn's vector, beside the turn itself
MAGIC = b"JCLSTAT1"
HEADER_SIZE = 40  # its fields: `bench/distill.py`
EMPTY = 0xFFFF
WORD_LIMIT = 100  # characters; a longer word is unknown, as in BERT
_TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "minilm-256.i8")
_CACHED_WORDS = 16_384  # about 1.1 KB each
_LANE_BYTES = 4 * DIMENSIONS
_ROW_BIAS = int.from_bytes(b"\x80\0\0\0" * DIMENSIONS, "little")
_SUM_BIAS = int.from_bytes(b"\0\0\0\x80" * DIMENSIONS, "little")
_FLIP_SIGN_BIT = bytes([*range(128, 256), *range(128)])
_CJK = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip
_ASCII: dict[int, str] = dict.fromkeys((*range(32), 127), "")
_ASCII.update({ord(char): " " for char in "\t\n\r "})
_ASCII.update({ord(char): f" {char} " for char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"})


class TableDamaged(Exception):  # the state of the file, which callers report as such
    """The table file is missing, cut short or not what this version reads."""


class Table:
    """An open table file. Raises TableDamaged when its header does not hold."""

    def __init__(self, path: str = "") -> None:
        self.path = path = path or _TABLE
        try:
            with open(path, "rb") as file:
                self._data = data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            raise TableDamaged(f"cannot read the embedding table {path}: {error}") from error
        self.longest, self.count = self._number(10, 2), self._number(12, 4)
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
        # By length: the first row, and where the token of row 0 would be if all tokens had that length.
        self._first: list[tuple[int, int, int]] = []
        at = tokens_at
        for length in range(self.longest + 1):
            low, high = starts[length], starts[length + 1]
            self._first.append((low, high, at - low * length))
            at += (high - low) * length

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._data[at : at + size], "little")

    def row_of(self, token: str) -> int:
        """The row of a token ("##" first when it continues a word), or -1."""
        key = token.encode("utf-8", "replace")
        length = len(key)
        if length > self.longest:
            return -1
        low, high, base = self._first[length]
        slots = self._slots
        slot = int.from_bytes(key, "little") % (len(slots) >> 1) << 1
        for _ in range(len(slots) // 2):  # a table without an empty slot must end too
            row = slots[slot] | slots[slot + 1] << 8
            if row == EMPTY:
                return -1
            at = base + row * length
            if low <= row < high and self._data[at : at + length] == key:
                return row
            slot = (slot + 2) % len(slots)
        return -1

    def row(self, number: int) -> bytes:
        """The int8 components of one row. `number` is in 0..count-1."""
        at = self._rows_at + DIMENSIONS * number
        return self._data[at : at + DIMENSIONS]


class _Unicode(dict[int, str]):
    """A translation table that works out each character's entry when it first meets it."""

    def __missing__(self, code: int) -> str:
        import unicodedata  # a shared library: only text beyond ASCII pays for it

        char = chr(code)
        category = unicodedata.category(char)
        if char.isspace():
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


def split_words(text: str) -> list[str]:
    """The words of a text as BERT's uncased tokenizer has them: punctuation and ideographs alone, no accents."""
    if text.isascii():
        return text.lower().translate(_ASCII).split()
    import unicodedata

    return unicodedata.normalize("NFD", text).translate(_beyond_ascii).split()


def pieces(word: str, lookup: Callable[[str], int], longest: int) -> list[int]:
    """The rows of a word's tokens, each the longest that `lookup` (-1: none) knows; empty where a part is no token."""
    size = len(word)
    rows: list[int] = []
    start = 0 if size <= WORD_LIMIT else size
    while start < size:
        prefix = "##" if start else ""
        ends = range(min(size, start + longest), start, -1)
        row, start = next(((row, end) for end in ends if (row := lookup(prefix + word[start:end])) >= 0), (-1, size))
        if row < 0:
            return []
        rows.append(row)
    return rows


class _Words(dict[str, int]):
    """Word to the sum of its tokens' rows: one integer of 256 signed 32-bit lanes (0 for none), added in one go."""

    table: Table | None = None

    def __missing__(self, word: str) -> int:
        table = self.table = self.table or Table()
        lanes = bytearray(_LANE_BYTES)
        total = 0
        for row in pieces(word, table.row_of, table.longest):
            lanes[::4] = table.row(row).translate(_FLIP_SIGN_BIT)  # component + 128
            total += int.from_bytes(lanes, "little") - _ROW_BIAS
        if len(self) >= _CACHED_WORDS:
            self.clear()
        self[word] = total
        return total


_sums = _Words()


def _sum(text: str) -> int:
    return sum(map(_sums.__getitem__, split_words(text[:TEXT_LIMIT])))


def _lanes(total: int) -> list[int]:
    """The 256 signed components of a sum."""
    # With its top bit flipped, a lane biased by 2**31 is the two's complement of what it holds.
    lanes = ((total + _SUM_BIAS) ^ _SUM_BIAS).to_bytes(_LANE_BYTES, sys.byteorder)
    components = memoryview(lanes).cast("i").tolist()
    return components if sys.byteorder == "little" else components[::-1]


def scaled(components: list[int] | list[float]) -> bytes:
    """Components as int8, the largest |component| 127; b"" when all are 0, or one is no number."""
    highest, lowest = max(components), min(components)
    peak = max(highest, -lowest)
    if not 0 < peak < 1e30:  # NaN compares false
        return b""
    factor = 127 / peak
    return bytes([int(component * factor + 128.5) for component in components]).translate(_FLIP_SIGN_BIT)


def embed(text: str, context: str = "") -> bytes:
    """The vector of a text and its neighbourhood: 256 int8, the largest |component| 127; b"" when no token is known."""
    own, around = _sum(text), _sum(context)
    if not own or not around:
        return scaled(_lanes(own or around)) if own or around else b""
    left, right = _lanes(own), _lanes(around)
    ratio = CONTEXT_WEIGHT * (sum([lane * lane for lane in left]) / sum([lane * lane for lane in right])) ** 0.5
    return scaled([here + ratio * there for here, there in zip(left, right, strict=True)])


def document_vector(text: str, context: str = "", title: str = "") -> bytes:
    """The vector of a document; b"" where no word is known, or the table is damaged: words still find it."""
    try:
        return embed(f"{title}\n{text}" if title else text, context)
    except TableDamaged:
        return b""
