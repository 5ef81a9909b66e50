"""Each client's transcript is parsed into entries, one for each message and action; so are the scripts of Codex."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from hypothesis import example, given, settings
from hypothesis import strategies as st

import clients
from clients.base import Client
from clients.codex_script import tool_calls
from clients.entries import Entry

CLAUDE, CODEX, GEMINI, PI = (clients.by_name(name) for name in ("claude", "codex", "gemini", "pi"))
STAMP = "2027-03-04T05:06:07.089Z"
AT = 1_804_136_767_089
OURS = '<joelclaw-memory kind="recovery">\n- the buoy sends in bursts\n</joelclaw-memory>'
PAYLOADS = ROOT / "tests" / "agents" / "payloads"


def conversation(entries: list[Entry]) -> list[tuple[str, str]]:
    return [(entry.kind, entry.text) for entry in entries if entry.kind in ("prompt", "answer") and entry.text]


def kinds(entries: list[Entry]) -> list[str]:
    return [entry.kind for entry in entries]


def outcomes(entries: list[Entry]) -> list[tuple[str, bool | None, str]]:
    results = [entry for entry in entries if entry.kind == "result" and not entry.unrun]
    return [(entry.text, entry.failed, entry.process) for entry in results]


def of_claude(kind: str, content: Any = "", **fields: Any) -> dict[str, Any]:
    entry = {"parentUuid": "u-0", "isSidechain": False, "type": kind, "uuid": "u-1", "timestamp": STAMP}
    message = {"role": kind, "content": content}
    return {**entry, "cwd": "/home/ada/orchard", "sessionId": "s-1", "message": message, **fields}


@pytest.mark.parametrize("line", [
    of_claude("user", "hello", isSidechain=True),
    of_claude("user", "Caveat: …", isMeta=True),
    of_claude("user", "This session is being continued from a previous conversation that ran out of context."),
    of_claude("user", "Stop hook feedback:\n- [lint.sh]: two findings"),
    of_claude("user", "<task-notification>\n<task-id>b-1</task-id>\n<status>running</status>"),
    of_claude("user", "<command-name>/compact</command-name>"),
    of_claude("user", [{"type": "text", "text": "<system-reminder>\nbe kind\n</system-reminder>"}]),
    of_claude("user", OURS),
    of_claude("assistant", [{"type": "text", "text": "in a side room"}], isSidechain=True),
    of_claude("assistant", [{"type": "text", "text": "API Error: 529"}], isApiErrorMessage=True),
    {"type": "last-prompt", "lastPrompt": "hello", "sessionId": "s-1"},
    of_claude("attachment", attachment={"type": "hook_additional_context", "content": ["x"]}),
])  # fmt: skip
def test_claude_lines_without_a_message_are_empty_nodes(line: dict[str, Any]) -> None:
    (node,) = CLAUDE.entries(line)
    assert (node.kind, node.text, node.session) == ("node", "", "s-1")


def of_codex(payload: dict[str, Any], kind: str = "response_item", **fields: Any) -> dict[str, Any]:
    return {"timestamp": STAMP, "ordinal": 4, "type": kind, "payload": payload, **fields}


def codex_message(role: str, text: str) -> dict[str, Any]:
    part = "output_text" if role == "assistant" else "input_text"
    return of_codex({"type": "message", "role": role, "content": [{"type": part, "text": text}]})


PATCH = """*** Begin Patch
*** Update File: apiary/hive.py
*** Move to: apiary/hives.py
@@ def swarm():
-    *** Update File: not/this.py
+*** Add File: nor/that.py
*** Add File: docs/queen bee.md
+# Queen
*** Delete File: old.txt
*** End Patch
"""


def test_codex_messages_are_read_once() -> None:
    lines = [
        of_codex({"id": "c-1", "session_id": "c-1", "cwd": "/home/ada/apiary"}, "session_meta"),
        codex_message("developer", "be brief"),
        codex_message("user", "<environment_context>\n  <cwd>/x</cwd>"),
        codex_message("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>…"),
        codex_message("user", "Count the hives."),
        of_codex({"type": "user_message", "message": "Count the hives."}, "event_msg"),
        of_codex({"type": "agent_reasoning", "text": "hm"}, "event_msg"),
        of_codex({"type": "agent_message", "message": "There are nine."}, "event_msg"),
        codex_message("assistant", "There are nine."),
        of_codex({"type": "task_complete", "last_agent_message": "There are nine."}, "event_msg"),
    ]
    start, *entries = [entry for line in lines for entry in CODEX.entries(line)]
    assert (start.session, start.folder) == ("c-1", "/home/ada/apiary")
    assert conversation(entries) == [("prompt", "Count the hives."), ("answer", "There are nine.")]
    assert [entry.at for entry in entries] == [AT] * 4
    assert entries[-1].kind == "turn_end"


SPAWNED = {"subagent": {"thread_spawn": {"parent_thread_id": "c-1", "depth": 1}}}


@pytest.mark.parametrize(("about", "kind", "parent"), [
    ({}, "", ""),
    ({"source": "vscode", "session_id": "c-2"}, "", ""),
    ({"forked_from_id": "c-1"}, "fork", "c-1"),
    ({"source": SPAWNED, "forked_from_id": "c-0", "session_id": "c-0"}, "subagent", "c-1"),
    ({"source": {"subagent": {"other": "guardian"}}, "session_id": "c-1"}, "subagent", "c-1"),
    ({"source": "cli", "thread_source": "subagent", "parent_thread_id": "c-1"}, "subagent", "c-1"),
    ({"source": {"subagent": "review"}, "session_id": "c-1"}, "review", "c-1"),
])  # fmt: skip
def test_codex_names_the_session_that_started_this_one(about: dict[str, Any], kind: str, parent: str) -> None:
    (meta,) = CODEX.entries(of_codex({"id": "c-2", "cwd": "/w", **about}, "session_meta"))
    assert (meta.session, meta.session_kind, meta.parent_session) == ("c-2", kind, parent)


def test_an_interrupted_turn_has_ended() -> None:
    interrupted = [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
    aborted = {"role": "assistant", "content": [], "stopReason": "aborted"}
    for entries in (
        CLAUDE.entries(of_claude("user", interrupted)),
        CODEX.entries(of_codex({"type": "turn_aborted", "reason": "interrupted"}, "event_msg")),
        PI.entries({"type": "message", "id": "1", "timestamp": STAMP, "message": aborted}),
    ):
        assert (entries[-1].kind, entries[-1].at) == ("turn_end", AT)


@pytest.mark.parametrize(("tool", "given_input"), [
    ("apply_patch", {"command": PATCH}),
    ("apply_patch", PATCH),
    ("exec_command", {"cmd": f"apply_patch <<'EOF'\r\n{PATCH}EOF".replace("\n", "\r\n")}),
    ("shell", {"command": ["bash", "-lc", f'apply_patch "{PATCH}"']}),
])  # fmt: skip
def test_codex_the_files_of_a_patch(tool: str, given_input: Any) -> None:
    patched = ["apiary/hive.py", "apiary/hives.py", "docs/queen bee.md", "old.txt"]
    assert CODEX.written_files(tool, given_input) == patched


HEAD = "Chunk ID: 1\nWall time: 0\n"


@pytest.mark.parametrize(("output", "outcome"), [
    (f"{HEAD}Process exited with code 0\nOutput:\nnine", ("nine", False, "")),
    (f"{HEAD}Process exited with code 1\nProcess exited with code 0\nOutput:\n", ("", True, "")),
    (f"{HEAD}Exit code: 3 \nOutput:\nx", ("x", True, "")),
    (f"{HEAD}Process running with session ID 7 \nOutput:\nx", ("x", False, "7")),
    ("Process exited with code 1", ("Process exited with code 1", False, "")),
    ("exec_command failed: no", ("exec_command failed: no", True, "")),
    ("it said exec_command failed", ("it said exec_command failed", False, "")),
    ({"output": "x", "success": True}, ("x", False, "")),
    ({"content": "x", "metadata": {"exit_code": 1}}, ("x", True, "")),
    (' {"output" half', (' {"output" half', False, "")),
    ('{"output": "a\\nOutput:\\nb", "metadata": {"exit_code": 2}}', ("b", True, "")),
])  # fmt: skip
def test_codex_the_outcome_of_a_call(output: Any, outcome: tuple[str, bool, str]) -> None:
    line = of_codex({"type": "local_shell_call_output", "call_id": "c", "output": output})
    assert outcomes(CODEX.entries(line)) == [outcome]


def of_gemini(kind: str, given_content: Any, identifier: str = "g-1", **fields: Any) -> dict[str, Any]:
    return {"id": identifier, "timestamp": STAMP, "type": kind, "content": given_content, **fields}


def test_gemini_prompts_and_injected_lines_are_told_apart() -> None:
    prompt = [{"text": "Bake two."}, {"text": f"<hook_context>{OURS}</hook_context>"}]
    assert conversation(GEMINI.entries(of_gemini("user", prompt))) == [("prompt", "Bake two.")]
    thought = [{"text": "plan", "thought": True}, {"text": "Done."}]
    assert conversation(GEMINI.entries(of_gemini("gemini", thought))) == [("answer", "Done.")]
    (head,) = GEMINI.entries({"sessionId": "s-1", "projectHash": "0a", "startTime": STAMP, "kind": "main"})
    assert (head.kind, head.session) == ("node", "s-1")
    for line in (
        {"$set": {"messages": [of_gemini("user", [{"text": "Bake two."}])], "lastUpdated": STAMP}},
        {"$set": {"sessionId": "s-1"}},
        of_gemini("user", [{"text": "<session_context>\nToday is …"}]),
        of_gemini("info", "Request cancelled."),
    ):
        assert conversation(GEMINI.entries(line)) == []


def of_pi(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": "0badcafe", "parentId": "00000001", "timestamp": STAMP, "message": message}


def test_pi_records_the_calls_of_a_script_in_its_result() -> None:
    calls = [
        {"id": "c/1", "name": "edit", "arguments": {"path": "a.py"}, "status": "ok"},
        {"id": "c/2", "name": "bash", "arguments": {"command": "make"}, "status": "error", "error": "no rule"},
        {"id": "c/3", "name": "read", "argumentsBytes": 9000, "status": "unfinished"},
    ]
    result = {"role": "toolResult", "toolCallId": "c", "content": [], "isError": False, "nestedCalls": {"calls": calls}}
    found = clients.by_name("pi").entries(of_pi(result))
    made = [(entry.call, entry.command) for entry in found if entry.kind == "call"]
    assert made == [("c/1", ""), ("c/2", "make"), ("c/3", "")]
    ended = [(entry.call, entry.failed, entry.text) for entry in found if entry.kind == "result"]
    assert ended == [("c", False, ""), ("c/1", False, ""), ("c/2", True, "no rule")]


SAMPLES: dict[str, list[Any]] = {
    "generic": [{"session": "g", "role": role, "text": "hello"} for role in ("user", "assistant")],
    "opencode": [
        {"info": {"id": "ses_1", "directory": "/x"}},
        {"info": {"id": "msg_1", "role": "user"}, "parts": [{"type": "text", "text": "hello"}]},
    ],
    "openclaw": [
        {"type": "session", "version": 4, "id": "o", "cwd": "/x"},
        of_pi({"role": "user", "content": "hello", "__openclaw": {"senderIsOwner": True}}),
    ],
}


@pytest.mark.parametrize("agent", clients.keeping_files())
def test_a_transcripts_client_is_recognized_by_its_content(agent: str) -> None:
    recorded = PAYLOADS / agent / "session.jsonl"
    lines = SAMPLES.get(agent) or [json.loads(line) for line in recorded.read_text().splitlines()[:5]]
    assert clients.detect(lines) == agent
    assert clients.detect([None, 7, {"type": "novel"}, *lines]) == agent
    assert clients.detect(lines[1:]) == agent


keys = st.sampled_from(
    "type message content role payload usage tokens item info text toolCalls result args name arguments input id uuid "
    "parentUuid sessionId cwd timestamp subtype compactMetadata postTokens last_token_usage total_tokens output "
    "replacement_history $set messages functionResponse response status summary firstKeptEntryId".split()
)
words = st.sampled_from(
    "user assistant gemini message session compaction compacted response_item event_msg token_count function_call "
    "custom_tool_call function_call_output text tool_use tool_result toolCall toolResult input_text apply_patch Edit "
    "edit write_file system compact_boundary attachment queued_command".split()
)
numbers = st.integers() | st.integers(-(10**30), 10**30) | st.floats()
leaves = st.one_of(st.none(), st.booleans(), numbers, st.text(), words)
names = st.one_of(keys, st.text())
trees = st.recursive(
    leaves, lambda it: st.lists(it, max_size=4) | st.dictionaries(names, it, max_size=6), max_leaves=30
)


def check_marks(client: Client, line: Any) -> None:
    """A line without any of a client's marks has nothing of what they stand for."""
    data = json.dumps(line).encode()
    entries = client.entries(line)
    if not any(mark in data for mark in client.said_marks):
        assert not conversation(entries) and not {"result", "summary", "call"} & set(kinds(entries))
    if not any(mark in data for mark in client.context_marks):
        assert not {"usage", "compaction"} & set(kinds(entries))


