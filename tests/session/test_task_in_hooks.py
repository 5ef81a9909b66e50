"""A hook recalls for a new task in the warm zone, and writes it to memory in the hot one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run

MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
TASK = "Fix the memory use of the buoyline importer"


def at(seconds: int) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + 1000 * seconds)}


def known(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "sessions" / "s1.json").read_text())
    return found


def turn_ends(run: Run, home: Path, percent: float, seconds: int = 1) -> None:
    payload = {"session_id": "s1", "cwd": "/srv/tides", "percent": percent, "messages": [TASK]}
    run("hook", "pi", "turn_end", stdin=json.dumps(payload), env=at(seconds))


@pytest.fixture
def stocked(run: Run) -> None:
    run("memory", "write", MEMORY, env=at(0))


@pytest.mark.usefixtures("stocked")
def test_in_the_warm_zone_it_recalls(run: Run, home: Path) -> None:
    turn_ends(run, home, 45)
    after = known(home)
    assert after["checkpoint"]["recallHits"] == [MEMORY]
    assert after["recalledHash"] == after["taskHash"]
    assert after["writtenHash"] == ""


@pytest.mark.usefixtures("stocked")
def test_in_the_hot_zone_the_task_becomes_a_memory(run: Run, home: Path) -> None:
    turn_ends(run, home, 65)
    after = known(home)
    assert len(after["taskMemoryIds"]) == 1
    assert after["writtenHash"] == after["taskHash"]
    (hit,) = run("recall", "Task " + TASK, "--session", "s1", env=at(2)).result["hits"]
    assert (hit["id"], hit["observation"]) == (after["taskMemoryIds"][0], f"Task: {TASK}")
    events = run("otel", "search", "compaction.extract", "--hours", "1", env=at(2)).result["events"]
    assert {event["action"] for event in events} == {"compaction.extract.warm", "compaction.extract.hot"}


@pytest.mark.usefixtures("stocked")
def test_it_is_done_once(run: Run, home: Path) -> None:
    turn_ends(run, home, 65)
    after = known(home)
    assert (after["counts"]["saves"], after["counts"]["recalls"], after["counts"]["writes"]) == (1, 1, 1)
