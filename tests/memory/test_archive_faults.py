"""Whatever happens while transcripts are taken in, each message is there once in the end."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import Transcript, long
from conftest import PATIENCE_S, attempt, begin
from faults import paused, read_only, small_disk, stopped, write_lock

IMPATIENT = {"JOELCLAW_STORE_BUSY_MS": "200"}


def export(home: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in attempt(home, "memory", "export").out.splitlines()]
    assert len({line["id"] for line in lines}) == len(lines)
    return {line["id"]: line for line in lines}


def assert_complete(home: Path, transcript: Transcript, count: int) -> None:
    """Every message is there once, with both its neighbours, and the store is sound."""
    memories = export(home)
    assert sorted(memories) == [f"claude:u-{number + 1:08}" for number in range(count)]
    for number in range(1, count - 1):
        context = memories[f"claude:u-{number + 1:08}"]["context"]
        assert f"number{number - 1} " in context
        assert f"number{number + 1} " in context
    db = apsw.Connection(str(home / "store.db"))
    assert db.execute("PRAGMA integrity_check").get == "ok"
    assert db.execute("SELECT count(*) FROM lexicon").get == count
    assert db.execute("SELECT offset FROM transcript").get == transcript.path.stat().st_size
    db.close()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_archive_loses_and_doubles_nothing(home: Path, tmp_path: Path, ending: signal.Signals) -> None:
    count = 500
    transcript = long(tmp_path / "s.jsonl", count)
    for commit in (3, 5, 3, 2):  # of each run: while the store is made, and among the messages
        process = paused(home, "memory", "archive", str(transcript.path), commit=commit)
        assert b"Traceback" not in stopped(process, ending)
    result = attempt(home, "memory", "archive", str(transcript.path)).result
    assert_complete(home, transcript, count)
    assert result["bytes"] <= transcript.path.stat().st_size


def test_two_processes_at_once_take_each_message_once(home: Path, tmp_path: Path) -> None:
    transcript = long(tmp_path / "s.jsonl", 600)
    attempt(home, "otel", "emit", "store.made").assert_done()
    both = [begin(home, "memory", "archive", str(transcript.path)) for _ in range(2)]
    added = [json.loads(process.communicate(timeout=PATIENCE_S)[0])["result"]["episodes"]["added"] for process in both]
    assert sum(added) == 600
    assert_complete(home, transcript, 600)


def test_a_locked_store(home: Path, tmp_path: Path) -> None:
    transcript = long(tmp_path / "s.jsonl", 20)
    attempt(home, "otel", "emit", "store.made").assert_done()
    with write_lock(home):
        assert attempt(home, "memory", "archive", str(transcript.path), env=IMPATIENT).assert_failed() == "STORE_BUSY"
    attempt(home, "memory", "archive", str(transcript.path)).assert_done()
    assert_complete(home, transcript, 20)


def test_a_full_disk(home: Path, tmp_path: Path) -> None:
    count = 800
    transcript = long(tmp_path / "s.jsonl", count)
    with small_disk(home, 1300):
        done = attempt(home, "memory", "archive", str(transcript.path))
        assert done.assert_failed() in ("STORE_FULL", "STORE_IO")
        memories = sorted(export(home))
        assert 0 < len(memories) < count
        assert memories == [f"claude:u-{number + 1:08}" for number in range(len(memories))]
        subprocess.run(["mount", "-o", "remount,size=64m", str(home)], check=True)
        attempt(home, "memory", "archive", str(transcript.path)).assert_done()
        assert_complete(home, transcript, count)


def test_a_read_only_home(home: Path, tmp_path: Path) -> None:
    transcript = long(tmp_path / "s.jsonl", 20)
    attempt(home, "otel", "emit", "store.made").assert_done()
    with read_only(home):
        assert attempt(home, "memory", "archive", str(transcript.path)).assert_failed() == "STORE_READ_ONLY"


@pytest.mark.parametrize("carry", ["", "{", "[]", '{"drafts": 3}', '{"prompt": "p", "drafts": [{"id": "x"}]}'])
def test_a_damaged_carry_costs_the_neighbours_only(home: Path, tmp_path: Path, carry: str) -> None:
    transcript = long(tmp_path / "s.jsonl", 10)
    attempt(home, "memory", "archive", str(transcript.path)).assert_done()
    db = apsw.Connection(str(home / "store.db"))
    db.execute("UPDATE transcript SET carry = ?", (carry,))
    db.close()
    last = transcript.user("what comes behind it")
    assert attempt(home, "memory", "archive", str(transcript.path)).result["episodes"]["added"] == 1
    assert last in export(home)
