"""`idle run` compacts a real session of Claude Code, and the resumed session continues from there."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .session import Workplace, scenarios  # isort: skip  # adds tests/agents to sys.path
import mock_llm
from harness import client_folder

OFFLINE = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING",
)  # fmt: skip
TOOLS = ("--output-format", "json", "--allowedTools", "Bash,Edit,Read,Write")
SETTINGS = "[compaction]\nidleTriggerMinutes = 10\nidleTriggerPercent = 0.2\n"
BOUNDARY = '"compact_boundary"'


class Claude(Workplace):
    """Claude Code with our hooks and a scripted model, started by hand."""

    def __init__(self, folder: Path) -> None:
        super().__init__("claude", folder)
        (self.command.parent / "claude").symlink_to(client_folder("claude") / "node_modules" / ".bin" / "claude")
        (self.home / ".claude.json").write_text('{"hasCompletedOnboarding": true}')
        (self.memory / "config.toml").write_text(SETTINGS)
        self.script = scenarios.script("webhook-retries", "claude")
        self.requests = folder / "requests.jsonl"
        self.mock = mock_llm.serve(self.script, self.requests, 0, str(self.project))
        threading.Thread(target=self.mock.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.mock.server_port}"
        node = os.path.dirname(shutil.which("node") or "/usr/bin/node")
        self.env = {
            "PATH": f"{self.command.parent}:{node}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "JOELCLAW_HOME": str(self.memory),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ANTHROPIC_BASE_URL"), url),
            "NO_PROXY": "127.0.0.1,localhost",
            "ANTHROPIC_API_KEY": "no-key",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000",
            **dict.fromkeys(OFFLINE, "1"),
        }

    def joelclaw(self, *words: str, **more: str) -> Any:
        """A command that may start Claude Code."""
        return super().joelclaw(*words, **{**self.env, **more})

    def prompt(self, number: int, *more: str) -> str:
        """Run Claude Code with a prompt; returns the session's id."""
        done = subprocess.run(
            ["claude", "-p", self.script["prompts"][number], *more, *TOOLS],
            env=self.env, cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout, done.stderr)
        return str(json.loads(done.stdout)["session_id"])

    def model_requests(self) -> list[dict[str, Any]]:
        return [request for request in map(json.loads, self.requests.read_text().splitlines()) if "n" in request]


@pytest.fixture
def claude(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Claude]:
    if request.config.getoption("--agent") not in ("claude", "all"):
        pytest.skip("`idle run` only supports Claude Code")
    client = Claude(tmp_path)
    yield client
    client.mock.shutdown()
    client.mock.server_close()


def test_an_idle_session_is_compacted_and_resumed_with_its_note(claude: Claude) -> None:
    claude.install()
    session = claude.prompt(0)
    claude.prompt(1, "--resume", session)
    (timer,) = claude.joelclaw("idle", "list")["timers"]
    assert timer["standing"] != "due" and timer["dueInSeconds"] > 0
    before = len(claude.model_requests())
    due = {"JOELCLAW_NOW_MS": str(timer["dueAt"])}
    (ran,) = claude.joelclaw("idle", "run", "--once", **due)["sessions"]
    assert (ran["sessionId"], ran["outcome"]) == (session, "completed")
    assert [request["rule"] for request in claude.model_requests()[before:]] == ["compact"]
    (transcript,) = claude.home.glob(".claude/projects/*/*.jsonl")
    assert transcript.read_text().count(BOUNDARY) == 1
    assert claude.joelclaw("idle", "list")["timers"] == []
    assert claude.joelclaw("checkpoint", "show", session)["checkpoint"]["compactionCount"] == 1
    claude.prompt(2, "--resume", session)
    assert "## Session Recovery" in json.dumps(claude.model_requests()[-1])
