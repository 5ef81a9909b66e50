"""Old events are pruned, and repeated debug events are limited, across processes."""

from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, NOW_MS, Run

from core.store import events, sqlite
from otel import log
from otel.log import new_event

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
    remaining = run("otel", "list", "--hours", "9999", env=NOW).result
    assert [event["id"] for event in remaining["events"] if event["action"] == "x"] == ["0", str(DAY), str(10 * DAY)]
    assert prune(run, "10")["byAge"] == 0


def test_numbers_are_never_used_twice() -> None:
    """A follower asks for what has a higher number than the last one it saw."""
    seed([1, 2, 3])
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    last = events.last_seq(db)
    assert events.delete_older(db, NOW_MS + 1) == 3
    log.append(db, [new_event("y", now=NOW_MS)], debug_limit=12)
    assert events.last_seq(db) > last


LIMIT = 12


def test_thirteenth_within_a_minute_is_noise(run: Run) -> None:
    def emit(second: float, *more: str) -> dict[str, object]:
        env = {"JOELCLAW_NOW_MS": str(NOW_MS + int(second * 1000))}
        return run("otel", "emit", "tick", "--level", "debug", *more, env=env).result["response"]["result"]

    for second in range(LIMIT):
        assert emit(second)["stored"] is True
    refused = emit(59.999, "--id", "late")
    assert (refused["stored"], refused["dropReason"]) == (False, "debug_backpressure_guard")
    # of another source, component, action or level: not the same noise
    assert emit(59.999, "--source", "other")["stored"] is True
    assert emit(59.999, "--component", "other")["stored"] is True
    assert emit(59.999, "--action", "other")["stored"] is True
    assert emit(59.999, "--level", "info")["stored"] is True
    # the first one falls out of the window
    assert emit(60)["stored"] is True
    assert emit(60)["stored"] is False


IMPORTANT: dict[str, dict[str, object]] = {
    "a compaction": {"action": "compaction.before"},
    "a gateway's compaction": {"action": "gateway.compaction.inject.skipped"},
    "an injection": {"action": "memory.recall.injected"},
    "another's name for one": {"action": "system_knowledge.injected"},
    "a hook that handed out a text": {"action": "hook.completed", "metadata": {"injected": ["memory-startup"]}},
    "a failure": {"action": "probe", "success": False},
    "a failure that names its error": {"action": "probe", "success": False, "error": "no route"},
}
NOISY: dict[str, dict[str, object]] = {
    "a hook that had nothing to say": {"action": "hook.completed", "metadata": {"injected": []}},
    "a word that only holds it": {"action": "recompaction.look"},
    "metadata that speaks of it": {"action": "tick", "metadata": {"about": "compaction"}},
}


def test_important_events_are_never_limited() -> None:
    for table, expected in ((IMPORTANT, LIMIT + 5), (NOISY, LIMIT)):
        for what, about in table.items():
            events = [new_event(**{"level": "debug", "now": NOW_MS, **about}) for _ in range(LIMIT + 5)]  # type: ignore[arg-type]
            assert log.append(sqlite.open_in_memory(), events, debug_limit=LIMIT).count("") == expected, what
