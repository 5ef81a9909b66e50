"""pi asks before it compacts: a second compaction with nothing between is left out, and the summary may be ours.

The extension runs in plain Node against the real command, with a host that behaves as pi 0.73.1 does.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, Run
from extension_host import NODE, Host, host
from pi_session import PiSession, call

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
__all__ = ["host"]

DRIVER = """
import extension from "./extension.mjs";
const handlers = {}, told = [];
extension({on: (name, handler) => (handlers[name] = handler), sendMessage: () => {}});
const lines = readFileSync("session.jsonl", "utf8").trim().split("\\n").map((line) => JSON.parse(line)).slice(1);
const ctx = {
  cwd: process.cwd(),
  isIdle: () => true,
  ui: {notify: (text) => told.push(text)},
  getContextUsage: () => ({tokens: 3600, contextWindow: 8000, percent: 45}),
  sessionManager: {getSessionId: () => "pi-1", getSessionFile: () => "session.jsonl", getBranch: () => lines},
};
const compact = (customInstructions, branchEntries = lines, signal = new AbortController().signal) =>
  handlers.session_before_compact({preparation: {}, branchEntries, customInstructions, signal}, ctx);
const leave = (preparation) => handlers.session_before_tree({preparation: {
  oldLeafId: lines.at(-1).id, entriesToSummarize: lines.slice(1), userWantsSummary: true, ...preparation,
}, signal: new AbortController().signal}, ctx);
"""
OURS = '[compaction]\nsummary = "joelclaw"\nkeep_recent_tokens = 58\n[observe]\nauto = false\n'
FAILING = {
    "hanging": "exec sleep 600",
    "failing": 'echo \'{"ok": false, "error": {"message": "no disk"}}\'; exit 1',
    "garbage": "echo '<html>'",
    "empty": 'echo \'{"ok": true, "result": {"summary": "  ", "firstKeptEntryId": "e001"}}\'',
    "of another session": 'echo \'{"ok": true, "result": {"summary": "Tides.", "firstKeptEntryId": "x9"}}\'',
}


@pytest.fixture
def pi(host: Host, home: Path) -> PiSession:
    """A session of two turns, the real command, and hooks in no hurry."""
    (host.folder / "bin" / "joelclaw").symlink_to(JOELCLAW)
    settings(home, "")
    session = PiSession(host.folder / "session.jsonl")
    session.user("Mend the tide tables of Husum, and never touch the archive folder.")
    session.answer("I read the tables.", call("c1", "read", path="tides/husum.py"))
    session.result("c1", "TABLE = 7")
    session.answer("Decision: the gauge is read in UTC because its clock never changes. " * 3, tokens=900)
    session.user("Now write the report of the week.")
    session.answer("The report is written and lies beside the tables, where the others are. " * 3, tokens=1200)
    return session


def settings(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("[hook]\ndeadline_ms = 60000\n" + text)


def model(folder: Path) -> str:
    """A command that keeps its prompt, and answers with a short summary."""
    program = folder / "model.py"
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        f"pathlib.Path({str(folder)!r}, 'prompt.txt').write_text(sys.stdin.read())\n"
        "print('## Goal\\nthe gauge\\n## Next Steps\\n1. the report')\n"
    )
    program.chmod(0o700)
    return str(program)


def ask(host: Host, expression: str) -> Any:
    """What pi is told, and what its user."""
    return host.run("pi", DRIVER, f"out([(await {expression}) ?? null, told]);")


def events(run: Run, action: str) -> list[dict[str, Any]]:
    events = run("otel", "search", action, "--hours", "24").result["events"]
    return [event for event in events if event["action"] == action]


@pytest.mark.parametrize(("between", "instructions"), [
    ("nothing", "undefined"), ("nothing", "'attend to the gauge'"), ("an extension's entry", "undefined"),
    ("our signpost", "'attend to the gauge'"), ("a label", "undefined"),
])  # fmt: skip
def test_a_second_compaction_with_nothing_between_is_cancelled(
    host: Host, pi: PiSession, run: Run, between: str, instructions: str
) -> None:
    """The report: a cache's entry, or our own signpost, makes pi forget that it has just compacted."""
    pi.compaction("e005")
    if between == "an extension's entry":
        pi.add("custom", customType="cache-ttl", data={})
    elif between == "our signpost":
        pi.add("custom_message", customType="compaction-recovery", content="<joelclaw-memory x", display=False)
    elif between == "a label":
        pi.add("label", targetId="e005", label="here")
    answer, notices = ask(host, f"compact({instructions})")
    assert answer == {"cancel": True}
    assert notices == ["Nothing was said since the last compaction: another compaction would only drop what it kept."]
    (event,) = events(run, "compaction.cancelled")
    assert event["metadata"]["reason"] == "nothing-since-compaction"
    assert event["metadata"]["instructed"] is (instructions != "undefined")
    assert event["sessionId"] == "pi-1"
    assert not events(run, "compaction.before"), "nothing is flushed for a compaction that is not made"


