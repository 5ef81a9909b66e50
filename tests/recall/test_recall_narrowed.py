"""Recall by time and session, and suggestions for filters that match nothing."""

import json
from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import NOW, NOW_MS, Run, attempt
from terminal import on_terminal, without_style

DAY = 86_400_000
AGES = {"fresh": 1, "weeks": 20, "old": 80}
"""Days."""
ONE, OTHER = "5a3e7c11-2222-4333-8444-555566667777", "6b3e7c11-2222-4333-8444-555566667777"


@pytest.fixture
def filled(home: Path, run: Run) -> Path:
    lines = [
        {"id": f"{name}-gauge", "text": f"the harbour gauge of the {name} pier stalls", "project": "harbour",
         "created_at": NOW_MS - days * DAY, "category": "ops"}
        for name, days in AGES.items()
    ]  # fmt: skip
    run("memory", "import", "-", stdin="".join(json.dumps(line) + "\n" for line in lines), env=NOW)
    return home


def recalled(home: Path, *words: str) -> set[str]:
    return {
        hit["id"].partition("-")[0] for hit in attempt(home, "recall", "harbour gauge", *words, env=NOW).result["hits"]
    }


@pytest.mark.parametrize(("words", "expected"), [
    ("--since 2w", "fresh"), ("--since 36h", "fresh"), ("--since 1mo", "fresh weeks"), ("--until 2w", "weeks old"),
    ("--since 1mo --until 7d", "weeks"), ("--until 1mo", "old"), ("--since 2y", "fresh weeks old"),
    ("--since 2020-01-01 --until 2021-01-01", ""),
])  # fmt: skip
def test_since_and_until_leave_out_other_times(filled: Path, words: str, expected: str) -> None:
    assert recalled(filled, *words.split()) == set(expected.split())


def test_an_invalid_time_is_wrong_usage(filled: Path) -> None:
    failed = attempt(filled, "recall", "x", "--since", "never", env=NOW)
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
