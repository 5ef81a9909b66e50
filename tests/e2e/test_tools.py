"""The agent may run our command, calls our tool, and is offered the skill."""

from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW

from .session import Request, Workplace

FACT = "The gauge of Husum is read in UTC because its clock never changes"
USAGE = {"input": 900, "output": 5}
EXTENSION = ("pi", "openclaw", "opencode")
SHELL = {
    **dict.fromkeys(EXTENSION, ("bash", "command")),
    "openclaw": ("exec", "command"),
    "claude": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
    "qwen": ("run_shell_command", "command"),
    "copilot": ("bash", "command"),
}
TOOL = {"claude": "mcp__joelclaw__recall", "codex": "mcp__joelclaw/recall", "gemini": "mcp_joelclaw_recall"}
TOOL |= {"qwen": "mcp__joelclaw__recall", "copilot": "joelclaw-recall", **dict.fromkeys(EXTENSION, "recall")}
LOGIN_SHELL = {"codex", "copilot"}
DESCRIBED = "sessions. Use it after a compaction"


def replies(agent: str, command: str) -> list[dict[str, Any]]:
    """A shell command, a call of our tool, and the end."""
    name, key = SHELL[agent]
    # The server takes some seconds to start, and the client does not wait for it.
    shell = {key: f"sleep 5; {command}" if agent == "codex" else command, "description": "look it up"}
    shell = {key: shell[key]} if agent == "codex" else shell
    calls = [{"name": name, "args": shell}, {"name": TOOL[agent], "args": {"query": "gauge of Husum"}}]
    return [*({"text": "I look.", "tool_calls": [call], "usage": USAGE} for call in calls), {"text": "Done."}]


@pytest.mark.agents(*SHELL)
def test_recall_by_the_shell_and_by_the_tool(agent: str, tmp_path: Path) -> None:
    place = Workplace(agent, tmp_path)
    place.joelclaw("memory", "write", FACT)
    place.install(*(["--mcp"] if agent not in EXTENSION else []))
    word = JOELCLAW if agent in LOGIN_SHELL else "joelclaw"
    script = {
        "prompts": ["what clock does the gauge of Husum use, look it up"],
        "rules": [{"match": "title generator", "no_tools": True, "reply": {"text": "Gauges", "usage": USAGE}}],
        "steps": replies(agent, f'{word} recall "gauge of Husum" --raw'),
    }
    outcome = place.play(script, env={"JOELCLAW_HOME": str(place.memory)})
    requests = [
        Request(request["rule"], request["body"]) for request in outcome.requests if request["step"] is not None
    ]
    assert len(requests) == 3
    before, ran, called = requests
    known = before.count(FACT)  # a start may show it
    assert (ran.count(FACT) - known, called.count(FACT) - known) == (1, 2)
    source = "recall" if agent in EXTENSION else "joelclaw mcp"
    assert any(FACT in frame and f'source="{source}"' in frame for frame in called.frames())
    assert agent in EXTENSION or before.count(DESCRIBED) == 1
