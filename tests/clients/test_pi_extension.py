"""pi's extension in plain Node, with a host that behaves like pi."""

from typing import Any

import pytest
from extension_host import FAULTS, NODE, Host, host

AGENT = "pi"
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
__all__ = ["host"]

DRIVER = """
import extension from "./extension.mjs";
const handlers = {}, sent = [], answers = {};
const pi = {on: (name, handler) => (handlers[name] = handler), sendMessage: (...given) => sent.push(given)};
extension(pi);
let idle = true, usage = {tokens: 3600, contextWindow: 8000, percent: 45}, branch = [], session = "pi-1";
const ctx = {
  cwd: "/srv/tides",
  isIdle: () => idle,
  getContextUsage: () => usage,
  sessionManager: {getSessionId: () => session, getSessionFile: () => "/s/pi-1.jsonl", getBranch: () => branch},
};
const said = (role, text) => ({type: "message", message: {role, content: [{type: "text", text}]}});
const fire = async (name, event = {}) => {
  answers[name] = await timed(name, () => handlers[name]({type: name, ...event}, ctx));
  return answers[name] ?? null;
};
"""


def run(host: Host, body: str) -> Any:
    return host.run(AGENT, DRIVER, body)


def test_start_and_prompt_are_reported_and_answered_in_the_first_request(host: Host) -> None:
    host.answers(session_start="begin", prompt="refresh")
    outcome = run(
        host,
        """
        await fire("session_start", {reason: "startup"});
        const message = (await fire("before_agent_start", {prompt: "mend the tides"})).message;
        out({sent, message});
        """,
    )
    assert outcome["sent"] == [[{"customType": "session_start", "content": "<joelclaw-memory begin", "display": False}]]
    assert outcome["message"] == {"customType": "prompt", "content": "<joelclaw-memory refresh", "display": False}
    start, prompt = host.calls()
    assert start["argv"] == ["hook", "pi", "session_start"]
    about = {"session_id": "pi-1", "transcript_path": "/s/pi-1.jsonl", "cwd": "/srv/tides"}
    assert start["payload"] == {**about, "source": "startup"}
    assert prompt["payload"]["prompt"] == "mend the tides"
    assert (prompt["payload"]["percent"], prompt["payload"]["window"]) == (45, 8000)


@pytest.mark.parametrize(("reason", "branch", "events"), [
    ("startup", "[]", ["session_start startup"]),
    ("startup", "[said('user', 'a'), said('assistant', 'b')]", ["session_start resume"]),
    ("new", "[]", ["session_start new"]),
    ("fork", "[said('user', 'a')]", ["session_start fork"]),
    ("reload", "[said('user', 'a')]", []),
    (
        "startup",
        "[said('assistant', 'b'), {type: 'compaction'}]",
        ["session_start resume", "after_compaction owed"],
    ),
    (
        "startup",
        "[{type: 'compaction'}, {type: 'custom_message', content: '<joelclaw-memory x'}]",
        ["session_start startup"],
    ),
])  # fmt: skip
def test_a_resumed_session_is_reported(host: Host, reason: str, branch: str, events: list[str]) -> None:
    """A compaction at whose end pi was already leaving (`pi -p`) is made up for."""
    host.answers()
    start = f"branch = {branch}; await fire('session_start', {{reason: '{reason}'}});"
    run(host, f"{start} await calls({len(events)}); await sleep(50); out(1);")
    calls = [" ".join(filter(None, (call["event"], call["payload"].get("source")))) for call in host.calls()]
    assert calls == events


def test_a_written_file_is_reported_and_its_text_waits_for_a_request(host: Host) -> None:
    """While pi works a queued message would cost one more request."""
    host.answers(tool="project", delay=0.3)
    outcome = run(
        host,
        """
        idle = false;
        const tool = async (id, toolName, args, isError = false) => {
          await fire("tool_execution_start", {toolCallId: id, toolName, args});
          await fire("tool_execution_end", {toolCallId: id, toolName, result: {}, isError});
        };
        await tool("1", "write", {path: "src/tides.py"});
        await calls(1);
        let first;
        await until(async () => (first = await fire("context", {messages: ["old"]})));
        const none = sent.length;
        idle = true;
        await fire("agent_end");
        const later = await fire("context", {messages: ["old"]});
        await tool("2", "bash", {command: "ls"});
        await tool("3", "edit", {path: "src/broken.py"}, true);
        await tool("4", "edit", {path: "src/a.py"});
        await tool("5", "write", {path: "src/b.py"});
        await calls(3);
        out({first, none, later, sent, waited: [...waited]});
        """,
    )
    (old, added) = outcome["first"]["messages"]
    assert old == "old"
    assert (added["role"], added["content"], added["display"]) == ("custom", "<joelclaw-memory project", False)
    assert outcome["none"] == 0 and outcome["later"] is None
    assert outcome["sent"][0] == [{"customType": "tool", "content": "<joelclaw-memory project", "display": False}]
    assert "tool_execution_end" not in outcome["waited"]
    first, second = (call["payload"] for call in host.calls() if call["event"] == "tool")
    assert first["files"] == ["src/tides.py"]
    assert second["files"] == ["src/a.py", "src/b.py"]  # sent together, the failed one not


