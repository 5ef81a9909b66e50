"""What the cluster is asked for one query, and what its answers come to: against answers that are made up here."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW_MS

from core.errors import Failure
from core.store import documents
from core.store.replication.pending import Cosine
from core.store.typesense import circuit_breaker, connection, lexicon, mapping, plan, schema, source
from core.store.typesense import events as remote_events
from core.store.typesense.connection import Node, Nodes
from core.store.typesense.plan import Plan
from core.store.typesense.search_client import SearchClient
from core.store.typesense.statistics import Statistics
from core.store.typesense.transport import NoAnswerError

ALL: Any = {"collections": (), "session": "", "projects": (), "others": (), "category": "", "verdicts": ()}
ONE: Any = {**ALL, "collections": ("knowledge",)}


def asked(keys: list[str], filters: Any = ONE, vector: bytes = b"", lexical: int = 9, **more: Any) -> list[Any]:
    """Of each search: what is asked for, how many documents it brings, whether words may be left out."""
    made = Plan(keys, vector, filters, lexical, 7, **more)
    return [(one["q"], one["per_page"], one.get("drop_tokens_threshold")) for one in made.searches()]


def test_each_term_is_searched_for_and_at_the_head_of_those_that_follow() -> None:
    words = [(key, 50, 0) for key in "abcde"]
    chains = ["a b c d", "b c d e", "c d e a", "d e a b", "e a b c"]
    others = [(key, 0, None) for key in "abcde"] * 2
    assert asked([*"abcde", "a"])[:5] == words
    assert asked([*"abcde"])[5:10] == [(chain, 50, 1_000_000_000) for chain in chains]
    assert [one[:2] for one in asked([*"abcde"])[10:]] == [one[:2] for one in others]


@pytest.mark.parametrize(
    ("keys", "chains"),
    [
        ([], []), (["a"], []), (["a", "b"], ["a b"]), (["a", "b c"], []), (["a", "x y", "b"], ["a b"]),
        (["a", "b", "c"], ["a b c", "b c a", "c a b"]),
    ],
)  # fmt: skip
def test_words_alone_are_chained(keys: list[str], chains: list[str]) -> None:
    assert list(plan._chains(keys)) == chains


def test_a_phrase_is_quoted() -> None:
    assert [one[0] for one in asked(["a b", "c"])][:2] == ['"a b"', "c"]


@pytest.mark.parametrize(
    ("terms", "lexical", "page"),
    [(1, 9, 50), (6, 50, 50), (6, 51, 51), (7, 50, 42), (12, 50, 25), (18, 50, 16), (19, 50, 16), (24, 400, 100),
     (6, 250, 250), (6, 251, 250), (1, 999, 250)],
)  # fmt: skip
def test_the_more_terms_the_fewer_documents_each_search_brings(terms: int, lexical: int, page: int) -> None:
    assert plan._page(terms, lexical) == page
    assert asked([f"k{number}" for number in range(terms)], lexical=lexical)[0][1] == page


def test_a_vector_is_searched_for_in_each_collection_and_bounded() -> None:
    for wanted, brought in ((7, 7), (250, 250), (251, 250)):
        (search,) = Plan([], bytes([1, 255]), ONE, 9, wanted).searches()
        assert search == {
            "q": "*", "vector_query": f"embedding:([1,-1], k:{brought})", "per_page": brought,
            "include_fields": plan.FIELDS, "collection": "system_knowledge",
        }  # fmt: skip
    every = Plan([], b"\1", ALL, 9, 7).searches()
    assert [one["collection"] for one in every] == ["memory_observations", "episodes", "system_knowledge"]
    (narrowed,) = Plan([], b"\1", {**ONE, "session": "s"}, 9, 7).searches()
    assert narrowed["filter_by"] == "session_id:=`s`"


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({}, ""), ({"session": "s"}, "session_id:=`s`"), ({"category": "jc:ops"}, "category_id:=`jc:ops`"),
        ({"session": "s", "category": "c"}, "session_id:=`s` && category_id:=`c`"),
        ({"tags": ["a", "b`c"]}, "tags:=`a` && tags:=`bc`"), ({"projects": ["p", "q"]}, "project:=[`p`,`q`]"),
        ({"projects": ["p", ""]}, ""), ({"projects": ["p", ""], "others": ["q", "r"]}, "project:!=[`q`,`r`]"),
        ({"projects": ["p"], "others": ["q"]}, "project:=[`p`]"), ({"others": ["q"]}, "project:!=[`q`]"),
        ({"verdicts": ["allow", "hold"]}, "write_verdict:=[`allow`,`hold`]"),
    ],
)  # fmt: skip
def test_filters_are_said_in_the_notation_of_the_server(filters: dict[str, Any], said: str) -> None:
    assert plan.filter_by({**ALL, **filters}) == said


def test_fifty_other_projects_are_named() -> None:
    others = [f"p{number}" for number in range(51)]
    said = plan.filter_by({**ALL, "projects": ("x", ""), "others": others})
    assert "`p49`]" in said and "`p50`" not in said
    assert plan.by_ids(["a", "b"]) == "id:=[`a`,`b`]"


def test_how_often_a_term_stands_in_the_whole_memory_is_counted_whatever_is_narrowed() -> None:
    plain = Plan(["a"], b"", ALL, 9, 7)
    assert len(plain.searches()) == 3 and all(one["per_page"] == 50 for one in plain.searches())
    plain.read([{"found": number, "out_of": 100} for number in (1, 3, 5)])
    assert plain.counts == {"a": 9} and plain.sizes == {"observations": 100, "episodes": 100, "knowledge": 100}
    assert plain.matched == 0
    with pytest.raises(ValueError, match="shorter"):
        plain.read([{"found": 1}])
    narrowed = Plan(["a"], b"", {**ALL, "session": "s"}, 9, 7)
    assert [(one["per_page"], "filter_by" in one) for one in narrowed.searches()] == [(50, True)] * 3 + [(0, False)] * 3
    narrowed.read([{"found": 50}] * 3 + [{"found": number} for number in (1, 3, 5)])
    assert narrowed.counts == {"a": 9}
    known = Plan(["a"], b"", {**ONE, "session": "s"}, 9, 7, counts={"a": 3}, documents=90_000)
    assert len(known.searches()) == 1
    known.read([{"found": 50}])
    assert known.counts == {"a": 3}


def test_terms_that_are_all_common_are_searched_for_together() -> None:
    counts = {"a b": 30_000, "c": 40_000}
    made = Plan(["a b", "c"], b"", ALL, 9, 7, counts=counts, documents=90_000)
    assert made.together and [one["q"] for one in made.searches()] == ['"a b" c'] * 3
    assert all(one["drop_tokens_threshold"] == 0 for one in made.searches())
    made.read([{"found": number} for number in (1, 3, 5)])
    assert made.matched == 9 and made.counts == counts
    rare = Plan(["a b", "r"], b"", ONE, 9, 7, counts={**counts, "r": 3}, documents=90_000)
    assert not rare.together and [one["q"] for one in rare.searches()] == ["r"]


def test_what_was_found_is_kept_by_collection_and_id() -> None:
    made = Plan(["a"], b"\1", ONE, 9, 7)
    hits = [{"document": {"id": "x", "n": 1}}, {"document": {"id": "y"}, "vector_distance": "0.25"}]
    made.read([{"found": 1, "hits": hits}, {"hits": []}, {"found": 0}, {"found": 5}])
    assert made.found["knowledge"] == {"x": {"id": "x", "n": 1}, "y": {"id": "y"}}
    assert made.distances == [(0.25, "knowledge", "y")] and made.counts == {"a": 6}
    other = Plan([], b"", ONE, 9, 7)
    other.found = {"knowledge": {"z": {"id": "z"}}, "episodes": {"e": {"id": "e"}}}
    made.add(other)
    assert {name: set(rows) for name, rows in made.found.items() if rows} == {"knowledge": {*"xyz"}, "episodes": {"e"}}


def test_what_a_search_asks_of_the_server() -> None:
    search = Plan(["a"], b"", ONE, 9, 7).searches()[0]
    assert search == {
        "query_by": "lexicon,lexicon_context", "num_typos": "0,0", "prefix": "false,false", "typo_tokens_threshold": 0,
        "split_join_tokens": "off", "prioritize_exact_match": False, "enable_overrides": False,
        "highlight_fields": "none", "highlight_full_fields": "none", "enable_highlight_v1": False, "q": "a",
        "per_page": 50, "include_fields": plan.FIELDS, "drop_tokens_threshold": 0,
        "sort_by": "_text_match:desc,terms:asc", "collection": "system_knowledge",
    }  # fmt: skip


class Client:
    """Hands out answers, and keeps what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.nodes = Nodes("http://a:1")
        self.prefix = ""
        self.answer = answer
        self.requests: list[list[Any]] = []
        self.limits: list[float] = []
        self.rows: dict[str, Any] = {}

    def within(self, limit_s: float) -> None:
        self.limits.append(limit_s)

    def multi_search(self, searches: Any) -> list[Any]:
        self.requests.append(list(searches))
        return [self.answer(one) for one in searches]

    def retrieve(self, collection: str, identifier: str) -> Any:
        return self.rows.get(identifier)


