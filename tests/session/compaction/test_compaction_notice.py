"""`compaction.notifyOnStart` notifies the user once per compaction, unnoticed by hook and model."""

import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, NOW, NOW_MS, Run, put, until

DEFAULT = "🧹 Context compacting, back in a moment…"
COMMAND_AGENTS = ("claude", "codex")
"""What their PreCompact prints reaches the summariser, or was not seen to reach the user."""


class Told:
    """A command that keeps what it is given."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.file, self.folder = home, folder / "told", folder

    def settings(self, command: str | None = None, **compaction: object) -> None:
        self.home.mkdir(mode=0o700, exist_ok=True)
        lines = [f"compaction.{key} = {json.dumps(value)}" for key, value in compaction.items()]
        lines.append(f"notify.command = {json.dumps(command or f'tee -a {self.file}')}")
        (self.home / "config.toml").write_text("\n".join(lines) + "\n")

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


def test_gemini_shows_it_with_the_next_answer_since_it_reports_no_compaction(
    run: Run, notices: Told, tmp_path: Path
) -> None:
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
    events = run("otel", "search", "compaction notify", "--hours", "1").result["events"]
    assert [(event["action"], event["level"], bool(event["error"])) for event in events] == (
        [("compaction.notify.failed", "warn", True)] if command else []
    )


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
