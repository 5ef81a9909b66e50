"""What a filter and a collection's name mean in `search` (`cli.recall.everywhere`)."""

from __future__ import annotations

from typing import Any

import pytest

from cli.recall.everywhere import collections, conditions, fits
from core.errors import Failure

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
    ("given", "is_one"),
    [
        ("", True), ("type:=adr", True), ("type:=ad", False), ("type:ad", True), ("type:=[x,adr]", True),
        ("tags:=b", True), ("tags:=c", False), ("type:adr && tags:b", True), ("type:adr && tags:c", False),
        ("type:x && tags:b", False), ("project:p", False), ("level:info", False),
    ],
)  # fmt: skip
def test_what_fits_a_filter(given: str, is_one: bool) -> None:
    assert fits({"type": ["ADR"], "tags": ["A", "b"], "project": [""]}, conditions(given)) is is_one
