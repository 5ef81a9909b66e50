"""Reading what agents write of their sessions: what was said and done, each once, and nothing else."""

from __future__ import annotations

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
from clients.claude import transcript as claude
from clients.codex import transcript as codex
from clients.gemini import transcript as gemini
from clients.pi import transcript as pi

MODULES = {"claude": claude, "codex": codex, "gemini": gemini, "pi": pi}
STAMP = "2027-03-04T05:06:07.089Z"
AT = 1_804_136_767_089
OURS = '<joelclaw-memory kind="recovery">\n- the buoy sends in bursts\n</joelclaw-memory>'
PAYLOADS = ROOT / "tests" / "agents" / "payloads"


def said(items: list[Any]) -> list[tuple[str, str]]:
    return [(item["role"], item["text"]) for item in items if item["kind"] == "said"]


def kinds(items: list[Any]) -> list[str]:
    return [item["kind"] for item in items]


# -- Claude Code


def of_claude(kind: str, **fields: Any) -> dict[str, Any]:
    whole = {"parentUuid": "u-0", "isSidechain": False, "type": kind, "uuid": "u-1", "timestamp": STAMP}
    return {**whole, "cwd": "/home/ada/orchard", "sessionId": "s-1", "version": "2.1.329", **fields}


def claude_user(given: Any, **fields: Any) -> dict[str, Any]:
    return of_claude("user", message={"role": "user", "content": given}, **fields)


def claude_answer(*blocks: dict[str, Any], usage: Any = None, **fields: Any) -> dict[str, Any]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    return of_claude("assistant", message={**message, "content": list(blocks), "usage": usage}, **fields)


def test_claude_what_nobody_said() -> None:
    rows: list[Any] = [
        claude_user("hello", isSidechain=True),
        claude_user("Caveat: …", isMeta=True),
        claude_user("This session is being continued from a previous conversation that ran out of context."),
        claude_user("Stop hook feedback:\n- [lint.sh]: two findings"),
        claude_user("<task-notification>\n<task-id>b-1</task-id>\n<status>running</status>\n</task-notification>"),
        claude_user("<command-name>/compact</command-name>"),
        claude_user("<local-command-stdout>done</local-command-stdout>"),
        claude_user([{"type": "text", "text": "<system-reminder>\nbe kind\n</system-reminder>"}]),
        claude_user(OURS),
        claude_answer({"type": "text", "text": "in a side room"}, usage={"input_tokens": 9}, isSidechain=True),
        claude_answer({"type": "text", "text": "API Error: 529"}, isApiErrorMessage=True),
        {"type": "last-prompt", "lastPrompt": "hello", "sessionId": "s-1"},
        of_claude("attachment", attachment={"type": "hook_additional_context", "content": ["x"]}),
    ]
    for line in rows:
        assert claude.items(line) == []


# -- Codex


def of_codex(payload: dict[str, Any], kind: str = "response_item", **fields: Any) -> dict[str, Any]:
    return {"timestamp": STAMP, "ordinal": 4, "type": kind, "payload": payload, **fields}


def codex_message(role: str, text: str, **fields: Any) -> dict[str, Any]:
    part = "output_text" if role == "assistant" else "input_text"
    payload = {"type": "message", "role": role, "content": [{"type": part, "text": text}], **fields}
    return of_codex(payload, metadata={"history_sequence": 3})


def codex_count(total: int, window: int | None = 19_000) -> dict[str, Any]:
    last = {"input_tokens": total - 10, "output_tokens": 10, "total_tokens": total}
    info = {"total_token_usage": {"total_tokens": 999_999}, "last_token_usage": last, "model_context_window": window}
    return of_codex({"type": "token_count", "info": info, "rate_limits": None}, "event_msg")


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
PATCHED = ["apiary/hive.py", "apiary/hives.py", "docs/queen bee.md", "old.txt"]


