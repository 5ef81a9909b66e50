"""The write-ahead log stays short although no process checkpoints it at its end: the next one would have to read it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from conftest import Run

pytestmark = pytest.mark.spawned

LIMIT = 1_000_000


def log_bytes(home: Path) -> int:
    log = home / "store.db-wal"
    return log.stat().st_size if log.exists() else 0


def test_single_writes_fold_the_log_back_at_one_megabyte(run: Run, home: Path) -> None:
    sizes = []
    blob = "x y " * 14_000  # a large event, so that few are needed
    for number in range(40):
        run("otel", "emit", f"log.fill.{number}", "--metadata", f'{{"blob": "{blob}"}}')
        sizes.append(log_bytes(home))
    assert max(sizes) > LIMIT / 2  # the test does reach it
    assert max(sizes) < 2 * LIMIT
    assert any(later < earlier for earlier, later in pairwise(sizes))
    assert run("otel", "list", "--limit", "200").result["found"] == 40
