"""What a line of a transcript adds to the context, how its calls ended, and what it says of a plan or of a queue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clients.claude import transcript as claude
from clients.codex import transcript as codex
from clients.gemini import transcript as gemini
from clients.pi import transcript as pi

STAMP = "2027-03-04T05:06:07.089Z"
AT = 1_804_136_767_089


def outcomes(items: list[Any]) -> list[tuple[str, bool, str]]:
    return [(one["text"], one["failed"], one.get("process", "")) for one in items if one["kind"] == "outcome"]


# -- Claude Code


def of_claude(given: Any, kind: str = "user", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": "u-1", "timestamp": STAMP, "message": {"content": given}, **fields}


def result(text: str, *, failed: bool = False) -> dict[str, Any]:
    return of_claude([{"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": failed}])


@pytest.mark.parametrize(
    ("text", "failed", "found"),
    [
        ("fine", True, ("fine", True, "")),
        ("<tool_use_error>no such file</tool_use_error>", True, ("no such file", True, "")),
        ("Command running in background with ID: b-1. Output", False,
         ("Command running in background with ID: b-1. Output", False, "b-1")),
        ("Command running in background with ID:  ", False, ("Command running in background with ID:", False, "")),
        ("<status>running</status><task_id>b-1</task_id>", False,
         ("<status>running</status><task_id>b-1</task_id>", False, "b-1")),
        ("<status>running</status>", False, ("<status>running</status>", False, "?")),
        ("<status>completed</status><task_id>b</task_id><exit_code>0</exit_code>", False,
         ("<status>completed</status><task_id>b</task_id><exit_code>0</exit_code>", False, "")),
        ("<status>completed</status><exit_code>2</exit_code>", False,
         ("<status>completed</status><exit_code>2</exit_code>", True, "")),
        ("<status>failed</status>", False, ("<status>failed</status>", True, "")),
        ("<retrieval_status>x</retrieval_status><status>failed</status>", False,
         ("<retrieval_status>x</retrieval_status><status>failed</status>", True, "")),
        ("<status>completed</status>", True, ("<status>completed</status>", True, "")),
        ("said <status>failed</status>", False, ("said <status>failed</status>", False, "")),
    ],
)  # fmt: skip
def test_claude_how_a_call_ended(text: str, failed: bool, found: tuple[str, bool, str]) -> None:
    assert outcomes(claude.items(result(text, failed=failed))) == [found]


REJECTED = "The user doesn't want to proceed with this tool use."


def test_claude_what_the_user_said_when_rejecting_a_call_is_said_and_no_outcome() -> None:
    words = f"{REJECTED} the user said:\nuse the other jar\n\nNote: The user's next message may"
    (said,) = claude.items(result(words, failed=True))
    assert (said["kind"], said["id"], said["role"], said["text"], said["at"]) == (
        "said", "claude:u-1:0", "user", "use the other jar", AT,
    )  # fmt: skip
    assert claude.items(result(REJECTED, failed=True)) == []
    assert outcomes(claude.items(result(REJECTED))) == [(REJECTED, False, "")]
    assert claude.items(result("<tool_use_error>Sibling tool call errored</tool_use_error>", failed=True)) == []


@pytest.mark.parametrize(
    ("status", "process", "failed"),
    [("completed", "b-1", [False]), ("failed", "b-1", [True]), ("killed", "b-1", []), ("completed", "", [])],
)
def test_claude_a_process_that_has_ended(status: str, process: str, failed: list[bool]) -> None:
    told = (
        f"<task-notification>\n<task-id>{process}</task-id>\n<status>{status}</status>\n<summary> done </summary>\n"
        "</task-notification>"
    )
    ended = [{"kind": "ended", "process": process, "text": "done", "failed": one} for one in failed]
    assert claude.items(of_claude(told)) == ended
    queued = {"type": "queue-operation", "operation": "enqueue", "content": told, "timestamp": STAMP}
    assert claude.items(queued) == [{"kind": "queue", "operation": "enqueue", "text": "", "at": AT}, *ended]
    assert claude.items({**queued, "operation": "other"}) == []


@pytest.mark.parametrize(
    ("given", "text"),
    [("/compact", ""), ("/compact now", "/compact now"), ("go on", "go on"), (None, ""), (" /x ", "")],
)
def test_claude_a_command_for_the_client_waits_without_words(given: Any, text: str) -> None:
    line = {"type": "queue-operation", "operation": "remove", "content": given}
    assert claude.items(line) == [{"kind": "queue", "operation": "remove", "text": text, "at": None}]


def calls(*parts: tuple[str, Any]) -> list[Any]:
    given = [{"type": "tool_use", "id": "t", "name": name, "input": wanted} for name, wanted in parts]
    return claude.items(of_claude(given, "assistant"))


def test_claude_a_plan_is_a_list_or_a_step_of_it() -> None:
    items = calls(
        ("TodoWrite", {"todos": [{"content": "one", "status": "pending"}]}), ("TodoWrite", {"todos": []}),
        ("TaskCreate", {"subject": "two"}), ("TaskUpdate", {"taskId": 3, "status": "completed"}),
        ("TaskUpdate", {"subject": "x"}), ("TaskList", {}),
    )  # fmt: skip
    assert [one["given"] for one in items[0]["tools"]] == [""] * 6
    assert items[1:] == [
        {"kind": "plan", "whole": True, "steps": [{"id": "1", "text": "one", "status": "pending"}]},
        {"kind": "plan", "whole": False, "steps": [{"id": "", "text": "two", "status": "pending"}]},
        {"kind": "plan", "whole": False, "steps": [{"id": "3", "text": "", "status": "completed"}]},
        {"kind": "plan", "whole": False, "steps": [{"id": "", "text": "x", "status": ""}]},
    ]


def returned(text: str, **result: Any) -> list[Any]:
    """What a call's result says beside its outcome."""
    given = [{"type": "tool_result", "tool_use_id": "t", "content": text}]
    return claude.items(of_claude(given, toolUseResult=result))[1:]