def test_codex_each_message_once() -> None:
    lines = [
        of_codex({"id": "c-1", "session_id": "c-1", "cwd": "/home/ada/apiary"}, "session_meta"),
        codex_message("developer", "be brief"),
        codex_message("user", "<environment_context>\n  <cwd>/x</cwd>"),
        codex_message("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>…"),
        codex_message("user", "<user_instructions>…</user_instructions>"),
        codex_message("user", "Count the hives."),
        of_codex({"type": "user_message", "message": "Count the hives."}, "event_msg"),
        of_codex({"type": "item_completed", "item": {"type": "UserMessage", "content": []}}, "event_msg"),
        of_codex({"type": "agent_reasoning", "text": "hm"}, "event_msg"),
        of_codex({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
        of_codex({"type": "agent_message", "message": "There are nine."}, "event_msg"),
        codex_message("assistant", "There are nine."),
        of_codex({"type": "task_complete", "last_agent_message": "There are nine."}, "event_msg"),
    ]
    found = [item for line in lines for item in codex.items(line)]
    assert found[0] == {"kind": "started", "session": "c-1", "cwd": "/home/ada/apiary"}
    assert said(found[1:]) == [("user", "Count the hives."), ("assistant", "There are nine.")]
    assert [item["at"] for item in found[1:]] == [AT, AT, AT]
    assert found[-1]["kind"] == "turn_ended"


def test_an_interrupted_turn_has_ended() -> None:
    interrupted = {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}
    assert claude.items(of_claude("user", message=interrupted)) == [{"kind": "turn_ended", "at": AT}]
    assert codex.items(of_codex({"type": "turn_aborted", "reason": "interrupted"}, "event_msg")) == [
        {"kind": "turn_ended", "at": AT}
    ]
    stopped = {"role": "assistant", "content": [], "stopReason": "aborted"}
    assert pi.items({"type": "message", "id": "1", "timestamp": STAMP, "message": stopped})[-1]["kind"] == "turn_ended"


def test_codex_a_part_that_the_client_put_there() -> None:
    line = codex_message("user", "Count the hives.")
    line["payload"]["content"].append({"type": "input_text", "text": "a hook says: nine"})
    told = [{"provenance": {"type": "user"}}, {"provenance": {"type": "harness", "hook": True}}]
    line["payload"]["internal_chat_message_metadata_passthrough"] = {"content_item_metadata": told}
    assert said(codex.items(line)) == [("user", "Count the hives.")]


def test_codex_the_files_of_a_patch() -> None:
    rows: list[Any] = [
        ("apply_patch", {"command": PATCH}),
        ("apply_patch", {"input": PATCH}),
        ("apply_patch", PATCH),
        ("Bash", {"command": f"cd x && apply_patch <<'EOF'\n{PATCH}EOF\n"}),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\r\n{PATCH}EOF".replace("\n", "\r\n")}),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("shell", {"command": ["bash", "-lc", f'apply_patch "{PATCH}"']}),
    ]
    for name, given_input in rows:
        assert codex.files_of(name, given_input) == PATCHED


# -- Gemini CLI


def of_gemini(kind: str, given_content: Any, identifier: str = "g-1", **fields: Any) -> dict[str, Any]:
    return {"id": identifier, "timestamp": STAMP, "type": kind, "content": given_content, **fields}


def gemini_call(status: str = "success", name: str = "write_file", **response: Any) -> dict[str, Any]:
    result = [{"functionResponse": {"id": "w-1", "name": name, "response": response}}]
    return {"id": "w-1", "name": name, "args": {"file_path": "/b/loaf.py"}, "result": result, "status": status}


def test_gemini_prompts_and_what_is_none() -> None:
    prompt = [{"text": "Bake two."}, {"text": f"<hook_context>{OURS}</hook_context>"}]
    assert said(gemini.items(of_gemini("user", prompt))) == [("user", "Bake two.")]
    assert said(gemini.items(of_gemini("user", "Bake two."))) == [("user", "Bake two.")]
    assert said(gemini.items(of_gemini("gemini", [{"text": "plan", "thought": True}, {"text": "Done."}]))) == [
        ("assistant", "Done.")
    ]
    session = {"sessionId": "s-1", "projectHash": "0a", "startTime": STAMP, "kind": "main"}
    assert gemini.items(session) == [{"kind": "started", "session": "s-1", "cwd": ""}]
    history = [of_gemini("user", [{"text": "Bake two."}])]
    for line in (
        {"$set": {"messages": history, "lastUpdated": STAMP}},
        {"$set": {"sessionId": "s-1"}},
        of_gemini("user", [{"text": "<session_context>\nToday is …"}]),
        of_gemini("user", [{"text": "<state_snapshot>…</state_snapshot>"}]),
        of_gemini("info", "Request cancelled."),
        of_gemini("error", "quota"),
    ):
        assert gemini.items(line) == []


# -- pi


def of_pi(message: dict[str, Any], identifier: str = "0badcafe") -> dict[str, Any]:
    return {"type": "message", "id": identifier, "parentId": "00000001", "timestamp": STAMP, "message": message}


def pi_answer(*blocks: dict[str, Any], stop: str = "stop", **used: int) -> dict[str, Any]:
    usage = {"input": 0, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, **used}
    return of_pi({"role": "assistant", "content": list(blocks), "model": "mock-1", "usage": usage, "stopReason": stop})


SAMPLES = {
    "claude": [{"type": "queue-operation", "sessionId": "s", "operation": "enqueue"}, claude_user("hello")],
    "codex": [of_codex({"id": "c-1", "cwd": "/x"}, "session_meta"), codex_message("user", "hello"), codex_count(5)],
    "gemini": [
        {"sessionId": "s", "projectHash": "0", "startTime": STAMP},
        {"$set": {"sessionId": "s"}},
        of_gemini("gemini", "hello", tokens={"input": 5}, toolCalls=[gemini_call(output="x")]),
    ],
    "pi": [
        {"type": "session", "version": 3, "id": "p", "cwd": "/x"},
        of_pi({"role": "user", "content": "hello"}),
        pi_answer({"type": "toolCall", "id": "c", "name": "edit", "arguments": {"path": "x"}}, input=5),
    ],
}


@pytest.mark.parametrize("agent", clients.keeping_files())
def test_a_format_is_known_by_its_shape(agent: str) -> None:
    assert clients.transcript(agent) is MODULES[agent]
    assert clients.detect(SAMPLES[agent]) == agent
    assert clients.detect([None, 7, {"type": "novel"}, *SAMPLES[agent]]) == agent
    assert clients.detect(SAMPLES[agent][1:]) == agent


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
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(10**30), 10**30), st.floats(), st.text(), words
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(keys, st.text()), inner, max_size=6)
    ),
    max_leaves=30,
)