@pytest.fixture
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    return home


def row(identifier: str, text: str, at: int = 5, vector: bytes = b"", **more: Any) -> Any:
    document: Any = {**documents.blank("observations", identifier, text, at), **more}
    return mapping.to_remote(document, vector)


def answering(*rows: Any, near: Any = ()) -> Client:
    """Of observations, those rows that hold the word; of those with a distance, all to a vector."""

    def answer(search: Any) -> Any:
        if search["collection"] != "memory_observations":
            return {"found": 0, "out_of": 0, "hits": []}
        if search.get("facet_by") == "terms":
            total = sum(one["terms"] for one in rows)
            return {"found": len(rows), "out_of": len(rows), "facet_counts": [{"stats": {"sum": total}}]}
        if "vector_query" in search:
            hits = [{"document": one, "vector_distance": distance} for one, distance in near]
            return {"found": len(hits), "out_of": len(rows), "hits": hits}
        if str(search.get("filter_by", "")).startswith("id:="):
            hits = [{"document": one} for one in rows if f"`{one['id']}`" in search["filter_by"]]
            return {"found": len(hits), "out_of": len(rows), "hits": hits}
        hits = [{"document": one} for one in rows if search["q"].split()[0] in one["lexicon"].split()]
        return {"found": len(hits), "out_of": len(rows), "hits": hits if search["per_page"] else []}

    return Client(answer)


