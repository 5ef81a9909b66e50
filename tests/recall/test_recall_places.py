"""Recall by file, folder and name: current lines, whose work answers, and how sessions are named."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import Transcript
from conftest import NOW, NOW_MS, Run

OLD = "0b5e7c11-2222-4333-8444-555566667777"
NEW = "1c5e7c11-2222-4333-8444-555566667777"
LONG = "go test ./internal/harbour/... ./internal/gauges/... -run 'Tide|Neap|Spring' -count 1 2>&1 | tail -30"


class Work(Transcript):
    """A transcript of a session, whose day tells when it was at work."""

    def __init__(self, folder: Path, session: str, day: int, project: str) -> None:
        super().__init__(folder / f"{session}.jsonl")
        self.session, self.day, self.cwd = session, day, project if project.startswith("/") else f"/srv/{project}"
        self.user(f"Please look after the {Path(project).name}, as {session} does.")

    def entry(self, role: str, content: Any, **more: Any) -> dict[str, Any]:
        entry = super().entry(role, content, **more)
        at = entry["timestamp"].replace("2026-09-20", f"2026-09-{self.day:02}")
        uuid = f"{self.session}-{entry['uuid']}"
        return {**entry, "sessionId": self.session, "cwd": self.cwd, "timestamp": at, "uuid": uuid}

    def edit(self, file: str, text: str, line: int = 1) -> None:
        """Write a text from a line on, with the patch that the client records."""
        self.edited(f"e{self.count}", file, line, *(f"+{row}" for row in text.split("\n")))

    def bash(self, command: str, printed: str = "", *, failed: bool = False) -> None:
        key = f"b{self.count}"
        self.used(key, "Bash", printed, failed=failed, command=command)


def first(run: Run, query: str, *words: str, **more: Any) -> dict[str, Any]:
    hits: list[dict[str, Any]] = run("recall", query, *words, **more).result["hits"]
    return hits[0] if hits else {}


@pytest.fixture
def two(run: Run, tmp_path: Path) -> None:
    """Two sessions at work in one folder; what was done last is archived first, and then much that only names it."""
    new = Work(tmp_path / "a", NEW, 19, "harbour")
    new.edit("src/tide.py", "newTide = highWater")
    old = Work(tmp_path / "b", OLD, 12, "lighthouse")
    old.edit("src/tide.py", "oldTide = lowWater")
    talk = Work(tmp_path / "c", "talker-about-tides", 5, "lighthouse")
    for number in range(210):
        talk.bash(f"./notice {number} src/tide.py")
    for folder in ("a", "b", "c"):
        run("memory", "archive", str(tmp_path / folder), env=NOW)


@pytest.mark.usefixtures("two")
def test_the_most_recently_active_session_answers(run: Run) -> None:
    for query in ("src/", "src/tide.py"):
        assert first(run, query)["session"] == NEW
        assert "highWater" in first(run, query)["observation"]


@pytest.mark.usefixtures("two")
def test_sessions_of_the_folders_project_come_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lighthouse" / ".git").mkdir(parents=True)
    (tmp_path / "lighthouse" / "src").mkdir()
    (tmp_path / "lighthouse" / "src" / "tide.py").write_text("oldTide = lowWater\n")
    assert first(run, "src/", cwd=tmp_path / "lighthouse")["session"] == OLD


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("variable", ["JOELCLAW_SESSION_ID", "SLOG_SESSION_ID", "PI_SESSION_HANDLE"])
def test_the_session_from_the_environment_comes_first(run: Run, tmp_path: Path, variable: str) -> None:
    (tmp_path / "harbour" / ".git").mkdir(parents=True)
    assert first(run, "src/", cwd=tmp_path / "harbour", env={variable: OLD})["session"] == OLD
    assert first(run, "src/", env={variable: "of-no-work"})["session"] == NEW
    told_more = first(run, "src/tide.py", env={variable: "talker-about-tides"})
    assert told_more["session"] == NEW, "its own session did no more there than name the file"


def archived(run: Run, transcript: Work) -> None:
    run("memory", "archive", str(transcript.path.parent), env=NOW)


def test_the_answer_is_printed_exactly(run: Run, tmp_path: Path) -> None:
    transcript = Work(tmp_path / "a", OLD, 12, "harbour")
    transcript.edit("charts/depth.py", "x = 1\ndef shoalDepth():\n    return lowWater")
    transcript.bash("cd charts && make test", "E: shoalDepth is 4", failed=True)
    transcript.bash("make lint")
    transcript.bash("ls charts")
    transcript.bash(
        "rg lowWater", "src/low.py:40:lowWater = 1\nsrc/low.py:90:def lowWater():\nsrc/high.py:7:lowWater()"
    )
    archived(run, transcript)
    assert run("recall", "charts/", "--raw").out.splitlines()[:2] == [
        "session 0b5e7c11 of harbour, as it saw them:",
        "charts/depth.py: shoalDepth:2 lowWater:3",
    ]
    assert run("recall", "lowWater", "--raw").out.splitlines()[:4] == [
        "session 0b5e7c11 of harbour, as it saw them:", "src/low.py: lowWater:90", "src/high.py: lowWater:7",
        "charts/depth.py: lowWater:3",
    ]  # fmt: skip
    assert run("recall", "lowWater shoalDepth depth.py", "--raw").out.splitlines()[1] == (
        "charts/depth.py: shoalDepth:2 lowWater:3"
    )
    assert first(run, "Harbour.lowWater")["path"] == "src/low.py"


def test_a_query_from_a_recovery_note_also_returns_other_names(run: Run, home: Path, tmp_path: Path) -> None:
    transcript = Work(tmp_path / "a", OLD, 12, "harbour")
    transcript.edit("charts/depth.py", "shoalDepth = lowWater")
    transcript.edit("src/tide.py", "x = 1\nlowWater = springTide")
    transcript.edit("src/gauge.py", "def springTide():")
    transcript.edit("../elsewhere.py", "neapTide()")
    archived(run, transcript)
    expected = ["session 0b5e7c11 of harbour, as it saw them:", "charts/depth.py: lowWater:1 shoalDepth:1"]
    assert run("recall", "depth.py", "--raw").out.splitlines()[:3] != [*expected, "src/gauge.py: springTide:1"]
    with apsw.Connection(str(home / "store.db")) as db:
        row = ("i", OLD, NOW_MS, "compaction-recovery", '`joelclaw recall "depth.py" --raw`', 1, 1, "[]")
        db.execute("INSERT INTO injection VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    printed = run("recall", "depth.py", "--raw").out.splitlines()
    assert printed[:3] == [*expected, "src/gauge.py: springTide:1"]
    assert not any("neapTide:" in line for line in printed[:4])


@pytest.fixture
def here(run: Run, tmp_path: Path) -> Path:
    """A project that is there, and has changed since a session worked on it."""
    folder = tmp_path / "harbour"
    (folder / "src").mkdir(parents=True)
    transcript = Work(tmp_path / "a", OLD, 12, str(folder))
    transcript.edit(
        "src/tide.py", "def highWater():\n    return lowWater()\ndef lowWater():\n    return 1\noldWater = 2"
    )
    transcript.edit("src/gone.py", "highWater()")
    archived(run, transcript)
    (folder / "src" / "tide.py").write_text(
        "# lowWater\n" * 3
        + "def highWater(day):\n    return lowWater()\n\n\ndef lowWater(): return "
        + "1 + " * 40
        + "1\n"
    )
    return folder


@pytest.mark.usefixtures("here")
def test_places_are_looked_up_in_the_current_file(run: Run) -> None:
    head = "session 0b5e7c11 of harbour, as the files are now:"
    assert run("recall", "highWater", "--raw").out.splitlines()[:2] == [head, "src/tide.py:4: def highWater(day):"]
    cut = "def lowWater(): return " + "1 + " * 9 + "1 +…"
    assert run("recall", "tide.py", "--raw").out.splitlines()[:3] == [
        head, "src/tide.py:4: def highWater(day):", f"src/tide.py:8: {cut}",
    ]  # fmt: skip
    assert "oldWater:" not in run("recall", "oldWater", "--raw").out
    assert "gone.py:" not in run("recall", "gone.py highWater", "--raw").out


def test_lines_of_files_are_framed_and_redacted(run: Run, here: Path) -> None:
    (here / "src" / "tide.py").write_text(
        "def highWater(</system-reminder>\x1b]0;x\x07\n"
        'def lowWater(token="ghp_16C7e42F292c6912E7710c838347Ae178B4a"):\n'
    )
    printed = run("recall", "tide.py", "--raw").out
    assert "src/tide.py:2: def lowWater" in printed
    assert "ghp_" not in printed and "\x1b" not in printed and "</system" not in printed


def test_files_of_a_removed_worktree_are_found_in_its_project(run: Run, here: Path) -> None:
    (here / ".git").mkdir()
    other = here.parent / "other" / "harbour"
    here.parent.joinpath("other").mkdir()
    here.rename(other)
    assert "as it saw them" in run("recall", "highWater", "--raw").out
    assert "src/tide.py:4: def highWater(day):" in run("recall", "highWater", "--raw", cwd=other).out


def test_each_name_comes_from_the_last_session_that_saw_it(run: Run, tmp_path: Path) -> None:
    for session, day, name in ((OLD, 12, "oldTide"), (NEW, 19, "newTide")):
        transcript = Work(tmp_path / session, session, day, "harbour")
        transcript.edit("src/tide.py", f"{name} = springTide")
        archived(run, transcript)
    lines = run("recall", "oldTide newTide springTide", "--raw").out.splitlines()
    assert lines[:4] == [
        "session 1c5e7c11 of harbour, as it saw them:", "src/tide.py: newTide:1 springTide:1",
        "session 0b5e7c11 of harbour, as it saw them:", "src/tide.py: oldTide:1",
    ]  # fmt: skip
    for words in (("--session", OLD[:8]), ("--project", "lighthouse")):
        assert "newTide:" not in run("recall", "newTide oldTide", "--raw", *words).out


@pytest.mark.usefixtures("two")
def test_a_session_is_named_by_the_beginning_that_is_shown(run: Run, tmp_path: Path) -> None:
    assert {hit["session"] for hit in run("recall", "tide.py", "--session", OLD[:8]).result["hits"]} == {OLD}
    assert run("memory", "show", f"call:{NEW[:8]}:1").result["id"] == f"call:{NEW}:1"
    assert run("memory", "show", f"call:{NEW[:3]}:1", ok=False).json["error"]["code"] == "MEMORY_NOT_FOUND"
    nothing = run("recall", "tide.py", "--session", "ffffffff")
    assert nothing.result["hits"] == []
    twin = Work(tmp_path / "d", OLD[:-1] + "0", 13, "harbour")
    twin.edit("src/tide.py", "twin = 1")
    run("memory", "archive", str(tmp_path / "d"), env=NOW)
    for words in (("recall", "tide.py", "--session"), ("memory", "forget", "--session")):
        refused = run(*words, OLD[:8], ok=False)
        assert refused.json["error"]["code"] == "SESSION_AMBIGUOUS"
        assert OLD in refused.json["error"]["message"]
    assert run("memory", "show", f"call:{OLD[:8]}:1", ok=False).json["error"]["code"] == "SESSION_AMBIGUOUS"
    assert run("memory", "forget", "--session", NEW[:8]).result["toolCalls"] == 1
    assert run("recall", "highWater").result["hits"] == []


def test_a_command_is_listed_once_with_its_outcome(run: Run, tmp_path: Path) -> None:
    transcript = Work(tmp_path / "a", OLD, 12, "harbour")
    transcript.bash("git status --short")
    transcript.bash("cd gauges && go test ./...", "FAIL harbour/gauges", failed=True)
    transcript.bash(LONG, "ok harbour/internal")
    for number in range(8):
        transcript.user(f"What does git status say of the harbour, and does go test pass, question {number}?")
    run("memory", "archive", str(tmp_path / "a"), env=NOW)

    def first(*query: str) -> str:
        return run("recall", *query, "--raw").out.splitlines()[0].split(" [tool] ")[0]

    outcome = first(LONG)
    assert outcome.count("go test ./internal/harbour/...") == 1
    assert LONG in outcome
    assert "call 3, ok): " in outcome
    short, _, later = first("gauges && go test ./...").partition("then ok (call 3): ")
    assert short.count("go test") == later.count("go test ./internal/harbour/...") == 1
    assert short.startswith("[tool] Bash cd gauges && go test ./... (session 0b5e7c11, prompt 1, call 2, failed)")
    assert "FAIL harbour/gauges" in short
