"""Which units a query for a session's work is made of, which places they mean, and which names have room."""

from __future__ import annotations

from math import exp
from typing import Any

import pytest

from core.store.sessions.name_rows import FADING_CALLS
from recall.by_name import work_cards


@pytest.mark.parametrize(
    ("query", "units"),
    [
        ("cli/ go test commands", ["cli/", "go test", "commands"]), ("go test, a.py", ["go test", "a.py"]),
        ("a.py go test", ["a.py", "go test"]), ("decisions a.py", ["decisions", "a.py"]), ("go test", []),
        ("commands", []), ("/", []), ("", []),
    ],
)  # fmt: skip
def test_the_units_of_a_query(query: str, units: list[str]) -> None:
    assert work_cards.units_of(query) == units


@pytest.mark.parametrize(
    ("place", "unit", "is_at"),
    [
        ("cli/a.py", "cli/", True), ("x/cli/a.py", "cli/", True), ("xcli/a.py", "cli/", False),
        ("cli/x/a.py", "cli/", False),
        ("cli/a.py", "/cli/", True), ("go test", "cli/", False), ("a.py", "a.py", True), ("x/a.py", "a.py", True),
        ("xa.py", "a.py", False), ("go test", "go test", True), ("x/go", "go", False),
    ],
)  # fmt: skip
def test_whether_a_place_is_meant(place: str, unit: str, is_at: bool) -> None:
    assert work_cards.is_at(place, unit) is is_at


def named(name: str, place: str = "a.py", weight: float = 1.0, last: int = 10) -> Any:
    return {"name": name, "place": place, "weight": weight, "last": last}


def test_a_folder_without_a_file_of_its_own_stands_for_those_below_it() -> None:
    names = [named("a", "src/x/a.py"), named("b", "src/x/y/b.py"), named("c", "go test"), named("d", "lib/d.py")]

    def at(*units: str) -> str:
        return "".join(name["name"] for name in work_cards.names_at(names, units))

    assert (at("src/"), at("src/x/"), at("./src/"), at("src/x/", "lib/"), at("go test"), at("b.py", "src/x/y/")) == (
        "ab", "a", "ab", "ad", "c", "b",
    )  # fmt: skip


def test_names_fade_and_what_is_told_weighs_a_quarter() -> None:
    names = [named("new", weight=0.8), named("told"), named("old", last=10 - FADING_CALLS), named("gone", weight=0.01)]
    assert work_cards.weights_of(names, 10, {"told"}) == {
        "new": pytest.approx(0.8), "told": pytest.approx(0.25), "old": pytest.approx(exp(-1))
    }  # fmt: skip


def test_as_many_names_as_fit() -> None:
    names = [named("abcd"), named("ab"), named("abc")]
    weights = {"abcd": 1.0, "ab": 1.0, "abc": 1.0}

    def dealt(room: int) -> list[str]:
        return [name["name"] for name in work_cards.deal(names, weights, room)]

    assert [dealt(room) for room in (2, 3, 6, 7, 8, 12)] == [
        [], ["ab"], ["ab"], ["ab", "abc"], ["ab", "abc"], ["ab", "abc", "abcd"],
    ]  # fmt: skip
    faded = [named("ab", "p", 1, 1), named("cd", "p", 1, 2), named("ef", "q", 0, 9)]
    for room, kept in (
        (6, []),
        (7, ["cd"]),
        (9, ["cd"]),
        (10, ["cd", "ab"]),
        (16, ["cd", "ab"]),
        (17, ["cd", "ab", "ef"]),
    ):
        assert [name["name"] for name in work_cards._deal_faded(faded, room)] == kept


def test_commands_by_use_and_shortness_each_with_its_last_outcome() -> None:
    given = ["make test", "make test", "make all", "", "make x\ny", "make " + "x" * 60, "make [redacted:token]"]
    calls: Any = [{"command": command, "number": number} for number, command in enumerate(given)]
    ranked = work_cards.ranked_commands(calls, 64)
    assert [(call["command"], call["number"]) for call in ranked] == [("make test", 1), ("make all", 2)]
    assert len(work_cards.ranked_commands(calls, 65)) == 3 and work_cards.ranked_commands([], 65) == []
