"""What a person stores is on the disk when the command says so, and the write-ahead log stays short."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import Run

from core.store import sqlite


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each connection that writes is durable, as the commands open them."""
    flags: list[bool] = []
    original = sqlite.open_writing

    def watched(*, busy_ms: int, durable: bool, **more: Any) -> Any:
        flags.append(durable)
        return original(busy_ms=busy_ms, durable=durable, **more)

    monkeypatch.setattr(sqlite, "open_writing", watched)
    return flags


def test_memories_are_durable(run: Run, opened: list[bool], tmp_path: Path) -> None:
    written = run("memory", "write", "the staging queue drains at 14:00 UTC").result["id"]
    assert opened.pop(0) is True
    transcript = Transcript(tmp_path / "s-1.jsonl")
    transcript.user("The staging queue drains at 14:00 UTC.")
    run("memory", "archive", str(transcript.path))
    for words, stdin in (
        (("memory", "import", "-"), json.dumps({"text": "retries are capped at seven", "verdict": "allow"})),
        (("memory", "forget", written), None),
        (("memory", "forget", "--undo", written), None),
        (("memory", "forget", "--session", "s-1"), None),
    ):
        opened.clear()
        run(*words, stdin=stdin)
        assert opened[0] is True, " ".join(words)


def test_events_and_derived_data_are_not_synced(run: Run, opened: list[bool], tmp_path: Any) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Retries\n\nThey are capped.\n")
    Transcript(notes / "s.jsonl").user("how often is it tried again?")
    for words in (
        ("memory", "write", "the staging queue drains at 14:00 UTC"),
        ("otel", "emit", "deploy.done", "--source", "test", "--component", "deploy"),
        ("knowledge", "sync", str(notes)),
        ("memory", "archive", str(notes)),
    ):
        opened.clear()
        run(*words)
        assert opened[-1] is (words[1] == "write"), " ".join(words)


def test_observations_are_durable_and_the_archive_is_not_synced(
    run: Run, opened: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = Transcript(tmp_path / "s.jsonl")
    transcript.user("The staging queue drains at 14:00 UTC.")
    original = sqlite.set_durability

    def watched(db: Any, durable: bool, **more: Any) -> None:
        opened.append(durable)
        original(db, durable, **more)

    monkeypatch.setattr(sqlite, "set_durability", watched)
    env = {"JOELCLAW_MODEL_COMMAND": "echo '<observations></observations>'"}
    run("memory", "observe", str(transcript.path), env=env)
    assert opened[:2] == [False, True]


def test_durable_means_synchronous(run: Run, home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "write", "the staging queue drains at 14:00 UTC")
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    for durable, level in ((True, 2), (False, 1)):
        db = sqlite.open_writing(busy_ms=1000, durable=durable)
        assert db.pragma("synchronous") == level
        db.close()


LIMIT = 1_000_000


@pytest.mark.spawned
def test_single_writes_fold_the_log_back_at_one_megabyte(run: Run, home: Path) -> None:
    sizes, log = [], home / "store.db-wal"
    blob = "x y " * 14_000  # a large event, so that few are needed
    for number in range(24):
        run("otel", "emit", f"log.fill.{number}", "--metadata", f'{{"blob": "{blob}"}}')
        sizes.append(log.stat().st_size if log.exists() else 0)
    assert max(sizes) > LIMIT / 2  # the test does reach it
    assert max(sizes) < 2 * LIMIT
    assert any(later < earlier for earlier, later in pairwise(sizes))
    assert run("otel", "list", "--limit", "200").result["found"] == 24
