"""JSON is edited as text: only the requested value changes."""

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
        after = edited(json.dumps(before, indent=indent), expected)
    except Malformed:  # an item in the middle of a list: ours go to the end
        return
    assert parsed(after) == expected


@pytest.mark.parametrize(("text", "expected", "after"), [
    ('{"a":1}', {"a": 1, "b": [2]}, '{"a":1, "b": [2]}'),
    ('{\r\n\t"a": 1 // mine\r\n}', {"a": 1, "b": 2}, '{\r\n\t"a": 1, // mine\r\n\t"b": 2\r\n}'),
    ('{\n  "a": [ // none yet\n  ]\n}', {"a": [1]}, '{\n  "a": [ // none yet\n    1\n  ]\n}'),
    ('{"a": [1, /* x */ 2, 3]}', {"a": [1, 3]}, '{"a": [1, /* x */ 3]}'),
    ('{"a": "// no comment", "b": 1}', {"a": "// no comment"}, '{"a": "// no comment"}'),
    ("\ufeff\n", {"a": 1}, '\ufeff\n{\n  "a": 1\n}\n'),
])  # fmt: skip
def test_comments_and_layout_stay(text: str, expected: Any, after: str) -> None:
    assert edited(text, expected) == after


@pytest.mark.parametrize(("text", "value", "more", "after"), [
    ("{a: 1,}", {"a": 1}, {"b": 2}, '{a: 1, "b": 2,}'),
    ("{\n  'a': [1, 2,], // it's\n}\n", {"a": [1, 2]}, {"b": {}}, "{\n  'a': [1, 2,], // it's\n  \"b\": {},\n}\n"),
    ("{$a_1: .5, é: +0x1F, c: -2., d: 'say \"hi\"'}", {"$a_1": 0.5, "é": 31, "c": -2.0, "d": 'say "hi"'}, {},
     "{$a_1: .5, é: +0x1F, c: -2., d: 'say \"hi\"'}"),
    ("{a: 'x\\\ny\\x41\\u00e9\\'\\v\\0', /* , */ b: null,}", {"a": "xyAé'\v\0", "b": None}, {},
     "{a: 'x\\\ny\\x41\\u00e9\\'\\v\\0', /* , */ b: null,}"),
])  # fmt: skip
def test_json5_is_read_and_stays(text: str, value: Any, more: Any, after: str) -> None:
    assert parsed(text) == value
    assert edited(text, {**value, **more}) == after
    assert edited(after, value) == text


@pytest.mark.parametrize("text", [
    "{a: 1,, }", "{,}", "{a 1}", "{a: b}", "[1", "{'a: 1}", "{a: 1} b", "{a: 1, a: 2}", r'{"\xzz": 1}', "{",
    "[" * 100_000,
])  # fmt: skip
def test_other_text_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parsed(text)