@settings(deadline=None)
@given(trees)
@example({"type": [], "payload": {"type": {}}, "message": [[]]})
def test_arbitrary_json_raises_nothing(tree: Any) -> None:
    clients.detect([tree])
    for client in map(clients.by_name, ("claude", "codex", "gemini", "pi", "qwen", "copilot")):
        if isinstance(tree, dict):
            for entry in client.entries(tree):
                assert not entry.text.startswith("<joelclaw-memory") or entry.kind not in ("prompt", "result")
            check_marks(client, tree)
        for tool in ("Edit", "edit", "apply_patch", "Bash", "replace"):
            assert all(isinstance(path, str) and path for path in client.written_files(tool, tree))


def transcripts() -> list[Path]:
    return sorted(PAYLOADS.glob("*/session.jsonl"))


@pytest.mark.parametrize("path", transcripts(), ids=lambda path: path.parent.name)
def test_a_recorded_transcript(path: Path) -> None:
    agent = path.parent.name
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert clients.detect(lines) == agent
    client = clients.by_name(agent)
    entries = [entry for line in lines for entry in client.entries(line) if not entry.is_meta]
    texts = conversation(entries)
    prompts = [text for kind, text in texts if kind == "prompt"]
    assert len(prompts) == len(set(prompts)) == 4
    assert len({entry.stable_id or entry.text for entry in entries if entry.kind == "answer"}) >= 9
    assert not any(mark in text for _, text in texts for mark in ("<environment_context", "state_snapshot", "several"))
    calls = {entry.call for entry in entries if entry.kind == "call"}
    assert sorted(entry.call for entry in entries if entry.kind == "result") == sorted(calls)
    assert all(entry.at for entry in entries if entry.kind in ("prompt", "answer", "call"))
    assert kinds(entries).count("compaction") == (0 if agent == "gemini" else 1)  # gemini records none
    for line in lines:
        check_marks(client, line)


