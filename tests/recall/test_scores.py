"""The figures behind a hit: BM25 as the local file has it, words and meaning together, what is kept of a cluster."""

from __future__ import annotations

from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from conftest import NOW_MS

from core.store.typesense import bm25, statistics
from core.store.typesense.bm25 import Bm25
from core.store.typesense.lexicon import BARRIER
from core.store.typesense.statistics import Frequencies, Statistics
from recall import fusion

HOUR_MS = 3_600_000


def test_the_half_grows_with_the_query_and_the_store() -> None:
    assert fusion.lexical_half(4, 99) == pytest.approx(0.7 * 2 * log(100))
    assert fusion.lexical_half(0, 99) == fusion.lexical_half(1, 99) == pytest.approx(0.7 * log(100))
    assert fusion.lexical_half(1, 0) == pytest.approx(0.35)


@pytest.mark.parametrize(
    ("bm25_score", "cosine", "score"),
    [
        (0.0, None, 0.0), (-1.0, None, 0.0), (2.0, None, 0.5), (6.0, None, 0.75), (2.0, 0.3, 0.5), (2.0, -1.0, 0.5),
        (0.0, 0.55, 0.175), (0.0, 0.8, 0.35), (0.0, 1.0, 0.35), (2.0, 0.8, 0.5 + 0.35 - 0.175),
    ],
)  # fmt: skip
def test_words_and_meaning_are_added_as_chances(bm25_score: float, cosine: float | None, score: float) -> None:
    assert fusion.fuse(bm25_score, cosine, 2.0) == pytest.approx(score)
    assert fusion.fuse_contextual(bm25_score, None, 0.5, 2.0) == pytest.approx(fusion.fuse(bm25_score, None, 2.0))


@pytest.mark.parametrize(
    ("bm25_score", "cosine", "contextual", "score"),
    [
        (0.0, None, 0.78, 0.0), (0.0, None, 0.85, 0.25), (0.0, None, 0.92, 0.5), (0.0, None, 1.0, 0.5),
        (0.0, 0.3, 0.92, 0.5), (0.0, 0.55, 0.78, 0.1), (0.0, 0.8, 0.92, 0.6), (0.0, 1.0, 0.0, 0.2),
        (2.0, None, 0.92, 0.75), (-1.0, None, 0.92, 0.5), (2.0, 0.8, 0.92, 0.8),
    ],
)  # fmt: skip
def test_the_contextual_space_takes_most_of_the_weight(
    bm25_score: float, cosine: float | None, contextual: float, score: float
) -> None:
    assert fusion.fuse_contextual(bm25_score, cosine, contextual, 2.0) == pytest.approx(score)


def test_bm25_of_one_term() -> None:
    scorer = Bm25(["queue"], {"queue": 9}, documents=100, average=4)
    idf = log((100 - 9 + 0.5) / 9.5)
    assert scorer.of("the queue drains daily", "") == pytest.approx(idf * 2.2 / (1 + 1.2))
    assert scorer.of("queue queue", "") == pytest.approx(idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 2 / 4)))
    assert scorer.of("other", "a queue b c") == pytest.approx(idf * 0.5 * 2.2 / (0.5 + 1.2 * (0.25 + 0.75 * 5 / 4)))
    assert scorer.of(f"queue {BARRIER} a b c", "") == scorer.of("queue a b c", ""), "the barrier is no word"
    assert scorer.of("nothing of it", "") == 0.0
    assert Bm25(["queue"], {"queue": 9}, documents=100, average=0).of("queue", "") > 0


def test_a_term_in_half_of_all_documents_counts_next_to_nothing() -> None:
    for count, idf in ((49, log(51.5 / 49.5)), (50, 1e-6), (100, 1e-6)):
        scorer = Bm25(["a"], {"a": count}, documents=100, average=1)
        assert scorer.of("a", "") == pytest.approx(idf)


def test_in_a_small_memory_a_term_counts_once() -> None:
    counts = {"a": 2, "b": 64}
    scorer = Bm25(["a", "b", "c"], counts, documents=64, average=3)
    rare, common, unknown = (log(1 + (64 - count + 0.5) / (count + 0.5)) for count in (2, 64, 0))
    assert scorer.small and scorer.of("a a b", "c") == pytest.approx(rare + common + 0.5 * unknown)
    assert scorer.of("x", "a") == pytest.approx(0.5 * rare)
    assert not Bm25(["a"], counts, documents=65, average=3).small
    assert Bm25(["a"], {"a": 9}, documents=3, average=3).of("a", "") == pytest.approx(log(1 + 0.5 / 9.5))


def test_phrases_are_counted_whole() -> None:
    assert bm25.occurrences("a b", [], "a b a b x") == 2
    assert bm25.occurrences("a a", [], "a a a") == 2
    assert bm25.occurrences("a b", [], "xa b") == 0
    assert bm25.occurrences("a", ["a", "ab", "a"], "") == 2


def test_phrases_are_counted_as_the_local_file_counts_them() -> None:
    fields = ["a b a b x", "a b x y z", "a a a x y", "a x a b a"]
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
    db.executemany("INSERT INTO t VALUES (?)", [*((field,) for field in fields), *[("x y z u v",)] * 8])
    for phrase in ("a b", "a a"):
        rows = db.execute("SELECT rowid, -bm25(t) FROM t WHERE t MATCH ?", (f'"{phrase}"',)).fetchall()
        frequency = {row: bm25.occurrences(phrase, [], fields[row - 1]) for row, _ in rows}
        least = min(score * (count + 1.2) / count for (row, score) in rows for count in [frequency[row]])
        for row, score in rows:  # all are of the same length
            assert score == pytest.approx(least * frequency[row] / (frequency[row] + 1.2))