def opened(client: Any) -> source.ClusterSource:
    return source.ClusterSource(client, limit_s=60)


def test_candidates_are_numbered_in_the_order_in_which_they_were_written(here: Path) -> None:
    rows = [row("b", "the queue drains", 7), row("a", "queue", 7), row("c", "queue of it", 3), row("d", "other", 1)]
    client = answering(*rows)
    found = opened(client)
    given = found.candidates(["queue", "\0"], b"", ALL, 9, 9)
    base = 1 << 40
    assert [one["rowid"] - base for one in given] == [1, 2, 3] and all(one["cosine"] is None for one in given)
    assert [one["id"] for one in found.documents([base + 1, base + 2, base + 3])] == ["c", "a", "b"]
    assert len({one["bm25"] for one in given}) == 1 and given[0]["bm25"] > 0
    assert found.size() == 4 and len(client.requests) == 3
    assert found.weights([base + 1], ["queue", "absent"]) == {"queue": {base + 1: given[0]["bm25"]}}
    assert found.absent(["queue"]) == 0.0 and found.absent(["two words"]) == 0.0
    assert 0 < min(client.limits) <= max(client.limits) <= 60


def test_in_a_small_memory_all_that_match_are_given_and_of_a_larger_one_the_best(here: Path) -> None:
    rows = [row(f"m{number}", "queue " + "word " * number, number) for number in range(1, 5)]
    assert len(opened(answering(*rows)).candidates(["queue"], b"", ALL, 2, 9)) == 4
    many = [*rows, *(row(f"n{number}", "other", number) for number in range(61))]
    (here / "cache").mkdir(parents=True, exist_ok=True)
    for kept in (here / "cache").iterdir():
        kept.unlink()
    larger = opened(answering(*many))
    given = larger.candidates(["queue"], b"", ALL, 2, 9)
    assert [one["id"] for one in larger.documents([one["rowid"] for one in given])] == ["m1", "m2"]


def test_the_nearest_are_given_with_their_cosine(here: Path) -> None:
    one, other, third = (bytes([127, 0]), bytes([0, 127]), bytes([127, 127]))
    rows = [row("a", "x", 1, one), row("b", "y", 2, other), row("c", "z", 3, third), row("d", "w", 4)]
    client = answering(*rows, near=[(rows[1], 1.0), (rows[2], 0.3), (rows[0], 0.0), (rows[3], 2.0)])
    found = opened(client)
    given = found.candidates([], one, ALL, 9, 2)
    assert [(one["bm25"], round(one["cosine"] or 0, 3)) for one in given] == [(0.0, 1.0), (0.0, 0.707)]
    assert found.semantic and found.segments() == 0 and found.around([], []) == {}


def test_terms_that_stand_in_no_document_are_a_share_of_those_that_were_asked(here: Path) -> None:
    found = opened(answering(row("a", "queue"), row("b", "drain")))
    found.candidates(["queue", "drain", "absent", "void"], b"", ALL, 9, 9)
    assert found.absent(["queue", "absent"]) == 0.5 and found.absent(["absent", "void"]) == 1.0
    assert found.absent(["queue", "drain", "void", "unasked", "of two"]) == pytest.approx(1 / 3)
    assert found.absent([]) == 0.0


