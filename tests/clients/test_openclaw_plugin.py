"""OpenClaw's plugin in plain Node, with a host that behaves like OpenClaw 2026.9.6."""

from typing import Any

import pytest
from extension_host import FAULTS, NODE, Host, host

AGENT = "openclaw"
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
__all__ = ["host"]

DRIVER = """
import plugin from "./extension.mjs";
const handlers = {}, config = {};
const api = {config, on: (name, handler) => (handlers[name] = handler), registerTool: () => {},
  runtime: {agent: {resolveAgentDir: (given, agent) => given === config ? `/state/${agent}` : null}}};
plugin.register(api);
plugin.register(api); // as OpenClaw does
const session = {sessionId: "s-1", agentId: "main"}, turn = {...session, workspaceDir: "/srv/tides", trigger: "user"};
const call = (name, event, ctx = turn) => timed(name, () => handlers[name](event, ctx));
let runs = 0;
const prompt = (text, more) =>
  call("before_prompt_build", {prompt: text, messages: []}, {...turn, runId: ++runs, ...more});
const spoke = (tokens) => call("llm_output", {lastAssistant: {usage: {input: tokens}}, contextTokenBudget: 50000});
"""


def run(host: Host, body: str) -> Any:
    return host.run(AGENT, DRIVER, body)


def events(host: Host) -> list[str]:
    return [call["event"] for call in host.calls()]


def test_a_prompt_gets_the_texts_and_the_turn_is_reported(host: Host) -> None:
    host.answers(session_start="begin", prompt="note")
    outcome = run(
        host,
        """
        const first = await prompt("mend the tides");
        await call("after_tool_call", {toolName: "write", params: {path: "/srv/tides/a.py"}, result: {}}, session);
        await call("after_tool_call", {toolName: "exec", params: {command: "make"}, result: {}}, session);
        await calls(3);
        await spoke(20000);
        await calls(4);
        out([first, await prompt("go on"), await call("resolve_exec_env", {toolName: "exec"}, session)]);
        """,
    )
    assert outcome == [{"prependContext": "<joelclaw-memory note"}] * 2 + [{"JOELCLAW_SESSION_ID": "s-1"}]
    assert events(host) == ["session_start", "prompt", "tool", "turn_end", "prompt"]
    start, _, tool, end, _ = (call["payload"] for call in host.calls())
    assert (start["session_id"], start["cwd"], start["source"]) == ("s-1", "/srv/tides", "startup")
    assert start["transcript_path"] == "/state/main/openclaw-agent.sqlite"
    assert tool["files"] == ["/srv/tides/a.py"]
    assert (end["tokens"], end["window"], end["percent"]) == (20000, 50000, 40)


@pytest.mark.parametrize(
    "other",
    ['{trigger: "memory", sessionId: "internal-session-effects-1"}', '{trigger: "cron"}', '{trigger: "heartbeat"}'],
)
def test_only_turns_with_the_user_count(host: Host, other: str) -> None:
    host.answers(prompt="note")
    outcome = run(
        host,
        f"""
        const given = await prompt("flush", {other});
        await call("llm_output", {{lastAssistant: {{usage: {{input: 9}}}}}}, {{...turn, ...{other}}});
        await call("after_tool_call", {{toolName: "write", params: {{path: "a"}}}}, {{...session, ...{other}}});
        await call("before_compaction", {{}}, {{...session, ...{other}, trigger: undefined}});
        await sleep(100);
        out(given ?? null);
        """,
    )
    assert outcome is None
    assert host.calls() == []


def test_a_compaction_counts_once(host: Host) -> None:
    host.answers()
    run(
        host,
        """
        await prompt("mend the tides");
        await spoke(45000);
        await call("before_compaction", {tokenCount: 45000}, session);
        await call("before_compaction", {tokenCount: 45000}, session); // both summaries were refused
        await prompt("go on");
        await call("before_compaction", {tokenCount: 46000}, session);
        await call("after_compaction", {tokenCount: 900, compactedCount: 0}, session);
        await call("after_compaction", {tokenCount: 900, compactedCount: 7}, session);
        out(1);
        """,
    )
    compactions = [event for event in events(host) if "compaction" in event]
    assert compactions == ["before_compaction", "before_compaction", "after_compaction"]
    assert host.calls()[-1]["payload"]["tokens"] == 900


def test_a_gateway_goes_on_with_a_session_of_another_process(host: Host) -> None:
    host.answers(prompt="note")
    role = run(
        host,
        """
        await call("gateway_start", {port: 1}, {});
        await call("before_compaction", {}, session);
        call("after_compaction", {compactedCount: 7}, session);
        await prompt("go on"); // waits for it
        await prompt("Continue the current task", {runId: runs}); // after an overflow, within the same run
        await prompt("a subagent has ended", {inputProvenance: {kind: "inter_session"}});
        await call("session_end", {reason: "shutdown"}, session);
        out(process.env.JOELCLAW_ROLE);
        """,
    )
    assert role == "gateway"
    prompts = [call["payload"]["prompt"] for call in host.calls() if call["event"] == "prompt"]
    assert prompts == ["go on", "", ""]
    assert events(host)[:3] == ["before_compaction", "after_compaction", "session_start"]
    assert events(host)[-1] == "session_end"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_joelclaw_changes_nothing(host: Host, fault: str) -> None:
    host.break_joelclaw(fault)
    outcome = run(
        host,
        """
        const given = [await prompt("mend the tides"), await spoke(9), await call("before_compaction", {}, session),
          await call("after_compaction", {}, session), await prompt("go on")];
        await call("session_end", {reason: "shutdown"}, session);
        out(given.map((one) => one?.prependContext ?? null));
        """,
    )
    assert outcome == [None] * 5
    assert host.left_running() == []
