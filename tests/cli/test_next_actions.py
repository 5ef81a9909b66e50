"""The next actions of an answer run once their placeholders are filled in."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import NOW, Run
from terminal import on_terminal, without_style

MEMORY = "The staging queue drains at 14:00 UTC"


@pytest.fixture
def stocked(run: Run, tmp_path: Path) -> Path:
    """A folder with notes; a memory, a session, an event and a checkpoint."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/queue.md").write_text(
        "# Queue\n\nThe staging queue is drained by the harbour worker each noon.\n"
    )
    transcript = Transcript(tmp_path / "work/s-1.jsonl")
    transcript.user("why does the staging queue drain at noon?")
    transcript.used("c", "Read", "drain_queue()", file_path="/home/u/gateway/src/queue.py")
    run("memory", "write", MEMORY, env=NOW)
    run("otel", "emit", "queue.drained", env=NOW)
    run("checkpoint", "save", "--session", "s-1", "--percent", "50", "-m", "drain the staging queue", env=NOW)
    run("memory", "archive", str(transcript.path), env=NOW)
    run("knowledge", "sync", str(tmp_path / "notes"), env=NOW)
    return tmp_path


ANSWERS = (
    "recall 'staging queue'", "recall 'zebra giraffe'", "recall drain_queue --session nobody",
    "memory search 'staging queue'", "memory recent", "memory stats", "memory archive work",
    "memory write 'The harbour worker drains the second queue at 15:00 UTC'", "memory show call:s-1:1",
    "knowledge search 'staging queue'", "knowledge sync", "vault search queue", "vault read queue",
    "otel emit queue.filled", "otel search queue", "checkpoint show s-1", "checkpoint show", "session list",
    "session show s-1", "status",
)  # fmt: skip


@pytest.mark.parametrize("line", ANSWERS)
def test_next_actions_run(run: Run, stocked: Path, line: str) -> None:
    env = {**NOW, "VAULT_PATH": str(stocked / "notes")}
    done = run(*shlex.split(line), env=env, cwd=stocked)
    actions: list[dict[str, Any]] = done.json.get("next_actions", [])
    for action in actions:
        assert action["description"]
        params = action.get("params", {})
        placeholders = set(re.findall(r"<([\w-]+)>", action["command"]))
        assert set(params) <= placeholders, action
        filled = action["command"]
        for name in placeholders:
            about = params.get(name, {"required": True, "description": "words"})
            assert about["required"] is True
            assert about["description"]
            filled = filled.replace(f"<{name}>", shlex.quote(str(about.get("value", "queue"))))
        program, *rest = shlex.split(filled)
        assert program == "joelclaw"
        if "--follow" not in rest and "import" not in rest:
            assert run(*rest, env=env, cwd=stocked).code == 0, filled


def test_a_command_can_be_copied_from_a_narrow_terminal(run: Run, home: Path) -> None:
    known = run("memory", "write", MEMORY).result["id"]
    screen = without_style(on_terminal(home, "memory", "edit", known, MEMORY + ", not at noon", columns=50).out)
    assert f"memory show {known}" in screen, "no line break is printed"