class Large(Client):
    """A memory of 30,000 observations, of which each term is in as many as it says: `n30000` in all of them."""

    def __init__(self, together: int) -> None:
        self.together = together
        super().__init__(self.answering)

    def answering(self, search: Any) -> Any:
        ours = search["collection"] == "memory_observations"
        if search.get("facet_by"):
            return {"found": 30_000 if ours else 0, "facet_counts": [{"stats": {"sum": 60_000.0}}] if ours else []}
        count = int(search["q"].split()[0][1:]) if " " not in search["q"] else self.together
        name = search["q"].replace(" ", "-")
        document = {"id": name, "timestamp": 5, "lexicon": search["q"], "lexicon_context": ""}
        hits = [{"document": document}] if ours and search["per_page"] else []
        return {"found": count if ours else 0, "out_of": 30_000 if ours else 0, "hits": hits}

    def asked(self) -> list[list[tuple[str, int]]]:
        """Of each request what it asks the observations for, and how many documents that brings."""
        return [
            [(one["q"], one["per_page"]) for one in request if one["collection"] == "memory_observations"]
            for request in self.requests
        ]


def test_of_a_large_memory_terms_are_counted_before_they_are_searched_for(here: Path) -> None:
    client = Large(0)
    terms = ["n30000", "n9", "n25000", "n7"]
    found = opened(client)
    given = found.candidates(terms, b"", ALL, 9, 9)
    assert client.asked() == [
        [("*", 0)], [("n30000", 0), ("n9", 0)], [("n25000", 0), ("n7", 0)], [("n7", 50), ("n9", 50), ("n7 n9", 50)],
    ]  # fmt: skip
    assert found.size() == 30_000 and len(given) == 3
    assert set(found.weights([one["rowid"] for one in given], terms)) == {"n9", "n7"}
    client.requests.clear()
    opened(client).candidates(terms, b"", ALL, 9, 9)
    assert client.asked()[0] == [("n9", 0), ("n7", 0)], "how common a term is was kept"


@pytest.mark.parametrize(("together", "searched"), [(50, []), (49, [[("n21000", 50)]])])
def test_where_too_few_documents_hold_all_common_terms_the_rarest_is_searched_for(
    here: Path, together: int, searched: list[Any]
) -> None:
    client = Large(together)
    given = opened(client).candidates(["n29000", "n21000"], b"", ALL, 9, 9)
    assert client.asked()[2:] == [[("n29000 n21000", 50)], *searched]
    assert len(given) == 1 + len(searched)


@pytest.mark.parametrize(("documents", "counted"), [(20_000, False), (20_001, True)])
def test_a_memory_is_large_beyond_what_can_be_afforded(here: Path, documents: int, counted: bool) -> None:
    client = Large(0)
    known = Statistics.load(client)  # type: ignore[arg-type]
    known.read([{"found": documents, "facet_counts": [{"stats": {"sum": 4.0}}]}])
    found = opened(client)
    found.candidates(["n7", "n9"], b"", {**ALL, "collections": ("observations",)}, 9, 9)
    assert len(client.requests) == (2 if counted else 1) and found.size() == (documents if counted else 30_000)


def test_an_average_is_asked_for_anew_once_the_memory_has_outgrown_it(here: Path) -> None:
    client = answering(*(row(f"m{number}", "queue", number) for number in range(6)))
    for before, kept in ((5, True), (4, False), (7, True), (8, False)):
        Statistics.load(client).read([{"found": before, "facet_counts": [{"stats": {"sum": 4.0}}]}])  # type: ignore[arg-type]
        opened(client).candidates(["queue"], b"", ALL, 9, 9)
        assert Statistics.load(client).known is kept, before  # type: ignore[arg-type]


def test_the_size_is_asked_for_where_nothing_was_searched_for(here: Path) -> None:
    client = answering(row("a", "queue"), row("b", "drain"))
    found = opened(client)
    assert found.size() == found.size() == 2 and len(client.requests) == 1
    assert [one["per_page"] for one in client.requests[0]] == [0, 0, 0]


@pytest.mark.parametrize(("limit_s", "left"), [(60, 60.0), (0, 0.001), (-5, 0.001)])
def test_a_request_has_what_is_left_of_the_time_of_all(
    here: Path, monkeypatch: pytest.MonkeyPatch, limit_s: int, left: float
) -> None:
    monkeypatch.setattr(source, "time", SimpleNamespace(monotonic=lambda: 7.0))
    client = answering(row("a", "queue"))
    source.ClusterSource(client, limit_s=limit_s).size()  # type: ignore[arg-type]
    assert client.limits == [left]


@pytest.mark.parametrize(("terms", "kept"), [(24, range(24)), (25, [*range(12), *range(13, 25)])])
def test_of_a_long_query_the_first_and_the_last_terms_are_searched_for(terms: int, kept: Any) -> None:
    assert list(source._few([str(number) for number in range(terms)])) == [str(number) for number in kept]


