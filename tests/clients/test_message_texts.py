"""What of a message is its text, what a person typed, what a tool was given, and how much of the context it takes."""

from __future__ import annotations

from typing import Any

import pytest

from clients import content

OURS = "<joelclaw-memory kind='x'>\nm\n</joelclaw-memory>"


def part(text: Any, kind: Any = "text") -> dict[str, Any]:
    return {"type": kind, "text": text}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" a \n", "a"), ([part("a"), part(" \n"), part("b", "other"), part("c ")], "a\nc"), ([part(1), "a", None], ""),
        (None, ""), ({"type": "text", "text": "a"}, ""),
    ],
)  # fmt: skip
def test_the_text_of_a_message(value: object, text: str) -> None:
    assert content.text_of(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" a \n", "a"),
        ([part("a"), part(f"  {OURS}"), part("b", "other"), part("c")], "a\nc"),
        (f"a {OURS} b {OURS} c", "a  b  c"),
        (f"a\n{OURS}", "a"),
        ("a <hook_context>x</hook_context>", "a"),
        ("a <system-reminder>x</system-reminder> b", "a  b"),
        ("<ide_opened_file>x</ide_opened_file>a", "a"),
        ("<ide_selection>x</ide_selection>a", "a"),
        ("a <ide_diagnostics>x", "a"),
        ("</joelclaw-memory> a", "</joelclaw-memory> a"),
        ("  <command-name>x</command-name> y", ""),
        ("run <command-name>", "run <command-name>"),
        ("a \n\nIf you need specific details from before exiting plan mode, read it", "a"),
        (None, ""),
    ],
)  # fmt: skip
def test_what_a_person_typed_is_less_what_clients_and_hooks_put_there(value: object, text: str) -> None:
    assert content.typed(value) == text


def test_only_our_own_frame_is_taken_out_of_what_a_call_returned() -> None:
    assert content.without_ours(f"a{OURS}b<hook_context>x</hook_context>") == "ab<hook_context>x</hook_context>"
    assert content.without_ours("a<joelclaw-memory cut") == "a"
    assert content.without_ours("a ") == "a "


def test_a_plan_has_the_steps_that_say_something() -> None:
    steps = [{"text": "", "content": "one", "status": "done"}, {"text": 7}, "two", {"text": "three", "status": 1}]
    assert content.plan(steps, ("text", "content")) == {
        "kind": "plan", "whole": True,
        "steps": [{"id": "1", "text": "one", "status": "done"}, {"id": "3", "text": "three", "status": ""}],
    }  # fmt: skip
    assert content.plan([{"text": ""}], ("text",)) is None
    assert content.plan({"text": "x"}, ("text",)) is None


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("abc", 3), (["ab", {"type": "text", "text": "cde", "id": "not counted"}], 5), (7, 0), (None, 0),
        ({"type": "image", "source": {"data": "x" * 9}}, 4800), ({"type": "input_image", "image_url": "x"}, 4800),
        ([{"type": "image"}, "ab", {"type": "image"}], 9602), ({"signature": "x", "data": "y", "a": {"b": "z"}}, 1),
        ({"tool_use_id": "x", "encrypted_content": "y", "thoughtSignature": "z"}, 0),
    ],
)  # fmt: skip
def test_the_characters_of_a_value_are_those_of_its_texts(value: object, count: int) -> None:
    assert content.characters(value) == count


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0), ("1970-01-01 00:00:00", 0), ("2024-02-29T00:00:00.1Z", 1_709_164_800_100),
        ("1970-01-02T00:00:00+01:30", 81_000_000), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("1969-12-31T23:59:59.999Z", None), ("2023-02-29T00:00:00Z", None),
        ("9999-12-31T23:59:59.999-00:01", None), ("", None), ("x", None), (1.9, 1), (-1, None), (True, None),
        (253_402_300_800_000, None), (float("nan"), None), (None, None), ([], None),
    ],
)  # fmt: skip
def test_a_time_is_milliseconds_since_the_epoch(value: object, ms: int | None) -> None:
    assert content.parse_timestamp(value) == ms


@pytest.mark.parametrize(("value", "number"), [(1.9, 1), (10**12, 10**12), (10**12 + 1, 0), (True, 0), ("7", 0)])
def test_a_number_of_tokens(value: object, number: int) -> None:
    assert content.whole(value) == number
