"""What a filter and a collection's name mean in `search`, and how hits are counted (`session.search_everything`)."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS

from core.clock import HOUR_MS
from core.config import Config
from core.errors import Failure
from otel import search as otel_search
from recall import engine
from session import search_everything
from session.search_everything import _counted, _fits, collections, conditions

ALL = ("knowledge", "observations", "episodes", "events")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("", ALL), (" ", ALL), ("events", ("events",)), (" Vault_Notes ", ("knowledge",)),
        ("o", ("events", "observations")),
        ("know", ("knowledge",)), ("run", ("episodes",)), ("e", ("episodes", "events")),
        ("memory_observations", ("observations",)),
    ],
)  # fmt: skip
def test_a_collection_by_its_name_or_its_beginning(given: str, meant: tuple[str, ...]) -> None:
    assert collections(given) == meant


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("", []),
        (" && ", []),
        ("type:=adr", [("type", frozenset({"adr"}), True)]),
        ("type: ADR", [("type", frozenset({"adr"}), False)]),
        (" source :=[a, 'b',,` `] && tags:x", [
            ("source", frozenset({"a", "b"}), True), ("tags", frozenset({"x"}), False),
        ]),
        ("tags:a:b", [("tags", frozenset({"a:b"}), False)]),
    ],
)  # fmt: skip
def test_a_filter_is_fields_and_values(given: str, meant: list[Any]) -> None:
    assert conditions(given) == meant


@pytest.mark.parametrize("given", ["type", "type:", "type:=[]", "type:=''", ":adr", "colour:red", "type:a && b"])
def test_a_filter_that_says_nothing_is_refused(given: str) -> None:
    with pytest.raises(Failure) as refused:
        conditions(given)
    assert refused.value.code == "SEARCH_INVALID_ARGS"


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ("", True), ("type:=adr", True), ("type:=ad", False), ("type:ad", True), ("type:=[x,adr]", True),
        ("tags:=b", True), ("tags:=c", False), ("type:adr && tags:b", True), ("type:adr && tags:c", False),
        ("type:x && tags:b", False), ("project:p", False), ("level:info", False),
    ],
)  # fmt: skip
def test_what_fits_a_filter(given: str, fits: bool) -> None:
    assert _fits({"type": ["ADR"], "tags": ["A", "b"], "project": [""]}, conditions(given)) is fits


def test_hits_are_counted_by_a_field_the_most_first() -> None:
    hits: list[Any] = [
        {"about": {"tags": ["b", "a"], "category": ["jc:ops", "ops"], "source": [""]}},
        {"about": {"tags": ["c", "a"], "category": ["jc:ops", "ops"]}},
    ]
    assert _counted(hits, "tags") == [
        {"value": "a", "count": 2}, {"value": "b", "count": 1}, {"value": "c", "count": 1},
    ]  # fmt: skip
    assert _counted(hits, "category") == [{"value": "jc:ops", "count": 2}]
    assert _counted(hits, "source") == _counted(hits, "level") == []


def found(identifier: str, **more: Any) -> Any:
    return {
        "id": identifier, "observation": "green  lanterns", "title": "", "path": "", "score": 0.5, "type": "note",
        "source": "quay", "project": "p", "categoryId": "jc:ops", "tags": [], "collection": "observations", **more,
    }  # fmt: skip


def ask(monkeypatch: pytest.MonkeyPatch, hits: list[Any], names: Any, **more: Any) -> tuple[Any, list[Any]]:
    asked: list[Any] = []
    monkeypatch.setattr(search_everything.sqlite, "open_reading", lambda: None)
    monkeypatch.setattr(engine, "recall", lambda db, query, **about: asked.append(about) or {"hits": hits, "found": 77})
    event = {
        "id": "e", "action": "a" * 121, "source": "quay", "component": "mast", "level": "info", "error": "", "ts": "T",
        "metadata": {"x": 1, "y": "z" * 400},
    }  # fmt: skip
    monkeypatch.setattr(
        otel_search,
        "find",
        lambda query, **about: asked.append({**about, **query}) or {"events": [event, event], "found": 55},
    )
    given: Any = {"limit": 1, "wanted": [], "facet": "", "now": NOW_MS, "config": Config({}), **more}
    return search_everything.search("lanterns", names, **given), asked


def test_the_best_of_each_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    result, asked = ask(
        monkeypatch, [found("m1", path="a.md", title="t" * 121), found("m2")], ("observations", "events")
    )
    assert result == {
        "totalFound": 132,
        "hits": [
            {"collection": "memory_observations", "id": "m1", "title": "t" * 120, "snippet": "green  lanterns",
             "path": "a.md", "score": 0.5, "type": "note"},
            {"collection": "otel_events", "id": "e", "title": "a" * 120, "path": None, "score": None,
             "snippet": ("T quay mast info: x 1 y " + "z" * 400)[:300], "type": "otel-events"},
        ],
    }  # fmt: skip
    assert [one["limit"] for one in asked] == [1, 1]
    assert (asked[0]["collections"], asked[0]["vectors"], asked[0]["budget"]) == (("observations",), False, "balanced")
    assert (asked[1]["page"], asked[1]["since"]) == (1, NOW_MS - 3_650 * 24 * HOUR_MS), "of ten years"


def test_a_filter_is_asked_of_a_hundred_and_what_fits_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    hits = [found("m1", source="sea"), found("m2"), found("m3")]
    result, asked = ask(
        monkeypatch, hits, ("observations", "events"), wanted=conditions("source:=quay"), facet="source"
    )
    assert ([hit["id"] for hit in result["hits"]], result["totalFound"]) == (["m2", "e"], 4)
    assert result["facets"] == {"source": [{"value": "quay", "count": 2}]}
    assert [one["limit"] for one in asked] == [100, 100]
    assert (result["hits"][0]["title"], result["hits"][0]["path"]) == ("green lanterns", None)
