"""The payload of a hook is read field by field: what has not its type counts as missing, what is too much is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

import clients
from clients import extension

PI, CLAUDE = clients.row("pi"), clients.row("claude")


def read(name: str = "prompt", **given: object) -> Any:
    return PI.read(given, name)


def hooked(name: str, **given: object) -> Any:
    return CLAUDE.read({**given, "hook_event_name": name}, "other")


def test_an_entry_with_its_tools_and_their_outcomes() -> None:
    tools = [
        {"name": "bash", "command": "ls", "files": ["a", 1], "outcome": "no such file", "failed": True},
        "nothing",
        {"name": "read", "outcome": "", "failed": True, "given": {"path": "p", "password": "hunter2"}},
        {"name": "edit", "outcome": "done", "failed": 1},
    ]
    event = read(entries=[{"role": "system", "text": "x"},
                          {"role": "assistant", "text": "I look", "id": "e1", "at": 5, "tools": tools}])  # fmt: skip
    answer, *others = event["items"]
    assert (answer.kind, answer.stable_id, answer.text, answer.at) == ("answer", "pi:e1", "I look", 5)
    found = [(one.kind, one.call, one.tool, one.command, one.target, one.text, one.failed) for one in others]
    assert found == [
        ("call", "e1/0", "bash", "ls", "a", "", False),
        ("call", "e1/1", "read", "", "", "", False),
        ("call", "e1/2", "edit", "", "", "", False),
        ("result", "e1/0", "", "", "", "no such file", True),
        ("result", "e1/2", "", "", "", "done", False),
    ]
    assert others[1].given == "p\n[redacted:password]"


def test_the_answer_of_our_extension_keeps_notices_apart() -> None:
    text: Any = {"customType": "refresh", "content": "a memory"}
    notice: Any = {"customType": extension.NOTICE, "content": "compacting"}
    assert json.loads(PI.answer(read(), [])) == json.loads(PI.empty_answer) == {"messages": []}
    both = json.loads(PI.answer(read(), [notice, text, {**notice, "content": "later"}]))
    assert both == {"messages": [{**text, "display": False}], "notice": "compacting"}


def test_an_event_of_a_client() -> None:
    assert hooked("SessionStart", source="compact")["kind"] == "after_compaction"
    assert hooked("SessionStart", source="startup")["kind"] == "start"
    assert hooked("UserPromptSubmit", source="compact", prompt=" hi ")["messages"] == ["hi"]
    assert hooked("UserPromptSubmit", prompt="<system-reminder>x")["messages"] == []
    assert hooked("Unknown")["kind"] == "ignored"
    event = hooked("PostToolUse", tool_name="Write", tool_input={"file_path": "/a"})
    assert (event["kind"], event["files"]) == ("tool", ["/a"])
    assert hooked("PostToolUse", tool_name="Read", tool_input={"file_path": "/a"})["files"] == []


@pytest.mark.parametrize(
    ("said", "summary"),
    [("a <summary> b </summary> c", "b"), ("<summary>b", ""), ("<summary> </summary>", ""), (7, ""),
     (f"<summary>{'x' * 300_001}</summary>", "x" * 300_000)],
)  # fmt: skip
def test_a_summary_is_what_the_summariser_wrote(said: Any, summary: str) -> None:
    event = hooked("SubagentStop", last_assistant_message=said)
    assert (event["kind"], event["summary"]) == ("summary" if summary else "ignored", summary)
    assert hooked("SubagentStop", last_assistant_message=said, agent_type="Explore")["kind"] == "ignored"


def test_what_does_not_reach_the_model_is_not_printed() -> None:
    texts: Any = [{"customType": "a", "content": "one"}, {"customType": "b", "content": "two"}]
    printed = json.loads(CLAUDE.answer(hooked("SessionStart"), texts))
    assert printed == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "one\n\ntwo"}}
    assert CLAUDE.answer(hooked("Stop"), texts) == CLAUDE.answer(hooked("SessionStart"), []) == ""