def test_a_command_of_openclaw_fails_by_its_exit_code_and_may_go_on_in_the_background() -> None:
    def result(tool: str, **details: Any) -> list[Entry]:
        message = {"role": "toolResult", "toolCallId": "c", "toolName": tool, "content": [], "details": details}
        return clients.by_name("openclaw").entries(of_pi(message))

    codes = [result("exec", status="completed", exitCode=code)[0].failed for code in (0, 3, -1, None)]
    assert codes == [False, True, True, False]
    assert result("edit", status="error")[0].failed
    assert result("exec", status="running", sessionId="p1")[0].process == "p1"
    ended = result("process", status="failed", exitCode=2, sessionId="p1")[1]
    assert (ended.kind, ended.process, ended.failed) == ("process_end", "p1", True)


def test_only_the_user_prompts_openclaw() -> None:
    def kind(**more: Any) -> str:
        return clients.by_name("openclaw").entries(of_pi({"role": "user", "content": "hello", **more}))[0].kind

    assert kind() == kind(provenance={"kind": "external_user"}) == "prompt"
    assert kind(provenance={"kind": "inter_session"}) == kind(provenance={"kind": "internal_system"}) == "note"


def test_a_result_without_a_plan_keeps_the_plan() -> None:
    def plans(details: Any) -> list[int]:
        message = {"role": "toolResult", "toolCallId": "c", "content": [], "details": details}
        return [len(entry.steps) for entry in clients.by_name("pi").entries(of_pi(message)) if entry.kind == "plan"]

    assert [plans(details) for details in (None, {}, {"todos": None}, {"todos": []})] == [[], [], [], [0]]
    assert plans({"todos": [{"text": "a", "done": True}]}) == [1]


