"""A moment as ms since the epoch and as ISO 8601, at both ends of what can be written."""

from __future__ import annotations

import pytest

from core import clock

LAST_MS = 253_402_300_799_999


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (999, "1970-01-01T00:00:00.999Z"),
        (1000, "1970-01-01T00:00:01.000Z"), (clock.HOUR_MS, "1970-01-01T01:00:00.000Z"),
        (clock.DAY_MS, "1970-01-02T00:00:00.000Z"), (LAST_MS, "9999-12-31T23:59:59.999Z"), (LAST_MS + 1, "unknown"),
        (-1, "unknown"), (None, "unknown"), (1_790_000_000_123, "2026-09-21T14:13:20.123Z"),
    ],
)  # fmt: skip
def test_a_moment_in_words(ms: int | None, text: str) -> None:
    assert clock.iso(ms) == text
    assert ms is None or text == "unknown" or clock.parse_iso(text) == ms


def test_a_frozen_clock_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 7_999_999)
    for frozen, now in (("12", 12), ("0", 0), (str(LAST_MS + 1), LAST_MS), ("-1", 7), ("", 7), ("x", 7), ("1.5", 7)):
        monkeypatch.setenv("JOELCLAW_NOW_MS", frozen)
        assert clock.now_ms() == now
    monkeypatch.delenv("JOELCLAW_NOW_MS")
    assert clock.now_ms() == 7
