"""The summary that Claude Code's hook reports early is stored whole and redacted."""

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
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.call("c1", "Bash", command="make test")
    run("memory", "archive", str(transcript.path))
    return transcript.path


def summaries_after(run: Run, home: Path, path: Path, answer: object) -> list[str]:
    event = {
        "hook_event_name": "SubagentStop", "session_id": SESSION, "transcript_path": str(path), "cwd": CWD,
        "agent_type": "", "last_assistant_message": answer,
    }  # fmt: skip
    run("hook", "claude", stdin=json.dumps(event))
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    return [compaction["summary"] for compaction in sessions.compactions(db, SESSION)]


def test_a_summary_after_a_long_analysis(run: Run, home: Path, path: Path) -> None:
    summary = "We mend the gauge. " * 2000
    assert summaries_after(
        run, home, path, f"<analysis>{'thought ' * 5000}</analysis>\n<summary>{summary}</summary>"
    ) == [summary.strip()]


def test_a_long_summary_is_redacted_before_it_is_cut(run: Run, home: Path, path: Path) -> None:
    secret = "ghp" + "_" + fill(36)
    words = "plain words " * 40_000
    (summary,) = summaries_after(
        run, home, path, f"<summary>{words[: sessions.SUMMARY_CHARS - 20]}{secret} {words}</summary>"
    )
    assert len(summary) <= sessions.SUMMARY_CHARS
    assert secret[:8] not in summary
