"""JSON that is written again with the indentation and line ends that it had."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.install.settings_text import Malformed, edited, parsed

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("abc", max_size=2), VALUES, max_size=4)


@given(OBJECTS, OBJECTS, st.sampled_from([None, 2, "\t"]))
def test_it_says_what_is_wanted(before: Any, wanted: Any, indent: Any) -> None:
    after = edited(json.dumps(before, indent=indent), wanted, comments=False)
    assert parsed(after, comments=False) == wanted


def test_line_ends_indentation_and_a_byte_order_mark_stay() -> None:
    assert (
        edited('\ufeff{\r\n\t"a": 1\r\n}', {"a": 1, "b": 2}, comments=True) == '\ufeff{\r\n\t"a": 1,\r\n\t"b": 2\r\n}'
    )


def test_comments_are_not_lost() -> None:
    with pytest.raises(Malformed, match="comments"):
        edited('{"a": 1} // mine', {}, comments=True)


@pytest.mark.parametrize("text", ['{"a": 1,}', '{"a": 1} // x', "{", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000])
def test_what_is_no_plain_json_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parsed(text, comments=False)
