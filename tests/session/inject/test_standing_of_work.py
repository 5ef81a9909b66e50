"""Where the work in a folder stands, for an agent that asks: the session meant, and what its compaction dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run

from core import clock
from core.config import Config
from session import lost

RULE = "never raise the lease above a minute, billing depends on it"


@pytest.fixture(autouse=True)
def _in_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(clock.parse_iso("2026-09-20T12:00:00.000Z")))


def test_the_session_and_what_its_compaction_dropped(run: Run, tmp_path: Path) -> None:
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    made.user("please make the gateway retry when a lease is lost")
    made.user(RULE)
    made.call("c1", "Read", file_path=f"{CWD}/src/lease.py")
    made.outcome("c1", "     4→def expireLease(now): ...")
    made.call("c2", "Bash", command="make test")
    made.outcome("c2", "TypeError: expireLease() missing 1 required argument", failed=True)
    run("memory", "archive", str(made.path))
    head, *lines = lost.state_of_work(Config({}), CWD, SESSION)
    assert head == f"session {SESSION} of claude, project gateway, 2 tool calls, 0 compactions"
    assert any(line.startswith("**Failing:** `make test`: TypeError") for line in lines)
    assert not any("Dropped" in line for line in lines)
    made.write(made.entry("system", "", subtype="compact_boundary", compactMetadata={"trigger": "auto"}))
    made.write(made.entry("user", "The gateway is to retry a lost lease.", isCompactSummary=True))
    run("memory", "archive", str(made.path))
    head, *lines = lost.state_of_work(Config({}), CWD, "")
    assert head.endswith("2 tool calls, 1 compaction")
    told = lines[lines.index("**Dropped by the last compaction; recall brings it back:**") + 1 :]
    assert told[0] == f"- words: {RULE}"
    assert [line.partition(":")[0] for line in told] == ["- words", "- words", "- errors", "- names"]
    assert told[-1] == "- names: src/lease.py: expireLease:4"
