"""`memory forget --purge` during other writes deletes what matches at that moment, and nothing else."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from conftest import JOELCLAW, PATIENCE_S, Run, clean_environment, put
from faults import snapshot

from cli import output, terminal
from core.store import documents, sqlite
from session.purge import _Sweep

MARK = "quaggabeacon"
TEXT = f"the {MARK} is painted green every spring"
KEPT = "the scheduler of the gateway runs in UTC, never in local time"
Meanwhile = Callable[[Callable[[], None]], None]


def holding(home: Path) -> list[str]:
    """Files in which the word still stands."""
    return [name for name, data in snapshot(home).items() if MARK.encode() in data.lower()]


def texts(home: Path) -> list[str]:
    """What the store holds of memories."""
    db = apsw.Connection(str(home / "store.db"))
    rows = [str(text) for (text,) in db.execute("SELECT text FROM document WHERE text <> '' ORDER BY rowid")]
    db.close()
    return rows


def elsewhere(home: Path, *words: str) -> None:
    """Run a command in a process of its own, as another agent does."""
    environment = clean_environment(home)
    done = subprocess.run([JOELCLAW, *words], env=environment, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout[:900].decode()


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Has something happen while the question waits for its answer, which is yes."""

    def set_up(act: Callable[[], None]) -> None:
        def agreed(_: str) -> bool:
            act()
            return True

        monkeypatch.setattr(terminal.os, "isatty", lambda _: True)
        monkeypatch.setattr(output, "is_terminal", lambda: True)
        monkeypatch.setattr(terminal, "confirm", agreed)

    return set_up


@pytest.mark.parametrize("by_id", [True, False])
def test_a_memory_that_reused_a_row_stays(run: Run, home: Path, meanwhile: Meanwhile, by_id: bool) -> None:
    first = run("memory", "write", TEXT).result["id"]
    last = first if by_id else run("memory", "write", f"nobody may touch the {MARK} in winter").result["id"]

    def another_gets_its_row() -> None:
        db = apsw.Connection(str(home / "store.db"))
        rowid = db.execute("SELECT rowid FROM document WHERE id = ?", (last,)).get
        with sqlite.transaction(db):
            documents.remove(db, rowid)  # as the archive does with a draft
        db.close()
        elsewhere(home, "memory", "write", KEPT)
        db = apsw.Connection(str(home / "store.db"))
        assert db.execute("SELECT text FROM document WHERE rowid = ?", (rowid,)).get == KEPT
        db.close()

    meanwhile(another_gets_its_row)
    run("memory", "forget", "--purge", *([last] if by_id else ["--match", MARK]))
    assert holding(home) == []
    assert texts(home) == [KEPT]


def event(identifier: str, error: str = "") -> str:
    """A line of the spool."""
    names = ("sessionId", "systemId", "level", "source", "component", "action")
    fields = {"id": identifier, "timestamp": 1, "success": True, "metadata": {}, "error": error}
    return json.dumps({**dict.fromkeys(names, "info"), **fields}) + "\n"


def test_an_event_spooled_during_the_question_is_purged(run: Run, home: Path, meanwhile: Meanwhile) -> None:
    run("memory", "write", TEXT)

    def spool_events() -> None:
        (home / "spool").mkdir(exist_ok=True)
        (home / "spool" / "events.jsonl").write_text(event("quotes", MARK) + event("stays"))

    meanwhile(spool_events)
    run("memory", "forget", "--purge", "--match", MARK)
    assert holding(home) == []
    assert b"stays" in b"".join(snapshot(home).values())


def test_a_line_logged_during_the_purge_stays(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "write", KEPT)
    log = put(home / "workspace" / "memory" / "2026-01-02.md", f"# The day\n- look at the {MARK}\n- water the plants\n")
    before = _Sweep._without_sections

    def append_meanwhile(sweep: _Sweep, text: str, name: str) -> tuple[str, int]:
        if not sweep._dry:
            with log.open("a") as file:
                file.write("- feed the cat\n")
        return before(sweep, text, name)

    monkeypatch.setattr(_Sweep, "_without_sections", append_meanwhile)
    result = run("memory", "forget", "--purge", "--match", MARK, "--yes").result
    assert result["logSections"] == 1
    assert log.read_text() == "# The day\n- water the plants\n- feed the cat\n"
    assert holding(home) == []