def written(line: Any) -> bytes:
    return json.dumps(line).encode()


def read_everything(line: Any) -> None:
    clients.detect([line])
    for module in MODULES.values():
        found = module.items(line)
        assert isinstance(found, list)
        json.dumps(found, allow_nan=False)  # only plain values come out
        for item in found:
            if item["kind"] == "said":
                assert not item["text"].startswith("<joelclaw-memory")
                assert item["text"] or item["tools"]
            if item["kind"] == "usage":
                assert item["tokens"] > 0
        if not any(mark in written(line) for mark in module.SAID_MARKS):
            assert not {"said", "outcome", "summary"} & set(kinds(found))
        if isinstance(line, dict):
            assert module.context_characters(line) >= 0
    for module in MODULES.values():
        for name in ("Edit", "edit", "apply_patch", "Bash", "bash", "replace", "run_shell_command", "patch"):
            assert all(isinstance(path, str) and path for path in module.files_of(name, line))


@settings(deadline=None)
@given(trees)
@example({"type": [], "payload": {"type": {}}, "message": [[]]})
def test_arbitrary_json_raises_nothing(tree: Any) -> None:
    read_everything(tree)


def transcripts() -> list[Path]:
    return sorted(PAYLOADS.glob("*/session.jsonl"))


@pytest.mark.parametrize("path", transcripts(), ids=lambda path: path.parent.name)
def test_a_recorded_transcript(path: Path) -> None:
    agent = path.parent.name
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert clients.detect(lines) == agent
    module = clients.transcript(agent)
    found = [item for line in lines for item in module.items(line)]
    texts = said(found)
    prompts = [text for role, text in texts if role == "user"]
    assert len(prompts) == len(set(prompts)) == 4
    answers = {item["id"] or item["text"] for item in found if item["kind"] == "said" and item["role"] == "assistant"}
    assert len(answers) >= 9
    assert not any(mark in text for _, text in texts for mark in ("<environment_context", "state_snapshot", "several"))
    calls = {tool["call"] for item in found if item["kind"] == "said" for tool in item["tools"]}
    outcomes = [item["call"] for item in found if item["kind"] == "outcome"]
    assert sorted(outcomes) == sorted(calls)
    assert all(item["at"] for item in found if item["kind"] == "said")
    compactions = kinds(found).count("compaction")
    assert compactions == (0 if agent == "gemini" else 1)  # gemini writes none down
    for line in lines:
        if not any(mark in written(line) for mark in module.CONTEXT_MARKS):
            assert not {"usage", "compaction"} & set(kinds(module.items(line)))
        if not any(mark in written(line) for mark in module.SAID_MARKS):
            assert not {"said", "outcome", "summary"} & set(kinds(module.items(line)))


@pytest.mark.parametrize("agent", [*clients.keeping_files(), ""])
def test_reading_imports_nothing_dear_and_no_other_client(agent: str) -> None:
    module = f"clients.{agent}.transcript" if agent else "clients"
    code = f"import sys; before = set(sys.modules); import {module}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"re", "json", "typing", "datetime", "dataclasses", "collections.abc", "pathlib"}
    others = {f"clients.{other}.transcript" for other in clients.keeping_files() if other != agent}
    assert not loaded & others