def test_claude_a_list_of_tasks_is_what_the_plan_is_now() -> None:
    rows = [{"id": one, "subject": f"Do {one}", "status": "pending", "blockedBy": []} for one in ("10", "9", "2")]
    steps = [{"id": one, "text": f"Do {one}", "status": "pending"} for one in ("2", "9", "10")]
    assert returned("#10 [pending] Do 10\n…", tasks=rows) == [{"kind": "plan", "whole": True, "steps": steps}]
    assert returned("No tasks found", tasks=[]) == [{"kind": "plan", "whole": True, "steps": []}]
    assert returned("Task #9: Do 9\nStatus: pending", task={**rows[1], "description": "d", "blocks": []}) == [
        {"kind": "plan", "whole": False, "steps": [steps[1]]}
    ]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Task #1 created successfully: x", {"task": {"id": "1", "subject": "x"}}),
        ("<status>running</status>", {"task": {"task_id": "b1", "status": "running", "subject": "x"}}),
        ("#1 [completed] x", {"stdout": "#1 [completed] x"}),
        ("#1 [completed] x", {"tasks": [{"id": 1, "subject": ["x"], "status": None}, "x"]}),
        ("No tasks found", {"stdout": "No tasks found"}),
        ("No tasks found", {"tasks": {}}),
        ("", {"tasks": []}),
        ("Task not found", {"task": None}),
    ],
)
def test_claude_what_lists_no_tasks_is_no_plan(text: str, result: dict[str, Any]) -> None:
    assert returned(text, **result) == []