def test_what_the_ranking_knows_of_a_row_of_the_cluster(here: Path) -> None:
    rows = [
        row("a", "queue", 1, updated_at=9, recall_count=2, retrieval_priority=0.5, write_verdict="hold", stale=True,
            superseded_by="b", project="p", session_id="s"),
        row("b", "queue", 2, updated_at=1, tags=["pinned", "stale"]),
    ]  # fmt: skip
    rows.append({"id": "c", "timestamp": 3, "lexicon": "queue"})
    found = opened(answering(*({"terms": 1, **one} for one in rows)))
    given = found.candidates(["queue"], b"", ALL, 9, 9)
    first, second, third = found.traits([one["rowid"] for one in given])
    assert first == {
        "rowid": (1 << 40) + 1, "collection": "observations", "chars": 5, "confirmed_at": 9, "recall_count": 2,
        "retrieval_priority": 0.5, "write_verdict": "hold", "stale": True, "pinned": False, "superseded_by": "b",
        "project": "p", "session": "s",
    }  # fmt: skip
    assert (second["confirmed_at"], second["stale"], second["pinned"]) == (2, True, True)
    assert third == {
        "rowid": (1 << 40) + 3, "collection": "observations", "chars": 0, "confirmed_at": 3, "recall_count": 0,
        "retrieval_priority": 0.0, "write_verdict": "allow", "stale": False, "pinned": False, "superseded_by": "",
        "project": "", "session": "",
    }  # fmt: skip


def test_a_document_whose_id_no_filter_can_name_is_read_by_itself(here: Path) -> None:
    rows = [row("a`b", "queue", 1), row("c", "queue", 2), row("d`e", "queue", 3), row("f", "queue", 4)]
    client = answering(*rows)
    client.rows["a`b"] = rows[0]
    found = opened(client)
    numbers = [one["rowid"] for one in found.candidates(["queue"], b"", ALL, 9, 9)]
    rows[3]["forgotten_at"] = 5
    given = found.documents(numbers)
    assert [(one["id"], one["rowid"]) for one in given] == [("a`b", numbers[0]), ("c", numbers[1])]
    (search,) = client.requests[-1]
    assert (search["filter_by"], search["per_page"]) == ("id:=[`c`,`f`]", 2)


def test_a_page_of_events_is_read_as_it_is_asked_for() -> None:
    event = {"id": "e", "timestamp": 5, "sessionId": "", "systemId": "", "level": "info", "source": "", "component": "",
             "action": "", "success": True, "metadata": {}}  # fmt: skip
    counts = [{"field_name": "level", "counts": [{"value": "info", "count": 3}]}]
    client = Client(
        lambda one: {"found": "4", "hits": [{"document": {"id": "e", "timestamp": 5}}], "facet_counts": counts}
        if one["filter_by"] == "x" else {"found": 0}
    )  # fmt: skip
    pages = remote_events.search(client, ["a", "b"], ["x", "y"], limit=7, page=2, values=9)  # type: ignore[arg-type]
    assert pages == [
        {"found": 4, "events": [event], "counts": {"level": {"info": 3}}}, {"found": 0, "events": [], "counts": {}},
    ]  # fmt: skip
    (searches,) = client.requests
    assert [one["filter_by"] for one in searches] == ["x", "y"]
    assert searches[0] == {
        "collection": "otel_events", "q": "a b", "query_by": "search_text", "num_typos": 0, "prefix": True,
        "drop_tokens_threshold": 0, "split_join_tokens": "off", "sort_by": "timestamp:desc",
        "facet_by": "level,source,component,action", "max_facet_values": 9, "exclude_fields": "search_text",
        "highlight_fields": "none", "highlight_full_fields": "none", "enable_highlight_v1": False, "page": 2,
        "per_page": 7, "filter_by": "x",
    }  # fmt: skip
    remote_events.search(client, [], ["y"], limit=0, page=1, values=1)  # type: ignore[arg-type]
    assert client.requests[-1][0]["q"] == "*"


class Wire:
    """In the place of the transport."""

    def __init__(self, status: int, body: bytes) -> None:
        self.answer = (status, body)
        self.sent: list[tuple[str, str, bytes]] = []
        self.limit_s = 0.0

    def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        self.sent.append((method, path, body))
        if self.answer[0] < 0:
            raise NoAnswerError("nobody")
        return self.answer


def client_of(status: int, body: bytes) -> tuple[SearchClient, Wire]:
    client, wire = SearchClient(Nodes("http://a:1"), "k", prefix="p_", limit_s=1), Wire(status, body)
    client._transport = wire  # type: ignore[assignment]
    return client, wire


