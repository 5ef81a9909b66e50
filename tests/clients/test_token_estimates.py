"""Estimates of tokens agree with pi's: lengths in UTF-16 units, numbers and members as JavaScript writes them."""

from __future__ import annotations

import json

import pytest

from clients import tokens


@pytest.mark.parametrize(("text", "units"), [("", 0), ("abc", 3), ("é", 1), ("日本", 2), ("😀", 2), ("\ud800", 1)])
def test_a_character_beyond_the_basic_plane_is_two_units(text: str, units: int) -> None:
    assert tokens.units(text) == units


NUMBERS = [
    (0, "0"), (-0.0, "0"), (7, "7"), (-7, "-7"), (1.5, "1.5"), (-0.25, "-0.25"), (100.0, "100"), (1e20, "1" + "0" * 20),
    (1e21, "1e+21"), (1.5e21, "1.5e+21"), (-1e21, "-1e+21"), (123456789012345680000.0, "123456789012345680000"),
    (1e-6, "0.000001"), (1.2e-6, "0.0000012"), (1e-7, "1e-7"), (1.2e-7, "1.2e-7"), (0.001, "0.001"), (1e300, "1e+300"),
    (2**53, "9007199254740992"), (2**53 + 1, "9007199254740992"), (2**53 + 2, "9007199254740994"),
    (-(2**53), "-9007199254740992"), (-(2**53) - 1, "-9007199254740992"), (10**25, "1e+25"), (10**400, "null"),
    (float("inf"), "null"), (float("-inf"), "null"), (float("nan"), "null"), (12345.678, "12345.678"), (10.5, "10.5"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "text"), NUMBERS)
def test_a_number_stands_as_javascript_writes_it(number: float, text: str) -> None:
    assert tokens.javascript_json(number) == text
    assert tokens.json_units([number]) == len(text) + 2


@pytest.mark.parametrize(
    ("names", "order"),
    [
        ("b a", "b a"), ("b 2 a 10 1", "1 2 10 b a"), ("a 0", "0 a"), ("01 1", "1 01"),
        ("a 4294967294", "4294967294 a"),
        ("a 4294967295", "a 4294967295"), ("a 10000000000", "a 10000000000"), ("b 1x 2", "2 b 1x"), ("a ²", "a ²"),
        ("a ٣ 1", "1 a ٣"), ("a 00 0", "0 a 00"),
    ],
)  # fmt: skip
def test_members_that_look_like_an_index_come_first(names: str, order: str) -> None:
    table = dict.fromkeys(names.split(), 1)
    assert [name for name, _ in tokens.members(table)] == order.split()
    assert list(json.loads(tokens.javascript_json(table))) == order.split()
