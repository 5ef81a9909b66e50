"""After an upgrade transcripts are to be read again for their calls: hooks go on with what is new all the same."""

from __future__ import annotations

import time
from pathlib import Path

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript, long
from conftest import Run

from core.store import sqlite
from core.store.sessions import call_rows, name_rows, session_rows
from memory.archive import ingest


@pytest.fixture
def upgraded(run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Transcript:
    """A long transcript that the version before has read: its messages are kept, its calls are not."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    made = long(tmp_path / f"{SESSION}.jsonl", 20)
    made.call("old", "Bash", command="make build")
    made.outcome("old", "built harbourGauge")
    run("memory", "archive", str(made.path))
    db = apsw.Connection(str(home / "store.db"))
    db.execute("DROP TABLE session; DROP TABLE call; DROP TABLE call_lexicon; DROP TABLE name; DROP TABLE compaction")
    db.execute("PRAGMA user_version = 5")
    db.close()
    return made


def hook(path: Path, *, most: int = 2000) -> ingest.Ingested:
    """What a hook does that has no time for more than a piece."""
    db = sqlite.open_writing(busy_ms=400, durable=False)
    return ingest.ingest_file(
        db, str(path), agent="claude", session=SESSION, cwd=CWD, now=1, vectors=sqlite.load_vectors(db),
        most_bytes=most, until=time.monotonic() + 60,
    )  # fmt: skip


def commands(home: Path) -> list[tuple[int, str, str]]:
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    return [(one["number"], one["command"], one["outcome"]) for one in call_rows.calls(db, SESSION)]


def test_a_hook_stores_what_is_new_first(run: Run, home: Path, upgraded: Transcript) -> None:
    size = upgraded.path.stat().st_size
    asked = upgraded.user("and now the tests")
    upgraded.call("new", "Bash", command="make test")
    upgraded.write(upgraded.entry("system", "", subtype="compact_boundary", compactMetadata={}))
    found = hook(upgraded.path)
    assert (found["offset"], found["complete"]) == (upgraded.path.stat().st_size, True)
    assert found["bytes"] == upgraded.path.stat().st_size - size
    assert commands(home) == [(1, "make test", "")]
    upgraded.outcome("new", "fine")
    assert hook(upgraded.path)["bytes"] < 2000
    assert commands(home) == [(1, "make test", "ok")]
    # the archive still reads all of it, and meets again what hooks have stored
    result = run("memory", "archive", str(upgraded.path)).result
    assert result["bytes"] == upgraded.path.stat().st_size
    assert commands(home) == [(1, "make test", "ok"), (2, "make build", "ok")]
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert [one["call"] for one in name_rows.compactions(db, SESSION)] == [1]
    about = session_rows.session(db, SESSION)
    assert about is not None
    assert (about["calls"], about["prompts"]) == (2, 5)
    assert db.execute("SELECT count(*) FROM document WHERE id = ?", (asked,)).get == 1
    assert run("memory", "archive", str(upgraded.path)).result["unchanged"] == 1


def test_what_was_compacted_last_is_last_however_calls_are_numbered(
    run: Run, home: Path, upgraded: Transcript, tmp_path: Path
) -> None:
    early = Transcript(tmp_path / "early.jsonl")
    early.call("first", "Bash", command="ls")
    early.call("second", "Bash", command="df")
    early.write(early.entry("user", "The early summary.", isCompactSummary=True))
    upgraded.path.write_bytes(early.path.read_bytes() + upgraded.path.read_bytes())
    run("memory", "archive", str(upgraded.path))
    db = apsw.Connection(str(home / "store.db"))
    db.execute("DELETE FROM call; DELETE FROM session; DELETE FROM name; DELETE FROM compaction")
    db.execute("UPDATE transcript SET head = ''")
    upgraded.call("new", "Bash", command="make test")
    upgraded.write(upgraded.entry("user", "The late summary.", isCompactSummary=True))
    hook(upgraded.path)
    run("memory", "archive", str(upgraded.path))
    assert [(one["call"], one["summary"]) for one in name_rows.compactions(db, SESSION)] == [
        (3, "The early summary."), (1, "The late summary."),
    ]  # fmt: skip


def test_a_hook_reads_another_file_from_its_start(home: Path, upgraded: Transcript) -> None:
    upgraded.path.unlink()
    made = Transcript(upgraded.path)
    made.call("c1", "Bash", command="df")
    hook(made.path)
    assert commands(home) == [(1, "df", "")]