def test_claude_a_call_that_asks_after_a_process_names_it() -> None:
    (said,) = calls(
        ("TaskOutput", {"task_id": "a"}), ("BashOutput", {"bash_id": "b"}), ("AgentOutputTool", {"agentId": "c"}),
        ("Bash", {"task_id": "d"}), ("TaskOutput", {}), ("Grep", {"pattern": "p", "output_mode": "content"}),
    )  # fmt: skip
    assert [tool.get("process", "") for tool in said["tools"]] == ["a", "b", "c", "", "", ""]
    assert said["tools"][-1]["given"] == "p"


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (of_claude("abc"), 3), (of_claude([{"type": "text", "text": "abcd"}], "assistant"), 4),
        (of_claude("abc", "system"), 0), (of_claude("abc", isSidechain=True), 0), (of_claude("abc", isMeta=True), 3),
    ],
)  # fmt: skip
def test_claude_what_a_line_adds_to_the_context(line: Any, count: int) -> None:
    assert claude.context_characters(line) == count


@pytest.mark.parametrize(
    ("lines", "subagents"),
    [([], False), ([{}], False), ([{"isSidechain": True}, {}], True), ([{"isSidechain": True}, {"isSidechain": False}],
     False), ([{"isSidechain": False}], False)],
)  # fmt: skip
def test_claude_a_transcript_is_a_subagent_s_where_all_lines_that_say_so_say_yes(
    lines: list[Any], subagents: bool
) -> None:
    assert claude.is_subagents(lines) is subagents


def test_claude_a_summary_is_one_and_nothing_of_a_subagent() -> None:
    line = of_claude(" kept ", isCompactSummary=True, sessionId="s", cwd="/w", parentUuid=None)
    assert claude.items(line) == [{"kind": "summary", "text": "kept", "at": AT}]
    assert claude.items({**line, "isSidechain": True}) == claude.items({**line, "message": {}}) == []


def test_claude_a_session_starts_where_nothing_is_before_it() -> None:
    line = {"type": "system", "sessionId": "s", "cwd": "/w"}
    assert claude.items({**line, "parentUuid": None}) == [{"kind": "started", "session": "s", "cwd": "/w"}]
    for other in (line, {**line, "parentUuid": "u"}, {**line, "parentUuid": None, "cwd": ""},
                  {**line, "parentUuid": None, "sessionId": ""}):  # fmt: skip
        assert claude.items(other) == []
    assert claude.items(of_claude("hello", message={"role": "assistant", "content": "hello"})) == []


# -- Codex


def of_codex(payload: Any, kind: str = "response_item") -> dict[str, Any]:
    return {"timestamp": STAMP, "type": kind, "payload": payload}


HEAD = "Chunk ID: 1\nWall time: 0\n"


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (f"{HEAD}Process exited with code 0\nOutput:\nnine", ("nine", False, "")),
        (f"{HEAD}Process exited with code 1\nProcess exited with code 0\nOutput:\n", ("", True, "")),
        (f"{HEAD}Exit code: 3 \nOutput:\nx", ("x", True, "")),
        (f"{HEAD}Process running with session ID 7 \nOutput:\nx", ("x", False, "7")),
        ("Process exited with code 1", ("Process exited with code 1", False, "")),
        ("exec_command failed: no", ("exec_command failed: no", True, "")),
        ("apply_patch verification failed: x", ("apply_patch verification failed: x", True, "")),
        ("it said exec_command failed", ("it said exec_command failed", False, "")),
        ({"output": "x", "success": True}, ("x", False, "")),
        ({"content": "x", "metadata": {"exit_code": 1}}, ("x", True, "")),
        (' {"output" half', ('{"output" half', False, "")),
        ('{"output": "a\\nOutput:\\nb", "metadata": {"exit_code": 2}}', ("b", True, "")),
    ],
)
def test_codex_how_a_call_ended(output: Any, found: tuple[str, bool, str]) -> None:
    line = of_codex({"type": "local_shell_call_output", "call_id": "c", "output": output})
    assert outcomes(codex.items(line)) == [found]


@pytest.mark.parametrize("text", ["aborted by user", "patch rejected by user: no"])
def test_codex_a_call_that_was_not_run_has_no_outcome(text: str) -> None:
    assert codex.items(of_codex({"type": "function_call_output", "call_id": "c", "output": text})) == []


def codex_call(name: str, given: Any, **fields: Any) -> list[Any]:
    payload = {"type": "function_call", "name": name, "call_id": "c", "arguments": given, **fields}
    return list(codex.items(of_codex(payload)))


