"""Static sentence vectors: meaning, any string, and a damaged table."""

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import put
from hypothesis import given
from hypothesis import strategies as st

from recall import vectors
from recall.vectors import DIMENSIONS, Table, TableDamaged
from recall.vectors import document_vector as embed

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "recall" / "data" / "minilm-256.i8"


def components(vector: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{DIMENSIONS}b", vector)


def cosine(first: bytes, second: bytes) -> float:
    first_parts, second_parts = components(first), components(second)
    dot = sum(a * b for a, b in zip(first_parts, second_parts, strict=True))
    return float(dot / (sum(a * a for a in first_parts) * sum(b * b for b in second_parts)) ** 0.5)


@pytest.mark.parametrize(("text", "related", "unrelated"), [
    ("The database is locked", "SQLite reports a lock on the file", "She painted a sunrise at the lake"),
    ("How do I roll back a release?", "Reverting the deployment to the last version", "My dog likes long walks"),
    ("the login token has expired", "credentials are no longer valid", "bake the bread at 220 degrees"),
    ("unit tests fail on the build server", "CI is red: the test suite breaks", "a holiday in the mountains"),
])  # fmt: skip
def test_related_sentences_are_closer_than_unrelated_ones(text: str, related: str, unrelated: str) -> None:
    here = embed(text)
    assert cosine(here, embed(related)) > cosine(here, embed(unrelated)) + 0.1


def test_the_same_text_gives_the_same_bytes_in_any_process_and_order() -> None:
    texts = ["tokens expire", "", "naïve café", "tokens expire"]
    here = [embed(text) for text in texts]
    assert here[0] == here[3] == embed("Tokens EXPIRE")
    script = f"from recall.vectors import document_vector as v; print(v({texts[2]!r}).hex(), v({texts[0]!r}).hex())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
    out = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert out.stdout.split() == [here[2].hex(), here[0].hex()]


@given(st.text(st.characters(), max_size=300))
def test_any_string_gives_a_vector_or_nothing(text: str) -> None:
    vector = embed(text)
    assert len(vector) in (0, DIMENSIONS)
    assert not vector or max(map(abs, components(vector))) == 127
    assert len(embed(text, text[::-1])) in (0, DIMENSIONS)


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "magic": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "count": lambda data: data[:12] + bytes([data[12] ^ 1]) + data[13:],
    "longer": lambda data: data + b"\0",
    "short": lambda data: data[:-1000],
    "stub": lambda data: data[:20],
}


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_table_is_named(tmp_path: Path, how: str) -> None:
    path = put(tmp_path / "table.i8", DAMAGED[how](TABLE.read_bytes()))
    with pytest.raises(TableDamaged, match=r"table\.i8"):
        Table(str(path))


def test_a_scrambled_index_neither_hangs_nor_raises(tmp_path: Path) -> None:
    data = bytearray(TABLE.read_bytes())
    at, slots = vectors.HEADER_SIZE, int.from_bytes(data[16:20], "little")
    data[at : at + 2 * slots] = b"\1\0" * slots  # no slot is empty
    path = tmp_path / "table.i8"
    path.write_bytes(data)
    assert Table(str(path)).row_of("tokens") == -1
