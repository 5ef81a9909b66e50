"""An event made inside the process: whatever it is given, it is stored, bounded, and never raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conftest import NOW_MS
from hypothesis import strategies as st

from core import words
from otel import log
from otel.log import new_event, parse_level

odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(object()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


def test_levels_of_other_loggers() -> None:
    known = {"info": ("info", "notice"), "error": (" ERROR ", "err"), "warn": ("Warning",), "fatal": ("critical",)}
    for level, names in known.items():
        assert {parse_level(name) for name in names} == {level}
    assert {parse_level(odd) for odd in ("30", "", "loud")} == {None}


def made(**more: Any) -> dict[str, Any]:
    return dict(new_event(**{"action": "a.b", "now": NOW_MS, **more}))


def test_a_name_has_one_line_of_200_characters() -> None:
    for name, kept in (
        ("n" * 200, "n" * 200),
        ("n" * 201, "n" * 199 + "…"),
        (" a\n\tb\x00c ", "a b c"),
        ("a\x1bb", "a b"),
    ):
        assert [made(**{field: name})[field] for field in ("action", "source", "component")] == [kept] * 3


def test_an_id_that_is_too_long_or_a_secret_is_its_hash() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    for long in ("i" * 201, secret):
        assert log.identifier(long) == "hash-" + words.fingerprint(long)
    assert [log.identifier(text) for text in ("i" * 200, " a\nb ", "")] == ["i" * 200, "a b", ""]


def test_a_value_as_json_has_it() -> None:
    given: dict[str, Any] = {
        "huge": 10**301, "nan": float("nan"), "bytes": b"by\xff", "keys": {1: 2, None: 3, "a": (4,)},
        "path": Path("p"), "surrogate": "\ud800", "plain": [None, True, 1.5, "t"],
    }  # fmt: skip
    assert made(metadata=given)["metadata"] == {
        "huge": "1" + "0" * 301, "nan": "nan", "bytes": "by\ufffd", "keys": {"1": 2, "None": 3, "a": [4]},
        "path": "p", "surrogate": "\ufffd", "plain": [None, True, 1.5, "t"],
    }  # fmt: skip
