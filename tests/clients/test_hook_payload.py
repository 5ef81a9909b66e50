"""Hook payloads are read field by field: values of the wrong type are ignored, long ones are cut."""

import json
from typing import Any

import pytest

import clients
from clients import extension

PI, CLAUDE = clients.by_name("pi"), clients.by_name("claude")


def read(name: str = "prompt", **fields: object) -> Any:
    return PI.read(fields, name)


def hooked(name: str, **fields: object) -> Any:
    return CLAUDE.read({**fields, "hook_event_name": name}, "other")


def test_an_entry_includes_its_tools_and_their_outcomes() -> None:
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
    rows = [
        (entry.kind, entry.call, entry.tool, entry.command, entry.target, entry.text, entry.failed) for entry in others
    ]
    assert rows == [
        ("call", "e1/0", "bash", "ls", "a", "", False), ("call", "e1/1", "read", "", "", "", False),
        ("call", "e1/2", "edit", "", "", "", False), ("result", "e1/0", "", "", "", "no such file", True),
        ("result", "e1/2", "", "", "", "done", False),
    ]  # fmt: skip
    assert others[1].given == "p\n[redacted:password]"


def test_the_answer_of_our_extension_keeps_notices_apart() -> None:
    text: Any = {"customType": "refresh", "content": "a memory"}
    notice: Any = {"customType": extension.NOTICE, "content": "compacting"}
    assert json.loads(PI.answer(read(), [])) == json.loads(PI.empty_answer) == {"messages": []}
    both = json.loads(PI.answer(read(), [notice, text, {**notice, "content": "later"}]))
    assert both == {"messages": [{**text, "display": False}], "notice": "compacting"}


def test_an_event_of_a_client() -> None:
    assert hooked("PreCompact", trigger="manual")["source"] == "manual"
    assert read("before_compaction", source="overflow")["source"] == "overflow"
    assert hooked("SessionStart", source="compact")["kind"] == "after_compaction"
    assert hooked("SessionStart", source="fork")["kind"] == "start"
    assert hooked("Stop", background_tasks=[{"id": "b1"}])["source"] == "background"
    assert hooked("UserPromptSubmit", source="user", prompt=" hi ")["messages"] == ["hi"]
    assert hooked("UserPromptSubmit", source="schedule", prompt="check the nightly build")["messages"] == []
    assert hooked("UserPromptSubmit", prompt="<system-reminder>x")["messages"] == []
    reminded = hooked("UserPromptSubmit", prompt="<system-reminder>x</system-reminder>\nmend the pump")
    assert reminded["messages"] == ["mend the pump"]
    assert hooked("Unknown")["kind"] == "ignored"
    event = hooked("PostToolUse", tool_name="Write", tool_input={"file_path": "/a"})
    assert (event["kind"], event["files"]) == ("tool", ["/a"])
    assert hooked("PostToolUse", tool_name="Read", tool_input={"file_path": "/a"})["files"] == []


@pytest.mark.parametrize(("message", "summary"), [
    ("a <summary> b </summary> c", "b"), ("<summary>b", ""), ("<summary> </summary>", ""), (7, ""),
    (f"<summary>{'x' * 300_001}</summary>", "x" * 300_000),
])  # fmt: skip
def test_a_summary_is_extracted_from_the_summarizers_answer(message: Any, summary: str) -> None:
    event = hooked("SubagentStop", last_assistant_message=message)
    assert (event["kind"], event["summary"]) == ("summary" if summary else "ignored", summary)
    assert hooked("SubagentStop", last_assistant_message=message, agent_type="Explore")["kind"] == "ignored"


def test_nothing_is_printed_that_would_not_reach_the_model() -> None:
    texts: Any = [{"customType": "a", "content": "one"}, {"customType": "b", "content": "two"}]
    printed = json.loads(CLAUDE.answer(hooked("SessionStart"), texts))
    assert printed == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "one\n\ntwo"}}
    assert CLAUDE.answer(hooked("Stop"), texts) == CLAUDE.answer(hooked("SessionStart"), []) == ""
