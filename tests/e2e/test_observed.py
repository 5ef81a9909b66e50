"""A compaction and the end of a session start an observation, which the next session gets."""

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE_S

from .session import CLIENTS, Workplace, requests_of, scenarios

STORY = "webhook-retries"
NOTED = "Recent decision, and operational context for active work: the webhooks' outbox is swept before each delivery"
"""Uses words of the query with which a new session recalls (`inject.query`)."""
OBSERVER = """\
import os, sys
prompt = sys.stdin.read()
with open(sys.argv[1], "a") as log:
    log.write(f"{sys.argv[2] in prompt} {os.getcwd()}\\n")
facts = f"- [gate=allow confidence=0.9 category=jc:operations] {sys.argv[3]}" if sys.argv[2] in prompt else ""
print(f"<observations><facts>{facts}</facts></observations>")
"""
NEXT = {
    "prompts": ["what do we know of the webhooks' outbox"],
    "rules": [{"match": "title generator", "no_tools": True, "reply": {"text": "Outbox"}}],
    "steps": [{"text": "Done.", "usage": {"input": 900, "output": 5}}],
}


class Observed(Workplace):
    """A client with our hooks and a scripted observer."""

    def __init__(self, agent: str, folder: Path) -> None:
        super().__init__(agent, folder)
        self.install()
        self.allow_slow_hooks()
        self.script = scenarios.script(STORY, agent)
        needle = next(fact["needle"] for fact in self.script["facts"] if fact["kind"] == "decision")
        (folder / "observer.py").write_text(OBSERVER)
        self.log = folder / "observer.log"
        command = shlex.join([sys.executable, str(folder / "observer.py"), str(self.log), needle, NOTED])
        (self.memory / "config.toml").write_text(f"[model]\ncommand = {json.dumps(command)}\n")

    def observations(self) -> list[dict[str, Any]]:
        return self.joelclaw("otel", "search", "memory.observe", "--hours", "24", "--limit", "200")["events"]

    def until_noted(self) -> list[dict[str, Any]]:
        """Wait until the observation is stored and all jobs have ended."""
        until = time.monotonic() + PATIENCE_S
        waiting = self.memory / "sessions" / ".work" / "observe-waiting"
        while time.monotonic() < until:
            events = self.observations()
            ended = [event for event in events if event["action"] != "memory.observe.started"]
            noted = [event for event in ended if event["metadata"]["observations"]["added"]]
            if noted and not list(waiting.iterdir()) and not self.processes():
                return self.observations()
            time.sleep(0.2)
        raise AssertionError((self.observations(), self.processes()))

    def processes(self) -> list[str]:
        """The command lines of running observers."""
        commands = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                line = (path / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                mine = str(self.memory).encode() in (path / "environ").read_bytes()
            except OSError:
                continue
            if mine and ("background observe" in line or "observer.py" in line):
                commands.append(line)
        return commands


@pytest.mark.agents(*CLIENTS)
def test_a_session_is_observed_before_compaction_and_the_next_one_learns_it(agent: str, tmp_path: Path) -> None:
    client = Observed(agent, tmp_path)
    outcome = client.play(client.script)
    assert "compact" in [request["rule"] for request in outcome.requests]
    events = client.until_noted()
    assert [event for event in events if event["action"] == "memory.observe.failed"] == []
    completed = [event for event in events if event["action"] == "memory.observe.completed"]
    assert {event["sessionId"] for event in completed} == {event["sessionId"] for event in events}
    assert all(event["sessionId"] for event in completed)
    # A job that is at work when the next event comes goes on with what that brings.
    triggers = {event["metadata"]["trigger"] for event in events}
    assert triggers <= {"compaction", "session-end"}
    assert "compaction" in triggers, events
    log = [line.split(" ", 1) for line in client.log.read_text().splitlines()]
    assert "True" in [answered for answered, _ in log]
    assert {folder for _, folder in log} == {str(client.memory)}, "the observer worked in the repository"

    after = requests_of(client.play(NEXT, out="next"))
    frames = [frame for request in after for frame in request.frames()]
    assert any(NOTED in frame for frame in frames), frames
