"""What the local file offers for a query: which documents, by which filters, with which figures and terms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import NOW_MS

from core.store import documents, search, sqlite
from core.store.search import LocalCandidates

ALL: Any = {"collections": [], "session": "", "projects": (), "others": (), "category": ""}


@pytest.fixture
def db(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    home.mkdir(mode=0o700)
    made = sqlite.open_writing(busy_ms=1000, durable=False)
    assert sqlite.load_vectors(made)
    with sqlite.transaction(made):
        documents.ensure_signatures(made)
    yield made
    made.close()


def add(
    db: apsw.Connection, name: str, text: str, vector: bytes = b"", collection: str = "observations", **more: Any
) -> int:
    document: Any = {**documents.blank(collection, name, text, NOW_MS), **more}
    with sqlite.transaction(db):
        return documents.insert(db, document, vector, signatures=True)


def direction(*places: int) -> bytes:
    """A vector of 256 dimensions that points along some of them."""
    return bytes(127 if at in places else 0 for at in range(256))


def found(
    db: apsw.Connection, *terms: str, vector: bytes = b"", limits: tuple[int, int] = (9, 9), **filters: Any
) -> dict[str, Any]:
    """By id: BM25 and cosine."""
    source = LocalCandidates(db, vectors=True)
    asked: Any = {**ALL, **filters}
    rows = source.candidates(terms, vector, asked, *limits)
    names = {one["rowid"]: one["id"] for one in source.documents([row["rowid"] for row in rows])}
    return {names[row["rowid"]]: (row["bm25"], row["cosine"]) for row in rows}


def test_meaning_finds_the_nearest(db: apsw.Connection) -> None:
    for name, places in (("same", (1, 2)), ("half", (1, 3)), ("other", (4, 5))):
        add(db, name, f"text of {name}", direction(*places))
    add(db, "without", "text of none")
    got = found(db, vector=direction(1, 2), limits=(9, 2))
    assert set(got) == {"same", "half"}
    assert got["same"] == (0.0, pytest.approx(1.0)) and got["half"] == (0.0, pytest.approx(0.5, abs=0.01))
    mixed = found(db, "none", vector=direction(1, 2), limits=(9, 1))
    assert set(mixed) == {"same", "without"} and mixed["without"][1] is None and mixed["without"][0] > 0
    assert LocalCandidates(db, vectors=True).semantic and not LocalCandidates(db, vectors=False).semantic
    plain = LocalCandidates(db, vectors=False).candidates([], direction(1), ALL, 9, 9)
    assert plain == []
    assert search.cosines(db, 0, [1], b"x") == search.cosines(db, 1, [], b"x") == search.cosines(db, 1, [1], b"") == {}


def test_in_a_large_memory_the_rarest_terms_are_asked_for(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        words = ["often"] + ["some"] * (number < 4) + ["rare"] * (number < 2)
        add(db, f"m{number}", " ".join(words))
    source = LocalCandidates(db, vectors=False)
    assert source._match(["often", "rare"]) == '"often" OR "rare"'
    monkeypatch.setattr(search, "AFFORDABLE_MATCHES", 6)
    assert source._match(["often"]) == '"often"'
    assert source._match(["often", "some", "rare", "never"]) == '"rare" OR "some"'
    monkeypatch.setattr(search, "AFFORDABLE_MATCHES", 5)
    assert source._match(["often", "some", "rare", "never"]) == '"rare"'
    monkeypatch.setattr(search, "AFFORDABLE_MATCHES", 1)
    for enough, match in ((2, '"some" AND "rare"'), (3, '"rare"')):
        monkeypatch.setattr(search, "ENOUGH_MATCHES", enough)
        assert source._match(["some", "rare"]) == match
    monkeypatch.setattr(search, "AFFORDABLE_MATCHES", 12)
    assert source._match(["often", "never"]) == '"often" OR "never"', "so many documents are no large memory"
