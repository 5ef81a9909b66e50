"""`make recovery-bench`: what a compaction lost and what comes back, on a made-up session, with the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from claude_transcript import SESSION, Transcript
from conftest import JOELCLAW, PATIENCE_S, ROOT

SUMMARY = "We renew the lease in lease.py; retry_limit is kept. Ran git status."


def compacted(path: Path) -> Transcript:
    """A session of Claude Code with one compaction; below it is counted by hand what was needed after it."""
    made = Transcript(path, session=SESSION)
    number = 0

    def used(name: str, result: str, **given: str) -> None:
        nonlocal number
        number += 1
        made.call(f"c{number}", name, **given)
        made.outcome(f"c{number}", result)

    docs, lease = "/home/u/gateway/docs/clock-skew.md", "/home/u/gateway/src/lease.py"
    made.user("Renew the lease earlier, and mind clock skew.")
    used("Read", "def renewLease(holder: LeaseHolder, retry_limit, max_skew)", file_path=lease)
    used("Bash", "ok", command="make check-lease")
    used("Read", "graceWindow fooBar edge_case", file_path=docs)
    used("Bash", "clean", command="git status")
    made.assistant("I have read it.")
    made.write(
        made.entry("system", "") | {"subtype": "compact_boundary", "compactMetadata": {"postTokens": 900}},
        made.entry("user", SUMMARY, isCompactSummary=True),
    )
    made.user("Go on with graceWindow.")
    used("Edit", "edited clock-skew.md, see renewLease", file_path=docs, new_string="graceWindow = 3")  # 1
    used("Grep", "src/lease.py: LeaseHolder retry_limit brandNew", pattern="renewLease")  # 2
    used("Bash", "edge_case fooBar", command="make check-lease")  # 3
    used("Bash", "clean", command="git status")  # 4: in the summary
    used("Edit", "done", file_path=lease, new_string="LeaseHolder brandNew retry_limit")  # 5
    used("Bash", "", command="echo max_skew")  # 6: it never came back
    for _ in range(35):
        used("Bash", "", command="true")
    made.assistant("All done.")
    return made


@pytest.mark.spawned
def test_the_real_command_is_measured_without_a_fault(tmp_path: Path) -> None:
    path, out, temporary = compacted(tmp_path / "a.jsonl").path, tmp_path / "out.json", tmp_path / "temporary"
    temporary.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JOELCLAW")}
    command = [sys.executable, str(ROOT / "bench/recovery.py"), "--from", str(path), "--json", str(out)]
    done = subprocess.run(
        [*command, "--command", JOELCLAW], capture_output=True, text=True, timeout=PATIENCE_S,
        env={**kept, "PATH": "/usr/bin:/bin", "TMPDIR": str(temporary), "HOME": str(tmp_path / "own")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())
    assert found["counts"]["hooks"] > 0 and found["counts"]["faults"] == 0, done.stderr
    (row,) = found["rows"]
    assert 0 < row["systems"]["joelclaw"]["chars"] <= 1300
    assert not (tmp_path / "own").exists()
    assert not list(temporary.iterdir()), "homes are left behind"
