"""What a field of an event takes: numbers as text or as numbers within their bounds, words for true and false."""

from __future__ import annotations

import pytest

from otel import emit


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0), (7.5, 7.5), (10, 10), (10.1, None), (-1, None), ("7", 7.0), ("1e1", 10.0), ("11", None), ("٣", None),
        ("1_0", None), ("", None), ("x", None), (True, None), (None, None), ("nan", None), (float("nan"), None),
    ],
)  # fmt: skip
def test_a_number_within_its_bound(value: object, number: float | None) -> None:
    assert emit._number(value, 10) == number


@pytest.mark.parametrize(
    ("value", "truth"), [(True, True), (False, False), (" TRUE ", True), ("false", False), ("maybe", None), (1.0, None)]
)
def test_true_and_false(value: object, truth: bool | None) -> None:
    assert emit._truth(value) is truth


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (7, "7"), (7.5, "7.5"), (True, None), (None, None), ([], None)]
)
def test_a_text(value: object, text: str | None) -> None:
    assert emit._text(value) == text
