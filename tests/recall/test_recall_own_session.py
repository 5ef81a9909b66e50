"""With two sessions in a project, an agent that asks about places gets its own session."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run
from test_recall_places import NEW, OLD, Work, first

ELSEWHERE = "2d5e7c11-2222-4333-8444-555566667777"
SOURCE = "class RetryPolicy:\n    first_delay = 2\n    def next_delay(self, failedRequests):\n        return maxDelay\n"
OF_CLIENTS = ["CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"]


def at_work(transcript: Work, cwd: Path) -> Work:
    """Enough work in `src/` for a signpost to point to it, the same in every session but for one name."""
    transcript.cwd = str(cwd)
    (cwd / "src").mkdir(parents=True, exist_ok=True)
    shown = "\n".join(f"{number:6}→{line}" for number, line in enumerate(SOURCE.splitlines(), 1))
    for number in range(4):
        transcript.used(f"r{number}", "Read", shown, file_path=f"{cwd}/src/tide_import.py")
    own = f"of_{transcript.session[:4]} = first_delay"
    transcript.edit("src/tide_import.py", own, 5)
    with (cwd / "src" / "tide_import.py").open("a") as file:
        file.write(f"{SOURCE}{own}\n")
    for file_name in ("gauge", "chart", "harbour"):
        details = [f"{file_name}Detail{letter}Longer_than_any_other_name" for letter in "ABCDEFGHI"]
        shown = "\n".join(f"{number:6}→def {name}():" for number, name in enumerate(details, 1))
        transcript.used(file_name, "Read", shown, file_path=f"{cwd}/src/{file_name}.py")
        (cwd / "src" / f"{file_name}.py").write_text("\n".join(f"def {name}():" for name in details))
    transcript.bash("make build 2>&1")
    transcript.bash("make check 2>&1", "Exit code 1\nFAILED test_waits", failed=True)
    transcript.assistant(
        "We keep the delay in RetryPolicy rather than in the importer, because the gauge reads it too."
    )
    return transcript


def compacted(run: Run, transcript: Work, at: int = NOW_MS) -> str:
    """The recall that its signpost prints after a compaction."""
    text = ""
    for name, more in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "Make the importer of the tide tables wait twice as long"}),
        ("Stop", {}),
        ("PreCompact", {"trigger": "auto"}),
        ("SessionStart", {"source": "compact"}),
    ):
        about = {"session_id": transcript.session, "transcript_path": str(transcript.path), "cwd": transcript.cwd}
        event = {"hook_event_name": name, **about, **more}
        text = run("hook", "claude", stdin=json.dumps(event), env={"JOELCLAW_NOW_MS": str(at)}).out
    printed = re.findall(r'recall "([^"]+)" --raw', json.loads(text)["hookSpecificOutput"]["additionalContext"])
    assert printed, text
    return str(printed[0])


@pytest.fixture
def harbour(tmp_path: Path) -> Path:
    (tmp_path / "harbour" / ".git").mkdir(parents=True)
    return tmp_path / "harbour"


@pytest.fixture
def old(tmp_path: Path, harbour: Path) -> Work:
    return at_work(Work(tmp_path / "a", OLD, 12, "harbour"), harbour)


@pytest.fixture
def query(run: Run, tmp_path: Path, harbour: Path, old: Work) -> str:
    """What the signpost of the older session prints; the newer one, in a worktree, has done the same since."""
    printed = compacted(run, old)
    new = at_work(Work(tmp_path / "b", NEW, 19, "harbour"), harbour / ".claude" / "worktrees" / "neap")
    run("memory", "archive", str(new.path))
    return printed


def session_of_first_hit(run: Run, query: str, cwd: Path, **env: str) -> str:
    answer: dict[str, Any] = first(run, query, cwd=cwd, env=env)
    assert answer["collection"] == "work"
    return str(answer["session"])


@pytest.mark.parametrize("variable", OF_CLIENTS)
def test_the_session_whose_client_runs_the_command(run: Run, harbour: Path, query: str, variable: str) -> None:
    for session in (OLD, NEW):
        for words in (query, "src/", "src/tide_import.py"):
            assert session_of_first_hit(run, words, harbour, **{variable: session}) == session
    assert session_of_first_hit(run, "src/", harbour, **{variable: OLD, "JOELCLAW_SESSION_ID": NEW}) == NEW


def test_the_session_whose_signpost_printed_the_query(run: Run, harbour: Path, query: str) -> None:
    assert session_of_first_hit(run, query, harbour) == OLD
    assert "of_0b5e" in run("recall", query, "--raw", cwd=harbour).out
    for another in ("src/", "src/tide_import.py", "src/gauge.py"):
        assert another != query
        assert session_of_first_hit(run, another, harbour) == NEW


def test_the_signpost_of_another_project_counts_for_nothing(run: Run, tmp_path: Path, harbour: Path) -> None:
    (tmp_path / "lighthouse" / ".git").mkdir(parents=True)
    for session, day in ((OLD, 12), (NEW, 19)):
        transcript = at_work(Work(tmp_path / "a", session, day, "harbour"), harbour)
        run("memory", "archive", str(transcript.path))
    other = at_work(Work(tmp_path / "b", ELSEWHERE, 5, "lighthouse"), tmp_path / "lighthouse")
    printed = compacted(run, other)
    assert session_of_first_hit(run, printed, harbour) == NEW
    assert session_of_first_hit(run, printed, tmp_path / "lighthouse") == ELSEWHERE
    (tmp_path / "of-no-session").mkdir()
    assert session_of_first_hit(run, printed, tmp_path / "of-no-session") == ELSEWHERE, (
        "which project is meant is not known"
    )
    assert session_of_first_hit(run, printed, harbour, **{OF_CLIENTS[0]: OLD}) == OLD


def test_a_task_memory_is_left_out_if_its_session_has_hits(run: Run) -> None:
    """It repeats the prompts, one behind the other."""
    question, answered = "Why do the tide mails repeat?", "assistant: The tide sweep compares the wrong reading."
    percent = ("--percent", "60", "--message")
    for session in ("with-turns", "without"):
        run("checkpoint", "save", "--session", session, *percent, f"{question} Look at the sweep of {session}")
    own = "Task: ask Lena about the tide mails of the sweep"
    run("memory", "write", own, "--session", "with-turns")
    for number, text in enumerate((f"user: {question}", answered)):
        line = {"id": f"e{number}", "collection": "episodes", "text": text, "session": "with-turns"}
        run("memory", "import", "-", stdin=json.dumps(line))
    hits = run("recall", "tide mails repeat sweep").json["result"]["hits"]
    tasks = [hit for hit in hits if hit["observation"].startswith("Task: ")]
    assert [hit["session"] for hit in tasks if hit["observation"] != own] == ["without"], hits
    assert own in [hit["observation"] for hit in tasks], "a person wrote it"
    assert "agent: The tide sweep compares the wrong reading." in [hit["observation"] for hit in hits]
