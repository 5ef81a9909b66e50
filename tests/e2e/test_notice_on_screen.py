"""OpenCode shows the notice of a compaction on its screen, as a toast."""

import shutil
import subprocess
import time
from pathlib import Path

import harness
import pytest
import scenarios
from real_clients import opencode

from .session import Workplace

pytestmark = pytest.mark.agents("opencode")

NOTICE = "The harbour tidies up its papers"
SECONDS = 120


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_toast_appears_when_a_compaction_starts(agent: str, tmp_path: Path) -> None:
    place = Workplace(agent, tmp_path)
    settings = f'[compaction]\nnotify_on_start = true\nnotify_on_start_text = "{NOTICE}"\n'
    (place.memory / "config.toml").write_text(settings)
    place.install()
    place.allow_slow_hooks()
    full, little = {"input": 29_500, "output": 20}, {"input": 900, "output": 20}
    client = scenarios.CLIENTS[agent]
    summary = {"name": "compact", "match": client.match, "reply": {"text": client.summary, "usage": little}}
    script = {
        "prompts": [],
        "rules": [summary, *client.rules],
        "steps": [{"text": "The tables are sorted.", "usage": full}],
        "default": {"text": "Done.", "usage": little},
    }
    run = harness.Run(agent, script, tmp_path, env={"JOELCLAW_HOME": str(place.memory)})
    opencode.configure(run)
    screen = ["tmux", "-S", str(tmp_path / "tmux")]
    environment = {**run.env, "TERM": "xterm-256color"}
    try:
        subprocess.run(
            [*screen, "new-session", "-d", "-x", "120", "-y", "40", "-c", str(place.project), str(run.command)],
            env=environment, check=True,
        )  # fmt: skip

        def shown() -> str:
            return subprocess.run(
                [*screen, "capture-pane", "-p"], capture_output=True, text=True, env=environment, check=False
            ).stdout

        def until(text: str) -> None:
            deadline = time.monotonic() + SECONDS
            while text not in shown():
                assert time.monotonic() < deadline, shown()
                time.sleep(0.2)

        until("Ask anything")
        subprocess.run([*screen, "send-keys", "-l", "sort the tide tables of the harbour"], env=environment, check=True)
        subprocess.run([*screen, "send-keys", "Enter"], env=environment, check=True)
        until(NOTICE)
    finally:
        subprocess.run([*screen, "kill-server"], env=environment, check=False)
        run.mock.shutdown()
        run.mock.server_close()