def test_in_a_large_memory_the_rarest_terms_are_scored() -> None:
    counts = {"rare": 3, "some": 15_000, "more": 4_998, "common": 90_000}
    keys = ["common", "more", "some", "rare", "unknown"]
    assert bm25.selective(keys, counts, 20_000) == (keys, False)
    assert bm25.selective(["common"], counts, 20_001) == (["common"], False)
    assert bm25.selective(["common", "unknown"], counts, 20_001) == (["common", "unknown"], True)
    assert bm25.selective(["some", "more", "rare"], counts, 20_001) == (["rare", "more"], False)
    assert bm25.selective(["some", "more"], {"some": 15_000, "more": 5_000}, 20_001) == (["more", "some"], False)
    assert bm25.by_rarity(keys, counts) == ["unknown", "rare", "more", "some", "common"]
    assert bm25.by_rarity(["z", "a"], {"z": 20_001, "a": 90_000}) == ["a", "z"]
    together = Bm25(["x", "y"], {"x": 30_000, "y": 30_000}, documents=90_000, average=2)
    assert together.of("x y", "") > 0 and together.of("x", "") == 0.0


@pytest.fixture
def client(home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    return SimpleNamespace(nodes=SimpleNamespace(urls=["http://b", "http://a"]), prefix="x_")


def answers(*found: tuple[int, float]) -> list[Any]:
    return [{"found": count, "facet_counts": [{"stats": {"sum": total}}]} for count, total in found]


def test_the_length_of_a_document_is_asked_for_and_kept(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Statistics.load(client)
    assert not first.known and len(first.searches()) == 3
    first.read([])
    assert not first.known, "nothing was asked"
    first.read([*answers((10, 40.0), (6, 8.0)), {"found": 0}, {"found": 0, "facet_counts": [{}]}])
    assert (first.documents, first.average, first.known) == (16, 3.0, True)
    for later, known in ((0, True), (599_999, True), (600_000, False), (-1, False)):
        monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + later))
        again = Statistics.load(client)
        assert (again.documents, again.average, again.known) == (16, 3.0, known)
        assert bool(again.searches()) is not known
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    turned = SimpleNamespace(nodes=SimpleNamespace(urls=["http://a", "http://b"]), prefix="x_")
    other = SimpleNamespace(nodes=client.nodes, prefix="y_")
    assert Statistics.load(turned).known and not Statistics.load(other).known  # type: ignore[arg-type]
    again.forget()
    again.forget()
    assert not Statistics.load(client).known


def test_an_empty_cluster_is_asked_again(client: Any) -> None:
    made = Statistics.load(client)
    made.read(answers((0, 0.0)))
    assert (made.average, made.known) == (0.0, True)
    assert not Statistics.load(client).known


@pytest.mark.parametrize(("documents", "outgrown"), [(83, True), (84, False), (100, False), (120, False), (121, True)])
def test_what_has_grown_by_a_fifth_is_asked_for_anew(client: Any, documents: int, outgrown: bool) -> None:
    made = Statistics.load(client)
    made.documents = 100
    assert made.outgrown(documents) is outgrown
    kept = Frequencies("name", 100)
    kept.read(["a"], [{"found": 30_000}, {"found": 1}, {"found": 2}])
    assert Frequencies("name", documents).missing(["a"]) == (["a"] if outgrown else [])


def test_common_terms_are_kept_for_a_day(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Frequencies("name", 100)
    assert first.missing(["b", "a", "b"]) == ["b", "a"]
    assert len(first.searches(["a", "b"])) == 6
    first.read(["a", "b"], [{"found": n} for n in (20_000, 0, 0, 20_000, 0, 1)])
    assert first.counts == {"a": 20_000, "b": 20_001}
    second = Frequencies("name", 100)
    assert second.missing(["a", "b"]) == ["a"] and second.counts == {"b": 20_001}
    for later, missing in ((24 * HOUR_MS - 1, []), (24 * HOUR_MS, ["b"]), (-1, ["b"])):
        monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + later))
        assert Frequencies("name", 100).missing(["b"]) == missing


def test_common_terms_of_several_requests_are_all_kept(client: Any) -> None:
    first = Frequencies("name", 100)
    for key in ("a", "b"):
        first.read([key], [{"found": 30_000}, {"found": 1}, {"found": 2}])
    assert Frequencies("name", 100).missing(["a", "b", "c"]) == ["c"]


def test_the_last_4000_common_terms_are_kept(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"k{number}" for number in range(statistics.MOST_KEPT + 1)]
    assert len(keys) == 4_001
    Frequencies("name", 100).read(keys, [{"found": 30_000}] * (3 * len(keys)))
    assert Frequencies("name", 100).missing(keys) == ["k0"]


def test_a_damaged_cache_is_as_none(client: Any, home: Path) -> None:
    (home / "cache").mkdir(parents=True)
    name = Statistics.load(client).name
    for damaged in ("", "[]", "{}", '{"at": "x", "average": 1, "documents": 1, "counts": {}}'):
        (home / "cache" / f"typesense-{name}.json").write_text(damaged)
        (home / "cache" / f"typesense-{name}-terms.json").write_text(damaged)
        assert not Statistics.load(client).known
        assert Frequencies(name, 100).missing(["a"]) == ["a"]
