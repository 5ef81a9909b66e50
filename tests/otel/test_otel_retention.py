"""`otel prune`: old events go, young ones stay, and nobody waits for it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import JOELCLAW, NOW_MS, Run, clean_environment

from core.store import events, retention, sqlite
from otel import log
from otel.event import new_event

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
DAY = 86_400_000


def seed(ages_ms: list[int]) -> None:
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    log.append(db, [new_event("x", now=NOW_MS - age, id=str(age)) for age in ages_ms], debug_limit=12)
    db.close()


@pytest.fixture(autouse=True)
def _home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))


def test_older_events_go(run: Run) -> None:
    seed([0, DAY, 10 * DAY, 10 * DAY + 1, 100 * DAY])
    result = run("otel", "prune", "--days", "10", env=NOW).result
    assert result == {"deleted": 2, "kept": 3, "before": "2026-09-11T14:13:20.000Z", "days": 10}
    left = run("otel", "list", "--hours", "9999", env=NOW).result
    assert [event["id"] for event in left["events"]] == ["0", str(DAY), str(10 * DAY)]
    assert run("otel", "prune", "--days", "10", env=NOW).result["deleted"] == 0


def test_days_are_those_of_the_settings(run: Run) -> None:
    seed([0, 8 * DAY, 91 * DAY])
    result = run("otel", "prune", env=NOW).result
    assert (result["deleted"], result["days"]) == (1, 90)
    result = run("otel", "prune", env={**NOW, "JOELCLAW_OTEL_RETENTION_DAYS": "7"}).result
    assert (result["deleted"], result["kept"], result["days"]) == (1, 1, 7)
    assert run("otel", "prune", "--days", "0.5", env=NOW).result["days"] == 0.5
    assert run("otel", "prune", "--days", "-1", env=NOW, ok=False).code == 2


def test_without_a_store_none_is_made(run: Run, home: Path) -> None:
    assert run("otel", "prune", env=NOW).result["deleted"] == 0
    assert not home.exists()


def test_numbers_are_never_used_twice(home: Path) -> None:
    """A follower asks for what has a higher number than the last one it saw."""
    seed([1, 2, 3])
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    last = events.last_seq(db)
    assert retention.prune_events(db, NOW_MS + 1) == (3, 0)
    log.append(db, [new_event("y", now=NOW_MS)], debug_limit=12)
    assert events.last_seq(db) > last


def test_many_batches_while_others_emit(home: Path) -> None:
    seed(list(range(2 * DAY, 2 * DAY + 3 * retention.AT_ONCE)))
    environment = clean_environment(home, **NOW)
    pruning = subprocess.Popen(
        [JOELCLAW, "otel", "prune", "--days", "1"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment
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
        assert json.loads(pruning.stdout.read())["result"]["deleted"] == 3 * retention.AT_ONCE
    db = sqlite.open_reading()
    assert db is not None and events.count(db) == emitted > 0
