"""The recipes of docs/hooks.md, taken out of the page and run as a client runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, ROOT, Run, Spawned, clean_environment

PAGE = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", PAGE, re.DOTALL))
SCRIPTS = ("joelclaw_hook.py", "joelclaw_archive.py", "joelclaw_gemini.py")
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

PROMPT = "Make the tide table importer survive a missing harbour"
SESSION = "0d4e7c1e-5f5a-4f0e-9a53-2b6d6f0c9a11"
QUICK = 4.5  # seconds: with its limit set to 1, a hook has one more for the rest, and a busy machine some

FAULTS = {
    "missing": None,
    "hanging": "exec sleep 20",
    "hanging-child": "sleep 20 & wait",
    "garbage": r"printf '<joelclaw-memory \377 {{{'",
    "another-json": "echo '[1, 2]'",
    "no-result": """echo '{"ok": false, "result": null, "error": {"code": "X", "message": "y"}}'; exit 1""",
    "odd-result": """echo '{"ok": true, "result": {"content": 7, "injected": true}}'""",
    "noisy": "echo trouble >&2; exit 3",
}


@dataclass(frozen=True)
class Client:
    """A client's surroundings: its home with the scripts, and the folder that its PATH begins with."""

    user: Path
    bin: Path
    home: Path

    def spawn(self, command: str, stdin: str = "", **more: str) -> Spawned:
        """Run a command as a client does, in a shell."""
        done = subprocess.run(
            ["sh", "-c", command], input=stdin.encode(), capture_output=True, timeout=30, env=self.environment(**more),
            cwd=self.user,
        )  # fmt: skip
        return Spawned(done.returncode, done.stdout.decode(), done.stderr.decode())

    def environment(self, **more: str) -> dict[str, str]:
        """What the client hands its hooks."""
        known = clean_environment(self.home, HOME=str(self.user), PATH=f"{self.bin}:/usr/bin:/bin", **more)
        return {name: value for name, value in known.items() if not name.startswith("CLAUDE")} | more

    def hook(self, config: str, event: str, **fields: Any) -> Spawned:
        """Hand an event to each command that the configuration names for it; exit 0 and no stderr are expected."""
        payload = {"hook_event_name": event, "session_id": SESSION, "cwd": str(self.user), **fields}
        out = ""
        for command in commands(config, event):
            done = self.spawn(command, json.dumps(payload))
            assert (done.code, done.err) == (0, "")
            out += done.out
        return Spawned(0, out, "")

    def break_joelclaw(self, fault: str) -> None:
        """Replace `joelclaw` by something that does not work, and let nobody wait 3 s for it."""
        (self.bin / "joelclaw").unlink()
        body = FAULTS[fault]
        if body is not None:
            (self.bin / "joelclaw").write_text(f"#!/bin/sh\n{body}\n")
            (self.bin / "joelclaw").chmod(0o700)
        for script in (self.user / ".joelclaw" / "hooks").iterdir():
            if script.suffix == ".py":
                script.write_text(shortened(script.read_text()))


@pytest.fixture
def client(tmp_path: Path, home: Path) -> Client:
    made = Client(tmp_path / "user", tmp_path / "bin", home)
    hooks = made.user / ".joelclaw" / "hooks"
    hooks.mkdir(parents=True)
    made.bin.mkdir()
    for name in SCRIPTS:
        (hooks / name).write_text(BLOCKS[name])
    (made.bin / "python3").symlink_to(sys.executable)
    (made.bin / "joelclaw").symlink_to(JOELCLAW)
    return made


def commands(config: str, event: str) -> list[str]:
    """The commands that a hook configuration of the page names for an event."""
    return [hook["command"] for group in json.loads(BLOCKS[config])["hooks"][event] for hook in group["hooks"]]


def shortened(script: str) -> str:
    """A script with its limit at 1 s."""
    short, count = re.subn(r"(SECONDS = )\d+", r"\g<1>1", script)
    assert count <= 1
    return short.replace("MILLISECONDS = 1;", "MILLISECONDS = 300;")


