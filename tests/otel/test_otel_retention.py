"""`store prune` deletes old events and keeps young ones; other commands do not wait for it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, NOW_MS, Run, clean_environment

from core.store import deletion, events, sqlite
from otel import log
from otel.log import new_event

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
DAY = 86_400_000


def seed(ages_ms: list[int]) -> None:
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    log.append(db, [new_event("x", now=NOW_MS - age, id=str(age)) for age in ages_ms], debug_limit=12)
    db.close()


@pytest.fixture(autouse=True)
def _home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))


def prune(run: Run, days: str) -> Any:
    return run("store", "prune", "--yes", env={**NOW, "JOELCLAW_RETENTION_EVENTS_DAYS": days}).result["events"]


def test_events_older_than_the_setting_are_deleted(run: Run) -> None:
    seed([0, DAY, 10 * DAY, 10 * DAY + 1, 100 * DAY])
    assert prune(run, "10")["byAge"] == 2
    left = run("otel", "list", "--hours", "9999", env=NOW).result
    assert [event["id"] for event in left["events"] if event["action"] == "x"] == ["0", str(DAY), str(10 * DAY)]
    assert prune(run, "10")["byAge"] == 0


def test_numbers_are_never_used_twice(home: Path) -> None:
    """A follower asks for what has a higher number than the last one it saw."""
    seed([1, 2, 3])
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    last = events.last_seq(db)
    assert deletion.prune_events(db, NOW_MS + 1) == (3, 0)
    log.append(db, [new_event("y", now=NOW_MS)], debug_limit=12)
    assert events.last_seq(db) > last


def test_many_batches_while_others_emit(home: Path) -> None:
    seed(list(range(2 * DAY, 2 * DAY + 3 * deletion.AT_ONCE)))
    environment = clean_environment(home, **NOW)
    pruning = subprocess.Popen(
        [JOELCLAW, "store", "prune", "--yes"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**environment, "JOELCLAW_RETENTION_EVENTS_DAYS": "1"},
    )
    emitted = 0
    while pruning.poll() is None:
        done = subprocess.run(
            [JOELCLAW, "otel", "emit", "young"], stdin=subprocess.DEVNULL, capture_output=True, env=environment
        )
        assert done.returncode == 0, done.stdout
        emitted += 1
    assert pruning.stdout is not None
    with pruning.stdout:
        assert json.loads(pruning.stdout.read())["result"]["events"]["byAge"] == 3 * deletion.AT_ONCE
    db = sqlite.open_reading()
    assert db is not None and events.count(db) == emitted + 1 > 1, "and store.pruned"
