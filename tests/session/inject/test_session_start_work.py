"""What a new session, and the `briefing` of a repository, tell about earlier work, and which commands still fail."""

import json
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import JOELCLAW, Run

from core import clock
from core.records import Call, Edit
from session import command_runs
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
    titles = ["The gauge at the north quay reports in feet", "The tide tables are cached for a day"]
    assert [entry["title"] for entry in result["entries"]] == titles
    shown = run(*result["entries"][0]["pointer"].split()[1:]).result
    assert "north quay" in shown["entries"][0]["text"]
    assert len(run("briefing", "--repo", str(repo), "-n", "1", env=NOW).result["entries"]) == 1
    text = run("briefing", "--repo", str(repo), "--format", "text", env=NOW).out
    assert text.startswith("<joelclaw-memory ")
    assert "# tides\n" in text
    assert "1. The gauge at the north quay reports in feet (" in text
    assert f"({JOELCLAW} show " in run("briefing", "--repo", str(repo), "--format", "text", env={**NOW, "PATH": ""}).out


def calls(*rows: tuple[str, str] | tuple[str, str, str]) -> list[Call]:
    """Commands with their outcomes, and what they failed with; a minute apart."""
    return [
        {
            "session": "s", "number": number, "key": str(number), "prompt": 1, "at": HOUR + number * 60_000,
            "tool": "Bash", "file": "", "command": row[0], "outcome": row[1], "passage": "",
            "error": (row[2] if len(row) == 3 else "a.go:3:1: undefined: x") if row[1] == "failed" else "",
        }
        for number, row in enumerate(rows, 1)
    ]  # fmt: skip


RED = ("go test ./tide/...", "failed")


@pytest.mark.parametrize("later", [
    [],
    [("ls tide", "ok"), ("git status", "ok"), ("cat a.go", "ok")],
    [("grep -rn test .", "ok"), ("grep x y", "failed")],
    [("grep -rn all .", "ok"), ("echo all && ls ci", "ok")],
    [("go build ./...", "ok")],
    [("git add -A", "ok"), ("git stash list", "ok")],
    [("git push", "failed", "[redacted: x] remote rejected")],
])  # fmt: skip
def test_a_failure_stays_open(later: list[tuple[str, str]]) -> None:
    failed = command_runs.failing(calls(("make", "ok"), RED, *later))
    assert (failed["command"], failed["error"]) == ("go test ./tide/...", "a.go:3:1: undefined: x")


@pytest.mark.parametrize("later", [
    ("go test ./tide/...", "ok"),
    ("go test ./tide/ -run TestReads -count=1", "ok"),
    ("cd w && go vet && go test ./tide/... && echo done", "ok"),
    ("go test ./tide/... 2>&1 | tail -5", "ok"),  # it is not told how that came out
    ("go test ./tide/...", "running"),
    ("go test ./tide/...", ""),
    ("mise run test:ci", "ok"),
    ("make test", "ok"),
    ("npm run check", "ok"),
    ("git commit -m 'Read the tides'", "ok"),
    ("git add -A && git commit -qm x && git push", "ok"),
    ("git merge --continue", "ok"),
    ("git rebase --continue", "ok"),
    ("git push", "ok"),
])  # fmt: skip
def test_a_failure_is_closed(later: tuple[str, str]) -> None:
    assert command_runs.failing(calls(RED, ("ls", "ok"), later, ("ls", "ok"))) is None


@pytest.mark.parametrize("row", [
    ("grep -rn tide .", "failed", "Exit code 1"),
    ("ls tides", "failed", "ls: tides: No such file or directory"),
    ("cat tide.txt && sed -n 1p x", "failed", "cat: tide.txt: No such file or directory"),
    ("go test ./... | grep FAIL", "failed", "Exit code 1"),
    ("go test ./...; grep -q x y", "failed", "Exit code 1"),
    ("go test ./...", "failed", "Command timed out after 2m 0s"),
    ("cd tides && go test", "failed", "(eval):cd:1: no such file or directory: tides"),
    ("rm tide.txt", "failed", "rm: tide.txt: No such file or directory"),
    ('npx tsx -e "read()"', "failed", "Error: Cannot find module './tide.js'"),
    ("python3 -c 'import tide'", "failed", "ModuleNotFoundError: No module named 'tide'"),
    ("", "failed", "String to replace not found in file."),
    ("make", "failed", ""),
])  # fmt: skip
def test_errors_that_are_not_failures_of_the_work(row: tuple[str, str, str]) -> None:
    assert command_runs.failing(calls(row)) is None


def test_a_check_whose_program_is_missing_is_open() -> None:
    missing = ("golangci-lint run", "failed", "(eval):1: command not found: golangci-lint")
    assert command_runs.failing(calls(missing, ("golangci-lint run", "stopped"))) is not None


def test_a_committed_merge_closes_its_failure() -> None:
    merge = ("git merge main", "failed", "CONFLICT (content): Merge conflict in tide.go")
    failed = command_runs.failing(calls(merge, ("git status", "ok")))
    assert failed["error"].startswith("CONFLICT")
    assert command_runs.failing(calls(merge, ("git add -A && git commit --no-edit", "ok"))) is None
    assert command_runs.failing(calls(merge, ("git merge --abort", "ok"))) is None


@pytest.mark.parametrize(("error", "edited", "open_"), [
    ("src/a.go:30:1: undefined: x", ("src/a.go", 28, 31), False),
    ("a.go:30:1: undefined: x", ("src/a.go", 30, 30), False),
    ("src/a.ts(30,1): error TS2304: x", ("src/a.ts", 30, 30), False),
    ("TestReads: got 2 (a_test.go:30)", ("a_test.go", 30, 30), False),
    ("src/a.go:30:1: undefined: x", ("src/a.go", 31, 40), True),
    ("src/data.go:30:1: undefined: x", ("src/a.go", 30, 30), True),
    ("undefined: x", ("src/a.go", 30, 30), True),
])  # fmt: skip
def test_a_failure_whose_line_was_edited_may_be_fixed(error: str, edited: tuple[str, int, int], open_: bool) -> None:
    recorded = calls(("make", "ok"), ("go build ./...", "failed", error), ("", "ok"))
    file, first, last = edited
    after: Edit = {"number": 3, "file": file, "first": first, "last": last, "hunk": 0}
    assert (command_runs.failing(recorded, [after]) is not None) is open_
    assert command_runs.failing(recorded, [{**after, "number": 1}]) is not None, "edited before it ran"
