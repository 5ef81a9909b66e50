"""What a session was doing is written into the daily log before a compaction (ADR-0204, change 2)."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import NOW, NOW_MS, Run, put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.config import Config, load
from session.reactions import daily_log
from session.state import SessionState

TASK = "Fix the memory use of the buoyline importer"
DAY = "2026-09-21"
HEADING = "## 14:13 UTC · session s-1 · interactive · compaction"
DEFAULTS = Config({})


def flush(state: Any, now: int, *, config: Config | None = None, **more: Any) -> bool:
    return daily_log.append_section(state, now, config or load(), **more)


@pytest.fixture(autouse=True)
def _in_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.delenv("JOELCLAW_WORKSPACE_FOLDER", raising=False)


@pytest.fixture
def log(home: Path) -> Path:
    """Today's file."""
    return home / "workspace" / "memory" / f"{DAY}.md"


def state_of(task: str = TASK, session: str = "s-1", files: tuple[str, ...] = ("src/a.py", "src/b.py")) -> SessionState:
    state = SessionState(session, "interactive", NOW_MS)
    state.task, state.files, state.percent = task, list(files), 83.4
    state.recall_cache = [{"query": "buoyline importer memory", "hash": "", "hits": [], "at": 0}]
    return state


def test_a_section(log: Path) -> None:
    assert flush(state_of(), NOW_MS, config=DEFAULTS, project="p")
    assert log.read_text().split("\n") == [
        HEADING, f"- Task: {TASK}", "- Files modified: src/b.py, src/a.py", "- Recalled: buoyline importer memory",
        "- Project: p", "- Context 83 %, compaction 1", "",
    ]  # fmt: skip
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    for folder in (log.parent, log.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_checkpoint_flush_writes_it_as_the_hook_does(run: Run, log: Path, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user(TASK)
    for number, (tool, name) in enumerate((("Read", "src/buoy.py"), ("Read", "src/a.py"), ("Edit", "src/a.py"))):
        transcript.used(f"c{number}", tool, "ok", file_path=f"{CWD}/{name}")
    run("memory", "archive", str(transcript.path))
    run("checkpoint", "save", "--session", SESSION, "-m", TASK, "--file", f"{CWD}/src/a.py", "--percent", "9", env=NOW)
    run("checkpoint", "flush", "--session", SESSION, "--percent", "83", env=NOW)
    lines = log.read_text().split("\n")
    assert f"- Task: {TASK}" in lines
    assert f"- Files modified: {CWD}/src/a.py" in lines
    assert "- Files read: src/buoy.py" in lines
    run("checkpoint", "flush", "--session", SESSION, "--percent", "83", env=NOW)
    assert log.read_text().count("## ") == 1


def test_the_same_section_is_not_written_twice(log: Path) -> None:
    assert flush(state_of(), NOW_MS)
    assert flush(state_of("something else", "s-2"), NOW_MS)
    before = log.read_text()
    assert not flush(state_of(), NOW_MS + 120_000)
    assert log.read_text() == before
    again = state_of()
    again.compaction_count = 1
    assert flush(again, NOW_MS + 120_000)
    second = before.partition("\n\n")[0].replace("14:13", "14:15").replace("compaction 1", "compaction 2")
    assert log.read_text() == f"{before}\n{second}\n"
    assert flush(again, NOW_MS + 86_400_000), "a new day, a new file"
    assert (log.parent / "2026-09-22.md").exists()


def test_faults_are_kept(log: Path, home: Path) -> None:
    home.mkdir()
    (home / "workspace").write_text("a file where a folder should be")
    assert not flush(state_of(), NOW_MS)
    (home / "workspace").unlink()
    log.mkdir(parents=True)
    assert not flush(state_of(), NOW_MS)
    log.rmdir()
    os.mkfifo(log)
    assert not flush(state_of(), NOW_MS), "and does not wait for a reader"
    log.unlink()
    log.symlink_to("/dev/full")
    assert not flush(state_of(), NOW_MS)


def test_no_secret_reaches_the_log(log: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    assert flush(state_of(f"use {secret}", files=(f"src/{secret}.py",)), NOW_MS)
    assert secret not in log.read_text()
    assert "[redacted:" in log.read_text()


def test_a_long_file_is_read_from_its_end(log: Path) -> None:
    put(log, b"# Monday\n" + b"\xff long ago\n" * 40_000)
    assert flush(state_of(), NOW_MS)
    assert not flush(state_of(), NOW_MS)


nasty = st.one_of(st.text(max_size=300), st.sampled_from(("## 10:00 UTC · session s-1 · x", "a\n## b\n- Task", "·")))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(nasty, nasty, nasty)
def test_nothing_quoted_becomes_a_section(log: Path, task: str, session: str, name: str) -> None:
    log.unlink(missing_ok=True)
    state = state_of(task, session or "s", (name,))
    if not flush(state, NOW_MS):
        return
    lines = log.read_text().split("\n")
    assert sum(line.startswith("#") for line in lines) == 1
    assert all(line.startswith("- ") for line in lines[1:-1])
    assert not flush(state, NOW_MS + 60_000), "it knows its own section again"
