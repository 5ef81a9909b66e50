"""What of a message is its text, what a person typed, what time it was, and how much of the context it takes."""

from __future__ import annotations

import pytest

from clients import content
from clients.entries import plan_entries

OURS = "<joelclaw-memory kind='x'>\nm\n</joelclaw-memory>"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" a \n", "a"), (None, ""), ("</joelclaw-memory> a", "</joelclaw-memory> a"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": f"  {OURS}"}, {"type": "x", "text": "b"}, 7], "a"),
        (f"a {OURS} b\n{OURS}", "a  b"), ("a <ide_diagnostics>x", "a"),
        ("a <system-reminder>x</system-reminder> b <hook_context>y</hook_context>", "a  b"),
        ("  <command-name>x</command-name> y", ""), ("run <command-name>", "run <command-name>"),
        # a command that is a prompt, as Claude Code keeps it
        (
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
            "<command-args>this branch</command-args>",
            "/review this branch",
        ),
        ("<command-message>review</command-message>\n<command-name>/review</command-name>", "/review"),
        ("a \n\nIf you need specific details from before exiting plan mode, read it", "a"),
    ],
)  # fmt: skip
def test_what_a_person_typed_is_less_what_clients_and_hooks_put_there(value: object, text: str) -> None:
    assert content.typed(value) == text


def test_only_our_own_frame_is_taken_out_of_what_a_call_returned() -> None:
    assert content.without_ours(f"a{OURS}b<hook_context>x</hook_context>") == "ab<hook_context>x</hook_context>"
    assert content.without_ours("a<joelclaw-memory cut") == "a"


def test_a_plan_has_the_steps_with_a_text() -> None:
    steps = [{"text": "", "content": "one", "status": "done"}, {"text": 7}, "two", {"text": "three", "status": 1}]
    (plan,) = plan_entries("c1", steps, "text", "content")
    assert (plan.call, plan.whole) == ("c1", True)
    assert [(step.id, step.text, step.status) for step in plan.steps] == [("1", "one", "done"), ("3", "three", "")]
    assert plan_entries("", {"text": "x"}, "text") == plan_entries("", [{"text": ""}], "text") == []


def test_the_characters_of_a_value_are_those_of_its_texts() -> None:
    for value, count in (
        (["ab", {"type": "text", "text": "cde", "id": "not counted"}, 7, None], 5), ({"data": "y", "a": {"b": "z"}}, 1),
        ([{"type": "image", "source": {"data": "x" * 9}}, "ab", {"type": "input_image", "image_url": "x"}], 9602),
    ):  # fmt: skip
        assert content.characters(value) == count


def test_a_time_is_milliseconds_since_the_epoch() -> None:
    for value, ms in (
        ("1970-01-01T00:00:00Z", 0), ("1970-01-01 00:00:00", 0), ("2024-02-29T00:00:00.1Z", 1_709_164_800_100),
        ("1970-01-02T00:00:00+01:30", 81_000_000), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("1969-12-31T23:59:59.999Z", None), ("2023-02-29T00:00:00Z", None), ("9999-12-31T23:59:59.999-00:01", None),
        ("x", None), (1.9, 1), (-1, None), (True, None), (253_402_300_800_000, None), (float("nan"), None), ([], None),
    ):  # fmt: skip
        assert content.parse_timestamp(value) == ms, value
