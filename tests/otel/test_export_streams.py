"""`memory export` prints as it reads: the first line at once, a block in memory at a time, quietly if nobody reads."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, PATIENCE_S, Run, clean_environment

from core.store import sqlite
from memory import import_export

MANY, CHARS = 4_000, 8_000
"""Together 32 MB of text."""
ROOM_KB = 8_000
"""What an export of them may take beyond that of a single memory."""


@pytest.fixture
def large(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """A large memory, in the table that an export reads; returns how many it holds."""
    run("memory", "write", "the staging queue drains at 14:00 UTC")
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        " INSERT INTO document (rowid, id, text, created_at, updated_at, fingerprint)"
        " SELECT (2 << 40) + i, 'd' || i, printf('%.*c', ?, 'x'), i, i, 'f' FROM n",
        (MANY, CHARS),
    )
    db.close()
    return MANY + 1


def peak_kb(home: Path) -> tuple[int, int]:
    """The most memory that an export takes, and how many bytes it prints."""
    process = subprocess.Popen([JOELCLAW, "memory", "export"], stdout=subprocess.PIPE, env=clean_environment(home))
    assert process.stdout is not None
    printed = 0
    while block := process.stdout.read(1 << 20):
        printed += len(block)
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss, printed


@pytest.mark.spawned
def test_memory_does_not_grow_with_the_store(run: Run, tmp_path: Path, home: Path, large: int) -> None:
    run("memory", "write", "a note alone", env={"JOELCLAW_HOME": str(tmp_path / "small")})
    small, _ = peak_kb(tmp_path / "small")
    most, printed = peak_kb(home)
    assert printed > MANY * CHARS and most - small < ROOM_KB
    lines = run("memory", "export").out.splitlines()
    assert len(lines) == large and json.loads(lines[-1])["id"] == f"d{MANY}"


@pytest.mark.spawned
def test_a_reader_that_goes_away_is_no_error(home: Path, large: int) -> None:
    process = subprocess.Popen(
        [JOELCLAW, "memory", "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(home)
    )
    assert process.stdout is not None and process.stderr is not None
    assert json.loads(process.stdout.readline())["text"].startswith("the staging queue") and large
    assert process.poll() is None, "the rest waits for the reader"
    process.stdout.close()
    assert process.wait(PATIENCE_S) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_the_first_line_is_printed_before_the_second_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "write", "the staging queue drains at 14:00 UTC")
    there: list[int] = []

    def two(*_: Any) -> Iterator[bytes]:
        for line in (b"first\n", b"second\n"):
            there.append(os.fstat(1).st_size)
            yield line

    monkeypatch.setattr(import_export, "export_lines", two)
    assert run("memory", "export").out == "first\nsecond\n"
    assert there == [0, len("first\n")]
