"""`memory archive` opens no file that it has as it is: a look at each, and of a session that grew what is new."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import Run
from secret_samples import POSITIVE

from core.store import sqlite

HOUR_MS = 3_600_000
LATER_MS = int(time.time() * 1000) + HOUR_MS
"""Long after the files of a test were written: the system's time of their last change cannot be set."""
IDS = [f"{number}{SESSION[1:]}" for number in range(4)]

Archive = Callable[..., Any]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the transcripts that were opened."""
    paths: list[str] = []
    original = os.open

    def watched(path: Any, *more: Any, **named: Any) -> int:
        if str(path).endswith(".jsonl"):
            paths.append(Path(path).name)
        return original(path, *more, **named)

    monkeypatch.setattr(os, "open", watched)
    return paths


@pytest.fixture
def person(tmp_path: Path) -> Path:
    """A person's home with four transcripts, one of a helper, and one of nobody's."""
    folder = tmp_path / "person" / ".claude" / "projects" / "-w"
    for number, name in enumerate(IDS):
        transcript = Transcript(folder / f"{name}.jsonl", first=number * 100)
        transcript.user(f"the question number {number}")
        transcript.assistant(f"the answer number {number}")
    side = Transcript(folder / "agent-1.jsonl")
    side.write(side.entry("user", "a helper was asked", isSidechain=True))
    (folder / "nobody.jsonl").write_text('{"a": 1}\n')
    return tmp_path / "person"


@pytest.fixture
def archive(run: Run, person: Path) -> Archive:
    unset = dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "GEMINI_CLI_HOME"), "")

    def command(*words: str, now: int = LATER_MS) -> Any:
        env = {"HOME": str(person), **unset, "JOELCLAW_NOW_MS": str(now)}
        return run("memory", "archive", *(words or ("--all",)), env=env).result

    return command


def path_of(person: Path, number: int) -> Path:
    return person / ".claude" / "projects" / "-w" / f"{IDS[number]}.jsonl"


def test_unchanged_files_are_not_opened(archive: Archive, opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = archive()
    assert (first["transcripts"], first["subagents"], first["skippedCount"]) == (4, 1, 1)
    assert len(set(opened)) == 6
    opened.clear()
    monkeypatch.setattr(sqlite, "open_writing", lambda **_: pytest.fail("nothing is to be written"))
    again = archive()
    assert opened == []
    expected = {"unchanged": 4, "episodes": {"added": 0, "updated": 0}, "bytes": 0}
    assert again == {**first, **expected}
    assert again["agents"] == {"claude": 4} and again["skipped"][0]["reason"] == "no transcript of a known client"


def test_only_new_bytes_of_a_grown_session_are_read(archive: Archive, opened: list[str], person: Path) -> None:
    archive()
    opened.clear()
    grown = path_of(person, 2)
    size = grown.stat().st_size
    transcript = Transcript(grown, first=900)
    for number in range(5):
        transcript.user(f"and then question {number}")
        transcript.assistant(f"and then answer {number}")
    result = archive()
    assert set(opened) == {grown.name}
    assert result["bytes"] == grown.stat().st_size - size
    assert (result["transcripts"], result["unchanged"], result["episodes"]["added"]) == (4, 3, 10)
    opened.clear()
    assert archive()["unchanged"] == 4 and opened == []


def test_a_file_that_took_the_place_of_another_is_noticed(archive: Archive, person: Path, tmp_path: Path) -> None:
    archive()
    first = path_of(person, 0)
    before = first.stat()
    other = tmp_path / "other"
    other.write_text(first.read_text().replace("u-000000", "v-000000"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(first)
    assert (first.stat().st_size, first.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert archive()["episodes"]["added"] == 2


def test_unreadable_files_are_tried_again(archive: Archive, person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = os.open
    locked = str(path_of(person, 1))

    def refusing(path: Any, *more: Any, **named: Any) -> int:
        if str(path) == locked:
            raise PermissionError(13, "Permission denied", locked)
        return original(path, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing)
        refused = archive()
    assert (refused["transcripts"], refused["skippedCount"]) == (3, 2)
    assert "Permission denied" in {file["reason"] for file in refused["skipped"]}
    assert archive()["episodes"]["added"] == 2


def test_no_path_reaches_the_store(archive: Archive, person: Path, home: Path) -> None:
    secret = next(sample.secret for sample in POSITIVE if "/" not in sample.secret and len(sample.secret) < 100)
    folder = person / ".claude" / "projects" / secret.replace("\n", "")
    Transcript(folder / f"{SESSION}.jsonl").user("in a folder with a bad name")
    archive()
    stored = b"".join(path.read_bytes() for path in home.glob("store.db*"))
    assert folder.name.encode() not in stored
