"""What a person stores is on the disk when the command says so; what can be made again may wait for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import Run

from core.store import sqlite


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each connection that writes is durable, as the commands open them."""
    found: list[bool] = []
    whole = sqlite.open_writing

    def watched(*, busy_ms: int, durable: bool, **more: Any) -> Any:
        found.append(durable)
        return whole(busy_ms=busy_ms, durable=durable, **more)

    monkeypatch.setattr(sqlite, "open_writing", watched)
    return found


def test_memories_are_durable(run: Run, opened: list[bool], tmp_path: Path) -> None:
    written = run("memory", "write", "the staging queue drains at 14:00 UTC").result["id"]
    assert opened.pop(0) is True
    made = Transcript(tmp_path / "s-1.jsonl")
    made.user("The staging queue drains at 14:00 UTC.")
    run("memory", "archive", str(made.path))
    for words, given in (
        (("memory", "import", "-"), json.dumps({"text": "retries are capped at seven", "verdict": "allow"})),
        (("memory", "forget", written), None),
        (("memory", "forget", "--undo", written), None),
        (("memory", "forget", "--session", "s-1"), None),
    ):
        opened.clear()
        run(*words, stdin=given)
        assert opened[0] is True, " ".join(words)


def test_events_and_what_is_made_from_files_wait_for_nobody(run: Run, opened: list[bool], tmp_path: Any) -> None:
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


def test_what_a_model_was_paid_for_is_durable_and_the_archive_waits_for_nobody(
    run: Run, opened: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Transcript(tmp_path / "s.jsonl")
    made.user("The staging queue drains at 14:00 UTC.")
    whole = sqlite.set_durability

    def watched(db: Any, durable: bool, **more: Any) -> None:
        opened.append(durable)
        whole(db, durable, **more)

    monkeypatch.setattr(sqlite, "set_durability", watched)
    env = {"JOELCLAW_MODEL_COMMAND": "echo '<observations></observations>'"}
    run("memory", "observe", str(made.path), env=env)
    assert opened[:2] == [False, True]


def test_durable_means_synchronous(run: Run, home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "write", "the staging queue drains at 14:00 UTC")
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    for durable, level in ((True, 2), (False, 1)):
        db = sqlite.open_writing(busy_ms=1000, durable=durable)
        assert db.pragma("synchronous") == level
        db.close()