@pytest.mark.parametrize("last", ["nothing", "an extension's entry", "a message", "another branch", "no transcript"])
def test_the_documented_fields_of_a_hook_are_enough(pi: PiSession, run: Run, last: str) -> None:
    """A script of another agent gives a transcript, which ends in a compaction or does not."""
    pi.compaction("e005")
    if last == "an extension's entry":
        pi.add("custom", customType="cache-ttl", data={})
    elif last == "a message":
        pi.result("c1", "TABLE = 8")
    elif last == "another branch":
        pi.leaf = "e004"
        pi.add("label", targetId="e004", label="here")
    payload = {"session_id": "pi-1", "transcript_path": str(pi.path), "cwd": str(pi.path.parent)}
    if last == "no transcript":
        payload["transcript_path"] += ".gone"
    answer = run("hook", "pi", "before_compaction", stdin=json.dumps(payload)).json
    is_cancelled = last in ("nothing", "an extension's entry")
    assert answer.get("cancel") == ("nothing-since-compaction" if is_cancelled else None)
    assert len(events(run, "compaction.before")) == 1 - is_cancelled


@pytest.mark.parametrize("message", ["user", "answer", "an error", "a command"])
def test_a_compaction_after_a_message_is_left_to_pi(host: Host, pi: PiSession, run: Run, message: str) -> None:
    """An answer that failed is one: pi compacts a context that overflows, and tries again."""
    pi.compaction("e005")
    if message == "user":
        pi.user("Go on.")
    elif message == "a command":
        pi.add("message", message={"role": "bashExecution", "command": "ls", "output": "a"})
    else:
        pi.answer("So I did.", stop="error" if message == "an error" else "stop")
    assert ask(host, "compact()") == [None, []]
    assert not events(run, "compaction.cancelled")
    assert events(run, "compaction.before")


def test_on_request_the_summary_is_ours(host: Host, pi: PiSession, home: Path, run: Run) -> None:
    settings(home, OURS)
    answer, _ = ask(host, "compact()")
    compaction = answer["compaction"]
    prepared = run("compaction", "prepare", str(pi.path)).result
    assert (compaction["firstKeptEntryId"], compaction["tokensBefore"]) == (
        prepared["firstKeptEntryId"],
        prepared["tokensBefore"],
    )
    assert compaction["firstKeptEntryId"] == "e005"
    assert "Mend the tide tables of Husum" in compaction["summary"]
    assert compaction["details"] == {
        "by": "joelclaw", "source": "extractive", "readFiles": ["tides/husum.py"], "modifiedFiles": [],
    }  # fmt: skip


