"""An event made inside the process: whatever it is given, it is stored, bounded, and never raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS
from hypothesis import given, settings
from hypothesis import strategies as st

from core import ids, json_text
from otel import event
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
@settings(deadline=None, max_examples=40)
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
@settings(deadline=None, max_examples=20)
def test_metadata_stays_within_its_size(metadata: dict[str, Any]) -> None:
    kept = new_event("x", metadata=metadata, now=NOW_MS)["metadata"]
    assert len(json_text.dumps(kept).encode()) <= MAX_METADATA_BYTES


def test_levels_of_other_loggers() -> None:
    known = {
        "info": ("info", 9, 30),
        "error": (" ERROR ", 17, 50),
        "warn": ("Warning", "40"),
        "fatal": ("critical", 24),
    }
    for level, names in known.items():
        assert {parse_level(name) for name in names} == {level}
    assert {parse_level(odd) for odd in (10, 20, 0, 25, -1, True, None, "", "loud", 3.5)} == {None}


def made(**more: Any) -> dict[str, Any]:
    return dict(new_event(**{"action": "a.b", "now": NOW_MS, **more}))


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names neither session nor system."""
    for name in (*event._SESSION_NAMES, *event._SYSTEM_NAMES, "GATEWAY_ROLE", "JOELCLAW_ROLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(event, "host", lambda: "here")
    return monkeypatch


def test_an_event_with_nothing_but_an_action(plain: pytest.MonkeyPatch) -> None:
    assert made(id="e1") == {
        "id": "e1", "timestamp": NOW_MS, "sessionId": "interactive", "systemId": "here", "level": "info",
        "source": "cli", "component": "otel-cli", "action": "a.b", "success": True, "metadata": {},
    }  # fmt: skip
    assert made(id="e1", source="", component=" ", level="loud", success=False) == {
        **made(id="e1"), "success": False, "error": "operation_failed",
    }  # fmt: skip
    assert made(id="")["id"] != made(id="")["id"]


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


def test_session_and_system_are_given_or_of_the_environment_or_of_the_role(plain: pytest.MonkeyPatch) -> None:
    def both(**more: str) -> tuple[str, str]:
        found = made(**more)
        return found["sessionId"], found["systemId"]

    assert both(session="s", system="y") == ("s", "y")
    assert both(role="tool") == ("tool", "here")
    plain.setenv("JOELCLAW_ROLE", "night")
    assert both() == ("night", "here") and both(role="tool") == ("tool", "here")
    plain.setenv("GATEWAY_ROLE", "other")
    assert both() == ("night", "here")
    plain.setenv("GATEWAY_ROLE", "central")
    assert both() == ("gateway", "here")
    for later, name in enumerate(reversed(event._SESSION_NAMES)):
        plain.setenv(name, f" s{later} ")
        assert both()[0] == f"s{later}", "the earlier a variable stands in the list, the more it counts"
    plain.setenv(event._SESSION_NAMES[0], "  ")
    assert both()[0] == "s2", "a blank one says nothing"
    plain.setenv("JOELCLAW_SYSTEM_ID", "y2")
    assert both(session="s") == ("s", "y2")
    plain.setenv("SLOG_SYSTEM_ID", "y1")
    assert both(session="s") == ("s", "y1")


def test_a_value_as_json_has_it() -> None:
    given: dict[str, Any] = {
        "huge": 10**301, "nan": float("nan"), "bytes": b"by\xff", "keys": {1: 2, None: 3, "a": (4,)}, "set": {5},
        "path": Path("p"), "surrogate": "\ud800", "plain": [None, True, 1.5, "t"],
    }  # fmt: skip
    assert made(metadata=given)["metadata"] == {
        "huge": "1" + "0" * 301, "nan": "nan", "bytes": "by\ufffd", "keys": {"1": 2, "None": 3, "a": [4]},
        "set": [5], "path": "p", "surrogate": "\ufffd", "plain": [None, True, 1.5, "t"],
    }  # fmt: skip


def test_an_object_that_cannot_be_told_is_its_type() -> None:
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError

    assert made(metadata={"k": Mute()})["metadata"] == {"k": "[Mute]"}


def test_an_event_is_found_by_the_words_of_its_fields() -> None:
    found = made(
        source="My-Source", component="c.d", error="It failed!", success=False,
        metadata={"one": {"two": "Three"}, "list": ["x", 4, {"k": None}], "empty": [], "yes": True},
    )  # fmt: skip
    assert search_text(found) == "my source\nc d\na b\nit failed\none\ntwo three\nlist\nx\n4\nk null\nempty\nyes true"
    assert event.as_words("  Foo.bar_baz—Ü/9 ") == "foo bar baz—ü 9"