def test_turns_are_reported_one_at_a_time_and_the_latest_wins(host: Host) -> None:
    host.answers(delay=0.3)
    outcome = run(
        host,
        """
        branch = Array.from({length: 20}, (_, at) => said("user", "u" + at));
        branch.push(said("assistant", "no"), {type: "compaction"});
        await fire("turn_end");
        usage = {tokens: null, contextWindow: 8000, percent: null};
        await fire("turn_end");
        usage = {tokens: 5600, contextWindow: 8000, percent: 70};
        await fire("turn_end");
        out([...waited]);
        """,
    )
    first, last = host.calls()
    assert (first["payload"]["percent"], last["payload"]["percent"]) == (45, 70)
    assert first["payload"]["messages"] == [f"u{at}" for at in range(8, 20)]
    assert last["began"] >= first["ended"]
    assert outcome == []


def test_the_user_s_turn_ends_once_with_the_agent(host: Host) -> None:
    """Since pi 1.0 a retry or a compaction may follow agent_end, and agent_settled comes after them."""
    host.answers()
    run(
        host,
        """
        for (const name of ["turn_end", "agent_end", "agent_settled"]) { await fire(name); await sleep(150); }
        for (const name of ["turn_end", "agent_end", "turn_end", "agent_end"]) { await fire(name); await sleep(150); }
        await fire("agent_settled");
        await calls(5);
        out(1);
        """,
    )
    assert [call["event"] for call in host.calls()] == ["tool", "turn_end", "tool", "tool", "turn_end"]


def test_a_text_that_came_during_a_compaction_is_kept_once_pi_is_settled(host: Host) -> None:
    host.answers(after_compaction="recovery")
    outcome = run(
        host,
        """
        idle = false;
        await fire("session_compact", {reason: "overflow", willRetry: true});
        const shown = await fire("context", {messages: []});
        await fire("agent_end");
        const none = sent.length;
        idle = true;
        await fire("agent_settled");
        out({shown, none, sent, after: await fire("context", {messages: []})});
        """,
    )
    assert [one["content"] for one in outcome["shown"]["messages"]] == ["<joelclaw-memory recovery"]
    assert (outcome["none"], len(outcome["sent"]), outcome["after"]) == (0, 1, None)
    assert host.calls()[0]["payload"]["source"] == "overflow"


@pytest.mark.parametrize(("aborted", "events"), [("false", ["emit"]), ("true", [])])
def test_a_failed_compaction_is_an_event(host: Host, aborted: str, events: list[str]) -> None:
    host.answers()
    run(
        host,
        f"""
        const event = {{reason: "threshold", willRetry: false, aborted: {aborted}, errorMessage: "no model"}};
        await fire("session_compact_failed", event);
        out(1);
        """,
    )
    calls = host.calls()
    assert [call["argv"][1] for call in calls] == events
    for call in calls:
        assert call["argv"][2] == "compaction.failed" and "--error=no model" in call["argv"]
        assert '--metadata={"trigger":"threshold","willRetry":false}' in call["argv"]


def test_a_compaction_waits_for_the_turn_and_gets_one_note(host: Host) -> None:
    host.answers(after_compaction="recovery", before_compaction="not for the summary", delay=0.2)
    outcome = run(
        host,
        """
        const ours = {role: "custom", content: "<joelclaw-memory x"}, user = {role: "user", content: "hello"};
        const preparation = {messagesToSummarize: [user, ours], turnPrefixMessages: [ours]};
        await fire("agent_end");
        await calls(1);
        const before = await fire("session_before_compact", {preparation});
        const during = sent.length;
        await fire("session_compact");
        await fire("session_shutdown", {reason: "quit"});
        out({before, during, sent, preparation});
        """,
    )
    turn, before, after, end = host.calls()
    names = " ".join(call["event"] for call in (turn, before, after, end))
    assert names == "turn_end before_compaction after_compaction session_end"
    assert before["began"] >= turn["ended"]
    assert (outcome["before"], outcome["during"]) == (None, 0)
    assert outcome["sent"] == [
        [{"customType": "after_compaction", "content": "<joelclaw-memory recovery", "display": False}]
    ]
    assert [message["role"] for message in outcome["preparation"]["messagesToSummarize"]] == ["user"]


EVERY = """
branch = [said("user", "u"), {type: "compaction"}];
await fire("session_start", {reason: "startup"});
await fire("before_agent_start", {prompt: "p"});
await fire("tool_execution_start", {toolCallId: "1", toolName: "edit", args: {path: "a"}});
await fire("tool_execution_end", {toolCallId: "1", toolName: "edit"});
await fire("turn_end");
await fire("agent_end");
await fire("agent_settled");
await fire("context", {messages: []});
await fire("session_before_compact", {preparation: null});
await fire("session_compact");
await fire("session_compact_failed", {errorMessage: "x"});
await fire("session_shutdown", {reason: "quit"});
ctx.sessionManager = null;
for (const name of Object.keys(handlers)) await fire(name); // a client of another version
for (const name of Object.keys(handlers)) await handlers[name](undefined, undefined);
out({sent, waited: [...waited], answers: Object.values(answers).filter((one) => one != null)});
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_joelclaw_never_disturbs_pi(host: Host, fault: str) -> None:
    host.break_joelclaw(fault)
    outcome = run(host, EVERY)
    assert outcome["sent"] == [] and outcome["answers"] == []
    # Nothing took as long as what hangs, or the driver had not come to its end.
    assert {"session_start", "turn_end", "tool_execution_end"} & set(outcome["waited"]) == set()
    assert host.left_running() == []