def test_codex_what_a_call_is_given() -> None:
    (said,) = codex_call("write_stdin", ' {"session_id": 7, "chars": "y"}')
    assert (said["tools"][0]["process"], said["tools"][0]["given"], said["at"]) == ("7", "y", AT)
    for given in ("{half", "plain", None, {"session_id": [1], "chars": "y"}):
        (said,) = codex_call("write_stdin", given)
        assert "process" not in said["tools"][0]
    (said,) = codex_call("other", '{"session_id": 7}')
    assert "process" not in said["tools"][0]
    said, plan = codex_call("update_plan", json.dumps({"plan": [{"step": "one", "status": "pending"}]}))
    assert plan == {"kind": "plan", "whole": True, "steps": [{"id": "1", "text": "one", "status": "pending"}]}
    assert len(codex_call("other", '{"plan": [{"step": "one"}]}')) == len(codex_call("update_plan", "{}")) == 1
    (said,) = codex.items(of_codex({"type": "local_shell_call", "id": "i", "action": {"command": ["ls"]}}))
    tool = said["tools"][0]
    assert (tool["call"], tool["name"], tool["command"]) == ("i", "local_shell", "ls")


@pytest.mark.parametrize(
    ("words", "command"),
    [(["bash", "-lc", "a b"], "a b"), (["sh", "-c", "a"], "a"), (["sh", "-x", "a"], "sh -x a"), ("a b", "a b"),
     (["sh", "-c", "a", "b"], "sh -c a b"), (["sh", "-c"], "sh -c"), ("", ""), (7, "")],
)  # fmt: skip
def test_codex_the_script_of_a_shell_is_the_command(words: Any, command: str) -> None:
    assert codex.command_of("shell", {"command": words}) == codex.command_of("shell", {"cmd": words}) == command
    assert codex.command_of("apply_patch", {"command": words}) == ""


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (of_codex({"type": "message", "content": [{"type": "input_text", "text": "abc"}]}), 3),
        (of_codex({"type": "function_call", "name": "not counted", "arguments": "ab", "output": "c"}), 3),
        (of_codex({"type": "local_shell_call", "action": {"command": ["ls", "-l"]}}), 4),
        (of_codex({"content": "abc"}, "event_msg"), 0),
        (of_codex({"message": "abcd", "replacement_history": [{"content": "ab"}, {"content": "c"}]}, "compacted"), 3),
        (of_codex({"message": "abcd", "replacement_history": []}, "compacted"), 4),
    ],
)
def test_codex_what_a_line_adds_to_the_context(line: Any, count: int) -> None:
    assert codex.context_characters(line) == count


def test_codex_a_line_tells_the_window_itself_or_with_its_usage() -> None:
    assert codex.window_of(of_codex({"model_context_window": 7, "info": {"model_context_window": 9}})) == 7
    assert codex.window_of(of_codex({"info": {"model_context_window": 9}})) == 9
    assert codex.window_of(of_codex({})) == 0
    usage = {"last_token_usage": {"total_tokens": 5}}
    assert codex.items(of_codex({"type": "token_count", "info": usage}, "event_msg")) == [
        {"kind": "usage", "tokens": 5, "window": None, "model": ""}
    ]
    assert codex.items(of_codex({"type": "other", "info": usage}, "event_msg")) == []


def test_codex_a_session_without_an_id_is_none() -> None:
    started = {"kind": "started", "session": "b", "cwd": ""}
    assert codex.items(of_codex({"id": "", "session_id": "b"}, "session_meta")) == [started]
    assert codex.items(of_codex({"cwd": "/w"}, "session_meta")) == []
    assert codex.items(of_codex({"message": ""}, "compacted")) == [{"kind": "compaction", "tokens": None, "at": AT}]


# -- Gemini CLI


