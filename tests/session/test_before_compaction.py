"""Before a compaction: a second one is cancelled, the summary may be ours, and the user may be notified."""

import fcntl
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, NOW, NOW_MS, Run, put, until
from extension_host import NODE, Host, host
from pi_session import PiSession, call

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
    if NODE is None:
        pytest.skip("node is not installed")
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
    put(home / "config.toml", "[hook]\ndeadline_ms = 60000\n" + text)


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


def on_another_branch(pi: PiSession) -> None:
    pi.leaf = "e004"
    pi.add("label", targetId="e004", label="here")


FOLLOWING: dict[str, Callable[[PiSession], object]] = {
    "nothing": lambda pi: None,
    "an extension's entry": lambda pi: pi.add("custom", customType="cache-ttl", data={}),
    "our signpost": lambda pi: pi.add("custom_message", customType="compaction-recovery", content="<joelclaw-memory x"),
    "a label": lambda pi: pi.add("label", targetId="e005", label="here"),
    "a prompt": lambda pi: pi.user("Go on."),
    "an answer": lambda pi: pi.answer("So I did."),
    "a failed answer": lambda pi: pi.answer("So I did.", stop="error"),
    "a result": lambda pi: pi.result("c1", "TABLE = 8"),
    "a command": lambda pi: pi.add("message", message={"role": "bashExecution", "command": "ls", "output": "a"}),
    "another branch": on_another_branch,
    "no transcript": lambda pi: pi.path.unlink(),
}
"""What may follow a compaction. After a failed answer pi compacts a context that overflows, and tries again."""
NO_MESSAGE = ("nothing", "an extension's entry", "our signpost", "a label")


@pytest.mark.parametrize("what", FOLLOWING)
def test_a_second_compaction_without_a_message_between_is_cancelled(pi: PiSession, run: Run, what: str) -> None:
    """The report: a cache's entry, or our own signpost, makes pi forget that it has just compacted."""
    pi.compaction("e005")
    FOLLOWING[what](pi)
    payload = {"session_id": "pi-1", "transcript_path": str(pi.path), "cwd": str(pi.path.parent)}
    answer = run("hook", "pi", "before_compaction", stdin=json.dumps(payload)).json
    assert answer.get("cancel") == ("nothing-since-compaction" if what in NO_MESSAGE else None)
    assert len(events(run, "compaction.cancelled")) == (what in NO_MESSAGE)
    assert len(events(run, "compaction.before")) == (what not in NO_MESSAGE), "a cancelled one flushes nothing"


@pytest.mark.parametrize("instructions", ["", "attend to the gauge"])
def test_pi_tells_its_user_why_it_does_not_compact(host: Host, pi: PiSession, run: Run, instructions: str) -> None:
    pi.compaction("e005")
    answer, notices = ask(host, f"compact('{instructions}')")
    assert answer == {"cancel": True}
    assert notices == ["Nothing was said since the last compaction: another compaction would only drop what it kept."]
    (event,) = events(run, "compaction.cancelled")
    assert event["metadata"]["reason"] == "nothing-since-compaction"
    assert event["metadata"]["instructed"] is bool(instructions)
    assert event["sessionId"] == "pi-1"
    pi.user("Go on.")
    assert ask(host, "compact()") == [None, []]


def test_on_request_the_summary_is_ours(host: Host, pi: PiSession, home: Path, run: Run) -> None:
    settings(home, OURS)
    answer, _ = ask(host, "compact()")
    compaction = answer["compaction"]
    prepared = run("compaction", "prepare", str(pi.path)).result
    for key in ("firstKeptEntryId", "tokensBefore"):
        assert compaction[key] == prepared[key]
    assert compaction["firstKeptEntryId"] == "e005"
    assert "Mend the tide tables of Husum" in compaction["summary"]
    about = {"by": "joelclaw", "source": "extractive"}
    assert compaction["details"] == {**about, "readFiles": ["tides/husum.py"], "modifiedFiles": []}


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
def test_other_branches_are_left_to_pi(host: Host, pi: PiSession, home: Path, preparation: dict[str, Any]) -> None:
    settings(home, OURS)
    assert ask(host, f"leave({json.dumps({'targetId': 'e001', **preparation})})") == [None, []]


DEFAULT = "🧹 Context compacting, back in a moment…"
COMMAND_AGENTS = ("claude", "codex")
"""What their PreCompact prints reaches the summariser, or was not seen to reach the user."""


