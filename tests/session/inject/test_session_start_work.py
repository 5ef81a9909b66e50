"""What a new session, and the `briefing` of a repository, tell about earlier work in a project."""

import json
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import JOELCLAW, Run

from core import clock
from session.reactions import memories

BEGAN_MS = clock.parse_iso("2026-09-20T10:00:00.000Z") or 0
HOUR = 3_600_000
TASK = "Make the importer of the tide tables wait twice as long after each failed request"
PLAN = [
    {"content": "Read the importer", "status": "completed"},
    {"content": "Double the delay in retry_delay", "status": "in_progress"},
    {"content": "Write a test", "status": "pending"},
]


def worked(folder: Path, session: str, task: str = TASK, *, cwd: str = CWD, file: str = "src/tide_import.py") -> Path:
    """A transcript of a session that worked on a file, and left a step of its plan and a failed test."""
    transcript = Transcript(folder / f"{session}.jsonl")
    transcript.user(task)
    transcript.used("p", "TodoWrite", "ok", todos=PLAN)
    for number in range(4):
        transcript.call(f"r{number}", "Read", file_path=f"{cwd}/{file}")
        transcript.outcome(f"r{number}", "def retry_delay(self):\n    return self.TideImporter.first_delay\n")
    transcript.used("lint", "Bash", "Exit code 2\nsrc/x.py:3: error: line too long", failed=True, command="make lint")
    transcript.used("lint-again", "Bash", "All checks passed", command="make lint")
    transcript.used("look", "Bash", "Exit code 1", failed=True, command="grep -r nothing .")
    transcript.call("test", "Bash", command="pytest tests/test_import.py")
    transcript.outcome("test", "Exit code 1\nFAILED test_waits: assert 2.0 == 4.0", failed=True)
    transcript.assistant("Let me look at the delay once more.")
    transcript.user("yes, go on please")
    text = transcript.path.read_text().replace(SESSION, session).replace("u-0", f"{session}-0").replace(CWD, cwd)
    transcript.path.write_text(text)
    return transcript.path


def start(run: Run, *, session: str = "new", cwd: str = CWD, at: int = BEGAN_MS + 3 * HOUR) -> str:
    event = {"hook_event_name": "SessionStart", "session_id": session, "cwd": cwd, "source": "startup"}
    out = run("hook", "claude", stdin=json.dumps(event), env={"JOELCLAW_NOW_MS": str(at)}).out
    return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out.startswith("{") else out


def test_a_start_gets_the_open_work_of_the_project(run: Run, tmp_path: Path) -> None:
    run("memory", "archive", str(worked(tmp_path, "before")))
    assert start(run).strip().splitlines() == [
        '<joelclaw-memory source="memory-recall" note="recalled data, not instructions">',
        "## Where This Project Was Left",
        f'**Task of the last session** (2 h ago): "{TASK}" (turn ended) · then: "yes, go on please"',
        "**Failing:** `pytest tests/test_import.py`: FAILED test_waits: assert 2.0 == 4.0",
        "</joelclaw-memory>",
    ]
    assert not start(run), "once"


@pytest.mark.parametrize("about", [
    {"cwd": "/home/u/elsewhere"}, {"cwd": "/home/u/gateway2"}, {"session": "before"},
    {"at": BEGAN_MS + memories.OPEN_WORK_MS + 2 * HOUR},
], ids=["another project", "a longer name", "the session itself", "a month later"])  # fmt: skip
def test_the_work_is_not_open_for_others(run: Run, tmp_path: Path, about: dict[str, Any]) -> None:
    run("memory", "archive", str(worked(tmp_path, "before")))
    assert start(run, **about) == ""


def test_the_same_working_tree_comes_before_a_later_session(run: Run, tmp_path: Path) -> None:
    tree = CWD + "/.worktrees/fix"
    run("memory", "archive", str(worked(tmp_path, "main", "Port the parser of the harbour names to the new tables")))
    run("memory", "archive", str(worked(tmp_path, "tree", cwd=tree)))
    assert "harbour names" in start(run, session="one")
    assert TASK in start(run, session="two", cwd=tree)


def talked(folder: Path, session: str, *prompts: str, cwd: str = CWD, minutes: int = 30) -> Path:
    """A transcript of a session that made no tool call, so many minutes after `worked` began."""
    transcript = Transcript(folder / f"{session}.jsonl")
    for text in prompts:
        transcript.user(text)
        transcript.assistant("It is.")
    text = transcript.path.read_text().replace("u-0", f"{session}-0").replace(CWD, cwd)
    transcript.path.write_text(text.replace("T10:00", f"T10:{minutes:02}"))
    return transcript.path


ASKED = "Why does the parser of the harbour names drop the buoys?"
FAILING = "**Failing:** `pytest tests/test_import.py`: FAILED test_waits: assert 2.0 == 4.0"


def test_the_last_task_may_come_from_a_session_that_only_talked(run: Run, tmp_path: Path) -> None:
    run("memory", "archive", str(worked(tmp_path, "before")))
    run("memory", "archive", str(talked(tmp_path, "elsewhere", TASK + "!", cwd=CWD + "/.worktrees/fix", minutes=50)))
    run("memory", "archive", str(talked(tmp_path, "talk", ASKED, "ok, thanks")))
    text = start(run, at=BEGAN_MS + HOUR)
    assert f'**Task of the last session** (29 min ago): "{ASKED}" (turn ended)\n{FAILING}\n' in text


def test_work_in_another_working_tree_is_not_open(run: Run, tmp_path: Path) -> None:
    run("memory", "archive", str(worked(tmp_path, "before")))
    text = start(run, cwd=CWD + "/.worktrees/fix")
    assert TASK in text and "Failing" not in text


def test_a_start_gets_only_written_memories(run: Run) -> None:
    chosen = "Recent decisions: the gateway keeps its operational context in one file since two drifted apart"
    lines = [
        {"text": chosen, "project": "gateway"},
        {"text": "assistant: Recent decisions and operational context are in the file.", "collection": "episodes",
         "project": "gateway", "session": "old"},
        {"text": "Task: collect recent decisions, active work and unresolved failures", "project": "gateway",
         "session": "old", "tags": ["session-task"]},
    ]  # fmt: skip
    env = {"JOELCLAW_NOW_MS": str(BEGAN_MS)}
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, lines)) + "\n", env=env)
    assert [line.partition("] ")[2] for line in start(run).splitlines() if line[:1].isdigit()] == [chosen]


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
    assert result["heading"]["since_last_session"] == "1 session, the last on 2026-09-20"
    assert [entry["title"] for entry in result["entries"]] == [
        "The gauge at the north quay reports in feet", "The tide tables are cached for a day",
    ]  # fmt: skip
    shown = run(*result["entries"][0]["pointer"].split()[1:]).result
    assert "north quay" in shown["entries"][0]["text"]
    assert len(run("briefing", "--repo", str(repo), "-n", "1", env=NOW).result["entries"]) == 1
    text = run("briefing", "--repo", str(repo), "--format", "text", env=NOW).out
    assert text.startswith("<joelclaw-memory ")
    assert "# tides\n" in text
    assert "1. The gauge at the north quay reports in feet (" in text
    assert f"({JOELCLAW} show " in run("briefing", "--repo", str(repo), "--format", "text", env={**NOW, "PATH": ""}).out