def jsonl(path: Path, *entries: Any) -> str:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return str(path)


def spoke(tokens: int, text: str = "ok", **more: Any) -> dict[str, Any]:
    """An answer in a transcript of Claude Code; the tokens are spread over the three counters."""
    used = {"input_tokens": 10, "cache_read_input_tokens": tokens - 30, "cache_creation_input_tokens": 20}
    usage = used if tokens else {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    return {"type": "assistant", "message": {"role": "assistant", "content": text, "usage": usage}, **more}


def boundary(tokens: int) -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"postTokens": tokens}}


def counted(tokens: int, window: int) -> dict[str, Any]:
    """A usage entry in a transcript of Codex."""
    info = {"last_token_usage": {"total_tokens": tokens}, "model_context_window": window}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def answered(identifier: str, tokens: int) -> dict[str, Any]:
    """An answer in a transcript of Gemini CLI."""
    return {"type": "gemini", "id": identifier, "content": "ok", "tokens": {"input": tokens}}


def actions(run: Run) -> list[str]:
    return [event["action"] for event in run("otel", "list").result["events"]]


def test_every_file_of_the_page_is_there() -> None:
    assert set(BLOCKS) == {
        *SCRIPTS, "claude/settings.json", "codex/hooks.json", "gemini/settings.json", "joelclaw.ts", "joelclaw.js",
        "joelclaw_loop.sh",
    }  # fmt: skip


def test_a_claude_session_through_a_compaction(client: Client, run: Run, tmp_path: Path) -> None:
    config = "claude/settings.json"
    at = jsonl(tmp_path / "t.jsonl", {"type": "user", "message": {"role": "user", "content": PROMPT}}, spoke(130_000))
    assert client.hook(config, "SessionStart", source="startup", transcript_path=at).out == ""
    assert client.hook(config, "UserPromptSubmit", prompt=PROMPT, transcript_path=at).out == ""
    edit = {"file_path": "src/tides.py", "old_string": "a", "new_string": "b"}
    assert client.hook(config, "PostToolUse", tool_name="Edit", tool_input=edit, transcript_path=at).out == ""
    checkpoint = run("checkpoint", "show", SESSION).result["checkpoint"]
    assert checkpoint["contextPercentAtCapture"] == 65
    assert checkpoint["currentTask"] == PROMPT
    assert checkpoint["filesModified"] == ["src/tides.py"]

    assert client.hook(config, "PreCompact", trigger="auto", transcript_path=at).out == ""
    assert "compaction.before" in actions(run)
    back = client.hook(config, "SessionStart", source="compact", transcript_path=at).out
    assert back.startswith("<joelclaw-memory ") and "## Session Recovery" in back
    assert PROMPT in back and "src/tides.py" in back
    assert client.hook(config, "SessionStart", source="compact", transcript_path=at).out == ""  # within a minute


def test_a_new_session_is_handed_memories(client: Client, run: Run) -> None:
    run("memory", "write", "Decision: recent active work keeps harbour names in one table, not in each importer.")
    for config in ("claude/settings.json", "codex/hooks.json"):
        out = client.hook(config, "SessionStart", source="startup", session_id=config).out
        assert "## Relevant Memory" in out and "harbour names" in out
        assert client.hook(config, "SessionStart", source="resume", session_id=config).out == ""  # once a session


