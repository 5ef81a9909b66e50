"""`store init` creates collections without harming any, and the server keeps what it gets."""

from typing import Any

import apsw
import pytest
from conftest import Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typesense_server import Server, needs_server

from core.records import Document
from core.store import cluster as stored_cluster
from core.store import documents, sqlite

NAMES = ("memory_observations", "episodes", "system_knowledge")


@needs_server
def test_init_creates_every_collection_and_is_idempotent(run: Run, server: Server) -> None:
    env = server.environment(JOELCLAW_STORE_PREFIX="fresh_")
    first = run("store", "init", env=env).result
    assert first["changed"]
    assert [collection["collection"] for collection in first["collections"]] == [f"fresh_{name}" for name in NAMES]
    assert all(collection["created"] for collection in first["collections"])
    before = [server.get(f"/collections/fresh_{name}") for name in NAMES]
    again = run("store", "init", env=env).result
    assert not again["changed"]
    assert not any(collection["created"] for collection in again["collections"])
    assert [server.get(f"/collections/fresh_{name}") for name in NAMES] == before


@needs_server
def test_a_collection_of_another_program_is_left_alone(run: Run, server: Server) -> None:
    env = server.environment(JOELCLAW_STORE_PREFIX="other_")
    theirs = {"name": "other_episodes", "fields": [{"name": "timestamp", "type": "string"}]}
    server.send("POST", "/collections", theirs)
    failed = run("store", "init", env=env, ok=False).json
    assert failed["error"]["code"] == "TYPESENSE_SCHEMA_FOREIGN"
    assert "store.prefix" in failed["fix"]
    # Nothing was made before the fault was seen.
    assert [
        collection["name"] for collection in server.get("/collections") if collection["name"].startswith("other_")
    ] == ["other_episodes"]


TEXTS = st.text(max_size=60)
TIMES = st.integers(0, 4_102_444_800_000)
SHARES = st.floats(0, 1, allow_nan=False)


@st.composite
def any_document(draw: st.DrawFn) -> Document:
    document = documents.blank(draw(st.sampled_from(sorted(sqlite.COLLECTIONS))), "id-1", draw(TEXTS), draw(TIMES))
    values: dict[str, Any] = document  # type: ignore[assignment]
    for name, value in list(values.items()):
        if name in ("rowid", "id", "collection", "text", "created_at", "history", "forgotten_at"):
            continue
        if isinstance(value, bool):
            values[name] = draw(st.booleans())
        elif isinstance(value, str):
            values[name] = draw(TEXTS)
        elif isinstance(value, float):
            values[name] = draw(SHARES)
        elif isinstance(value, list):
            values[name] = draw(st.lists(TEXTS, max_size=3))
        else:
            values[name] = draw(TIMES)
    document["history"] = draw(
        st.lists(st.fixed_dictionaries({"text": TEXTS, "at": TIMES, "source": TEXTS}), max_size=2)
    )
    return document


@needs_server
def test_the_server_keeps_every_value(run: Run, server: Server) -> None:
    env = server.environment(JOELCLAW_STORE_PREFIX="values_")
    run("store", "init", env=env)

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(any_document(), st.one_of(st.just(b""), st.binary(min_size=256, max_size=256)))
    def holds(document: Document, vector: bytes) -> None:
        row = stored_cluster.document_to_row(document, vector)
        path = f"/collections/values_{sqlite.COLLECTIONS[document['collection']].remote}/documents"
        server.send("POST", path + "?action=upsert", row)
        stored = server.get(path + "/id-1")
        assert stored_cluster.document_from_row(stored, document["collection"]) == {**document, "rowid": 0}
        assert stored.get("embedding", []) == stored_cluster.vector_numbers(vector)

    holds()


@given(st.text(max_size=80))
def test_terms_are_those_of_the_local_index(text: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'porter unicode61 remove_diacritics 2')")
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    db.execute("INSERT INTO t VALUES (?)", (text.encode("utf-8", "replace").decode(),))
    indexed = [term for (term,) in db.execute("SELECT term FROM v ORDER BY offset")]
    ours = stored_cluster.stems(text)
    assert [term for term in ours if term.isascii()] == ours  # what the server neither folds nor splits
    assert len(ours) == len(indexed)
    for coded, term in zip(ours, indexed, strict=True):
        assert coded == term or not term.isascii() or len(term) > 60
    db.close()


@pytest.mark.parametrize("text", ["数据库", "naïve café", "Ünïted", "x" * 200, "ภาษาไทย", "getUserName 0x12 a_b"])
@needs_server
def test_the_server_finds_each_term_as_it_was_sent(text: str, run: Run, server: Server) -> None:
    env = server.environment(JOELCLAW_STORE_PREFIX="terms_")
    run("store", "init", env=env)
    document = documents.blank("observations", f"t{len(text)}{ord(text[0])}", text, 5)
    row = stored_cluster.document_to_row(document)
    server.send("POST", "/collections/terms_memory_observations/documents?action=upsert", row)
    for term in stored_cluster.stems(text):
        search = {"collection": "terms_memory_observations", "q": term, "query_by": "lexicon", "num_typos": 0}
        answer = server.send("POST", "/multi_search", {"searches": [{**search, "prefix": False}]})["results"][0]
        assert row["id"] in [hit["document"]["id"] for hit in answer["hits"]]
