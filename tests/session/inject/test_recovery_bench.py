"""`make recovery-bench` measures on an invented session what a compaction lost and what comes back."""

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
    transcript = Transcript(path, session=SESSION)
    number = 0

    def used(name: str, result: str, **fields: str) -> None:
        nonlocal number
        number += 1
        transcript.used(f"c{number}", name, result, **fields)

    docs, lease = "/home/u/gateway/docs/clock-skew.md", "/home/u/gateway/src/lease.py"
    transcript.user("Renew the lease earlier, and mind clock skew.")
    used("Read", "def renewLease(holder: LeaseHolder, retry_limit, max_skew)", file_path=lease)
    used("Bash", "ok", command="make check-lease")
    used("Read", "graceWindow fooBar edge_case", file_path=docs)
    used("Bash", "clean", command="git status")
    transcript.assistant("I have read it.")
    transcript.write(
        transcript.entry("system", "") | {"subtype": "compact_boundary", "compactMetadata": {"postTokens": 900}},
        transcript.entry("user", SUMMARY, isCompactSummary=True),
    )
    transcript.user("Go on with graceWindow.")
    used("Edit", "edited clock-skew.md, see renewLease", file_path=docs, new_string="graceWindow = 3")  # 1
    used("Grep", "src/lease.py: LeaseHolder retry_limit brandNew", pattern="renewLease")  # 2
    used("Bash", "edge_case fooBar", command="make check-lease")  # 3
    used("Bash", "clean", command="git status")  # 4: in the summary
    used("Edit", "done", file_path=lease, new_string="LeaseHolder brandNew retry_limit")  # 5
    used("Bash", "", command="echo max_skew")  # 6: it never came back
    for _ in range(35):
        used("Bash", "", command="true")
    transcript.assistant("All done.")
    return transcript


@pytest.mark.spawned
def test_the_real_command_is_measured_without_a_fault(tmp_path: Path) -> None:
    path, out, temporary = compacted(tmp_path / "a.jsonl").path, tmp_path / "out.json", tmp_path / "temporary"
    temporary.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JOELCLAW")}
    command = [sys.executable, str(ROOT / "bench/recovery.py"), "--from", str(path), "--json", str(out)]
    done = subprocess.run(
        [*command, "--command", JOELCLAW], capture_output=True, text=True, timeout=PATIENCE_S,
        env={**environment, "PATH": "/usr/bin:/bin", "TMPDIR": str(temporary), "HOME": str(tmp_path / "own")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(out.read_text())
    assert figures["counts"]["hooks"] > 0 and figures["counts"]["faults"] == 0, done.stderr
    (row,) = figures["rows"]
    assert 0 < row["systems"]["joelclaw"]["chars"] <= 1300
    assert not (tmp_path / "own").exists()
    assert not list(temporary.iterdir()), "homes are left behind"
