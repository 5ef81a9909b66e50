"""An event made inside the process: whatever it is given, it is stored, bounded, and never raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conftest import NOW_MS
from hypothesis import given
from hypothesis import strategies as st

from core import ids, json_text
from otel import event
from otel.event import LEVELS, new_event, parse_level
from otel.log import as_words, search_text

odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(object()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(
    metadata=st.dictionaries(st.text() | st.integers(), odd), action=st.text(), error=st.none() | st.text(),
    duration=st.none() | st.floats(), level=st.text(), success=st.booleans(),
)  # fmt: skip
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
        assert event.identifier(long) == "hash-" + ids.fingerprint(long)
    assert [event.identifier(text) for text in ("i" * 200, " a\nb ", "")] == ["i" * 200, "a b", ""]


def test_a_value_as_json_has_it() -> None:
    given: dict[str, Any] = {
        "huge": 10**301, "nan": float("nan"), "bytes": b"by\xff", "keys": {1: 2, None: 3, "a": (4,)},
        "path": Path("p"), "surrogate": "\ud800", "plain": [None, True, 1.5, "t"],
    }  # fmt: skip
    assert made(metadata=given)["metadata"] == {
        "huge": "1" + "0" * 301, "nan": "nan", "bytes": "by\ufffd", "keys": {"1": 2, "None": 3, "a": [4]},
        "path": "p", "surrogate": "\ufffd", "plain": [None, True, 1.5, "t"],
    }  # fmt: skip


def test_an_event_is_found_by_the_words_of_its_fields() -> None:
    found = made(
        source="My-Source", component="c.d", error="It failed!", success=False,
        metadata={"one": {"two": "Three"}, "list": ["x", 4, {"k": None}], "empty": [], "yes": True},
    )  # fmt: skip
    assert search_text(found) == "my source\nc d\na b\nit failed\none\ntwo three\nlist\nx\n4\nk null\nempty\nyes true"
    assert as_words("  Foo.bar_baz—Ü/9 ") == "foo bar baz—ü 9"
