"""The loop in docs/examples works through compactions and faults, and our own hooks are recognised."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import JOELCLAW, PATIENCE_S, ROOT, Attempt, Run, clean_environment, put

from session.install import own_entries

LOOP = (ROOT / "docs/examples/joelclaw_loop.sh").read_text(encoding="utf-8")
PROMPT = "Make the tide table importer survive a missing harbour"
FAULTS = {
    "missing": None,
    "hanging": "exec sleep 20",
    "hanging-child": "sleep 20 & wait",
    "garbage": r"printf '<joelclaw-memory \377 {{{'",
    "another-json": "echo '[1, 2]'",
    "no-result": """echo '{"ok": false, "result": null, "error": {"code": "X", "message": "y"}}'; exit 1""",
    "odd-result": """echo '{"ok": true, "result": {"content": 7, "injected": true}}'""",
    "noisy": "echo trouble >&2; exit 3",
}


@dataclass(frozen=True)
class Client:
    """A client's surroundings: its home, and the folder that its PATH begins with."""

    user: Path
    bin: Path
    home: Path

    def spawn(self, command: str, stdin: str = "", **more: str) -> Attempt:
        """Run a command as a client does, in a shell."""
        environment = clean_environment(self.home, HOME=str(self.user), PATH=f"{self.bin}:/usr/bin:/bin", **more)
        done = subprocess.run(
            ["sh", "-c", command],
            input=stdin.encode(),
            capture_output=True,
            timeout=PATIENCE_S,
            env=environment,
            cwd=self.user,
        )
        return Attempt(done.returncode, done.stdout.decode(), done.stderr.decode())

    @property
    def limit(self) -> str:
        """For `timeout 5` in a recipe: short where `joelclaw` is broken, else longer than anything takes."""
        return "timeout 300" if (self.bin / "joelclaw").is_symlink() else "timeout 1"

    def break_joelclaw(self, fault: str) -> None:
        """Replace `joelclaw` by something that does not work."""
        (self.bin / "joelclaw").unlink(missing_ok=True)
        body = FAULTS[fault]
        if body is not None:
            put(self.bin / "joelclaw", f"#!/bin/sh\n{body}\n", 0o700)


@pytest.fixture
def client(tmp_path: Path, home: Path) -> Client:
    client_ = Client(tmp_path / "user", tmp_path / "bin", home)
    client_.user.mkdir()
    client_.bin.mkdir()
    (client_.bin / "python3").symlink_to(sys.executable)
    (client_.bin / "joelclaw").symlink_to(JOELCLAW)
    return client_


AGENT = """#!/bin/sh
given=$(cat)
printf '[%s]\\n' "$given"
case $given in *compact*) echo compacted >"$USED" ;; *) echo 85.5 >"$USED" ;; esac
"""


def loop(client: Client, prompts: str) -> Attempt:
    (client.user / "loop.sh").write_text(LOOP.replace("timeout 5", client.limit))
    put(client.bin / "agent", AGENT, 0o700)
    return client.spawn("sh loop.sh loop-1", prompts, AGENT="agent")


def test_the_shell_loop_through_a_compaction(client: Client, run: Run) -> None:
    done = loop(client, f"{PROMPT}\n-n begins with a dash\ncompact now\ngo on\n")
    first, second, third, fourth = done.out.strip("]\n").split("]\n")
    assert (first, second, third) == (f"[{PROMPT}", "[-n begins with a dash", "[compact now")
    assert fourth.startswith("[<joelclaw-memory ") and PROMPT in fourth and fourth.endswith("</joelclaw-memory>\ngo on")
    shown = run("checkpoint", "show", "loop-1").result
    assert shown["checkpoint"]["contextPercentAtCapture"] == 85.5
    assert shown["counts"]["flushes"] == 3


def test_the_shell_loop_works_without_joelclaw(client: Client) -> None:
    for fault in FAULTS:
        client.break_joelclaw(fault)
        done = loop(client, "compact\n")
        assert (done.code, done.out) == (0, "[compact]\n"), fault


@pytest.mark.parametrize(("command", "called", "ours"), [
    ("joelclaw hook claude 2>/dev/null || :", "joelclaw", True),
    ("'/a b/it'\"'\"'s/joelclaw' hook claude 2>/dev/null || :", "/a b/it's/joelclaw", True),
    ("/o/joelclaw hook claude >/dev/null 2>&1 || :", "/o/joelclaw", True),
    ("x; /o/joelclaw  hook claude", "/o/joelclaw", False),
    ("joelclaw hook claude | tee log", "joelclaw", False),
    ("joelclaw hook claude-x", "", False),
    ("my-joelclaw hook claude", "", False),
])  # fmt: skip
def test_commands_that_call_joelclaw_and_our_own(command: str, called: str, ours: bool) -> None:
    expected = ("Stop", called, not ours) if called else None
    assert own_entries.entry_of({"command": command}, "claude", "Stop") == expected
