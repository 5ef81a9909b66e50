"""`core.json_text` returns the same values and refusals as the public `json` module."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core import json_text

characters = st.one_of(
    st.characters(), st.characters(categories=["Cs"]), st.sampled_from('"\\/\b\f\n\r\t\x00\x7f\u2028\ufeff🔴')
)
strings = st.text(characters, max_size=20)
numbers = st.one_of(
    st.integers(),
    st.integers(-(10**40), 10**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([-0.0, 1e308, 5e-324]),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, strings),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(strings, inner, max_size=4)),
    max_leaves=25,
)


def public_loads(text: str | bytes) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(name)

    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    return json.loads(text, parse_constant=refuse)


def same(left: Any, right: Any) -> bool:
    """Equal in value and type: 1, 1.0 and True are three things, and so are 0.0 and -0.0."""
    return repr(left) == repr(right)


@settings(deadline=None)
@given(values)
@example("\ud800")
@example({"\udfff": ["\ud83d\ude00", 10**30]})
def test_an_encoded_value_is_read_back_and_its_text_is_that_of_the_public_module(value: Any) -> None:
    for text in (json_text.dumps(value), json_text.pretty(value)):
        text.encode("utf-8")  # a lone surrogate was escaped
        assert same(json_text.loads(text), json.loads(text))
        assert same(json_text.loads(text), json.loads(json.dumps(value)))
        assert same(json_text.loads(text.encode()), json.loads(text))
    plain = json.dumps(value, ensure_ascii=False)
    if json_text.dumps(value) != plain:  # only where UTF-8 has no form for it
        with pytest.raises(UnicodeEncodeError):
            plain.encode("utf-8")
    assert "\n" not in json_text.dumps(value)


fragments = st.sampled_from(
    [
        *("{", "}", "[", "]", ",", ":", '"', '"a"', "1", "-", "-0", "01", "1.", ".5", "1e5", "1E+", "true", "True"),
        *("null", "NaN", "Infinity", "-Infinity", " ", "\n", "\t", "\x0b", "\xa0", "\\", '"\\u12"', '"\\ud800"'),
        *('"\\ud83d\\ude00"', '"\x01"', "'a'", "//", '{"a":1}', "[1,]", "\ufeff", "1" * 30),
    ]
)


@settings(max_examples=120, deadline=None)
@given(st.one_of(st.lists(fragments, max_size=6).map("".join), st.text(max_size=10), st.binary(max_size=12)))
@example(b"\xef\xbb\xbf[1]")
@example(b"\xff")
@example("")
@example("[1] 2")
@example('"a\nb"')
@example("\ufeff1")
def test_any_text_is_parsed_or_refused_like_json(text: str | bytes) -> None:
    try:
        expected = public_loads(text)
    except ValueError:
        with pytest.raises(json_text.InvalidJSON) as refused:
            json_text.loads(text)
        assert str(refused.value)
    else:
        assert same(json_text.loads(text), expected)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting_is_refused_not_a_crash(text: str) -> None:
    with pytest.raises(json_text.InvalidJSON):
        json_text.loads(text)


@pytest.mark.parametrize(("value", "error"), [
    (float("nan"), ValueError), (float("inf"), ValueError), ([float("-inf")], ValueError), (b"x", TypeError),
    ({1, 2}, TypeError), (object(), TypeError), ({"a": [1j]}, TypeError),
])  # fmt: skip
def test_values_without_a_json_form_are_refused(value: Any, error: type[Exception]) -> None:
    for write in (json_text.dumps, json_text.pretty):
        with pytest.raises(error):
            write(value)
