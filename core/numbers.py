"""Arithmetic for the hot path."""

from __future__ import annotations

_LOG2 = 0.6931471805599453


def ln(value: float) -> float:
    """Natural logarithm of a number >= 1 ; `math` is a shared object, 0.3 ms to load for one function."""
    exponent = 0
    while value >= 2:
        value /= 2
        exponent += 1
    ratio = (value - 1) / (value + 1)
    square = ratio * ratio
    term, total = ratio, 0.0
    for odd in range(1, 19, 2):
        total += term / odd
        term *= square
    return exponent * _LOG2 + 2 * total
