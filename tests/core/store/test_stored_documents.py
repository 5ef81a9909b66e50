"""Documents as rows: how one is stored, changed and left out, which are listed, how many there are."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.store import documents, search, sqlite

VECTOR = bytes(range(256))


@pytest.fixture
def signed(db: apsw.Connection) -> apsw.Connection:
    """With signatures beside the vectors."""
    assert sqlite.load_vectors(db)
    documents.ensure_signatures(db)
    return db


def document(identifier: str, at: int = 1, collection: str = "observations", **more: Any) -> Any:
    return {**documents.blank(collection, identifier, f"text of {identifier}", at), **more}


def put(db: apsw.Connection, *given: Any, vector: bytes = b"", signatures: bool = False) -> list[int]:
    return [documents.insert(db, one, vector, signatures=signatures) for one in given]


def matching(db: apsw.Connection, words: str) -> list[int]:
    return [row for (row,) in db.execute("SELECT rowid FROM lexicon WHERE lexicon MATCH ? ORDER BY rowid", (words,))]


def test_title_text_and_context_are_found_and_a_vector_stands_beside_them(signed: apsw.Connection) -> None:
    titled = document("a", title="Queue", text="drains getUserName", context="around it")
    (row,) = put(signed, titled, vector=VECTOR, signatures=True)
    (plain,) = put(signed, document("b", text="other"), vector=VECTOR)
    put(signed, document("c", text="third"), signatures=True)
    for words, rows in (
        ("queue", [row]),
        ("drains", [row]),
        ("context:around", [row]),
        ("parts:user", [row]),
        ("other", [plain]),
    ):
        assert matching(signed, words) == rows, words
    assert list(signed.execute("SELECT document, space, value FROM vector ORDER BY document")) == [
        (row, 1, VECTOR), (plain, 1, VECTOR),
    ]  # fmt: skip
    assert list(signed.execute("SELECT rowid, collection FROM signature")) == [(row, 1)]


def test_a_changed_document_is_indexed_anew_and_a_forgotten_one_not(signed: apsw.Connection) -> None:
    (row,) = put(signed, document("a", text="before"), vector=VECTOR, signatures=True)
    changed = {**document("a", text="after", tags=["t"]), "rowid": row}
    documents.replace(signed, changed, VECTOR[::-1], signatures=True)
    assert documents.by_id(signed, "a") == changed and (matching(signed, "before"), matching(signed, "after")) == (
        [],
        [row],
    )
    assert signed.execute("SELECT value FROM vector").get == VECTOR[::-1]
    assert signed.execute("SELECT count(*) FROM signature").get == 1
    documents.replace(signed, {**changed, "forgotten_at": 3}, VECTOR, signatures=True)
    assert matching(signed, "after") == []
    counts = "SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM signature)"
    assert list(signed.execute(counts)) == [(0, 0)]


@pytest.mark.parametrize(
    ("before", "used", "after"),
    [
        (0.0, True, 0.1), (0.0, False, -0.05), (0.9, True, 1.0), (0.95, True, 1.0), (1.0, True, 1.0),
        (-0.95, False, -1.0), (-0.98, False, -1.0), (-1.0, False, -1.0), (0.12345, True, 0.2235), (-1.0, True, -0.9),
    ],
)  # fmt: skip
def test_use_raises_the_priority_and_disuse_lowers_it(
    db: apsw.Connection, before: float, used: bool, after: float
) -> None:
    put(db, document("a", retrieval_priority=before, last_used_at=3))
    assert documents.move_priority(db, "a", used=used, at=9) == pytest.approx(after, abs=1e-9)
    found = documents.by_id(db, "a")
    assert found is not None and (found["last_used_at"], found["updated_at"]) == (9 if used else 3, 1)
    db.execute("UPDATE document SET forgotten_at = 1")
    assert (
        documents.move_priority(db, "a", used=used, at=9) is documents.move_priority(db, "b", used=used, at=9) is None
    )


def test_what_the_ranking_knows_of_a_row(db: apsw.Connection) -> None:
    rows = put(
        db,
        document("a", 5, text="abcd", updated_at=9, project="p", session_id="s", superseded_by="b", recall_count=2,
                 retrieval_priority=0.5, write_verdict="hold", tags=["pinned", "x"]),
        document("b", 5, "knowledge", text="\u6f22\u5b57", updated_at=3, tags=["stale"]),
        document("c", text="x", stale=True, tags=["unpinned", "stales"]),
    )  # fmt: skip
    first, second, third = sorted(
        search.LocalCandidates(db, vectors=False).traits(rows), key=lambda one: rows.index(one["rowid"])
    )
    assert first == {
        "rowid": rows[0], "collection": "observations", "chars": 4, "confirmed_at": 9, "recall_count": 2,
        "retrieval_priority": 0.5, "write_verdict": "hold", "stale": False, "pinned": True, "by_hand": False,
        "superseded_by": "b", "project": "p", "session": "s", "stage": "",
    }  # fmt: skip
    assert (second["collection"], second["chars"], second["confirmed_at"], second["stale"]) == ("knowledge", 4, 5, True)
    assert (third["stale"], third["pinned"], second["pinned"]) == (True, False, False)
    db.execute("UPDATE document SET stale = 0")
    assert [one["stale"] for one in search.LocalCandidates(db, vectors=False).traits(rows[2:])] == [False]


def test_one_memory_takes_the_place_of_another_and_gives_it_back(db: apsw.Connection) -> None:
    put(db, document("old"), document("new"), document("third"))
    old, new, third = documents.every(db)
    documents.link(db, old, new, 7)
    old, new, third = documents.every(db)
    assert (old["superseded_by"], old["updated_at"], new["supersedes"], new["updated_at"]) == ("new", 7, "old", 1)
    documents.unlink(db, old, 9)
    old, new, third = documents.every(db)
    assert (old["superseded_by"], old["updated_at"], new["supersedes"]) == ("", 9, "")
    documents.link(db, old, new, 10)
    documents.link(db, third, new, 11)
    old = next(documents.every(db))
    documents.unlink(db, old, 12)
    assert [one["supersedes"] for one in documents.every(db)] == ["", "third", ""]
