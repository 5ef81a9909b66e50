"""OpenCode's plugin in plain Node, with a host that behaves like OpenCode 1.18.33."""

from typing import Any

import pytest
from extension_host import FAULTS, NODE, Host, host

AGENT = "opencode"
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
__all__ = ["host"]

DRIVER = """
import * as plugin from "./extension.mjs";
const sessionID = "ses_1", history = [];
const client = {session: {messages: async ({path}) => ({data: path.id === sessionID ? history : []})}};
const hooks = await plugin.Joelclaw({client, directory: "/srv/tides"});
const call = async (name, input, output) => {
  await timed(name, () => hooks[name](input, output));
  return output;
};
const prompt = (text) => call("chat.message", {sessionID}, {parts: [{type: "text", text}]});
const MAIN = "You are opencode, an interactive CLI tool.", TITLE = "You are a title generator. You output ONLY";
const system = async (first = MAIN, context = 30000, id = sessionID) => {
  const output = {system: [first]};
  await call("experimental.chat.system.transform", {sessionID: id, model: {limit: {context}}}, output);
  return output.system;
};
const event = (type, properties) => call("event", {event: {type, properties}});
let last = 0;
const user = (text) => history.push({info: {id: "m" + ++last, role: "user", time: {created: last}}, parts: [
  {type: "text", text}, {type: "text", text: "added by the client", synthetic: true},
]});
const spoke = async (text, tools = [], more = {}) => {
  const info = {id: "m" + ++last, role: "assistant", sessionID, time: {created: last, completed: last + 1},
    tokens: {input: 3000, cache: {read: 5000, write: 1000}}, ...more};
  const parts = tools.map(([tool, input, output, status = "completed"]) =>
    ({type: "tool", tool, state: status === "error" ? {status, input, error: output} : {status, input, output}}));
  history.push({info, parts: [{type: "text", text}, ...parts]});
  await event("message.updated", {info});
};
"""


def run(host: Host, body: str) -> Any:
    return host.run(AGENT, DRIVER, body)


def ids(call: dict[str, Any]) -> list[str]:
    return [entry["id"] for entry in call["payload"].get("entries", [])]


def test_texts_are_added_only_to_the_sessions_system_prompt(host: Host) -> None:
    host.answers(session_start="begin", prompt="refresh")
    outcome = run(
        host,
        """
        await prompt("mend the tides");
        const title = await system(TITLE, 500), main = await system(), other = await system(MAIN, 30000, "ses_2");
        await prompt("go on");
        out({title, main, other, again: await system()});
        """,
    )
    assert len(outcome["title"]) == len(outcome["other"]) == 1
    assert outcome["main"][1:] == ["<joelclaw-memory begin", "<joelclaw-memory refresh"]
    assert outcome["again"] == outcome["main"]  # of a kind of text the latest one
    start, first, second = host.calls()
    assert start["argv"] == ["hook", "opencode", "session_start"]
    assert start["payload"]["session_id"] == "ses_1" and start["payload"]["cwd"] == "/srv/tides"
    assert start["payload"]["source"] == "startup"
    assert [call["payload"]["prompt"] for call in (first, second)] == ["mend the tides", "go on"]
    assert second["payload"]["window"] == 30000  # not that of the small model


def test_each_message_is_sent_once_with_its_tool_calls(host: Host) -> None:
    host.answers()
    outcome = run(
        host,
        """
        await prompt("mend the tides");
        await system();
        user("mend the tides");
        await spoke("I begin.", [
          ["edit", {filePath: "/srv/tides/a.py"}, "done"],
          ["bash", {command: "make"}, "x".repeat(900)],
          ["write", {filePath: "/srv/tides/b.py", content: "x"}, "no space", "error"],
          ["write", {filePath: "/srv/tides/f.py", content: "a\\nb\\n"}, "written"],
          ["apply_patch", {patchText: "*** Add File: c.py\\n+a\\n*** Update File: d.py\\n*** Delete File: e.py"}, "ok"],
        ]);
        await calls(3);
        await sleep(100);
        await spoke("I go on.");
        const half = {id: "m9", role: "assistant", sessionID, time: {created: 9}};
        history.push({info: half, parts: [{type: "text", text: "half"}]});
        await event("session.idle", {sessionID});
        await calls(4);
        await sleep(200);
        await event("session.idle", {sessionID}); // nothing new
        await sleep(100);
        await hooks.dispose();
        out([...waited]);
        """,
    )
    turns = [call for call in host.calls() if call["event"] == "turn_end"]
    assert [ids(call) for call in turns] == [["m1", "m2"], ["m3"]]
    first, second = turns[0]["payload"]["entries"]
    assert first == {"id": "m1", "role": "user", "text": "mend the tides", "tools": [], "at": 1}
    assert second["text"] == "I begin."
    edit, bash, write, overwrite, patch = second["tools"]
    assert edit == {
        "name": "edit", "files": ["/srv/tides/a.py"], "target": "/srv/tides/a.py", "command": "",
        "given": {"filePath": "/srv/tides/a.py"}, "plan": [], "diff": "", "done": True, "outcome": "done",
        "failed": False,
    }  # fmt: skip
    assert (write["diff"], overwrite["diff"]) == ("", "@@ -0,0 +1,2 @@\n+a\n+b")
    assert (bash["files"], bash["command"], bash["outcome"]) == ([], "make", "x" * 900)
    assert bash["given"] == {"command": "make"}
    assert (write["files"], write["outcome"], write["failed"]) == ([], "no space", True)
    assert patch["files"] == ["c.py", "d.py"]
    assert turns[0]["payload"]["messages"] == ["mend the tides"]
    assert (turns[0]["payload"]["tokens"], turns[0]["payload"]["percent"]) == (9000, 30)
    assert host.calls()[-1]["event"] == "session_end"
    assert "event" not in outcome


