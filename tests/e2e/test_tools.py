"""What an agent has in hand: it runs a command of ours unasked, calls our tool, and is offered the skill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, clean_environment

from .session import AGENTS, RUN_S, Request

FACT = "The gauge of Husum is read in UTC because its clock never changes"
USAGE = {"input": 900, "output": 5}
EXTENSION = ("pi", "opencode")
SHELL = {
    **dict.fromkeys(EXTENSION, ("bash", "command")),
    "claude": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
}
TOOL = {"claude": "mcp__joelclaw__recall", "codex": "mcp__joelclaw/recall", "gemini": "mcp_joelclaw_recall"}
TOOL |= dict.fromkeys(EXTENSION, "recall")
LOGIN_SHELL = {"codex"}
DESCRIBED = "Memory of this user's sessions. Use it after a compaction"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--agent")
    metafunc.parametrize("agent", [agent for agent in SHELL if chosen in (agent, "all")])


def replies(agent: str, command: str) -> list[dict[str, Any]]:
    """A command, a call of the server's tool, and the end."""
    name, key = SHELL[agent]
    # A server takes some seconds to start, which no client waits for.
    shell = {key: f"sleep 5; {command}" if agent == "codex" else command, "description": "look it up"}
    shell = {key: shell[key]} if agent == "codex" else shell
    calls = [{"name": name, "args": shell}, {"name": TOOL[agent], "args": {"query": "gauge of Husum"}}]
    return [*({"text": "I look.", "tool_calls": [call], "usage": USAGE} for call in calls), {"text": "Done."}]


def test_recall_by_the_shell_and_by_the_tool(agent: str, tmp_path: Path) -> None:
    home, memory, project, commands = (tmp_path / name for name in ("home", "memory", "project", "bin"))
    for folder in (home, project, commands):
        folder.mkdir()
    (commands / "joelclaw").symlink_to(JOELCLAW)
    path = f"{commands}{os.pathsep}/usr/bin{os.pathsep}/bin"
    environment = {**clean_environment(memory), "HOME": str(home), "PATH": path}
    for words in (
        ["memory", "write", FACT],
        ["install", agent, "--yes", *(["--mcp"] if agent not in EXTENSION else [])],
    ):
        subprocess.run(
            ["joelclaw", *words], executable=commands / "joelclaw", env=environment, cwd=project, check=True,
            stdin=subprocess.DEVNULL, capture_output=True,
        )  # fmt: skip
    word = JOELCLAW if agent in LOGIN_SHELL else "joelclaw"
    script = {
        "prompts": ["what clock does the gauge of Husum use, look it up"],
        "rules": [{"match": "title generator", "no_tools": True, "reply": {"text": "Gauges", "usage": USAGE}}],
        "facts": [],
        "steps": replies(agent, f'{word} recall "gauge of Husum" --raw'),
    }
    (tmp_path / "script.json").write_text(json.dumps(script))
    words = ["run", agent, "--script", str(tmp_path / "script.json"), "--timeout", str(RUN_S), "--home", str(home)]
    words += ["--workdir", str(project), "--out", str(tmp_path / "out"), "--path-prefix", str(commands)]
    done = subprocess.run(
        [sys.executable, str(AGENTS / "agents.py"), *words, "--env", f"JOELCLAW_HOME={memory}"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_S + 60,
    )  # fmt: skip
    lines = [json.loads(line) for line in (tmp_path / "out" / "requests.jsonl").read_text().splitlines()]
    requests = [Request(one["rule"], one["body"]) for one in lines if "n" in one and one["step"] is not None]
    assert len(requests) == 3, done.stdout
    before, ran, called = requests
    assert (before.count(FACT), ran.count(FACT), called.count(FACT)) == (0, 1, 2)
    source = "recall" if agent in EXTENSION else "joelclaw mcp"
    assert any(FACT in frame and f'source="{source}"' in frame for frame in called.frames())
    assert agent in EXTENSION or before.count(DESCRIBED) == 1
