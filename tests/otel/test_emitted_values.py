"""What a field of an event takes: numbers as text or as numbers within their bounds, words for true and false."""

from __future__ import annotations

import json

import pytest

from core.errors import Failure
from otel import emit

LAST_MS = 253_402_300_799_999


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0), (7.5, 7.5), (10, 10), (10.1, None), (-1, None), ("7", 7.0), ("1e1", 10.0), ("11", None), ("٣", None),
        ("1_0", None), ("", None), ("x", None), (True, None), (None, None), ("nan", None), (float("nan"), None),
    ],
)  # fmt: skip
def test_a_number_within_its_bound(value: object, number: float | None) -> None:
    assert emit._number(value, 10) == number


@pytest.mark.parametrize(
    ("value", "truth"), [(True, True), (False, False), (" TRUE ", True), ("false", False), ("maybe", None), (1.0, None)]
)
def test_true_and_false(value: object, truth: bool | None) -> None:
    assert emit._truth(value) is truth


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (7, "7"), (7.5, "7.5"), (True, None), (None, None), ([], None)]
)
def test_a_text(value: object, text: str | None) -> None:
    assert emit._text(value) == text


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (0, 0), (1.9, 1), (LAST_MS, LAST_MS), (LAST_MS + 1, None), (-1, None), ("12", 12), (True, None), (None, None),
        ("1970-01-01T00:00:00.001Z", 1), ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59.999Z", None),
        ("9999-12-31T23:59:59.999Z", LAST_MS), ("1970-01-01T01:00:00+01:00", 0), ("soon", None), ([], None),
    ],
)  # fmt: skip
def test_a_moment(value: object, moment: int | None) -> None:
    assert emit._moment(value) == moment


@pytest.mark.parametrize("word", ["true", "1", "yes", "on", 1, True])
def test_what_is_true(word: object) -> None:
    assert emit._truth(word) is True


@pytest.mark.parametrize("word", ["false", "0", "no", "off", 0, False])
def test_what_is_false(word: object) -> None:
    assert emit._truth(word) is False


def test_the_bounds_of_a_duration() -> None:
    assert emit.read_fields(b'{"duration_ms": 1e15}') == ({"duration_ms": 1e15}, [])
    assert (
        refused({"durationMs": 1e15 + 1}) == "durationMs is 1000000000000001.0, which is not a number of ms, 0 or more"
    )


def test_the_fields_of_an_event_under_either_name() -> None:
    given = {
        "action": "a.b", "source": 7, "component": "c", "level": "WARNING", "success": "no", "metadata": {"n": 1},
        "id": "e1", "timestamp": "12", "error": 1.5, "durationMs": "3", "sessionId": "s", "systemId": "y", "x": 1,
        "y": None,
    }  # fmt: skip
    assert emit.read_fields(json.dumps(given).encode()) == (
        {
            "action": "a.b", "source": "7", "component": "c", "level": "warn", "success": False, "metadata": {"n": 1},
            "id": "e1", "timestamp": 12, "error": "1.5", "duration_ms": 3.0, "session": "s", "system": "y",
        },
        ["x", "y"],
    )  # fmt: skip
    same = {"duration_ms": 3, "session": "s", "system": "y", "success": 0, "action": None}
    assert emit.read_fields(json.dumps(same).encode()) == (
        {"duration_ms": 3, "session": "s", "system": "y", "success": False},
        [],
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"metadata": []}, "metadata is [], which is not an object"),
        ({"level": "loud"}, 'level is "loud", which is not debug, info, warn, error or fatal'),
        ({"success": "maybe"}, 'success is "maybe", which is not true or false'),
        ({"timestamp": -1}, "timestamp is -1, which is not ms since the epoch, or an ISO 8601 time"),
        ({"durationMs": -0.5}, "durationMs is -0.5, which is not a number of ms, 0 or more"),
        ({"action": True}, "action is true, which is not text"),
        ({"id": ["x" * 56]}, f'id is ["{"x" * 56}"], which is not text'),
        ({"id": ["x" * 57]}, f'id is ["{"x" * 55}..., which is not text'),
    ],
)  # fmt: skip
def test_what_a_field_does_not_take_is_told(given: dict[str, object], said: str) -> None:
    assert refused(given) == said


def refused(given: object) -> str:
    with pytest.raises(Failure) as raised:
        emit.read_fields(json.dumps(given).encode())
    failure = raised.value
    key, _, wanted = failure.message.partition(" is ")
    assert (failure.code, failure.exit_code) == ("OTEL_INVALID_ARGS", 2)
    assert failure.fix == f"give {key} as {wanted.partition(', which is not ')[2]}"
    return failure.message


def test_stdin_that_is_no_object() -> None:
    for text, code in ((b"{", "INVALID_JSON"), (b"[]", "OTEL_INVALID_ARGS"), (b"7", "OTEL_INVALID_ARGS")):
        with pytest.raises(Failure) as raised:
            emit.read_fields(text)
        assert (raised.value.code, raised.value.exit_code) == (code, 2)
