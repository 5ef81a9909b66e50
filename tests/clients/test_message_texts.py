"""What of a message is its text, what a person typed, what time it was, and how much of the context it takes."""

from __future__ import annotations

import pytest

from clients import content

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
