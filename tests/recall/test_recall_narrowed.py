"""Recall by time and session, and suggestions for filters that match nothing."""

from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import NOW, Run, attempt
from terminal import on_terminal, without_style

ONE, OTHER = "5a3e7c11-2222-4333-8444-555566667777", "6b3e7c11-2222-4333-8444-555566667777"


def test_an_invalid_time_is_wrong_usage(run: Run) -> None:
    failed = run("recall", "x", "--since", "never", ok=False)
    assert failed.code == 2 and "--since 2w" in failed.envelope["fix"]


@pytest.fixture
def sessions(home: Path, run: Run, tmp_path: Path) -> Path:
    for session, turns in ((ONE, 6), (OTHER, 1)):
        transcript = Transcript(tmp_path / f"work/{session}.jsonl", first=100 * turns)
        for number in range(turns):
            transcript.user(f"why does the harbour gauge of pier {number} stall in session {session[:2]}?")
        run("memory", "archive", str(transcript.path), env=NOW)
    return home


def test_by_session_returns_each_session_once_with_a_count(sessions: Path) -> None:
    hits = attempt(sessions, "recall", "harbour gauge stall", "--by", "session", env=NOW).result["hits"]
    assert sorted((hit["session"], hit["more"]) for hit in hits) == [(ONE, 5), (OTHER, 0)]
    shown = without_style(on_terminal(sessions, "recall", "harbour gauge stall", "--by", "session", env=NOW).out)
    assert "5 more in this session" in shown
    assert attempt(sessions, "recall", "--batch", "-", "--by", "session", env=NOW).code == 2