def gemini_call(name: str, *answers: Any, status: str = "success") -> list[Any]:
    rows = [{"functionResponse": {"response": one}} for one in answers]
    call = {"id": "w", "name": name, "args": {}, "result": rows, "status": status}
    return list(gemini.items({"type": "gemini", "toolCalls": [call], "timestamp": STAMP}))


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Exit Code: 0", False), ("Exit Code: 2", True), ("Exit Code: (none)", False), ("x", False),
        ("Exit Code: 2\nExit Code: 0", False), ("Exit Code: 0\nExit Code: 1", True), (" Exit Code: 1", True),
        ("said Exit Code: 1", False),
    ],
)  # fmt: skip
def test_gemini_the_last_exit_code_tells_whether_a_command_failed(text: str, failed: bool) -> None:
    assert outcomes(gemini_call("run_shell_command", {"output": text})) == [(text.strip(), failed, "")]
    assert outcomes(gemini_call("read_file", {"output": text})) == [(text.strip(), False, "")]


def test_gemini_how_a_call_ended() -> None:
    assert outcomes(gemini_call("x", {"output": "a"}, {"error": "b"}, {})) == [("a\nb", True, "")]
    assert outcomes(gemini_call("x", {"output": "<untrusted_context> a </untrusted_context>"})) == [("a", False, "")]
    assert outcomes(gemini_call("x", {"output": "a"}, status="error")) == [("a", True, "")]
    assert outcomes(gemini_call("x", {"output": "a"}, status="cancelled")) == outcomes(gemini_call("x")) == []


def test_gemini_a_plan_is_the_list_that_it_writes() -> None:
    args = {"todos": [{"description": "one", "status": "done"}]}
    line = {"type": "gemini", "toolCalls": [{"id": "w", "name": "write_todos", "args": args}]}
    assert gemini.items(line)[1:] == [
        {"kind": "plan", "whole": True, "steps": [{"id": "1", "text": "one", "status": "done"}]}
    ]
    assert len(gemini.items({**line, "toolCalls": [{"id": "w", "name": "other", "args": args}]})) == 1


HISTORY = [
    {"id": "a", "content": [{"text": "ab"}]},
    {"id": "b", "content": [{"text": "x"}, {"text": "<state_snapshot>"}]},
]


GEMINI_CALLS = [{"args": {"p": "cde"}, "result": ["no"]}, {"args": "f"}]


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ({"type": "user", "content": "abc"}, 3),
        ({"type": "gemini", "content": "ab", "toolCalls": GEMINI_CALLS}, 6),
        ({"type": "info", "content": "abc"}, 0), ({"$set": {"messages": HISTORY}}, 19), ({"$set": {"x": "abc"}}, 0),
    ],
)  # fmt: skip
def test_gemini_what_a_line_adds_to_the_context(line: Any, count: int) -> None:
    assert gemini.context_characters(line) == count


def test_gemini_a_history_that_was_compressed_names_its_summary() -> None:
    assert gemini.snapshot_of({"$set": {"messages": HISTORY}}) == "b"
    assert gemini.snapshot_of({"$set": {"messages": HISTORY[:1]}}) == gemini.snapshot_of({}) == ""


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ({"$set": {}}, True), ({"type": "gemini"}, True), ({"type": "user"}, False), ({"projectHash": "0"}, False),
        ({"projectHash": "0", "sessionId": "s"}, True), ({"sessionId": "s"}, False),
        ({"type": "x", "projectHash": "0", "sessionId": "s"}, False),
    ],
)  # fmt: skip
def test_gemini_a_line_that_only_it_writes(line: Any, known: bool) -> None:
    assert gemini.wrote(line) is known
    session = {**line, "sessionId": ""}
    assert gemini.items(session) == []


# -- pi


def of_pi(message: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "id": "m", "parentId": "p", "timestamp": STAMP, "message": message, **fields}


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (of_pi({"role": "user", "content": "abc"}), 3), (of_pi({"role": "bashExecution", "output": "abcd"}), 4),
        (of_pi({"role": "bashExecution", "output": "abcd", "excludeFromContext": True}), 0),
        ({"type": "custom_message", "content": "ab"}, 2), ({"type": "compaction", "summary": "abcde"}, 5),
        ({"type": "branch_summary", "summary": "a"}, 1), ({"type": "label", "summary": "a"}, 0),
    ],
)  # fmt: skip
def test_pi_what_a_line_adds_to_the_context(line: Any, count: int) -> None:
    assert pi.context_characters(line) == count


