"""A compaction and the end of a session are observed by themselves, and the next session is told what was noted."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, PATIENCE_S, clean_environment

from .session import AGENTS, CLIENTS, RUN_S, Request, install, unhurried

STORY = "webhook-retries"
NOTED = "Recent decision, and operational context for active work: the webhooks' outbox is swept before each delivery"
"""In words of what a new session recalls by itself (`inject.query`)."""
OBSERVER = """\
import os, sys
prompt = sys.stdin.read()
with open(sys.argv[1], "a") as told:
    told.write(f"{sys.argv[2] in prompt} {os.getcwd()}\\n")
facts = f"- [gate=allow confidence=0.9 category=jc:operations] {sys.argv[3]}" if sys.argv[2] in prompt else ""
print(f"<observations><facts>{facts}</facts></observations>")
"""
NEXT = {
    "prompts": ["what do we know of the webhooks' outbox"],
    "rules": [{"match": "title generator", "no_tools": True, "reply": {"text": "Outbox"}}],
    "facts": [],
    "steps": [{"text": "Done.", "usage": {"input": 900, "output": 5}}],
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--agent")
    metafunc.parametrize("agent", [agent for agent in CLIENTS if chosen in (agent, "all")])


class Played:
    """A client in a throwaway home with our hooks, a scripted model, and a scripted observer."""

    def __init__(self, agent: str, folder: Path) -> None:
        self.agent, self.folder, self.memory = agent, folder, folder / "memory"
        for name in ("home", "memory", "project", "bin"):
            (folder / name).mkdir(mode=0o700)
        (folder / "bin" / "joelclaw").symlink_to(JOELCLAW)
        install(agent, folder)
        unhurried(folder / "home")
        self.script = AGENTS / "scenarios" / f"{STORY}.{agent}.json"
        facts = json.loads(self.script.read_text())["facts"]
        needle = next(fact["needle"] for fact in facts if fact["kind"] == "decision")
        (folder / "observer.py").write_text(OBSERVER)
        self.told = folder / "told"
        command = shlex.join([sys.executable, str(folder / "observer.py"), str(self.told), needle, NOTED])
        (self.memory / "config.toml").write_text(f"[model]\ncommand = {json.dumps(command)}\n")

    def run(self, script: Path, out: str) -> tuple[list[Request], str]:
        """A session to its end; what the model received, and what the harness printed."""
        given = {"--script": script, "--home": "home", "--workdir": "project", "--out": out, "--path-prefix": "bin"}
        words = [word for flag, path in given.items() for word in (flag, str(self.folder / path))]
        env = [f"JOELCLAW_HOME={self.memory}", "JOELCLAW_HOOK_DEADLINE_MS=60000"]
        words += [word for one in env for word in ("--env", one)]
        done = subprocess.run(
            [sys.executable, str(AGENTS / "agents.py"), "run", self.agent, *words, "--timeout", str(RUN_S)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=RUN_S + 60,
        )  # fmt: skip
        lines = (self.folder / out / "requests.jsonl").read_text().splitlines()
        return [Request(one["rule"], one["body"]) for one in map(json.loads, lines) if "n" in one], done.stdout

    def events(self) -> list[dict[str, Any]]:
        """What is told of observations."""
        done = subprocess.run(
            [JOELCLAW, "otel", "search", "memory.observe", "--hours", "24", "--limit", "200", "--json"],
            env=clean_environment(self.memory), stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60,
        )  # fmt: skip
        found: list[dict[str, Any]] = json.loads(done.stdout)["result"]["events"]
        return found

    def until_noted(self) -> list[dict[str, Any]]:
        """Wait, with no command of ours but to look, until the observation is stored and all jobs have ended."""
        until = time.monotonic() + PATIENCE_S
        waiting = self.memory / "sessions" / ".work" / "observe-waiting"
        while time.monotonic() < until:
            events = self.events()
            ended = [event for event in events if event["action"] != "memory.observe.started"]
            noted = [event for event in ended if event["metadata"]["observations"]["added"]]
            if noted and not list(waiting.iterdir()) and not self.processes():
                return self.events()
            time.sleep(0.2)
        raise AssertionError((self.events(), self.processes()))

    def processes(self) -> list[str]:
        """The command lines of the processes of this home that observe."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                line = (path / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                mine = str(self.memory).encode() in (path / "environ").read_bytes()
            except OSError:
                continue
            if mine and ("background observe" in line or "observer.py" in line):
                found.append(line)
        return found


def test_it_is_observed_before_it_is_dropped_and_told_to_the_next_session(agent: str, tmp_path: Path) -> None:
    client = Played(agent, tmp_path)
    asked, said = client.run(client.script, "out")
    assert "compact" in [request.rule for request in asked], said
    events = client.until_noted()
    assert [event for event in events if event["action"] == "memory.observe.failed"] == []
    completed = [event for event in events if event["action"] == "memory.observe.completed"]
    assert {event["sessionId"] for event in completed} == {event["sessionId"] for event in events}
    assert all(event["sessionId"] for event in completed)
    # A job that is at work when the next event comes goes on with what that brings.
    triggers = {event["metadata"]["trigger"] for event in events}
    assert triggers <= {"compaction", "session-end"}
    assert "compaction" in triggers, events
    seen = [line.split(" ", 1) for line in client.told.read_text().splitlines()]
    assert "True" in [found for found, _ in seen]
    assert {folder for _, folder in seen} == {str(client.memory)}, "the observer worked in the repository"

    (tmp_path / "next.json").write_text(json.dumps(NEXT))
    after, said = client.run(tmp_path / "next.json", "next")
    frames = [frame for request in after for frame in request.frames()]
    assert any(NOTED in frame for frame in frames), (said, frames)