def test_several_searches_go_in_one_request() -> None:
    client, wire = client_of(200, b'{"results": [{"found": 1}]}')
    assert client.multi_search([{"collection": "c", "q": "*"}, {"collection": "d"}]) == [{"found": 1}]
    body = b'{"searches": [{"collection": "p_c", "q": "*"}, {"collection": "p_d"}]}'
    assert wire.sent == [("POST", "/multi_search?limit_multi_searches=2", body)]
    client.multi_search([])
    assert wire.sent[1][1].endswith("=1")
    client.within(3.5)
    assert wire.limit_s == 3.5


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (200, b'{"results": [{}, {"error": "no", "code": 404}]}', connection.NOT_INITIALISED),
        (200, b'{"results": [{"error": "no"}]}', connection.REFUSED), (199, b"{}", connection.REFUSED),
        (300, b'{"message": "moved"}', connection.REFUSED), (401, b"{}", connection.UNAUTHORIZED),
        (503, b"[]", connection.UNREACHABLE), (200, b"<html>", connection.UNREACHABLE),
        (-1, b"", connection.UNREACHABLE),
    ],
)  # fmt: skip
def test_what_is_no_answer_to_a_search_is_a_fault(status: int, body: bytes, code: str) -> None:
    with pytest.raises(Failure) as caught:
        client_of(status, body)[0].multi_search([{"collection": "c"}])
    assert caught.value.code == code


def test_a_document_is_read_by_its_id() -> None:
    client, wire = client_of(200, b'{"id": "a/b"}')
    assert client.retrieve("c", "a/b") == {"id": "a/b"}
    assert wire.sent == [("GET", "/collections/p_c/documents/a%2Fb", b"")]
    missing = b'{"message": "Could not find a document with id: a"}'
    assert client_of(404, missing)[0].retrieve("c", "a") is None
    for status, body in ((404, b'{"message": "Not Found"}'), (400, missing)):
        with pytest.raises(Failure):
            client_of(status, body)[0].retrieve("c", "a")


@pytest.mark.parametrize(
    ("url", "address", "port", "secure", "path"),
    [
        ("http://one", "one:80", 80, False, ""), ("https://one", "one:443", 443, True, ""),
        ("http://one:65535/a/b", "one:65535", 65_535, False, "/a/b"), ("http://one:0", "one:0", 0, False, ""),
        ("https://[::1]:8108/x", "[::1]:8108", 8_108, True, "/x"), ("http://[::1]", "[::1]:80", 80, False, ""),
    ],
)  # fmt: skip
def test_a_node_is_read_from_its_url(url: str, address: str, port: int, secure: bool, path: str) -> None:
    node = Node(url)
    assert (node.address, node.port, node.secure, node.path) == (address, port, secure, path)


@pytest.mark.parametrize(
    "url",
    ["http://one:65536", "http://one:-1", "http://[::1]x", "http://one?a", "http://one#a", "http://o ne",
     "http://one\n", "https://", "HTTP://one", "http://one:8\u00b2"],
)  # fmt: skip
def test_what_is_no_url_of_a_node_is_refused(url: str) -> None:
    with pytest.raises(Failure) as caught:
        Node(url)
    assert caught.value.code == "CONFIG_INVALID"


def test_the_nodes_are_described_without_what_they_are_not() -> None:
    nodes = Nodes(" http://one:1/p/ ,, https://two")
    assert nodes.urls == ["http://one:1/p", "https://two:443"] and nodes.described() == "one:1/p, two:443"


def settings(**texts: str) -> Any:
    return SimpleNamespace(text=lambda name: texts.get(name.removeprefix("store."), ""))


def test_nodes_and_key_come_from_the_environment_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JOELCLAW_STORE_URLS", "TYPESENSE_URL", "TYPESENSE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    config = settings(urls="http://three:3")
    assert connection.nodes(config).urls == ["http://three:3"]
    monkeypatch.setenv("TYPESENSE_URL", "http://two:2")
    assert connection.nodes(config).urls == ["http://two:2"]
    monkeypatch.setenv("JOELCLAW_STORE_URLS", "http://one:1")
    assert connection.nodes(config).urls == ["http://one:1"]
    monkeypatch.setattr(connection, "_printed", lambda command: f"printed by {command}")
    assert connection.key(settings(key_command=" pass ")) == "printed by pass"
    monkeypatch.setenv("TYPESENSE_API_KEY", " own ")
    assert connection.key(settings(key_command="pass")) == "own"


@pytest.mark.parametrize(
    ("given", "said"), [("", "is not set"), (" ", "is not set"), ("a\nb", "no key"), ("k\u00e9y", "no key")]
)
def test_what_can_be_no_key_is_refused(monkeypatch: pytest.MonkeyPatch, given: str, said: str) -> None:
    monkeypatch.setenv("TYPESENSE_API_KEY", given)
    with pytest.raises(Failure) as caught:
        connection.key(settings())
    assert caught.value.code == connection.KEY_MISSING and said in caught.value.message


