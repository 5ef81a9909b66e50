"""Old or excessive data is deleted automatically, by default only events, and the disk space is released."""

import json
import os
import time
from pathlib import Path

import apsw
import pytest
from conftest import NOW, NOW_MS, Run, until

from core.store import sqlite, store_file
from otel import log
from otel.log import new_event

DAY = 86_400_000


@pytest.fixture(autouse=True)
def _home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))


def seed(ages: list[int], *, level: str = "info", size: int = 10, name: str = "x") -> None:
    """Events that are so many days old."""
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    events = [new_event(f"{name}.{number}", level=level, now=NOW_MS - age * DAY) for number, age in enumerate(ages)]
    log.append(db, events, debug_limit=100_000)
    blob = json.dumps({"blob": "y" * size})
    db.execute("UPDATE event SET metadata = ? WHERE action LIKE ?", (blob, name + ".%"))
    db.close()


def names(home: Path) -> set[str]:
    db = apsw.Connection(str(home / "store.db"))
    db.set_busy_timeout(5000)  # what prunes in the background holds the file for a moment
    actions = {str(action) for (action,) in db.execute("SELECT action FROM event")}
    db.close()
    return actions


def test_events_by_age_and_by_default(run: Run, home: Path) -> None:
    seed([1, 89, 91, 200])
    looked = run("store", "prune", "--dry-run", env=NOW).result
    assert looked["events"] == {"byAge": 2, "all": 4} and names(home) == {"x.0", "x.1", "x.2", "x.3"}
    result = run("store", "prune", "--yes", env=NOW).result
    assert result["events"]["byAge"] == 2 and names(home) == {"x.0", "x.1"}
    assert run("store", "prune", "--yes", env=NOW).result["events"]["byAge"] == 0


def test_it_deletes_nothing_unconfirmed(run: Run, home: Path) -> None:
    seed([1, 91])
    refused = run("store", "prune", env=NOW, ok=False)
    assert refused.code == 2 and "--yes" in refused.json["fix"] and names(home) == {"x.0", "x.1"}
    run("store", "prune", "--yes", env=NOW)
    assert run("store", "prune", env=NOW).result["events"]["byAge"] == 0, "nothing would be deleted"


@pytest.mark.parametrize("kind", ["made so", "of an older version"])
def test_disk_space_is_released(run: Run, home: Path, kind: str) -> None:
    if kind == "of an older version":
        run("otel", "emit", "first")
        db = apsw.Connection(str(home / "store.db"))
        db.execute("PRAGMA auto_vacuum = NONE").fetchall()
        db.execute("PRAGMA journal_mode = DELETE").fetchall()
        db.execute("VACUUM").fetchall()
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        assert db.execute("PRAGMA auto_vacuum").get == 0
        db.close()
    seed([200] * 40, size=300_000)
    run("otel", "emit", "last")
    db = apsw.Connection(str(home / "store.db"))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    before = (home / "store.db").stat().st_size
    db.close()
    result = run("store", "prune", "--yes", env=NOW).result
    assert before > 10_000_000 > 2_000_000 > (home / "store.db").stat().st_size
    assert result["bytes"]["before"] - result["bytes"]["after"] > 8_000_000
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    assert store_file.sizes(db)[1] < 1_000_000
    db.close()


@pytest.mark.spawned
def test_hooks_prune_once_a_day(run: Run, home: Path) -> None:
    seed([200, 1], name="old")
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "h", "prompt": "hi there", "cwd": "/"})
    run("hook", "claude", stdin=event, env=NOW)
    assert not (home / "cache" / "store-prune.lock").exists(), "not in the first day"
    at = time.time() - 90_000
    os.utime(home / "store.db.lock", (at, at))
    run("hook", "claude", stdin=event, env=NOW)
    until(lambda: "old.0" not in names(home))
    assert time.time() - (home / "store.db.lock").stat().st_mtime < 80_000
    (home / "cache" / "store-prune.lock").unlink()
    run("hook", "claude", stdin=event, env=NOW)
    assert not (home / "cache" / "store-prune.lock").exists(), "not twice a day"
