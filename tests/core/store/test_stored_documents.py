"""Documents as rows: how one is stored, changed and left out, which are listed, how many there are."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.store import curation, documents, knowledge, overview, spaces, sqlite
from core.store.layout import row_range
from core.store.sessions import session_rows

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


def ids(found: Any) -> list[str]:
    return [one["id"] for one in found]


def test_a_blank_document_has_every_field_at_its_default(db: apsw.Connection) -> None:
    given = documents.blank("knowledge", "k", "text", 7)
    assert put(db, given) == [row_range("knowledge")[0] + 1]
    assert documents.by_id(db, "k") == {**given, "rowid": row_range("knowledge")[0] + 1}
    assert (given["created_at"], given["updated_at"], given["write_verdict"]) == (7, 7, "allow")
    assert given["write_gate_fallback"] is given["stale"] is False and documents.by_id(db, "l") is None


def test_a_document_comes_back_as_it_was_stored(db: apsw.Connection) -> None:
    given = document(
        "d", 5, "episodes", title="T", path="/p", tags=["a", "b"], history=[{"n": 1.5}], stale=True, updated_at=9,
        write_gate_fallback=True, last_used_at=0, forgotten_at=None, merged_count=2, context="around",
    )  # fmt: skip
    (row,) = put(db, given)
    assert documents.by_id(db, "d") == {**given, "rowid": row}
    assert documents.by_rowids(db, [row + 1, row]) == [{**given, "rowid": row}]


def test_rows_are_numbered_in_their_collection_and_read_in_the_order_asked_for(db: apsw.Connection) -> None:
    rows = put(db, document("a"), document("e", collection="episodes"), document("b"))
    base, last = row_range("observations")
    assert rows == [base + 1, row_range("episodes")[0] + 1, base + 2] and row_range("episodes")[0] == last + 1
    assert ids(documents.by_rowids(db, [rows[2], rows[0], rows[1]])) == ["b", "a", "e"]
    assert ids(documents.every(db)) == ["a", "b", "e"] and ids(documents.every(db, collection="episodes")) == ["e"]
    documents.remove(db, rows[2], signatures=False)
    assert put(db, document("c")) == [base + 2], "the number of the last one is given again"


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


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_forgotten_or_removed_is_in_no_index(signed: apsw.Connection, whole: bool) -> None:
    row, stays = put(signed, document("a"), document("b"), vector=VECTOR, signatures=True)
    if whole:
        documents.remove(signed, row, signatures=True)
    else:
        documents.forget(signed, row, 9, signatures=True)
    found = documents.by_id(signed, "a")
    assert found is None if whole else found is not None and (found["forgotten_at"], found["updated_at"]) == (9, 9)
    assert matching(signed, "text") == [stays] and ids(documents.every(signed)) == ["b"]
    assert ids(documents.every(signed, forgotten=True)) == (["b"] if whole else ["a", "b"])
    assert [one for (one,) in signed.execute("SELECT document FROM vector")] == [stays]
    assert [one for (one,) in signed.execute("SELECT rowid FROM signature")] == [stays]


def test_signatures_are_made_once(db: apsw.Connection) -> None:
    assert not documents.has_signatures(db) and sqlite.load_vectors(db)
    for _ in range(2):
        documents.ensure_signatures(db)
        assert documents.has_signatures(db)
        assert list(db.execute("SELECT code, name, dimensions FROM vector_space")) == [(1, "minilm-256-v1", 256)]


def test_counters_are_set_and_counted(db: apsw.Connection) -> None:
    put(db, document("a"), document("b"), document("c"))
    documents.set_counters(db, "a", 5, 0.5, None)
    documents.count_recall(db, ["a", "b"], 9)
    found = [(one["recall_count"], one["retrieval_priority"], one["last_used_at"]) for one in documents.every(db)]
    assert found == [(6, 0.5, 9), (1, 0.0, 9), (0, 0.0, None)]
    assert overview.last_used(db) == 9


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
    first, second, third = sorted(documents.traits(db, rows), key=lambda one: rows.index(one["rowid"]))
    assert first == {
        "rowid": rows[0], "collection": "observations", "chars": 4, "confirmed_at": 9, "recall_count": 2,
        "retrieval_priority": 0.5, "write_verdict": "hold", "stale": False, "pinned": True, "superseded_by": "b",
        "project": "p", "session": "s",
    }  # fmt: skip
    assert (second["collection"], second["chars"], second["confirmed_at"], second["stale"]) == ("knowledge", 4, 5, True)
    assert (third["stale"], third["pinned"], second["pinned"]) == (True, False, False)
    db.execute("UPDATE document SET stale = 0")
    assert [one["stale"] for one in documents.traits(db, rows[2:])] == [False]


def test_ids_are_found_by_their_beginning(db: apsw.Connection) -> None:
    put(db, document("ab2"), document("ab1", forgotten_at=1), document("ac"), document("ab\U0010fffe"))
    assert documents.ids_beginning(db, "ab", 9) == ["ab1", "ab2", "ab\U0010fffe"]
    assert documents.ids_beginning(db, "ab", 1) == ["ab1"] and documents.ids_beginning(db, "b", 9) == []
    assert documents.ids_beginning(db, "ac", 9) == ["ac"]


def test_what_a_session_said_and_which_projects_there_are(db: apsw.Connection) -> None:
    rows = put(
        db, document("a", session_id="s", project="q"), document("b", session_id="s", forgotten_at=1),
        document("c", project="p"), document("d", session_id="t", project="p"),
    )  # fmt: skip
    assert documents.of_session(db, "s") == [(rows[0], "a")] and documents.of_session(db, "") == []
    assert documents.projects(db) == ["p", "q"]
    db.execute("UPDATE document SET project = ''")
    assert documents.projects(db) == []


def test_the_oldest_with_the_same_text_is_found_in_its_collection(db: apsw.Connection) -> None:
    put(
        db, document("x", fingerprint="f", forgotten_at=1), document("y", fingerprint="f", superseded_by="z"),
        document("a", fingerprint="f"), document("b", fingerprint="f"), document("k", 1, "knowledge", fingerprint="f"),
    )  # fmt: skip
    assert ids([documents.by_fingerprint(db, "f", name) for name in ("observations", "knowledge")]) == ["a", "k"]
    assert documents.by_fingerprint(db, "f", "episodes") is documents.by_fingerprint(db, "g", "knowledge") is None


def test_the_newest_documents_since_a_time(db: apsw.Connection) -> None:
    put(
        db, document("a", 5), document("b", 6), document("c", 6), document("d", 7, forgotten_at=1),
        document("e", 7, superseded_by="a"), document("k", 8, "knowledge"),
    )  # fmt: skip
    assert ids(documents.recent(db, "observations", 5, 9)) == ["c", "b", "a"]
    assert ids(documents.recent(db, "observations", 6, 9)) == ["c", "b"]
    assert ids(documents.recent(db, "observations", 7, 9)) == [] and ids(
        documents.recent(db, "observations", 0, 1)
    ) == ["c"]


ASKED: Any = {
    "tags": (), "category": "", "projects": (), "verdicts": (), "source": "", "since": None, "before": None,
    "whatever": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, "dcba"), ({"tags": ["x"]}, "ba"), ({"tags": ["x", "y"]}, "b"), ({"tags": ["xx"]}, "c"),
        ({"category": "jc:ops"}, "a"), ({"verdicts": ["hold", "discard"]}, "cb"), ({"source": "cli"}, "d"),
        ({"since": 2}, "dcb"), ({"before": 2}, "a"), ({"since": 2, "before": 4}, "cb"), ({"projects": ["p"]}, "db"),
        ({"projects": ["p", "q"]}, "dcb"), ({"whatever": True}, "fedcba"), ({"tags": ["x"], "category": "jc:ops"}, "a"),
    ],
)  # fmt: skip
def test_memories_are_listed_by_what_is_known_of_them(db: apsw.Connection, asked: dict[str, Any], found: str) -> None:
    session_rows.save_session(db, {
        "id": "s", "client": "claude", "project": "p", "folder": "", "updated_at": 1, "prompts": 0, "calls": 0,
        "plan": [],
    })  # fmt: skip
    put(
        db, document("a", 1, tags=["x"], category_id="jc:ops"),
        document("b", 2, tags=["x", "y"], write_verdict="hold", session_id="s"),
        document("c", 3, tags=["xx"], write_verdict="discard", project="q", session_id="s"),
        document("d", 4, source="cli", project="p"), document("e", 5, forgotten_at=6), document("f", 6,
        superseded_by="a"),
        document("k", 9, "knowledge", tags=["x"]),
    )  # fmt: skip
    number, page = curation.listed(db, "observations", {**ASKED, **asked}, limit=9, offset=0)
    assert (number, "".join(ids(page))) == (len(found), found)


def test_a_list_has_pages_whether_few_or_many_are_asked_for(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(db, *(document(one, at) for one, at in (("a", 2), ("b", 1), ("c", 2))))
    for many in (0, 2_000):
        monkeypatch.setattr(curation, "_MANY", many)
        number, page = curation.listed(db, "observations", ASKED, limit=2, offset=0)
        assert (number, ids(page)) == (3, ["c", "a"])
        assert ids(curation.listed(db, "observations", ASKED, limit=2, offset=2)[1]) == ["b"]


def test_one_memory_takes_the_place_of_another_and_gives_it_back(db: apsw.Connection) -> None:
    put(db, document("old"), document("new"), document("third"))
    old, new, third = documents.every(db)
    curation.link(db, old, new, 7)
    old, new, third = documents.every(db)
    assert (old["superseded_by"], old["updated_at"], new["supersedes"], new["updated_at"]) == ("new", 7, "old", 1)
    curation.unlink(db, old, 9)
    old, new, third = documents.every(db)
    assert (old["superseded_by"], old["updated_at"], new["supersedes"]) == ("", 9, "")
    curation.link(db, old, new, 10)
    curation.link(db, third, new, 11)
    old = next(documents.every(db))
    curation.unlink(db, old, 12)
    assert [one["supersedes"] for one in documents.every(db)] == ["", "third", ""]


def test_a_tag_leaves_the_age_of_a_memory_alone(db: apsw.Connection) -> None:
    (row,) = put(db, document("a"))
    curation.set_tags(db, row, ("x", "stale"), stale=True)
    assert documents.by_id(db, "a") == {**document("a"), "rowid": row, "tags": ["x", "stale"], "stale": True}
    curation.set_tags(db, row, (), stale=False)
    assert documents.by_id(db, "a") == {**document("a"), "rowid": row}


def test_synced_sections_are_known_by_their_file(signed: apsw.Connection) -> None:
    synced = {"collection": "knowledge", "source": knowledge.SOURCE}
    rows = put(
        signed, document("a", **synced, path="/n/a.md"), document("b", **synced, path="/n/a.md"),
        document("c", **synced, path="/n/b.md"), document("d", **synced, path="/n/b.md", forgotten_at=1),
        document("e", collection="knowledge", source="import", path="/n/b.md"), document("o", path="/n/b.md"),
        vector=VECTOR, signatures=True,
    )  # fmt: skip
    assert knowledge.rows_by_file(signed) == {"/n/a.md": rows[:2], "/n/b.md": [rows[2]]}
    assert knowledge.remove(signed, [rows[0], rows[3], rows[2], rows[0]], 9, signatures=True) == 2
    assert ids(documents.every(signed, forgotten=True)) == ["o", "b", "d", "e"]
    assert signed.execute("SELECT count(*) FROM signature").get == 4
    assert knowledge.rows_by_file(signed) == {"/n/a.md": [rows[1]]}


@pytest.mark.parametrize(
    ("folder", "below"), [("/n", True), ("/n/", True), ("/n/a", False), ("/", True), ("/N", False), ("/n/a.md", False)]
)
def test_a_folder_has_sections_below_it(db: apsw.Connection, folder: str, below: bool) -> None:
    put(db, document("a", collection="knowledge", path="/n/a.md"), document("o", path="/n/a/b.md"))
    put(db, document("f", collection="knowledge", path="/n/a/c.md", forgotten_at=1))
    assert knowledge.any_below(db, folder) is below


def test_spaces_are_numbered_behind_the_static_one(db: apsw.Connection) -> None:
    assert spaces.code(db, "x") == 0
    assert [spaces.ensure(db, name, 384) for name in ("x", "y", "x")] == [2, 3, 2]
    assert list(db.execute("SELECT * FROM vector_space")) == [(2, "x", 384), (3, "y", 384)]


def test_documents_without_a_vector_come_newest_first_page_by_page(db: apsw.Connection) -> None:
    rows = put(
        db, document("a", 5, title="T", context="c"), document("b", 6), document("c", 6), document("d", 7,
        forgotten_at=1)
    )  # fmt: skip
    first = spaces.pending(db, 2, 2)
    assert [one[0] for one in first] == [rows[2], rows[1]]
    (last,) = spaces.pending(db, 2, 2, after=first[-1])
    assert last == (rows[0], 5, "T", "text of a", "c") and spaces.pending(db, 2, 2, after=last) == []
    assert [one[0] for one in spaces.pending(db, 2, 9, after=first[0])] == [rows[1], rows[0]]
    assert (spaces.missing(db, 2), spaces.held(db, 2)) == (3, 0)
    db.execute("UPDATE document SET text = 'changed' WHERE id = 'b'")
    assert spaces.add_vectors(db, 2, [(first[0], b"v"), (first[1], b"v"), (last, b"")]) == 1
    assert (spaces.missing(db, 2), spaces.held(db, 2), spaces.missing(db, 3)) == (2, 1, 3)
    assert spaces.add_vectors(db, 2, [(first[0], b"w")]) == 1 and spaces.held(db, 2) == 1


def test_documents_are_counted_by_verdict_and_by_group(db: apsw.Connection) -> None:
    put(
        db, document("a", 5, category_id="x", merged_count=2), document("b", 6, category_id="x", write_verdict="hold"),
        document("c", 7, category_id="y", forgotten_at=1, merged_count=9, last_used_at=4),
        document("k", 8, "knowledge", project="p", write_verdict="other"),
    )  # fmt: skip
    none = {"total": 0, "allow": 0, "hold": 0, "discard": 0, "forgotten": 0}
    counted = {
        "observations": {**none, "total": 2, "allow": 1, "hold": 1, "forgotten": 1}, "episodes": none,
        "knowledge": {**none, "total": 1, "other": 1},
    }  # fmt: skip
    assert overview.counts(db) == counted
    assert overview.span(db) == {"oldest": 5, "newest": 8, "merges": 2} and overview.last_used(db) == 4
    assert overview.largest(db, "category", 9) == {"x": 2} and overview.largest(db, "project", 9) == {"p": 1}
    with pytest.raises(ValueError, match="verdict"):
        overview.largest(db, "verdict", 9)
    assert overview.verdicts_since(db, "observations", 6) == {"hold": 1}
    assert overview.verdicts_since(db, "observations", 5) == {"allow": 1, "hold": 1}
    assert overview.verdicts_since(db, "observations", 8) == {}


def test_the_largest_groups_come_first(db: apsw.Connection) -> None:
    put(
        db,
        *(
            document(f"{source}{number}", source=source)
            for source, most in (("b", 2), ("a", 2), ("c", 3))
            for number in range(most)
        ),
    )
    assert list(overview.largest(db, "source", 2).items()) == [("c", 3), ("a", 2)]


def test_nothing_is_counted_in_an_empty_store(db: apsw.Connection) -> None:
    nothing = overview.nothing()
    read = overview.read(db, now=1)
    assert {**read, "schema": 0} == nothing and overview.span(db) == {"oldest": None, "newest": None, "merges": 0}
    assert overview.last_used(db) is None


@pytest.mark.parametrize(("later", "errors"), [(86_400_000, 2), (86_400_001, 1), (86_400_005, 1), (86_400_006, 0)])
def test_errors_of_a_day_are_counted_and_five_events_listed(db: apsw.Connection, later: int, errors: int) -> None:
    for number, (at, level) in enumerate(
        ((0, "error"), (5, "fatal"), (5, "warn"), (6, "info"), (7, "info"), (8, "debug"))
    ):
        db.execute(
            "INSERT INTO event (id, timestamp, session_id, system_id, level, source, component, action, success,"
            " metadata, search_text) VALUES (?, ?, '', '', ?, '', '', ?, 1, '{}', '')",
            (str(number), at, level, f"a{number}"),
        )
    found = overview.read(db, now=later)["events"]
    assert (found["total"], found["errors24h"]) == (6, errors)
    assert [one["action"] for one in found["last"]] == ["a5", "a4", "a3", "a2", "a1"]
    assert found["last"][0] == {"ts": "1970-01-01T00:00:00.008Z", "action": "a5", "level": "debug", "success": True}
