"""The state's fields: the page of the docs lists them, and what is read from JSON is written the same."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from session.state import Damaged, SessionState

KEYS = list(SessionState("s").to_json())


@pytest.mark.parametrize("key", KEYS)
def test_the_page_lists_every_field(key: str) -> None:
    page = (ROOT / "docs/state.md").read_text(encoding="utf-8")
    assert f"- `{key}`: " in page


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