def test_only_opencodes_todowrite_changes_the_plan() -> None:
    state = {"status": "completed", "output": "", "metadata": {}}
    steps = [{"content": "a", "status": "pending"}]
    given = {"todowrite": {"todos": steps}, "bash": {"command": "make"}}
    parts = [{"type": "tool", "tool": tool, "state": {**state, "input": values}} for tool, values in given.items()]
    stored = clients.by_name("opencode").entries({"info": {"id": "m1", "role": "assistant"}, "parts": parts})
    tools = [{"name": "todowrite", "plan": [{"text": "a", "status": "pending"}]}, {"name": "bash", "plan": []}]
    payload = {"session_id": "s1", "entries": [{"id": "m1", "role": "assistant", "tools": tools}]}
    for entries in (stored, clients.by_name("opencode").read(payload, "turn_end")["items"]):
        assert [[step.text for step in entry.steps] for entry in entries if entry.kind == "plan"] == [["a"]]


@pytest.mark.parametrize("agent", [*clients.NAMES, ""])
def test_reading_imports_nothing_slow_and_no_other_client(agent: str) -> None:
    module = f"clients.{agent}" if agent else "clients"
    code = f"import sys; before = set(sys.modules); import {module}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"re", "json", "typing", "datetime", "dataclasses", "collections.abc", "pathlib"}
    others = {f"clients.{name}" for name in clients.NAMES} - {module}
    others -= {"clients.claude"} if agent == "codex" else {"clients.pi"} if agent == "openclaw" else set()
    assert not loaded & others