def test_undelivered_messages_are_sent_again(host: Host) -> None:
    host.answers()
    run(
        host,
        """
        const { renameSync } = await import("node:fs");
        renameSync("bin/joelclaw", "bin/gone");
        await prompt("a");
        user("a");
        await spoke("b");
        await sleep(200);
        renameSync("bin/gone", "bin/joelclaw");
        await spoke("c");
        await calls(1);
        await sleep(100);
        out(1);
        """,
    )
    (turn,) = host.calls()
    assert ids(turn) == ["m1", "m2", "m3"]


def test_a_written_file_is_reported_without_waiting(host: Host) -> None:
    host.answers(tool="project", delay=0.3)
    outcome = run(
        host,
        """
        const wrote = (tool, args) => call("tool.execute.after", {tool, sessionID, callID: "c", args}, {output: "ok"});
        await wrote("bash", {command: "ls"});
        await wrote("edit", {filePath: "/srv/tides/a.py"});
        await wrote("write", {filePath: "/srv/tides/b.py"});
        await wrote("write", {filePath: "/srv/tides/c.py"});
        await calls(2);
        await until(async () => (await system()).length > 1);
        out({waited: [...waited], system: await system()});
        """,
    )
    first, second = host.calls()
    assert (first["payload"]["files"], second["payload"]["files"]) == (
        ["/srv/tides/a.py"],
        ["/srv/tides/b.py", "/srv/tides/c.py"],
    )
    assert second["began"] >= first["ended"]
    assert "tool.execute.after" not in outcome["waited"]
    assert outcome["system"][1:] == ["<joelclaw-memory project"]


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_compaction_archives_messages_and_gets_one_note(host: Host, goes_on: bool) -> None:
    host.answers(session_start="begin", before_compaction="not for the summary", after_compaction="recovery")
    outcome = run(
        host,
        """
        await prompt("mend the tides");
        await system();
        user("mend the tides");
        history.push({info: {id: "m2", role: "assistant", sessionID, time: {created: 2, completed: 3}},
          parts: [{type: "text", text: "not told by an event"}]});
        const summary = await call("experimental.session.compacting", {sessionID}, {context: []});
        const during = await system("You are a summarizer.");
        """
        + ("await call('experimental.compaction.autocontinue', {sessionID}, {enabled: true});" if goes_on else "")
        + """
        await event("session.compacted", {sessionID});
        out({summary, during, after: await system()});
        """,
    )
    events = [call["event"] for call in host.calls()]
    assert events == ["session_start", "prompt", "before_compaction", "after_compaction"]
    assert ids(host.calls()[2]) == ["m1", "m2"]
    assert outcome["summary"] == {"context": []} and len(outcome["during"]) == 1
    assert outcome["after"][1:] == ["<joelclaw-memory recovery"]


EVERY = """
user("u");
await prompt("p");
await call("tool.execute.after", {tool: "edit", sessionID, args: {filePath: "a"}}, {});
await spoke("b");
await call("experimental.session.compacting", {sessionID}, {context: []});
await call("experimental.compaction.autocontinue", {sessionID}, {enabled: true});
await event("session.idle", {sessionID});
const after = await system();
await call("dispose");
const handlers = (all) => Object.keys(all).filter((name) => name !== "tool");
for (const name of handlers(hooks)) { // a client of another version
  await call(name);
  await call(name, {}, {});
  await call(name, {sessionID, event: {}}, {parts: 7, system: 7});
}
const lost = await plugin.Joelclaw();
for (const name of handlers(lost)) await lost[name]({sessionID}, {parts: [{type: "text", text: "p"}]});
out({after, waited: [...waited]});
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_joelclaw_never_disturbs_opencode(host: Host, fault: str) -> None:
    host.break_joelclaw(fault)
    outcome = run(host, EVERY)
    assert len(outcome["after"]) == 1
    # Nothing took as long as what hangs, or the driver had not come to its end.
    assert {"event", "tool.execute.after"} & set(outcome["waited"]) == set()
    assert host.left_running() == []
