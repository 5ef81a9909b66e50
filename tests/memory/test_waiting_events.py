"""What went wrong in hooks and could not be stored by them is found by who looks at the log, without another hook."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Run


def actions(run: Run, *words: str) -> list[str]:
    return [event["action"] for event in run("otel", *words).result["events"]]


@pytest.mark.parametrize("words", [("search", "hook.failed"), ("list",)])
def test_a_failed_hook_is_found(run: Run, home: Path, words: tuple[str, ...]) -> None:
    run("hook", "claude", stdin="")
    run("hook", "nobody", stdin="{}")
    assert os.listdir(home / "spool") == ["events.jsonl"]
    assert actions(run, *words) == ["hook.failed", "hook.failed"]
    assert os.listdir(home / "spool") == []
    assert actions(run, *words) == ["hook.failed", "hook.failed"], "once each"


def test_it_counts_in_the_statistics(run: Run) -> None:
    run("hook", "claude", stdin="")
    assert run("otel", "stats").result["errors"] == 1


@pytest.mark.parametrize("damage", ["store", "settings"])
def test_where_it_cannot_be_stored_it_waits_on(run: Run, home: Path, damage: str) -> None:
    run("hook", "claude", stdin="")
    broken = home / ("store.db" if damage == "store" else "config.toml")
    broken.write_bytes(b"this is no database, and no TOML" * 300)
    run("otel", "search", "hook", ok=damage == "settings")
    broken.unlink()
    assert actions(run, "search", "hook.failed") == ["hook.failed"]


def test_a_home_that_is_not_there_is_not_made(run: Run, home: Path) -> None:
    run("otel", "search", "hook")
    assert not home.exists()