def exec_command(text: str, **more: Any) -> tuple[str, Any]:
    return "exec_command", {"cmd": text, **more}


@pytest.mark.parametrize(("script", "calls"), [
    ('await tools.exec_command({cmd:\'it\\\'s \\u00e9\', "workdir": "/w", n: 1})',
     [exec_command("it's é", workdir="/w", n=1)]),
    ('// tools.x({})\nawait tools["exec_command"]({"cmd": `ls -l`,});', [exec_command("ls -l")]),
    ('const cmd = ["set -e", "make"].join(" && ")\nconst r = await tools.exec_command({ cmd })\ntext(r)',
     [exec_command("set -e && make")]),
    ('let c = "a"; c = "b" + (c + "/w"); tools.exec_command({cmd: c, tty: true, yield: later(7)})',
     [exec_command("ba/w", tty=True)]),
    ('const rs = await Promise.all([tools.exec_command({cmd: "a"}), tools.exec_command({cmd: "b"})])',
     [exec_command("a"), exec_command("b")]),
    ('for (const f of ["x", "y"]) { await tools.exec_command({cmd: `cat ${f}`}) }', [exec_command("cat ${f}")]),
    ('const dir = "/w", n = 0; tools.exec_command({cmd: `cd ${dir} && head -n ${n}`, workdir: dir})',
     [exec_command("cd /w && head -n 0", workdir="/w")]),
    ('tools.exec_command({cmd: "head -n " + 5}); tools.exec_command({cmd: f(), workdir: "/w"})',
     [exec_command("head -n 5"), ("exec_command", '{cmd: f(), workdir: "/w"}')]),
    ('tools.update_plan({plan: [{step: "mend", status: "pending"}]})',
     [("update_plan", {"plan": [{"step": "mend", "status": "pending"}]})]),
    ("const p = `*** Begin Patch\n+const a = \\`b\\`\n*** End Patch`\ntext(await tools.apply_patch(p))",
     [("apply_patch", "*** Begin Patch\n+const a = `b`\n*** End Patch")]),
    ("await tools.apply_patch(patch())", [("apply_patch", "patch()")]),
    ('text(ALL_TOOLS.length); const s = "tools.exec_command({cmd: 1})"', []),
])  # fmt: skip
def test_calls_are_read_with_their_arguments(script: str, calls: list[tuple[str, Any]]) -> None:
    assert tool_calls(script) == calls


PIECES = (
    "tools.x({ cmd: `a${ }` } ) [ ] ( => = for ( const x of [ 1 ] function f async ... , ; + . ' \" / \n map".split(" ")
)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join))
def test_any_source_is_read_without_an_error(script: str) -> None:
    assert isinstance(tool_calls(script), list)
