"""The summary that Claude Code's hook tells before the transcript has it: kept whole, and without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run
from secret_samples import fill

from core.store import sessions


@pytest.fixture
def path(run: Run, tmp_path: Path) -> Path:
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    made.call("c1", "Bash", command="make test")
    run("memory", "archive", str(made.path))
    return made.path


def kept(run: Run, home: Path, path: Path, answer: object) -> list[str]:
    event = {
        "hook_event_name": "SubagentStop", "session_id": SESSION, "transcript_path": str(path), "cwd": CWD,
        "agent_type": "", "last_assistant_message": answer,
    }  # fmt: skip
    run("hook", "claude", stdin=json.dumps(event))
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    return [one["summary"] for one in sessions.compactions(db, SESSION)]


def test_behind_a_long_analysis(run: Run, home: Path, path: Path) -> None:
    summary = "We mend the gauge. " * 2000
    assert kept(run, home, path, f"<analysis>{'thought ' * 5000}</analysis>\n<summary>{summary}</summary>") == [
        summary.strip()
    ]


def test_a_long_one_is_cut_behind_its_secrets(run: Run, home: Path, path: Path) -> None:
    secret = "ghp" + "_" + fill(36)
    words = "plain words " * 40_000
    (summary,) = kept(run, home, path, f"<summary>{words[: sessions.SUMMARY_CHARS - 20]}{secret} {words}</summary>")
    assert len(summary) <= sessions.SUMMARY_CHARS
    assert secret[:8] not in summary
