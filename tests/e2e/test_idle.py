"""`idle run` compacts a real session of Claude Code from outside, and the session that is resumed starts from there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, ROOT

AGENTS = ROOT / "tests" / "agents"
TOOLS = ("--output-format", "json", "--allowedTools", "Bash,Edit,Read,Write")
SETTINGS = "[compaction]\nidleTriggerMinutes = 10\nidleTriggerPercent = 0.2\n"
BOUNDARY = '"compact_boundary"'


class Claude:
    """Claude Code in a throwaway home, with our hooks and a scripted model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.project, self.memory, commands = (folder / name for name in ("home", "work", "memory", "bin"))
        for made in (self.home, self.project, self.memory, commands):
            made.mkdir(mode=0o700)
        clients = Path(os.environ.get("JOELCLAW_E2E_CLIENTS") or ROOT / ".e2e")
        (commands / "joelclaw").symlink_to(JOELCLAW)
        (commands / "claude").symlink_to(clients / "claude" / "node_modules" / ".bin" / "claude")
        (self.home / ".claude.json").write_text('{"hasCompletedOnboarding": true}')
        (self.memory / "config.toml").write_text(SETTINGS)
        self.script: dict[str, Any] = json.loads((AGENTS / "scenarios" / "webhook-retries.claude.json").read_text())
        self.requests = folder / "requests.jsonl"
        sys.path.insert(0, str(AGENTS))
        import mock_llm  # a script's module

        self.mock = mock_llm.serve(self.script, self.requests, 0, str(self.project))
        threading.Thread(target=self.mock.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.mock.server_port}"
        node = os.path.dirname(shutil.which("node") or "/usr/bin/node")
        self.env = {
            "PATH": f"{commands}:{node}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "JOELCLAW_HOME": str(self.memory),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "HTTP_PROXY": url,
            "HTTPS_PROXY": url,
            "NO_PROXY": "127.0.0.1,localhost",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "no-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000",
        }

    def run(self, *words: str, **more: str) -> str:
        done = subprocess.run(
            words,
            env={**self.env, **more},
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def joelclaw(self, *words: str, **more: str) -> Any:
        return json.loads(self.run("joelclaw", *words, "--json", **more))["result"]

    def prompt(self, number: int, *more: str) -> str:
        """Ask, and end; returns the session's id."""
        answer = json.loads(self.run("claude", "-p", self.script["prompts"][number], *more, *TOOLS))
        return str(answer["session_id"])

    def asked(self) -> list[dict[str, Any]]:
        """What the model was asked so far."""
        return [one for one in map(json.loads, self.requests.read_text().splitlines()) if "n" in one]


@pytest.fixture
def claude(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Claude]:
    if request.config.getoption("--agent") not in ("claude", "all"):
        pytest.skip("only Claude Code was seen to be compacted from outside")
    made = Claude(tmp_path)
    yield made
    made.mock.shutdown()
    made.mock.server_close()


def test_an_idle_session_is_compacted_and_resumed_with_its_note(claude: Claude) -> None:
    claude.run("joelclaw", "install", "claude", "--yes")
    session = claude.prompt(0)
    claude.prompt(1, "--resume", session)
    (timer,) = claude.joelclaw("idle", "list")["timers"]
    assert claude.joelclaw("idle", "due")["count"] == 0
    before = len(claude.asked())
    due = {"JOELCLAW_NOW_MS": str(timer["dueAt"])}
    (ran,) = claude.joelclaw("idle", "run", "--once", **due)["sessions"]
    assert (ran["sessionId"], ran["outcome"]) == (session, "completed")
    assert [one["rule"] for one in claude.asked()[before:]] == ["compact"]
    (transcript,) = claude.home.glob(".claude/projects/*/*.jsonl")
    assert transcript.read_text().count(BOUNDARY) == 1
    assert claude.joelclaw("idle", "list")["timers"] == []
    assert claude.joelclaw("checkpoint", "show", session)["checkpoint"]["compactionCount"] == 1
    claude.prompt(2, "--resume", session)
    assert "## Session Recovery" in json.dumps(claude.asked()[-1])
