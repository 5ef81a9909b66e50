"""Where the work in a folder stands: the last session, what a compaction dropped, the `briefing` of a repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import JOELCLAW, Run
from test_session_start_work import BEGAN_MS, HOUR, TASK, worked

from core import clock
from core.config import Config
from session import lost

RULE = "never raise the lease above a minute, billing depends on it"


@pytest.fixture(autouse=True)
def _in_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(clock.parse_iso("2026-09-20T12:00:00.000Z")))


def test_the_session_and_its_compactions_losses(run: Run, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user("please make the gateway retry when a lease is lost")
    transcript.user(RULE)
    transcript.call("c1", "Read", file_path=f"{CWD}/src/lease.py")
    transcript.outcome("c1", "     4→def expireLease(now): ...")
    transcript.call("c2", "Bash", command="make test")
    transcript.outcome("c2", "TypeError: expireLease() missing 1 required argument", failed=True)
    run("memory", "archive", str(transcript.path))
    head, *lines = lost.state_of_work(Config({}), CWD, SESSION)
    assert head == f"session {SESSION} of claude, project gateway, 2 tool calls, 0 compactions"
    assert any(line.startswith("**Failing:** `make test`: TypeError") for line in lines)
    assert not any("Dropped" in line for line in lines)
    transcript.write(transcript.entry("system", "", subtype="compact_boundary", compactMetadata={"trigger": "auto"}))
    transcript.write(transcript.entry("user", "The gateway is to retry a lost lease.", isCompactSummary=True))
    run("memory", "archive", str(transcript.path))
    head, *lines = lost.state_of_work(Config({}), CWD, "")
    assert head.endswith("2 tool calls, 1 compaction")
    dropped = lines[lines.index("**Dropped by the last compaction; recall brings it back:**") + 1 :]
    assert dropped[0] == f"- words: {RULE}"
    assert [line.partition(":")[0] for line in dropped] == ["- words", "- words", "- errors", "- names"]
    assert dropped[-1] == "- names: src/lease.py: expireLease:4"


NOW = {"JOELCLAW_NOW_MS": str(BEGAN_MS + 3 * HOUR)}


def test_a_repository_has_a_heading_and_its_memories(run: Run, tmp_path: Path) -> None:
    repo = tmp_path / "tides"
    (repo / ".git").mkdir(parents=True)
    run("memory", "archive", str(worked(tmp_path, "before", cwd=str(repo))))
    for at, text in enumerate(("The tide tables are cached for a day", "The gauge at the north quay reports in feet")):
        env = {"JOELCLAW_NOW_MS": str(BEGAN_MS + at * HOUR)}
        run("memory", "write", text, "--project", "tides", env=env)
    run("memory", "write", "The other repository has a gauge in metres", "--project", "elsewhere", env=NOW)
    result = run("briefing", "--repo", str(repo / "."), env=NOW).result
    assert (result["repo"], result["budget"], result["ranking"]) == (str(repo), 10, "recency")
    assert TASK in result["heading"]["active_arc"]
    assert "Failing:" in result["heading"]["frontier"]
    assert result["heading"]["since_last_session"] == "1 sessions, the last on 2026-09-20"
    assert [entry["title"] for entry in result["entries"]] == [
        "The gauge at the north quay reports in feet", "The tide tables are cached for a day",
    ]  # fmt: skip
    shown = run(*result["entries"][0]["pointer"].split()[1:]).result
    assert "north quay" in shown["entries"][0]["text"]
    assert len(run("briefing", "--repo", str(repo), "-n", "1", env=NOW).result["entries"]) == 1
    text = run("briefing", "--repo", str(repo), "--format", "text", env=NOW).out
    assert text.startswith("<joelclaw-memory ")
    assert "# tides\n" in text
    assert "1. The gauge at the north quay reports in feet — " in text
    assert f"({JOELCLAW} show " in run("briefing", "--repo", str(repo), "--format", "text", env={**NOW, "PATH": ""}).out
