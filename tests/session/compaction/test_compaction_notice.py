"""`compaction.notifyOnStart`: the user is told once when a compaction starts, and neither hook nor model notices."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, NOW_MS, PATIENCE_S, Run

DEFAULT = "🧹 Context compacting, back in a moment…"
COMMAND_AGENTS = ("claude", "codex")
"""What their PreCompact prints reaches the summariser, or was not seen to reach the user."""
WAIT_S = PATIENCE_S


class Told:
    """A command that keeps what it is given."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.file, self.folder = home, folder / "told", folder

    def settings(self, command: str | None = None, **compaction: object) -> None:
        self.home.mkdir(mode=0o700, exist_ok=True)
        lines = [f"compaction.{key} = {json.dumps(value)}" for key, value in compaction.items()]
        lines.append(f"notify.command = {json.dumps(command or f'tee -a {self.file}')}")
        (self.home / "config.toml").write_text("\n".join(lines) + "\n")

    def said(self) -> str:
        return self.file.read_text() if self.file.exists() else ""

    def settled(self) -> str:
        """What was said once no notifying process is left."""
        lock = self.home / "sessions" / ".work" / "notify"
        if lock.exists():
            with lock.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
        return self.said()


@pytest.fixture
def told(home: Path, tmp_path: Path) -> Told:
    return Told(home, tmp_path)


def until(there: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not there():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def compact(run: Run, agent: str, **env: str) -> Any:
    payload = {"session_id": "s", "hook_event_name": "PreCompact", "trigger": "auto", "cwd": "/"}
    return run("hook", agent, "before_compaction", stdin=json.dumps(payload), env=env)


@pytest.mark.parametrize("agent", COMMAND_AGENTS)
def test_switched_on_the_command_is_told_and_the_client_nothing(run: Run, told: Told, agent: str) -> None:
    text = "einen Moment…"
    told.settings(notifyOnStart=True, notifyOnStartText=text)
    assert compact(run, agent).out == ""
    until(told.said)
    assert told.settled() == text + "\n"


@pytest.mark.parametrize("agent", ["pi", "opencode"])
def test_where_our_extension_can_show_it_that_does(run: Run, told: Told, agent: str) -> None:
    told.settings(notifyOnStart=True)
    assert compact(run, agent).json == {"messages": [], "notice": DEFAULT}
    assert told.settled() == ""


def test_a_compaction_by_idle_run_is_told_once(run: Run, told: Told, tmp_path: Path) -> None:
    told.settings(notifyOnStart=True)
    payload = json.dumps({"session_id": "s", "hook_event_name": "PreCompact", "cwd": "/"})
    script = tmp_path / "compact.sh"
    script.write_text(f"#!/bin/sh\necho '{payload}' | {JOELCLAW} hook claude\n")
    script.chmod(0o700)
    words = ("--session", "s", "--percent", "80", "--minutes", "1", "--agent", "claude")
    run("idle", "schedule", *words, env={"JOELCLAW_NOW_MS": str(NOW_MS)})
    env = {"JOELCLAW_NOW_MS": str(NOW_MS + 60_000), "JOELCLAW_IDLE_COMMAND": str(script)}
    assert run("idle", "run", "--once", env=env).result["completed"] == 1
    until(told.said)
    assert told.settled() == DEFAULT + "\n"


@pytest.mark.parametrize(
    ("command", "reason"),
    [("", "no-command"), ("false", "failed"), ("/no/such/command", "not-started"), ("say 'x", "not-started")],
)
def test_what_cannot_be_told_is_an_event(run: Run, told: Told, command: str, reason: str) -> None:
    told.settings(command or "unused")
    if not command:
        (told.home / "config.toml").write_text("")
    result = run("background", "notice").result
    assert (result["delivered"], result["reason"]) == (False, reason)
    found = run("otel", "search", "compaction notify", "--hours", "1").result["events"]
    assert [(event["action"], event["level"], bool(event["error"])) for event in found] == (
        [("compaction.notify.failed", "warn", True)] if command else []
    )


def test_the_hook_does_not_wait_for_a_command_that_hangs(run: Run, told: Told) -> None:
    told.settings(f"sh -c 'echo $$ >> {told.file}; exec sleep 600'", notifyOnStart=True)
    began = time.monotonic()
    compact(run, "claude")
    compact(run, "claude")  # one at a time
    assert time.monotonic() - began < 60
    until(told.said)
    (pid,) = told.said().split()
    os.kill(int(pid), 9)
    told.settled()
