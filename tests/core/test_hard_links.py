"""A hard link is a file like any other; what is written over one leaves its other name as it is (issue 23, item 10)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from claude_transcript import Transcript
from conftest import Run

SAID = "the quaggabeacon is read at noon"


def test_files_of_clients(run: Run, tmp_path: Path) -> None:
    made = Transcript(tmp_path / "a" / "s-1.jsonl")
    made.user(SAID)
    (tmp_path / "b").mkdir()
    os.link(made.path, tmp_path / "b" / "s-1.jsonl")
    assert [run("memory", "archive", str(tmp_path / one)).result["episodes"]["added"] for one in "ab"] == [1, 0]
    (tmp_path / "notes").mkdir()
    os.link(made.path, tmp_path / "notes" / "one.md")
    assert run("knowledge", "sync", str(tmp_path / "notes")).result["indexed"]["files"] == 1


def test_files_of_the_home(run: Run, home: Path, tmp_path: Path) -> None:
    """All commands go on; a copy made of links keeps what it had, but for the store, which is one file still."""
    run("memory", "write", SAID)
    run("checkpoint", "save", "--session", "s", "--percent", "75", "-m", SAID)
    (home / "config.toml").write_text("[recall]\nlimit = 3\n")
    (home / "config.toml").chmod(0o600)
    kept = tmp_path / "kept"
    subprocess.run(["cp", "-al", str(home), str(kept)], check=True)
    state = (kept / "sessions" / "s.json").read_text()
    run("checkpoint", "save", "--session", "s", "--percent", "80", "-m", "mend the gauge")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(tmp_path), "prompt": "mend it"}
    assert run("hook", "claude", stdin=json.dumps(event)).err == ""
    assert (kept / "sessions" / "s.json").read_text() == state
    assert run("status").result["healthy"] and run("recall", SAID).result["hits"]
    run("backup", str(tmp_path / "kept.tar.gz"))
    run("memory", "forget", "--purge", "--match", SAID, "--yes")
    assert not [path for path in home.rglob("*") if path.is_file() and b"quaggabeacon" in path.read_bytes()]
    run("restore", str(tmp_path / "kept.tar.gz"), "--force")
    assert run("recall", SAID).result["hits"]
