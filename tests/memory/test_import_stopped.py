"""An import into a store that fills says how much is in and how to go on; the second run doubles nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Attempt, attempt

from memory import transfer

MANY = 3_000
FULL = {"STORE_FULL", "STORE_IO"}
LIMIT = 1_300_000
"""Bytes that a file may grow to: some batches of 500 lines fit in."""


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Many memories, half of them without an id, a blank line and a bad one among them."""
    path = tmp_path / "lines.jsonl"
    rows = [
        {"text": f"Worker {i} listens on port {9000 + i} and logs to /var/log/w{i}.log", "verdict": "allow"}
        | ({"id": f"n{i}"} if i % 2 else {})
        for i in range(MANY)
    ]
    path.write_text("not JSON\n\n" + "".join(json.dumps(row) + "\n" for row in rows))
    return path


def texts(home: Path) -> list[str]:
    return [json.loads(line)["text"] for line in attempt(home, "memory", "export").out.splitlines()]


def assert_told(done: Attempt, home: Path) -> int:
    """The failure tells how many are in, and they are; returns how many memories that is."""
    assert done.assert_failed() in FULL
    message, fix = done.envelope["error"]["message"], done.envelope["fix"]
    stored = texts(home)
    assert len(set(stored)) == len(stored)
    assert message.endswith(f"; {len(stored):,} of its memories are stored"), message
    assert fix.endswith(": import the same file again: what is already stored stays as it is")
    return len(stored)


def test_how_much_is_in_and_how_to_go_on(home: Path, lines: Path) -> None:
    attempt(home, "status")
    done = attempt(home, "memory", "import", str(lines), largest_file=LIMIT)
    stored = assert_told(done, home)
    assert 0 < stored < MANY and stored % transfer.LINES_PER_COMMIT == 0
    again = attempt(home, "memory", "import", str(lines)).envelope["result"]
    assert (again["added"], again["unchanged"], again["failed"]) == (MANY - stored, stored, 1)
    assert len(set(texts(home))) == len(texts(home)) == MANY