@pytest.mark.parametrize(
    ("status", "message", "missing"),
    [(404, "Could not find a document with id: a", True), (404, "Not Found", False),
    (400, "Could not find a document", False)],
)  # fmt: skip
def test_a_missing_document_is_no_missing_collection(status: int, message: str, missing: bool) -> None:
    assert connection.is_missing_document(connection.refusal(Nodes("http://a:1"), status, message)) is missing


def test_what_the_server_said_is_told_in_one_line() -> None:
    nodes = Nodes("http://a:1")
    assert "(418): a b" in connection.refusal(nodes, 418, "a\n  b").message
    assert connection.refusal(nodes, 500, "").message.endswith("(a:1) cannot be reached: status 500")
    assert connection.refusal(nodes, 500, "busy").message.endswith("reached: busy")


@pytest.mark.parametrize(("later", "held"), [(0, True), (9_999, True), (10_000, False), (-1, False)])
def test_a_fault_is_remembered_for_ten_seconds(
    here: Path, monkeypatch: pytest.MonkeyPatch, later: int, held: bool
) -> None:
    circuit_breaker.note("nodes", "CODE", "message")
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + later))
    assert circuit_breaker.read("nodes") == (("CODE", "message") if held else None)
    assert circuit_breaker.read("others") is None
    circuit_breaker.clear()
    circuit_breaker.clear()
    assert circuit_breaker.read("nodes") is None


@pytest.mark.parametrize("kept", ["[]", "{}", "no JSON", '{"nodes": "nodes", "at": "x"}'])
def test_a_damaged_note_of_a_fault_is_none(here: Path, kept: str) -> None:
    (here / "cache").mkdir(parents=True)
    (here / "cache" / "typesense-down.json").write_text(kept)
    assert circuit_breaker.read("nodes") is None


@pytest.mark.parametrize(
    ("vector", "cosine"),
    [([127, 0], 1.0), ([0, 127], 0.0), ([-127, 0], -1.0), ([1, 1], 0.5**0.5), ([0, 0], None), ([1], None), ([], None)],
)  # fmt: skip
def test_the_cosine_of_whole_numbers(vector: list[int], cosine: float | None) -> None:
    given = Cosine(bytes([3, 0])).of(bytes(one % 256 for one in vector))
    assert given == (None if cosine is None else pytest.approx(cosine))


def test_the_terms_of_a_text_are_those_of_the_local_index() -> None:
    assert lexicon.terms("Queues DRAINED caf\u00e9") == ["queue", "drain", "cafe"]
    assert lexicon.terms("x" * 60) == ["x" * 60]
    (coded,) = lexicon.terms("x" * 61)
    assert coded.startswith("0x") and len(coded) < 61
    (chinese,) = lexicon.terms("\u6f22\u5b57")
    assert chinese == "0x" + "\u6f22\u5b57".encode().hex()
    bound, beyond = lexicon.terms("\u6f22" * 10)[0], lexicon.terms("\u6f22" * 11)[0]
    assert bound == "0x" + ("\u6f22" * 10).encode().hex() and beyond != "0x" + ("\u6f22" * 11).encode().hex()
    assert (
        lexicon.of_text("a getUserName b") == "a getusernam b 0qz0 get user name"
        and lexicon.of_text("plain") == "plain"
    )
    assert lexicon.of_context("") == "" and lexicon.of_context("the Queues") == "the queue"
    assert lexicon.length("a b 0qz0 c", "d e") == 5 and lexicon.length("a b", "") == 2


def test_a_document_goes_to_the_cluster_with_its_length_and_its_vector() -> None:
    sent = row("a", "\u6f22x", 7, bytes([1, 255]), title="T", context="around it", last_used_at=3, history=[{"n": 1}])
    assert (sent["chars"], sent["terms"], sent["embedding"]) == (3, 5, [1, -1])
    assert (sent["vector"], sent["last_used_at"], sent["timestamp"]) == (base64.b64encode(b"\1\xff").decode(), 3, 7)
    assert sent["lexicon"].startswith("t ") and "forgotten_at" not in sent and sent["history"] == '[{"n": 1}]'
    back = mapping.from_remote({**sent, "retrieval_priority": 1, "stale": 0, "merged_count": 2.0}, "observations")
    assert (back["retrieval_priority"], back["merged_count"], back["rowid"]) == (1.0, 2, 0)
    assert type(back["retrieval_priority"]) is float and type(back["merged_count"]) is int
    assert mapping.vector_of(sent) == bytes([1, 255]) and mapping.vector_of({}) == b""
    gone = row("a", "text", 7, bytes([1]), forgotten_at=9, updated_at=8)
    assert gone == {"id": "a", "timestamp": 7, "updated_at": 8, "forgotten_at": 9}
    least = mapping.from_remote({"id": 3, "timestamp": 7.0}, "knowledge")
    assert least == {**documents.blank("knowledge", "3", "", 0), "created_at": 7}