def pi_result(text: str, *, failed: bool, todos: Any = None) -> list[Any]:
    message = {"role": "toolResult", "toolCallId": "c", "content": text, "isError": failed, "details": {"todos": todos}}
    return list(pi.items(of_pi(message)))


def test_pi_a_call_that_was_aborted_has_no_outcome() -> None:
    for text in ("x\nCommand aborted", "Operation aborted"):
        assert pi_result(text, failed=True) == []
        assert outcomes(pi_result(text, failed=False)) == [(text, False, "")]
    assert outcomes(pi_result("Command aborted by x", failed=True)) == [("Command aborted by x", True, "")]


def test_pi_a_plan_that_an_extension_keeps() -> None:
    todos = [
        {"text": "one", "done": True},
        {"content": "two", "done": 1},
        {"text": "three", "status": "doing", "done": True},
    ]
    assert pi_result("ok", failed=False, todos=todos)[1:] == [{"kind": "plan", "whole": True, "steps": [
        {"id": "1", "text": "one", "status": "completed"}, {"id": "2", "text": "two", "status": "pending"},
        {"id": "3", "text": "three", "status": "doing"},
    ]}]  # fmt: skip
    assert len(pi_result("ok", failed=False, todos=[])) == 1


def test_pi_a_message_has_its_own_time_else_that_of_its_line_and_an_id_with_it() -> None:
    message = {"role": "user", "content": "hi"}
    (found,) = pi.items(of_pi({**message, "timestamp": 5}))
    assert (found["id"], found["at"]) == (f"pi:{AT}:m", 5)
    (found,) = pi.items(of_pi(message))
    assert (found["id"], found["at"]) == (f"pi:{AT}:m", AT)
    (found,) = pi.items(of_pi(message, timestamp=None))
    assert (found["id"], found["at"]) == ("pi::m", None)
    (found,) = pi.items(of_pi(message, id=None))
    assert found["id"] == ""


KEPT = [
    {"type": "session", "id": "s"}, of_pi({"content": "one"}, id="a"), of_pi({"content": "two"}, id="b"),
    of_pi({"content": "three"}, id="c"), {"type": "compaction", "id": "d", "firstKeptEntryId": "b"},
    of_pi({"content": "four"}, id="e"),
]  # fmt: skip


def file_of(lines: list[Any], **last: Any) -> bytes:
    changed = [{**line, **last} if line.get("type") == "compaction" else line for line in lines]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in changed)


def test_pi_what_a_compaction_left_stands_between_its_first_kept_entry_and_itself() -> None:
    assert pi.kept_of(file_of(KEPT)) == "two\nthree"
    assert pi.kept_of(file_of(KEPT), whole=False) == "two\nthree"
    assert pi.kept_of(file_of(KEPT[:4])) == ""
    assert pi.kept_of(file_of(KEPT, firstKeptEntryId="x")) == "", "of the whole file it is known that it is not there"
    assert pi.kept_of(b"half of a line\n" + file_of(KEPT[3:]), whole=False) == "three", "it stands before the end"
    for index, kept in ((1, "one\ntwo\nthree"), (3, "three"), (0, "one\ntwo\nthree"), (-1, ""), (True, ""), ("1", "")):
        assert pi.kept_of(file_of(KEPT, firstKeptEntryId="", firstKeptEntryIndex=index)) == kept
    assert pi.kept_of(file_of(KEPT, firstKeptEntryId="", firstKeptEntryIndex=1), whole=False) == ""


def test_pi_the_last_compaction_counts() -> None:
    again = [*KEPT, {"type": "compaction", "id": "f", "firstKeptEntryId": "e"}]
    assert pi.kept_of(file_of(again)) == "four"
