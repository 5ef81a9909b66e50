"""JSON is edited as text: only the requested value changes."""

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
def test_the_text_has_the_requested_value(before: Any, expected: Any, indent: Any) -> None:
    try:
        after = edited(json.dumps(before, indent=indent), expected, comments=False)
    except Malformed:  # an item in the middle of a list: ours go to the end
        return
    assert parsed(after, comments=False) == expected


@pytest.mark.parametrize(
    ("text", "expected", "after"),
    [
        ('{"a":1}', {"a": 1, "b": [2]}, '{"a":1, "b": [2]}'),
        ('{\r\n\t"a": 1 // mine\r\n}', {"a": 1, "b": 2}, '{\r\n\t"a": 1, // mine\r\n\t"b": 2\r\n}'),
        ('{\n  "a": [ // none yet\n  ]\n}', {"a": [1]}, '{\n  "a": [ // none yet\n    1\n  ]\n}'),
        ('{"a": [1, /* x */ 2, 3]}', {"a": [1, 3]}, '{"a": [1, /* x */ 3]}'),
        ('{"a": "// no comment", "b": 1}', {"a": "// no comment"}, '{"a": "// no comment"}'),
        ("\ufeff\n", {"a": 1}, '\ufeff\n{\n  "a": 1\n}\n'),
    ],
)
def test_comments_and_layout_stay(text: str, expected: Any, after: str) -> None:
    assert edited(text, expected, comments=True) == after


@pytest.mark.parametrize("text", ['{"a": 1,}', '{"a": 1} // x', "{", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000])
def test_other_text_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parsed(text, comments=False)