@pytest.mark.parametrize(
    ("entries", "percent"),
    [
        ([spoke(90_000)], 45),
        ([spoke(185_000), boundary(5_000)], 2.5),
        ([spoke(185_000), boundary(5_000), spoke(20_000)], 10),
        ([spoke(90_000), spoke(190_000, isSidechain=True)], 45),
        ([spoke(90_000), spoke(0)], 45),
        ([spoke(90_000), "text", 7, None], 45),
        ([{"type": "user", "message": {"role": "user", "content": "hi"}}], None),
        ([counted(9_000, 20_000)], 45),
        ([counted(19_000, 20_000), {"type": "compacted", "payload": {"message": "m"}}], None),
        ([{"type": "compacted", "payload": {}}, counted(4_000, 20_000)], 20),
    ],
)
def test_the_context_is_counted_from_after_the_last_compaction(
    client: Client, run: Run, tmp_path: Path, entries: list[Any], percent: float | None
) -> None:
    at = tmp_path / "t.jsonl"
    jsonl(at, *entries)
    with at.open("a") as file:
        file.write('{"type": "assistant", "mess')  # being written
    client.hook("claude/settings.json", "UserPromptSubmit", prompt=PROMPT, transcript_path=str(at))
    checkpoint = run("checkpoint", "show", SESSION).result["checkpoint"]
    assert checkpoint["contextPercentAtCapture"] == percent
    assert checkpoint["currentTask"] == PROMPT


def test_a_smaller_window_of_claude_counts(client: Client, run: Run, tmp_path: Path) -> None:
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "prompt": PROMPT}
    payload["transcript_path"] = jsonl(tmp_path / "t.jsonl", spoke(45_000))
    (command,) = commands("claude/settings.json", "UserPromptSubmit")
    for given, percent in (("100000", 45), ("many", 45), ("", 22.5)):  # not a number: not told, so as it was
        assert client.spawn(command, json.dumps(payload), CLAUDE_CODE_AUTO_COMPACT_WINDOW=given).code == 0
        shown = run("checkpoint", "show", SESSION).result
        assert shown["checkpoint"]["contextPercentAtCapture"] == percent


