"""An event made inside the process: whatever it is given, it is stored, bounded, and never raises."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS
from hypothesis import given, settings
from hypothesis import strategies as st

from core import json_text
from otel.event import LEVELS, MAX_METADATA_BYTES, new_event, parse_level, search_text

odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(object()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(
    metadata=st.dictionaries(st.text() | st.integers(), odd), action=st.text(), error=st.none() | st.text(),
    duration=st.none() | st.floats(), level=st.text(), success=st.booleans(),
)  # fmt: skip
@settings(deadline=None, max_examples=80)
def test_any_value_makes_an_event(
    metadata: dict[Any, Any], action: str, error: str | None, duration: float | None, level: str, success: bool
) -> None:
    event = new_event(
        action, metadata=metadata, error=error, duration_ms=duration, level=level, success=success, now=NOW_MS
    )
    assert json_text.loads(json_text.dumps(event)) == event
    assert event["level"] in LEVELS
    assert event["action"].isprintable()
    assert success or event["error"]
    search_text(event).encode()


def test_metadata_that_holds_itself() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["again"] = [loop, loop, loop]
    event = new_event("x", metadata=loop, now=NOW_MS)
    assert event["metadata"]["a"] == 1
    assert len(json_text.dumps(event["metadata"]).encode()) <= MAX_METADATA_BYTES


@given(
    st.dictionaries(
        st.text(max_size=3000),
        st.one_of(st.text(max_size=50), st.integers(0, 200_000).map(lambda n: "é" * n)),
        max_size=40,
    )
)
@settings(deadline=None, max_examples=40)
def test_metadata_stays_within_its_size(metadata: dict[str, Any]) -> None:
    kept = new_event("x", metadata=metadata, now=NOW_MS)["metadata"]
    assert len(json_text.dumps(kept).encode()) <= MAX_METADATA_BYTES


@pytest.mark.parametrize(
    ("given_level", "level"),
    [
        ("info", "info"), (" ERROR ", "error"), ("Warning", "warn"), ("critical", "fatal"), ("trace", "debug"),
        (9, "info"),
        (1, "debug"), (17, "error"), (24, "fatal"), (30, "info"), (50, "error"), (60, "fatal"), ("40", "warn"),
        (10, None), (20, None), (0, None), (25, None), (-1, None), (True, None), (None, None), ("", None),
        ("loud", None), (["info"], None), (3.5, None),
    ],
)  # fmt: skip
def test_levels_of_other_loggers(given_level: object, level: str | None) -> None:
    assert parse_level(given_level) == level
