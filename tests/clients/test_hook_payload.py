"""The payload of a hook is read field by field: what has not its type counts as missing, what is too much is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clients import extension_hooks, payload, registry


@pytest.mark.parametrize("value", [None, 1, True, ["a"], {"a": 1}])
def test_what_is_no_text_is_empty(value: object) -> None:
    assert payload.text({"key": value}, "key") == ""
    assert payload.text({}, "key") == ""


def test_a_text_is_cut_at_20000_characters() -> None:
    for length in (19_999, 20_000, 20_001):
        kept = min(length, 20_000)
        assert len(payload.text({"key": "x" * length}, "key")) == kept
        assert [len(one) for one in payload.texts({"key": ["x" * length]}, "key")] == [kept]


def test_of_many_texts_the_last_32_are_taken() -> None:
    for count in (31, 32, 33):
        names = [str(number) for number in range(count)]
        assert payload.texts({"key": names}, "key") == names[-32:]
    assert payload.texts({"key": ["a", "", 1, None, "b"]}, "key") == ["a", "b"]
    assert payload.texts({"key": "ab"}, "key") == payload.texts({}, "key") == []


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0), (0.0, 0.0), (1, 1), (2.9, 2.9), (1e12 - 1, 1e12 - 1), (1e12, None), (-1, None), (-0.1, None),
        (True, None), (False, None), ("1", None), (None, None), (float("nan"), None), (float("inf"), None),
    ],
)  # fmt: skip
def test_a_number_is_not_negative_and_below_a_billion_thousands(value: object, number: float | None) -> None:
    assert payload.number({"key": value}, "key") == number
    assert payload.whole({"key": value}, "key") == (None if number is None else int(number))


def test_a_table() -> None:
    assert payload.table({"key": {"a": 1}}, "key") == {"a": 1}
    assert payload.table({"key": [1]}, "key") == payload.table({}, "key") == {}


def read(name: str = "prompt", **given: object) -> Any:
    return extension_hooks.reader("pi")(given, name)


def test_what_all_clients_name_alike() -> None:
    fields = {"session_id": "s", "source": "startup", "cwd": "/w", "transcript_path": "/t", "model": "m"}
    shared = payload.event(fields, "name", "prompt")
    assert {name: shared[name] for name in ("kind", "name", "session", "source", "cwd", "transcript", "model")} == {
        "kind": "prompt", "name": "name", "session": "s", "source": "startup", "cwd": "/w", "transcript": "/t",
        "model": "m",
    }  # fmt: skip
    assert [shared["messages"], shared["files"], shared["items"]] == [[], [], []]
    assert shared["percent"] is shared["tokens"] is shared["window"] is None


def test_an_event_of_our_extension() -> None:
    event = read(session_id="s", messages=["a", "b"], prompt="c", files=["f"], percent=45.5, tokens=9.9, window=200)
    assert (event["kind"], event["session"], event["messages"]) == ("prompt", "s", ["a", "b", "c"])
    assert (event["files"], event["percent"], event["tokens"], event["window"]) == (["f"], 45.5, 9, 200)
    assert read(messages=["a"])["messages"] == ["a"]
    assert read("something else")["kind"] == "ignored"


def test_of_many_entries_the_last_400_are_read() -> None:
    for count in (399, 400, 401):
        entries = [{"role": "user", "text": str(number)} for number in range(count)]
        said = [item["text"] for item in read(entries=entries)["items"]]
        assert said == [str(number) for number in range(count)][-400:]
    assert read(entries="user")["items"] == []
    assert read(entries=[1, None, {"role": "system", "text": "x"}, {"role": "user", "text": "y"}])["items"] == [
        {"kind": "said", "id": "", "role": "user", "text": "y", "tools": [], "at": None}
    ]


def test_an_entry_with_its_tools_and_their_outcomes() -> None:
    tools = [
        {"name": "bash", "command": "ls", "files": ["a", 1], "outcome": "no such file", "failed": True},
        "nothing",
        {"name": "read", "outcome": "", "failed": True},
        {"name": "edit", "outcome": "done", "failed": 1},
    ]
    [event] = [read(entries=[{"role": "assistant", "text": "I look", "id": "e1", "at": 5, "tools": tools}])]
    assert event["items"] == [
        {
            "kind": "said", "id": "pi:e1", "role": "assistant", "text": "I look", "at": 5,
            "tools": [
                {"call": "e1/0", "name": "bash", "files": ["a"], "command": "ls", "target": "a", "given": ""},
                {"call": "e1/2", "name": "read", "files": [], "command": "", "target": "", "given": ""},
                {"call": "e1/3", "name": "edit", "files": [], "command": "", "target": "", "given": ""},
            ],
        },
        {"kind": "outcome", "call": "e1/0", "text": "no such file", "failed": True},
        {"kind": "outcome", "call": "e1/3", "text": "done", "failed": False},
    ]  # fmt: skip


def test_an_id_is_cut_at_200_characters() -> None:
    for length in (199, 200, 201):
        [item] = read(entries=[{"role": "user", "text": "x", "id": "i" * length}])["items"]
        assert item["id"] == "pi:" + "i" * min(length, 200)


def test_the_answer_of_our_extension_keeps_notices_apart() -> None:
    text: Any = {"customType": "refresh", "content": "a memory"}
    notice: Any = {"customType": extension_hooks.NOTICE, "content": "compacting"}
    later: Any = {**notice, "content": "later"}
    event = read()
    assert json.loads(extension_hooks.answer(event, [])) == {"messages": []}
    assert json.loads(extension_hooks.answer(event, [text])) == {"messages": [{**text, "display": False}]}
    both = json.loads(extension_hooks.answer(event, [notice, text, later]))
    assert both == {"messages": [{**text, "display": False}], "notice": "compacting"}


def hooked(agent: str, name: str, **given: object) -> Any:
    return registry.row(agent).hooks().read({**given, "hook_event_name": name}, "other")


def test_a_start_after_a_compaction_and_a_prompt_of_the_user() -> None:
    assert hooked("claude", "SessionStart", source="compact")["kind"] == "after_compaction"
    assert hooked("claude", "SessionStart", source="startup")["kind"] == "start"
    assert hooked("claude", "UserPromptSubmit", source="compact", prompt=" hi ")["messages"] == ["hi"]
    assert hooked("claude", "UserPromptSubmit", prompt="<system-reminder>x")["messages"] == []
    assert hooked("claude", "Unknown")["kind"] == "ignored"
    assert registry.row("claude").hooks().read({}, "Stop")["name"] == "Stop"


def test_a_tool_that_writes_names_its_files() -> None:
    event = hooked("claude", "PostToolUse", tool_name="Write", tool_input={"file_path": "/a"})
    assert (event["kind"], event["files"]) == ("tool", ["/a"])
    assert hooked("claude", "PostToolUse", tool_name="Read", tool_input={"file_path": "/a"})["files"] == []


@pytest.mark.parametrize(
    ("given", "summary"),
    [
        ({"last_assistant_message": "a <summary> b </summary> c"}, "b"),
        ({"last_assistant_message": "<summary>b"}, ""), ({"last_assistant_message": "b</summary>"}, ""),
        ({"last_assistant_message": "<summary> </summary>"}, ""), ({"last_assistant_message": 7}, ""), ({}, ""),
        ({"agent_type": "Explore", "last_assistant_message": "<summary>b</summary>"}, ""),
    ],
)  # fmt: skip
def test_a_summary_is_what_the_summariser_wrote(given: dict[str, object], summary: str) -> None:
    event = hooked("claude", "SubagentStop", **given)
    assert (event["kind"], event["summary"]) == ("summary" if summary else "ignored", summary)


def test_a_summary_is_cut_at_300000_characters() -> None:
    said = f"<summary>{'x' * 300_001}</summary>"
    assert len(hooked("claude", "SubagentStop", last_assistant_message=said)["summary"]) == 300_000


def test_what_does_not_reach_the_model_is_not_printed() -> None:
    texts: Any = [{"customType": "a", "content": "one"}, {"customType": "b", "content": "two"}]
    answer = registry.row("claude").hooks().answer
    printed = json.loads(answer(hooked("claude", "SessionStart"), texts))
    assert printed == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "one\n\ntwo"}}
    assert answer(hooked("claude", "Stop"), texts) == answer(hooked("claude", "SessionStart"), []) == ""
