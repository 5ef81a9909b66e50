"""A filter only removes hits: the rest is what an unfiltered search finds."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import apsw
import pytest
from conftest import NOW_MS
from hypothesis import given
from hypothesis import strategies as st

from core.store import documents, search, sessions, sqlite
from core.store.search import Candidates
from core.store.sqlite import COLLECTIONS

WORDS = ("queue", "drains", "retry", "harbour", "tide", "gauge")
SESSIONS = {"s-ours": "p", "s-theirs": "q", "s-nowhere": ""}
"""Known sessions, and their projects; `s-unknown` is in no table."""
NEAR = {"few": (0, 2.0), "many": (-1, 0.0)}
"""What counts as many."""
ALL: Any = {"collections": [], "session": "", "projects": (), "others": (), "category": ""}

entries = st.lists(
    st.fixed_dictionaries(
        {
            "collection": st.sampled_from(list(COLLECTIONS)),
            "words": st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
            "vector": st.integers(0, 9),
            "project": st.sampled_from(["", "", "p", "own/p", "q", "r"]),
            "session_id": st.sampled_from(["", "", *SESSIONS, "s-unknown"]),
            "category_id": st.sampled_from(["jc:ops", "jc:people"]),
            "write_verdict": st.sampled_from(["allow", "hold"]),
            "forgotten": st.sampled_from([False, False, False, True]),
        }
    ),
    min_size=1,
    max_size=30,
)
filters = st.fixed_dictionaries(
    {
        "collections": st.sampled_from([[], ["episodes"], ["observations", "knowledge"]]),
        "session": st.sampled_from(["", "", "s-ours", "s-theirs", "s-unknown", "s-unheard"]),
        "projects": st.sampled_from([(), ("p", "own/p", ""), ("p",), ("q", ""), ("unheard", "")]),
        "category": st.sampled_from(["", "", "jc:ops"]),
    }
)


def vector(seed: int) -> bytes:
    """One of a few: many documents are equally near."""
    return bytes(random.Random(seed).choices(range(256), k=256))


@contextmanager
def memory(memories: list[dict[str, Any]]) -> Iterator[apsw.Connection]:
    db = sqlite.open_in_memory()
    assert sqlite.has_vectors(db)
    for name, project in SESSIONS.items():
        sessions.save(
            db,
            {"id": name, "client": "claude", "project": project, "folder": "", "updated_at": NOW_MS, "prompts": 1,
             "calls": 0, "plan": []},
        )  # fmt: skip
    for number, fields in enumerate(memories):
        about = {name: fields[name] for name in ("project", "session_id", "category_id", "write_verdict")}
        text = " ".join(fields["words"])
        document: Any = {**documents.blank(fields["collection"], f"d{number}", text, NOW_MS), **about}
        row = documents.insert(db, document, vector(fields["vector"]))
        if fields["forgotten"]:
            documents.forget(db, row, NOW_MS)
    yield db
    db.close()


def is_meant(document: dict[str, Any], filters: dict[str, Any]) -> bool:
    """The documented meaning of a filter (docs/recall.md), said once more."""
    if filters["collections"] and document["collection"] not in filters["collections"]:
        return False
    if filters["session"] and document["session_id"] != filters["session"]:
        return False
    if filters["projects"]:
        belongs = document["project"] or SESSIONS.get(document["session_id"], "")
        none = "" in filters["projects"] and not belongs
        ours = document["project"] in filters["projects"] and document["project"]
        of_session = "" in filters["projects"] and not document["project"] and belongs in filters["projects"]
        if not (none or ours or of_session):
            return False
    return not filters["category"] or document["category_id"] == filters["category"]


def distances(db: apsw.Connection, rows: list[int], vector: bytes) -> dict[int, float]:
    """How far the signatures of these documents are from that of a vector."""
    marks = ", ".join("?" * len(rows))
    rows_ = db.execute(
        "SELECT document, vec_distance_hamming(vec_quantize_binary(vec_int8(value)), vec_quantize_binary(vec_int8(?)))"
        f" FROM vector WHERE document IN ({marks})",
        (vector, *rows),
    )
    return {int(row): float(distance) for row, distance in rows_}


@pytest.mark.parametrize("small", [0, 64])
@pytest.mark.parametrize("how", NEAR)
@given(memories=entries, wanted_filters=filters, limit=st.integers(1, 6))
def test_a_filter_returns_the_admitted_part_of_an_unfiltered_search(
    how: str, small: int, memories: list[dict[str, Any]], wanted_filters: dict[str, Any], limit: int
) -> None:
    few, many = NEAR[how]
    others = ["q", "r", "x/p"] if wanted_filters["projects"] else []
    narrow: Any = {**wanted_filters, "others": others}
    with (
        memory(memories) as db,
        patch.object(search, "FEW_ROWS", few),
        patch.object(search, "LARGE_SHARE", many),
        patch.object(sqlite, "SMALL_INDEX", small),
    ):
        admitted = {f"d{number}" for number, document in enumerate(memories) if is_meant(document, wanted_filters)}
        ids = {row: str(name) for row, name in db.execute("SELECT rowid, id FROM document")}
        source = Candidates(db)
        everything = source.candidates(["queue", "tide"], b"", ALL, 99, 99)
        expected = sorted((row["bm25"] for row in everything if ids[row["rowid"]] in admitted), reverse=True)
        got = source.candidates(["queue", "tide"], b"", narrow, limit if small == 0 else 99, 99)
        scores = {row["rowid"]: row["bm25"] for row in everything}
        assert sorted((row["bm25"] for row in got), reverse=True) == (expected[:limit] if small == 0 else expected)
        assert all(ids[row["rowid"]] in admitted and scores[row["rowid"]] == row["bm25"] for row in got)

        near = [candidate["rowid"] for candidate in source.candidates([], vector(3), ALL, 99, 99)]
        away = distances(db, near, vector(3))
        nearest = source.candidates([], vector(3), narrow, 99, limit)
        assert (
            sorted(away[row["rowid"]] for row in nearest)
            == sorted(away[row] for row in near if ids[row] in admitted)[:limit]
        )
        assert all(ids[row["rowid"]] in admitted for row in nearest)


def test_a_project_with_nearly_all_documents_is_not_prefiltered() -> None:
    def document_of(project: str) -> dict[str, Any]:
        return {
            "collection": "observations", "words": ["queue"], "vector": 1, "project": project, "session_id": "",
            "category_id": "", "write_verdict": "allow", "forgotten": False,
        }  # fmt: skip

    with memory([document_of("p")] * 20 + [document_of("q")]) as db, patch.object(search, "FEW_ROWS", 10):
        source = Candidates(db)
        of_p: Any = {**ALL, "projects": ("p", ""), "others": ("q",)}
        with patch.object(sqlite, "SMALL_INDEX", 0):
            assert len(source.candidates(["queue"], vector(1), of_p, 5, 5)) >= 5
        assert not db.execute("SELECT count(*) FROM temp.sqlite_schema").get, "looked at among the best of all"
        of_q: Any = {**ALL, "projects": ("q", ""), "others": ("p",)}
        assert len(source.candidates(["queue"], vector(1), of_q, 5, 5)) == 1
        assert db.execute("SELECT count(*) FROM temp.admitted").get == 1
