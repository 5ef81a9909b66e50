"""A state that is read from JSON is written the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from session.state import Damaged, SessionState

KEYS = list(SessionState("s").to_json())


@given(st.dictionaries(st.sampled_from([*KEYS, "later"]), st.none() | st.text() | st.integers()))
def test_a_state_that_is_read_is_written_the_same(value: dict[str, Any]) -> None:
    try:
        state = SessionState.from_json({**value, "version": 1, "sessionId": "s"}, "s")
    except Damaged:
        return
    written = state.to_json()
    assert list(written) == KEYS
    assert SessionState.from_json(written, "s").to_json() == written


def test_a_copy_is_not_reached_by_later_changes() -> None:
    state = SessionState("s")
    before = state.copy()
    state.counts["saves"] += 1
    state.files.append("a.py")
    assert (before.counts["saves"], before.files) == (0, [])