class Collections:
    """The collections of a cluster, and what is noted there."""

    def __init__(self, *rows: Any, version: str | None = None) -> None:
        self.rows = list(rows)
        self.notes = {} if version is None else {"schema_version": {"id": "schema_version", "value": version}}
        self.made: list[str] = []
        self.added: list[tuple[str, list[str]]] = []

    def name(self, collection: str) -> str:
        return "p_" + collection

    def collections(self) -> list[Any]:
        return self.rows

    def retrieve(self, collection: str, identifier: str) -> Any:
        return self.notes.get(identifier)

    def import_(self, collection: str, rows: list[Any]) -> None:
        self.notes |= {one["id"]: one for one in rows}

    def create(self, wanted: Any) -> None:
        self.made.append(wanted["name"])

    def add_fields(self, collection: str, fields: list[Any]) -> None:
        self.added.append((collection, [one["name"] for one in fields]))


def present(version: str | None = None) -> Collections:
    return Collections(
        *({**one, "name": "p_" + one["name"], "num_documents": 3} for one in schema.schemas()), version=version
    )


def test_a_cluster_is_made_once_and_then_left_alone() -> None:
    empty: Any = Collections()
    done = schema.init(empty)
    names = ["memory_observations", "episodes", "system_knowledge", "otel_events", "joelclaw_notes"]
    assert empty.made == names and empty.notes["schema_version"]["value"] == "1"
    assert done[0] == {"collection": "p_memory_observations", "created": True, "addedFields": [], "documents": 0}
    there: Any = present("1")
    assert schema.init(there) == [
        {"collection": f"p_{name}", "created": False, "addedFields": [], "documents": 3} for name in names
    ]
    assert there.made == there.added == [] and schema.version(there) == 1
    lacking: Any = present("0")
    lacking.rows[1]["fields"] = [one for one in lacking.rows[1]["fields"] if one["name"] not in ("terms", "stale")]
    assert [one["addedFields"] for one in schema.init(lacking)] == [[], ["terms", "stale"], [], [], []]
    assert lacking.added == [("episodes", ["terms", "stale"])] and lacking.notes["schema_version"]["value"] == "1"


@pytest.mark.parametrize(("noted", "version"), [(None, 0), ("", 0), ("x", 0), ("1", 1), ("7", 7)])
def test_the_version_of_a_cluster_is_what_was_noted(noted: str | None, version: int) -> None:
    assert schema.version(present(noted)) == version  # type: ignore[arg-type]
    assert schema.version(present(noted), set()) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("version", "change", "code"),
    [
        ("2", {}, "TYPESENSE_SCHEMA_TOO_NEW"), ("1", {"type": "int32"}, "TYPESENSE_SCHEMA_FOREIGN"),
        ("1", {"num_dim": 128}, "TYPESENSE_SCHEMA_FOREIGN"),
    ],
)  # fmt: skip
def test_a_cluster_of_another_program_is_left_as_it_is(version: str, change: dict[str, Any], code: str) -> None:
    cluster: Any = present(version)
    fields = cluster.rows[2]["fields"]
    cluster.rows[2]["fields"] = [{**one, **change} if one["name"] == "embedding" else one for one in fields]
    with pytest.raises(Failure) as caught:
        schema.init(cluster)
    assert caught.value.code == code and cluster.made == cluster.added == []


def test_what_is_kept_and_not_searched_costs_the_server_no_memory() -> None:
    fields = {one["name"]: {field["name"]: field for field in one["fields"]} for one in schema.schemas()}
    for name, text in (("memory_observations", "observation"), ("system_knowledge", "text")):
        assert "index" not in fields[name][text] and "index" not in fields[name]["title"]
    for name in ("text", "title", "context", "vector", "chars", "recall_count", "sync_version", "write_gate_fallback"):
        assert fields["episodes"][name]["index"] is False, name
    faceted = {name for name, one in fields["episodes"].items() if one.get("facet")}
    assert faceted == {
        "terms", "session_id", "project", "source", "observation_type", "category_id", "write_verdict", "tags",
        "sync_origin",
    }  # fmt: skip
    assert {name for name, one in fields["otel_events"].items() if one.get("facet")} == {
        "level", "source", "component", "action", "sessionId", "systemId",
    }  # fmt: skip
    assert all(
        one.get("optional") is True for name in fields for one in fields[name].values() if one["name"] != "timestamp"
    )
    assert fields["episodes"]["embedding"]["num_dim"] == 256 and fields["joelclaw_notes"]["value"]["index"] is False