class Told:
    """A command that keeps what it is given."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.file, self.folder = home, folder / "told", folder

    def settings(self, command: str | None = None, **compaction: object) -> None:
        lines = [f"compaction.{key} = {json.dumps(value)}" for key, value in compaction.items()]
        lines.append(f"notify.command = {json.dumps(command or f'tee -a {self.file}')}")
        put(self.home / "config.toml", "\n".join(lines) + "\n")

    def text(self) -> str:
        return self.file.read_text() if self.file.exists() else ""

    def settled(self) -> str:
        """What was said once no notifying process is left."""
        lock = self.home / "sessions" / ".work" / "notify"
        if lock.exists():
            with lock.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
        return self.text()


@pytest.fixture
def notices(home: Path, tmp_path: Path) -> Told:
    return Told(home, tmp_path)


def compact(run: Run, agent: str, **env: str) -> Any:
    payload = {"session_id": "s", "hook_event_name": "PreCompact", "trigger": "auto", "cwd": "/"}
    return run("hook", agent, "before_compaction", stdin=json.dumps(payload), env=env)


@pytest.mark.parametrize("agent", COMMAND_AGENTS)
def test_the_command_is_called_and_the_client_gets_nothing(run: Run, notices: Told, agent: str) -> None:
    text = "einen Moment…"
    notices.settings(notifyOnStart=True, notifyOnStartText=text)
    assert compact(run, agent).out == ""
    until(notices.text)
    assert notices.settled() == text + "\n"


@pytest.mark.parametrize("agent", ["pi", "opencode"])
def test_our_extension_shows_the_notice(run: Run, notices: Told, agent: str) -> None:
    notices.settings(notifyOnStart=True)
    assert compact(run, agent).json == {"messages": [], "notice": DEFAULT}
    assert notices.settled() == ""


def test_gemini_reports_no_compaction_and_shows_it_with_an_answer(run: Run, notices: Told, tmp_path: Path) -> None:
    notices.settings(notifyOnStart=True)
    chat = tmp_path / "session-1.jsonl"

    def prompt(tokens: int) -> str:
        line = {"id": f"g-{tokens}", "type": "gemini", "content": "so it is", "tokens": {"input": tokens},
                "timestamp": "2026-09-21T10:00:00.000Z"}  # fmt: skip
        with chat.open("a") as file:
            file.write(json.dumps(line) + "\n")
        event = {"session_id": "s", "hook_event_name": "BeforeAgent", "prompt": "sort the tide tables of the harbour",
                 "transcript_path": str(chat), "cwd": str(tmp_path)}  # fmt: skip
        return run("hook", "gemini", stdin=json.dumps(event)).out

    assert "systemMessage" not in prompt(600_000)
    assert json.loads(prompt(9_000))["systemMessage"] == DEFAULT
    assert "systemMessage" not in prompt(9_500)
    assert notices.settled() == ""


def test_a_script_gets_it_from_the_flush(run: Run, notices: Told) -> None:
    flush = ("checkpoint", "flush", "--session", "s", "--percent", "85")
    notices.settings()
    assert "notice" not in run(*flush).result
    notices.settings(notifyOnStart=True, notifyOnStartText="einen Moment…")
    assert run(*flush).result["notice"] == "einen Moment…"
    run("off", "--session", "s")
    assert "notice" not in run(*flush).result


def test_a_compaction_by_idle_run_is_announced_once(run: Run, notices: Told, tmp_path: Path) -> None:
    notices.settings(notifyOnStart=True)
    payload = json.dumps({"session_id": "s", "hook_event_name": "PreCompact", "cwd": "/"})
    script = put(tmp_path / "compact.sh", f"#!/bin/sh\necho '{payload}' | {JOELCLAW} hook claude\n", 0o700)
    words = ("--session", "s", "--percent", "80", "--minutes", "1", "--agent", "claude")
    run("idle", "schedule", *words, env=NOW)
    env = {"JOELCLAW_NOW_MS": str(NOW_MS + 60_000), "JOELCLAW_IDLE_COMMAND": str(script)}
    assert run("idle", "run", "--once", env=env).result["completed"] == 1
    until(notices.text)
    assert notices.settled() == DEFAULT + "\n"


@pytest.mark.parametrize(
    ("command", "reason"),
    [("", "no-command"), ("false", "failed"), ("/no/such/command", "not-started"), ("say 'x", "not-started")],
)
def test_a_failed_notice_is_an_event(run: Run, notices: Told, command: str, reason: str) -> None:
    notices.settings(command or "unused")
    if not command:
        (notices.home / "config.toml").write_text("")
    result = run("background", "notice").result
    assert (result["delivered"], result["reason"]) == (False, reason)
    found = run("otel", "search", "compaction notify", "--hours", "1").result["events"]
    expected = [("compaction.notify.failed", "warn", True)] if command else []
    assert [(event["action"], event["level"], bool(event["error"])) for event in found] == expected


def test_the_hook_does_not_wait_for_a_command_that_hangs(run: Run, notices: Told) -> None:
    notices.settings(f"sh -c 'echo $$ >> {notices.file}; exec sleep 600'", notifyOnStart=True)
    began = time.monotonic()
    compact(run, "claude")
    compact(run, "claude")  # one at a time
    assert time.monotonic() - began < 60
    until(notices.text)
    (pid,) = notices.text().split()
    os.kill(int(pid), 9)
    notices.settled()
