"""`memory pin`: a pinned memory neither loses score with age nor goes stale; no more than that."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import NOW_MS, Run

YEAR = 365 * 86_400_000
NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
TEXT = "the tide gauge of the north pier reports in centimetres"


@pytest.fixture
def old(run: Run) -> str:
    line = {"id": "old-gauge", "text": TEXT, "created_at": NOW_MS - YEAR}
    run("memory", "import", "-", stdin=json.dumps(line), env=NOW)
    return "old-gauge"


def hits(run: Run) -> list[Any]:
    found: list[Any] = run("recall", "tide gauge north pier", env=NOW).result["hits"]
    return found


def test_a_pinned_memory_is_handed_out_after_a_year(run: Run, old: str) -> None:
    assert hits(run) == []
    result = run("memory", "pin", old, env=NOW).result
    assert (result["pinned"], result["changed"], result["tags"]) == (True, True, ["pinned"])
    (hit,) = hits(run)
    assert 0 < hit["score"] <= 1
    assert not run("memory", "pin", old, env=NOW).result["changed"]
    assert [row["id"] for row in run("memory", "list", "--tag", "pinned", env=NOW).result["memories"]] == [old]
    run("memory", "pin", old, "--undo", env=NOW)
    assert run("memory", "show", old).result["tags"] == []


def test_its_score_is_that_of_one_written_now_and_no_higher(run: Run, old: str) -> None:
    run("memory", "pin", old, env=NOW)
    (pinned,) = hits(run)
    run("memory", "forget", old, env=NOW)
    run("memory", "write", TEXT, env=NOW)
    (fresh,) = hits(run)
    left = [hit["score"] / (hit["rawScore"] * hit["usageBoost"]) for hit in (pinned, fresh)]
    assert left == pytest.approx([1, 1], abs=0.001)


def test_a_mark_as_stale_goes_with_pinning(run: Run) -> None:
    run("memory", "write", TEXT, "--tags", "stale", env=NOW)
    identifier = run("memory", "list", env=NOW).result["memories"][0]["id"]
    assert hits(run) == []
    run("memory", "pin", identifier, env=NOW)
    assert [hit["id"] for hit in hits(run)] == [identifier]


def test_a_pin_travels_with_export_and_import(run: Run, old: str) -> None:
    run("memory", "pin", old, env=NOW)
    assert json.loads(run("memory", "export").out)["tags"] == ["pinned"]


def test_a_pinned_memory_does_not_outrank_what_fits_better(run: Run, old: str) -> None:
    run("memory", "pin", old, env=NOW)
    run("memory", "write", "the tide gauge north pier is calibrated with a plumb line", env=NOW)
    first = run("recall", "tide gauge north pier calibrated plumb line", env=NOW).result["hits"][0]
    assert first["id"] != old
