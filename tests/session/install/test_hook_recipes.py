"""The loop in docs/examples works through compactions and faults, and our own hooks are recognised."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import JOELCLAW, PATIENCE_S, ROOT, Run, clean_environment, put

from session.install import own_entries

SCRIPT = (ROOT / "docs/examples/joelclaw_loop.sh").read_text(encoding="utf-8")
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
AGENT = """#!/bin/sh
given=$(cat)
printf '[%s]\\n' "$given"
case $given in *compact*) echo compacted >"$USED" ;; *) echo 85.5 >"$USED" ;; esac
"""


@pytest.fixture
def loop(tmp_path: Path, home: Path) -> Callable[[str, Path | None], str]:
    """Gives prompts to the loop, with this `joelclaw` on PATH; returns what it prints."""

    def run(prompts: str, joelclaw: Path | None) -> str:
        folder = put(tmp_path / "bin" / "agent", AGENT, 0o700).parent
        (folder / "joelclaw").unlink(missing_ok=True)
        if joelclaw:
            (folder / "joelclaw").symlink_to(joelclaw)
        # short where `joelclaw` is broken, else longer than anything takes
        limit = "timeout 300" if joelclaw == Path(JOELCLAW) else "timeout 1"
        (tmp_path / "loop.sh").write_text(SCRIPT.replace("timeout 5", limit))
        env = clean_environment(home, HOME=str(tmp_path), PATH=f"{folder}:/usr/bin:/bin", AGENT="agent")
        words, given = ["sh", "loop.sh", "loop-1"], prompts.encode()
        done = subprocess.run(words, input=given, stdout=subprocess.PIPE, timeout=PATIENCE_S, env=env, cwd=tmp_path)
        assert done.returncode == 0
        return done.stdout.decode()

    return run


def test_the_shell_loop_through_a_compaction(loop: Callable[..., str], run: Run) -> None:
    out = loop(f"{PROMPT}\n-n begins with a dash\ncompact now\ngo on\n", Path(JOELCLAW))
    first, second, third, fourth = out.strip("]\n").split("]\n")
    assert (first, second, third) == (f"[{PROMPT}", "[-n begins with a dash", "[compact now")
    assert fourth.startswith("[<joelclaw-memory ") and PROMPT in fourth and fourth.endswith("</joelclaw-memory>\ngo on")
    shown = run("checkpoint", "show", "loop-1").result
    assert shown["checkpoint"]["contextPercentAtCapture"] == 85.5
    assert shown["counts"]["flushes"] == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_the_shell_loop_works_without_joelclaw(loop: Callable[..., str], tmp_path: Path, fault: str) -> None:
    body = FAULTS[fault]
    broken = put(tmp_path / "broken", f"#!/bin/sh\n{body}\n", 0o700) if body else None
    assert loop("compact\n", broken) == "[compact]\n"


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
