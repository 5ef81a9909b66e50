"""`how`: commands that were run here, the form that worked first; `fix`: what was done after an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_transcript import CWD, Transcript
from conftest import NOW_MS, Run, attempt

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
MISSING = "zsh: command not found: quaylint"


@pytest.fixture
def ran(home: Path, run: Run, tmp_path: Path) -> Path:
    """A home with a session that found out how its linter is called, and why a test failed."""
    made = Transcript(tmp_path / "work/5a3e7c11-2222-4333-8444-555566667777.jsonl")
    made.user("lint the quay, then mend the test")
    for number, (command, output, failed) in enumerate(
        (
            ("quaylint run ./...", MISSING, True),
            ("mise exec -- quaylint run ./quay", "0 issues", False),
            ("mise exec -- quaylint run ./...", "0 issues", False),
            ("pip install quaylint-rules", "done", False),
            ("make tides", "Error: no tide table for harbour 7", True),
        )
    ):
        made.call(f"c{number}", "Bash", command=command)
        made.outcome(f"c{number}", output, failed=failed)
    made.assistant("The table lacks the harbours of the north: I add them.")
    made.call("e", "Edit", file_path=f"{CWD}/src/tides.py", old_string="a", new_string="b")
    made.outcome("e", "done")
    made.assistant("Now I run it again.")
    made.call("t", "Bash", command="make tides")
    made.outcome("t", "ok")
    run("memory", "archive", str(made.path), env=NOW)
    return home


def test_the_last_working_form_comes_first_and_failed_forms_last(ran: Path) -> None:
    found = attempt(ran, "how", "quaylint", "run", env=NOW).result["commands"]
    assert [(one["command"], one["outcome"]) for one in found] == [
        ("mise exec -- quaylint run ./...", "ok"),
        ("mise exec -- quaylint run ./quay", "ok"),
        ("quaylint run ./...", "failed"),
    ]
    assert (found[0]["folder"], found[0]["project"]) == (CWD, "gateway")
    raw = attempt(ran, "how", "quaylint", "run", "--limit", "1", "--raw", env=NOW).out.splitlines()
    assert raw[0] == "$ mise exec -- quaylint run ./..."
    assert raw[1].startswith("    ok · call:5a3e7c11:3 · ") and raw[1].endswith(CWD)


def test_a_plain_form_comes_before_a_longer_line(home: Path, run: Run, tmp_path: Path) -> None:
    made = Transcript(tmp_path / "work/5a3e7c11-2222-4333-8444-555566667777.jsonl")
    for number, command in enumerate(("make seal", "make seal | tail -3", "make fmt && make seal 2>&1")):
        made.user(f"seal quay {number}")
        made.call(f"c{number}", "Bash", command=f"cd {CWD} && {command}")
        made.outcome(f"c{number}", "sealed")
    run("memory", "archive", str(made.path), env=NOW)
    found = attempt(home, "how", "make", "seal", env=NOW).result["commands"]
    assert [one["command"].partition(" && ")[2] for one in found] == [
        "make seal", "make fmt && make seal 2>&1"
    ]  # fmt: skip
    assert found[0]["runs"] == 2


@pytest.mark.parametrize(
    ("error", "failed", "worked", "did"),
    [
        (MISSING, "quaylint run ./...", "mise exec -- quaylint run ./quay", []),
        ("no tide table for harbour 12", "make tides", "make tides", ["Edit src/tides.py"]),
    ],
)
def test_an_error_is_shown_with_the_steps_that_fixed_it(
    ran: Path, error: str, failed: str, worked: str, did: list[str]
) -> None:
    found = attempt(ran, "fix", error, env=NOW).result["errors"][0]
    assert (found["command"], found["ended"]["command"], found["ended"]["outcome"]) == (failed, worked, "ok")
    assert found["did"] == did
    assert ("harbours of the north" in found["said"]) == bool(did)


def test_an_error_behind_a_pipe_is_found_too(ran: Path, run: Run, tmp_path: Path) -> None:
    made = Transcript(tmp_path / "work/6b4f8d22-2222-4333-8444-555566667777.jsonl")
    made.user("build the lock")
    for number, (command, output) in enumerate(
        (
            ("go build ./lock 2>&1 | head -20", "lock/gate.go:12:7: undefined: sluiceGate"),
            ("grep -n sluiceGate lock/gate.go", "12: undefined: sluiceGate"),
            ("go build ./lock", ""),
        )
    ):
        made.call(f"g{number}", "Bash", command=command)
        made.outcome(f"g{number}", output)
    run("memory", "archive", str(made.path), env=NOW)
    found = attempt(ran, "fix", "gate.go:40:9: undefined: sluiceGate", env=NOW).result["errors"]
    assert [(one["command"], one["ended"]["command"]) for one in found] == [
        ("go build ./lock 2>&1 | head -20", "go build ./lock")
    ]  # fmt: skip


@pytest.fixture
def locked(home: Path, run: Run, tmp_path: Path) -> Path:
    """A home with a session whose errors stand behind pipes and in a prompt."""
    made = Transcript(tmp_path / "work/7c5a9e33-2222-4333-8444-555566667777.jsonl")
    made.user("build the lock")
    made.call("t0", "Bash", command="make locks 2>&1 | tail -20")
    made.outcome("t0", "ok a\n--- FAIL: TestSluice (0.03s)\nlock/gate.go:12:7: cannot raise gate 4 of 'north'\nFAIL")
    made.assistant("The gate has no winch.")
    made.call("t1", "Edit", file_path=f"{CWD}/lock/gate.go", old_string="a", new_string="b")
    made.outcome("t1", "done")
    made.call("t2", "Bash", command="make locks 2>&1 | tail -20")
    made.outcome("t2", "ok")
    made.assistant("It is raised now.")
    made.user("the ferry says:\nError: ENOENT: no such file or directory, open '/srv/ferry/quays.json'")
    made.assistant("The ferry looks for the quays of yesterday.")
    made.call("t3", "Bash", command="git add -p lock/gate.go")
    made.outcome("t3", "ok")
    made.call("t4", "Bash", command="git worktree add ../north -b prepare && make fmt")
    made.outcome("t4", "ok")
    run("memory", "archive", str(made.path), env=NOW)
    return home


@pytest.mark.parametrize(
    "pasted",
    [
        "cannot raise gate 9 of 'south'",
        "x/gate.go:99:1: cannot raise gate 4 of 'north'",
        "# lock\n--- FAIL: TestSluice (7.1s)\nexit 1",
    ],
)
def test_an_error_with_other_values_is_shown_with_the_next_steps(locked: Path, pasted: str) -> None:
    [found] = attempt(locked, "fix", pasted, env=NOW).result["errors"]
    assert (found["command"], found["outcome"], found["origin"]) == ("make locks 2>&1 | tail -20", "", "tool")
    assert (found["said"], found["did"]) == ("The gate has no winch.", ["Edit lock/gate.go"])
    assert (found["next"]["id"], found["next"]["outcome"], found["ended"]) == (f"call:{found['session']}:3", "", None)
    raw = attempt(locked, "fix", pasted, "--raw", env=NOW).out.splitlines()
    assert raw[1:] == [
        "    no outcome: $ make locks 2>&1 | tail -20",
        "    said: The gate has no winch.",
        "    then: Edit lock/gate.go",
        "    no outcome: $ make locks 2>&1 | tail -20 (call:7c5a9e33:3)",
    ]


def test_what_a_command_is_given_belongs_to_what_is_asked(locked: Path) -> None:
    asked = attempt(locked, "how", "-n", "3", "git", "add", "-p", "--limit=2", env=NOW).result
    assert asked["query"] == "git add -p"
    assert [one["command"] for one in asked["commands"]][:1] == ["git add -p lock/gate.go"]
    assert attempt(locked, "how", "git add -p", "-n", "1", env=NOW).result["count"] == 1
    assert attempt(locked, "how", "git", "--", "--limit", env=NOW).result["query"] == "git --limit"
    assert attempt(locked, "how", "-x", "git", env=NOW).code == 2