def test_a_summary_of_ours_hands_its_files_on_to_the_next(pi: PiSession, run: Run) -> None:
    listed = {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
    for details, expected in (({**listed, "by": "joelclaw"}, ["a.py"]), (listed, [])):
        pi.compaction("e005", fromHook=True, details=details)
        pi.user("Go on.")
        summed = run("compaction", "summarize", str(pi.path), "--keep-recent", "1").result
        assert [path for path in summed["readFiles"] if path == "a.py"] == expected


def test_the_summary_starts_at_the_sessions_leaf(host: Host, pi: PiSession, home: Path, run: Run) -> None:
    """After /tree the newest line of the file is of another branch."""
    settings(home, OURS)
    pi.leaf = "e004"
    pi.user("Another way: throw the tables away and draw new ones.")
    pi.answer("They are drawn.")
    answer, _ = ask(host, "compact(undefined, lines.slice(0, 6))")
    assert answer["compaction"]["firstKeptEntryId"] == "e005"
    elsewhere = run("compaction", "prepare", str(pi.path), "--at", "e002", "--keep-recent", "1").result
    assert elsewhere["firstKeptEntryId"] == "e002"
    assert run("compaction", "prepare", str(pi.path), "--at", "e999", ok=False).json["error"]["code"] == "ENTRY_UNKNOWN"


def test_our_own_texts_are_not_summarized(pi: PiSession, run: Run, tmp_path: Path) -> None:
    kind = {"customType": "note", "display": False}
    pi.add("custom_message", content="<joelclaw-memory>The harbour of Tromsø is left out.", **kind)
    pi.add("custom_message", content="The harbour of Bergen is left out.", **kind)
    pi.answer("So it is.")
    pi.user("Go on.")
    run("compaction", "summarize", str(pi.path), "--keep-recent", "1", "--command", model(tmp_path))
    prompt = (tmp_path / "prompt.txt").read_text()
    assert "Bergen" in prompt and "Tromsø" not in prompt


def test_instructions_go_to_a_model_or_to_pi(host: Host, pi: PiSession, home: Path) -> None:
    """A summary that quotes cannot attend to anything: pi's own model does."""
    settings(home, OURS)
    assert ask(host, "compact('attend to the gauge')") == [None, []]
    settings(home, OURS + f'[model]\ncommand = "{model(host.folder)}"\n')
    answer, _ = ask(host, "compact('attend to the gauge')")
    assert "## Goal\nthe gauge" in answer["compaction"]["summary"]
    assert "attend to the gauge" in (host.folder / "prompt.txt").read_text()
    assert answer["compaction"]["details"]["source"] == "model"


@pytest.mark.parametrize("kind", FAILING)
def test_without_a_summary_of_ours_pi_makes_its_own(host: Host, pi: PiSession, kind: str) -> None:
    log = host.folder / "otel.txt"
    command = host.folder / "bin" / "joelclaw"
    command.unlink()
    command.write_text(
        f"""#!/bin/sh
case $1 in
hook) echo '{{"messages": [], "summary": "300"}}';;
compaction) {FAILING[kind]};;
otel) echo "$@" > {log};;
esac
"""
    )
    command.chmod(0o700)
    assert ask(host, "compact()") == [None, []]
    if kind != "of another session":
        assert "otel emit compaction.summary.failed" in log.read_text()
    if kind not in ("of another session", "empty"):
        assert ask(host, "leave({targetId: 'e001'})") == [None, []]
    assert not host.left_running()


def test_a_compaction_that_the_user_stops_ends_the_command(host: Host, pi: PiSession, home: Path) -> None:
    settings(home, OURS + '[model]\ncommand = "sleep 600"\n')
    body = """
    const stop = new AbortController();
    const made = compact(undefined, lines, stop.signal);
    await until(() => spawned.length > 1);
    stop.abort();
    out((await made) ?? null);
    """
    assert host.run("pi", DRIVER, body) is None
    assert not host.left_running()


def test_an_abandoned_branch_gets_our_summary(host: Host, pi: PiSession, home: Path, run: Run) -> None:
    assert ask(host, "leave({targetId: 'e001'})") == [None, []]
    settings(home, OURS)
    answer, _ = ask(host, "leave({targetId: 'e001'})")
    summary = answer["summary"]
    same = run("compaction", "branch", str(pi.path), "--from", "e006", "--to", "e001").result
    assert summary["summary"] == same["summary"]
    assert "Now write the report of the week" in summary["summary"]
    assert summary["details"]["readFiles"] == ["tides/husum.py"]


@pytest.mark.parametrize("preparation", [
    {"userWantsSummary": False},
    {"entriesToSummarize": []},
    {"customInstructions": "in verse", "replaceInstructions": True},
    {"customInstructions": "in verse"},
])  # fmt: skip
def test_without_the_setting_branches_are_left_to_pi(
    host: Host, pi: PiSession, home: Path, preparation: dict[str, Any]
) -> None:
    settings(home, OURS)
    assert ask(host, f"leave({json.dumps({'targetId': 'e001', **preparation})})") == [None, []]