def test_a_codex_session_through_a_compaction(client: Client, run: Run, tmp_path: Path) -> None:
    config = "codex/hooks.json"
    at = jsonl(tmp_path / "t.jsonl", counted(9_000, 20_000))
    client.hook(config, "UserPromptSubmit", prompt=PROMPT, transcript_path=at)
    patch = (
        "*** Begin Patch\n*** Update File: src/tides.py\n@@\n-a\n+b\n*** Add File: src/harbour.py\n+c\n*** End Patch"
    )
    given = {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    assert client.hook(config, "PostToolUse", transcript_path=at, **given).out == ""
    saves = run("checkpoint", "show", SESSION).result["counts"]["saves"]
    client.hook(config, "PostToolUse", transcript_path=at, tool_name="Bash", tool_input={"command": "make"})
    shown = run("checkpoint", "show", SESSION).result
    assert shown["counts"]["saves"] == saves  # no file, nothing to tell
    assert shown["checkpoint"]["contextPercentAtCapture"] == 45
    assert shown["checkpoint"]["filesModified"] == ["src/tides.py", "src/harbour.py"]
    assert client.hook(config, "PreCompact", trigger="auto", transcript_path=at).out == ""
    assert PROMPT in client.hook(config, "SessionStart", source="compact", transcript_path=at).out


def test_a_gemini_session_through_a_compression(client: Client, run: Run, tmp_path: Path) -> None:
    config = "gemini/settings.json"
    at = tmp_path / "t.jsonl"
    jsonl(at, answered("a", 300_000), answered("a", 300_000))
    assert client.hook(config, "BeforeAgent", prompt=PROMPT, transcript_path=str(at)).out == ""
    assert client.hook(config, "PreCompress", trigger="auto", transcript_path=str(at)).out == ""
    assert "compaction.before" not in actions(run)  # it comes before every request
    jsonl(at, answered("a", 300_000), answered("b", 530_000))
    given = {"tool_name": "write_file", "tool_input": {"file_path": "src/tides.py", "content": "x"}}
    assert client.hook(config, "AfterTool", transcript_path=str(at), **given).out == ""
    assert client.hook(config, "PreCompress", trigger="auto", transcript_path=str(at)).out == ""
    assert "compaction.before" in actions(run)
    jsonl(at, answered("a", 300_000), answered("b", 530_000), answered("c", 90_000))
    told = json.loads(client.hook(config, "BeforeAgent", prompt="go on", transcript_path=str(at)).out)
    assert told["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    assert PROMPT in told["hookSpecificOutput"]["additionalContext"]
    assert "src/tides.py" in told["hookSpecificOutput"]["additionalContext"]
    assert client.hook(config, "BeforeAgent", prompt="go on", transcript_path=str(at)).out == ""


def test_the_archive_keeps_what_was_said(client: Client, run: Run, tmp_path: Path) -> None:
    found = "Insight: the harbour is missing because its code moved from NOR to NRD in March."
    at = jsonl(
        tmp_path / "t.jsonl",
        {"type": "user", "message": {"role": "user", "content": PROMPT}, "timestamp": "2026-11-20T10:00:00Z"},
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "a caveat of the client"}},
        spoke(9_000, found),
        {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Said to pi."}]}},
        {"type": "response_item", "payload": {"role": "assistant", "content": [{"text": "Said by Codex."}]}},
        {"type": "response_item", "payload": {"role": "user", "content": [{"text": "<environment_context>x"}]}},
        [],
    )
    for _ in range(2):
        assert client.hook("claude/settings.json", "PreCompact", transcript_path=at).out == ""
    texts = [hit["observation"] for hit in run("recall", "why is the harbour missing").result["hits"]]
    assert f"assistant: {found}" in texts
    lines = [json.loads(line) for line in run("memory", "export", "--collection", "episodes").out.splitlines()]
    assert [line["text"] for line in lines] == [
        f"user: {PROMPT}", f"assistant: {found}", "user: Said to pi.", "assistant: Said by Codex.",
    ]  # fmt: skip
    assert PROMPT in lines[1]["context"] and "Said to pi" in lines[1]["context"]


EVENTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "claude/settings.json": [
        ("SessionStart", {"source": "startup"}),
        ("SessionStart", {"source": "compact"}),
        ("UserPromptSubmit", {"prompt": PROMPT}),
        ("PostToolUse", {"tool_name": "Write", "tool_input": {"file_path": "a.py"}}),
        ("PreCompact", {"trigger": "auto"}),
    ],
    "gemini/settings.json": [
        ("SessionStart", {"source": "startup"}),
        ("BeforeAgent", {"prompt": PROMPT}),
        ("AfterTool", {"tool_name": "replace", "tool_input": {"file_path": "a.py"}}),
        ("PreCompress", {"trigger": "auto"}),
    ],
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("config", EVENTS)
def test_a_hook_never_stands_in_the_way(client: Client, tmp_path: Path, config: str, fault: str) -> None:
    client.break_joelclaw(fault)
    at = jsonl(tmp_path / "t.jsonl", spoke(90_000), answered("a", 900_000), answered("b", 500_000))
    waiting = []
    began = time.monotonic()
    for event, fields in EVENTS[config]:
        payload = json.dumps({"hook_event_name": event, "session_id": SESSION, "transcript_path": at, **fields})
        for command in commands(config, event):
            child = subprocess.Popen(
                ["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=client.environment(), cwd=client.user,
            )  # fmt: skip
            assert child.stdin is not None
            child.stdin.write(payload.encode())
            child.stdin.close()
            child.stdin = None
            waiting.append((event, child))
    for event, child in waiting:
        assert (event, child.communicate(timeout=20), child.returncode) == (event, (b"", b""), 0)
    assert time.monotonic() - began < QUICK


@pytest.mark.parametrize("payload", ["", "no json", "[]", "{}", '{"hook_event_name": "PreCompact"}', "\x00" * 100])
def test_a_strange_payload_is_passed_over(client: Client, payload: str) -> None:
    for name in SCRIPTS:
        done = client.spawn(f"python3 ~/.joelclaw/hooks/{name}", payload)
        assert (done.code, done.out, done.err) == (0, "", "")


def test_scripts_that_are_gone_block_nothing(client: Client) -> None:
    shutil.rmtree(client.user / ".joelclaw")  # python3 ends with 2, which means "block" to a client
    for config in ("claude/settings.json", "codex/hooks.json", "gemini/settings.json"):
        for event in json.loads(BLOCKS[config])["hooks"]:
            assert client.hook(config, event).out == ""


@pytest.mark.parametrize("name", ["joelclaw_hook.py", "joelclaw_gemini.py"])
def test_stdin_that_stays_open_ends_a_hook_all_the_same(client: Client, name: str) -> None:
    script = client.user / ".joelclaw" / "hooks" / name
    for each in script.parent.iterdir():
        each.write_text(shortened(each.read_text()))
    reading, writing = os.pipe()
    began = time.monotonic()
    done = subprocess.run([sys.executable, script], stdin=reading, capture_output=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert time.monotonic() - began < QUICK
    os.close(reading)
    os.close(writing)


AGENT = """#!/bin/sh
given=$(cat)
printf '[%s]\\n' "$given"
case $given in *compact*) echo compacted >"$USED" ;; *) echo 85.5 >"$USED" ;; esac
"""


def loop(client: Client, prompts: str) -> Spawned:
    (client.user / "loop.sh").write_text(BLOCKS["joelclaw_loop.sh"].replace("timeout 5", "timeout 1"))
    (client.bin / "agent").write_text(AGENT)
    (client.bin / "agent").chmod(0o700)
    return client.spawn("sh loop.sh loop-1", prompts, AGENT="agent")


def test_the_shell_loop_through_a_compaction(client: Client, run: Run) -> None:
    done = loop(client, f"{PROMPT}\n-n begins with a dash\ncompact now\ngo on\n")
    first, second, third, fourth = done.out.strip("]\n").split("]\n")
    assert (first, second, third) == (f"[{PROMPT}", "[-n begins with a dash", "[compact now")
    assert fourth.startswith("[<joelclaw-memory ") and PROMPT in fourth and fourth.endswith("</joelclaw-memory>\ngo on")
    shown = run("checkpoint", "show", "loop-1").result
    assert shown["checkpoint"]["contextPercentAtCapture"] == 85.5
    assert shown["counts"]["flushes"] == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_the_shell_loop_goes_on_without_joelclaw(client: Client, fault: str) -> None:
    client.break_joelclaw(fault)
    done = loop(client, "compact\n")
    assert (done.code, done.out) == (0, "[compact]\n")


def javascript(typescript: str) -> str:
    """The extension without its types: enough for this one, so that no compiler is needed."""
    kinds = "any|object|string(?:\\[\\])?|ExtensionAPI|ExtensionContext|Handler|Promise<any>|Promise<unknown> \\| null"
    plain = re.sub(r"^(import )?type .*\n", "", typescript, flags=re.MULTILINE)
    plain = re.sub(rf"\??: (?:{kinds})(?=[,) =;])", "", plain)
    return plain.replace(" as const", "").replace("<string>", "")


PI = """
import extension from "./joelclaw.mjs";
const handlers = {}, sent = [], slow = [];
extension({on: (name, handler) => (handlers[name] = handler), sendMessage: (...given) => sent.push(given)});
let percent = 20;
const entry = (role, content) => ({type: "message", message: {role, content}});
const branch = [entry("user", [{type: "text", text: process.argv[2]}]), entry("assistant", "ok"), {type: "compaction"}];
const ctx = {
  sessionManager: {getSessionId: () => "pi-1", getBranch: () => branch},
  getContextUsage: () => ({tokens: 1, contextWindow: 2, percent}),
};
const fire = async (name, event = {}) => {
  const began = Date.now();
  const answer = await handlers[name]({type: name, ...event}, ctx);
  slow.push([name, Date.now() - began, answer ?? null]);
};
await fire("session_start");
await fire("tool_execution_start", {toolName: "write", args: {path: "src/tides.py", content: "x"}});
await fire("tool_execution_start", {toolName: "bash", args: {command: "ls"}});
await fire("tool_execution_start", {toolName: "edit"});
await fire("turn_end");
percent = 70;
await fire("turn_end"); // while the one before is still saved
await fire("session_before_compact");
await fire("turn_end");
await fire("session_shutdown");
await fire("session_compact");
await fire("session_compact");
ctx.sessionManager = null; // a client of another version
for (const name of Object.keys(handlers)) await fire(name);
console.log(JSON.stringify({sent, slow}));
"""

OPENCODE = """
import { Joelclaw } from "./joelclaw.mjs";
const hooks = await Joelclaw({}), sessionID = "oc-1", said = [];
const system = async () => {
  const output = {system: ["You are an agent."]};
  await hooks["experimental.chat.system.transform"]({sessionID, model: {limit: {context: 1000}}}, output);
  said.push(output.system);
};
await hooks["chat.message"]({sessionID}, {parts: [{type: "text", text: process.argv[2]}, {type: "file"}]});
await system();
const info = {role: "assistant", sessionID, tokens: {input: 300, cache: {read: 100, write: 50}}};
await hooks.event({event: {type: "message.updated", properties: {info}}});
await hooks["tool.execute.before"]({tool: "write", sessionID}, {args: {filePath: "src/tides.py"}});
await hooks["experimental.session.compacting"]({sessionID}, {context: []});
await hooks["experimental.compaction.autocontinue"]({sessionID}, {});
await hooks.event({event: {type: "session.compacted", properties: {sessionID}}});
await system();
await system();
for (const hook of Object.values(hooks)) await hook({}, {}); // a client of another version
console.log(JSON.stringify(said));
"""


def in_node(client: Client, driver: str, extension: str) -> Any:
    (client.user / "driver.mjs").write_text(driver)
    (client.user / "joelclaw.mjs").write_text(extension)
    done = client.spawn(f"'{NODE}' driver.mjs '{PROMPT}'")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


@needs_node
def test_the_pi_extension_through_a_compaction(client: Client, run: Run) -> None:
    sent = in_node(client, PI, javascript(BLOCKS["joelclaw.ts"]))["sent"]
    ((message,),) = sent  # one message, no option that would begin a turn
    assert (message["customType"], message["display"]) == ("compaction-recovery", False)
    assert PROMPT in message["content"] and "src/tides.py" in message["content"]
    shown = run("checkpoint", "show", "pi-1").result
    assert shown["counts"] | {"saves": 2, "flushes": 1} == shown["counts"]
    assert shown["checkpoint"]["contextPercentAtCapture"] == 70
    assert shown["checkpoint"]["filesModified"] == ["src/tides.py"]


@needs_node
@pytest.mark.parametrize("fault", FAULTS)
def test_the_pi_extension_without_joelclaw(client: Client, fault: str) -> None:
    client.break_joelclaw(fault)
    told = in_node(client, PI, javascript(shortened(BLOCKS["joelclaw.ts"])))
    assert all(answer is None for _, _, answer in told["slow"])
    assert max(ms for name, ms, _ in told["slow"] if name == "turn_end") < 500  # not waited for
    assert max(ms for _, ms, _ in told["slow"]) < QUICK * 1000
    assert told["sent"] == []


@needs_node
def test_the_opencode_plugin_through_a_compaction(client: Client, run: Run) -> None:
    before, after, later = in_node(client, OPENCODE, BLOCKS["joelclaw.js"])
    assert before == ["You are an agent."]
    assert after[0] == before[0] and "## Session Recovery" in after[1] and PROMPT in after[1]
    assert later == after
    checkpoint = run("checkpoint", "show", "oc-1").result["checkpoint"]
    assert checkpoint["contextPercentAtCapture"] == 45
    assert checkpoint["filesModified"] == ["src/tides.py"]


@needs_node
@pytest.mark.parametrize("fault", FAULTS)
def test_the_opencode_plugin_without_joelclaw(client: Client, fault: str) -> None:
    client.break_joelclaw(fault)
    assert in_node(client, OPENCODE, shortened(BLOCKS["joelclaw.js"])) == [["You are an agent."]] * 3
