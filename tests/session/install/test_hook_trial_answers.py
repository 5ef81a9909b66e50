"""A call of a hook for trial: which events are called, with what, and which answers a client would take."""

from __future__ import annotations

from typing import Any

import pytest

from clients import hook_trial, registry


def test_an_event_that_speaks_and_one_that_is_silent_are_called() -> None:
    entered, own = ["SessionStart", "SessionEnd"], ["session_start", "session_end"]
    assert {name: hook_trial.events(registry.row(name)) for name in registry.CLIENTS} == {
        "claude": entered, "codex": entered, "gemini": entered, "pi": own, "opencode": own,
    }  # fmt: skip


def test_the_payload_is_one_of_a_session_without_a_transcript() -> None:
    claude, pi = registry.row("claude"), registry.row("pi")
    common = {"session_id": "joelclaw-doctor", "cwd": "/w"}
    of_claude = {**common, "transcript_path": "", "hook_event_name": "SessionStart", "source": "startup"}
    assert hook_trial.payload(claude, "SessionStart", "/w") == of_claude
    assert hook_trial.payload(claude, "Stop", "/w") == {**common, "transcript_path": "", "hook_event_name": "Stop"}
    assert hook_trial.payload(claude, "SessionEnd", "/w")["reason"] == "other"
    assert hook_trial.payload(claude, "UserPromptSubmit", "/w")["prompt"] == ""
    assert hook_trial.payload(pi, "session_start", "/w") == {
        **common, "transcript_path": None, "messages": [], "percent": None, "tokens": None, "window": None,
    }  # fmt: skip


NO_TEXT = "its JSON has no text `hookSpecificOutput.additionalContext`"
NO_LIST = "its JSON has no list `messages`"


@pytest.mark.parametrize(
    ("client", "answer", "refusal"),
    [
        ("claude", " \n", ""),
        ("claude", '{"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": ""}}', ""),
        ("claude", '{"hookSpecificOutput": {"hookEventName": "Start", "additionalContext": "a"}}',
         "its answer names another event than Stop"),
        ("claude", '{"hookSpecificOutput": {"hookEventName": "Stop"}}', NO_TEXT),
        ("claude", '{"hookSpecificOutput": "Stop"}', NO_TEXT),
        ("claude", "{}", NO_TEXT),
        ("claude", "[]", "it printed JSON that is no object"),
        ("claude", " Welcome! ", "it printed what is no JSON: 'Welcome!'"),
        ("claude", "x" * 81, f"it printed what is no JSON: '{'x' * 80}'"),
        ("pi", "", "it printed nothing, and the extension waits for JSON"),
        ("pi", '{"messages": []}', ""),
        ("pi", '{"messages": [{"content": ""}, {"content": 1}]}', ""),
        ("pi", '{"messages": [{"content": ""}, {}]}', NO_LIST),
        ("pi", '{"messages": ["content"]}', NO_LIST),
        ("pi", '{"messages": {}}', NO_LIST),
        ("pi", "{}", NO_LIST),
    ],
)  # fmt: skip
def test_an_answer_that_a_client_would_not_take_is_refused(client: str, answer: str, refusal: str) -> None:
    found: Any = hook_trial.refusal(registry.row(client), "Stop", answer)
    assert found == refusal
