"""`how`: commands that were run here, the form that worked first; `fix`: what was done after an error."""

import json
from pathlib import Path

import pytest
from claude_transcript import CWD, Transcript
from codex_rollout import Rollout
from conftest import NOW, Attempt, Run, attempt

MISSING = "zsh: command not found: quaylint"


def ask(home: Path, *words: str, project: str = Path(CWD).name) -> Attempt:
    """Run `how` or `fix` in a folder of this project."""
    folder = home.with_name(f"work-{home.name}") / project
    folder.mkdir(parents=True, exist_ok=True)
    return attempt(home, *words, env=NOW, cwd=folder)


@pytest.fixture
def ran(home: Path, run: Run, tmp_path: Path) -> Path:
    """A home with a session that found out how its linter is called, and why a test failed."""
    transcript = Transcript(tmp_path / "work/5a3e7c11-2222-4333-8444-555566667777.jsonl")
    transcript.user("lint the quay, then mend the test")
    for number, (command, output, failed) in enumerate(
        (
            ("quaylint run ./...", MISSING, True),
            ("mise exec -- quaylint run ./quay", "0 issues", False),
            ("mise exec -- quaylint run ./...", "0 issues", False),
            ("pip install quaylint-rules", "done", False),
            ("make tides", "Error: no tide table for harbour 7", True),
        )
    ):
        transcript.used(f"c{number}", "Bash", output, failed=failed, command=command)
    transcript.assistant("The table lacks the harbours of the north: I add them.")
    transcript.used("e", "Edit", "done", file_path=f"{CWD}/src/tides.py", old_string="a", new_string="b")
    transcript.assistant("Now I run it again.")
    transcript.used("t", "Bash", "ok", command="make tides")
    run("memory", "archive", str(transcript.path), env=NOW)
    return home


def test_the_last_working_form_comes_first_and_failed_forms_last(ran: Path) -> None:
    commands = ask(ran, "how", "quaylint", "run").result["commands"]
    assert [(row["command"], row["outcome"]) for row in commands] == [
        ("mise exec -- quaylint run ./...", "ok"),
        ("mise exec -- quaylint run ./quay", "ok"),
        ("quaylint run ./...", "failed"),
    ]
    assert (commands[0]["folder"], commands[0]["project"]) == (CWD, "gateway")
    raw = ask(ran, "how", "quaylint", "run", "--limit", "1", "--raw").out.splitlines()
    assert raw[0] == "$ mise exec -- quaylint run ./..."
    assert raw[1].startswith("    ok · call:5a3e7c11:3 · ") and raw[1].endswith(CWD)


def test_a_plain_form_comes_before_a_longer_line(home: Path, run: Run, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "work/5a3e7c11-2222-4333-8444-555566667777.jsonl")
    for number, command in enumerate(("make seal", "make seal | tail -3", "make fmt && make seal 2>&1")):
        transcript.user(f"seal quay {number}")
        transcript.used(f"c{number}", "Bash", "sealed", command=f"cd {CWD} && {command}")
    run("memory", "archive", str(transcript.path), env=NOW)
    commands = ask(home, "how", "make", "seal").result["commands"]
    assert [row["command"].partition(" && ")[2] for row in commands] == [
        "make seal", "make fmt && make seal 2>&1"
    ]  # fmt: skip
    assert commands[0]["runs"] == 2


def test_a_failed_tool_is_told_once_what_got_an_earlier_session_out_of_the_same_error(ran: Path) -> None:
    def told(error: str, session: str = "s2") -> str:
        event = {"hook_event_name": "PostToolUseFailure", "session_id": session, "cwd": CWD, "tool_name": "Bash"}
        given = json.dumps({**event, "tool_input": {"command": "make tides"}, "error": error, "is_interrupt": False})
        return attempt(ran, "hook", "claude", stdin=given.encode(), env=NOW).out

    assert "mise exec -- quaylint run" in told(f"Exit code 127\n{MISSING}")
    assert told(f"Exit code 127\n{MISSING}") == "" == told("Error: no tide table for harbour 8")
    assert "- did: Edit src/tides.py" in told("Error: no tide table for harbour 7")
    assert told(MISSING, "5a3e7c11-2222-4333-8444-555566667777") == "", "it was this session"


@pytest.mark.parametrize(("error", "failed", "worked", "did"), [
    (MISSING, "quaylint run ./...", "mise exec -- quaylint run ./quay", []),
    ("no tide table for harbour 12", "make tides", "make tides", ["Edit src/tides.py"]),
])  # fmt: skip
def test_an_error_is_shown_with_the_steps_that_fixed_it(
    ran: Path, error: str, failed: str, worked: str, did: list[str]
) -> None:
    error_ = ask(ran, "fix", error).result["errors"][0]
    assert (error_["command"], error_["ended"]["command"], error_["ended"]["outcome"]) == (failed, worked, "ok")
    assert error_["did"] == did
    assert ("harbours of the north" in error_["said"]) == bool(did)


@pytest.mark.parametrize(("command", "is_shown"), [
    ("sed -i.bak 's/a/b/' tides.env", True), ("printf 'HARBOUR=8\n' >> tides.env", True),
    ("echo HARBOUR=8 | tee -a tides.env", True), ("grep -rni HARBOUR . 2>/dev/null", False),
    ("sed --quiet 's/harbour/&/p' tides.env", False),
])  # fmt: skip
def test_an_edit_in_the_shell_is_shown_and_input_for_a_program_is_none(
    home: Path, run: Run, tmp_path: Path, command: str, is_shown: bool
) -> None:
    transcript = Transcript(tmp_path / "work/7c5f8d22-2222-4333-8444-555566667777.jsonl")
    transcript.user("make the tides")
    steps = [("make tides", True), ("python3 -i", False), ("make tides", True), (command, False), ("make tides", False)]
    for number, (step, failed) in enumerate(steps):
        output = "Error: no tide table for harbour 7" if number == 0 else "Error: the network is away" if failed else ""
        transcript.used(f"s{number}", "Bash", output, failed=failed, command=step)
        if number == 1:
            transcript.used("in", "write_stdin", "1", session_id=7, chars="print(1)\n")
    run("memory", "archive", str(transcript.path), env=NOW)
    (error,) = ask(home, "fix", "no tide table for harbour 7").result["errors"]
    assert error["did"] == ([f"$ {' '.join(command.split())}"] if is_shown else [])


@pytest.mark.parametrize(
    "form", ["{}", "bash -lc apply_patch <<'EOF'\n{}EOF", "bash -lc cd . && apply_patch <<'EOF'\n{}EOF"]
)
@pytest.mark.parametrize("tool", ["shell", "local_shell", "exec_command"])
def test_a_patch_that_a_command_of_codex_hands_over_is_shown(run: Run, home: Path, tool: str, form: str) -> None:
    patch = "*** Begin Patch\n*** Update File: tides.env\n@@\n-HARBOUR=\n+HARBOUR=8\n*** End Patch\n"
    command = ["apply_patch", patch] if form == "{}" else form.format(patch).split(" ", 2)
    rollout = Rollout(home.with_name(f"{home.name}-rollouts"), "019a0000-0000-7000-8000-00000000000c", cwd=CWD)
    for number, (given, output, code) in enumerate((
        (["make"], "Error: no tide table for harbour 7", 2), (["make"], "Error: the network is away", 2),
        (command, "Success. Updated the following files:\nM tides.env", 0), (["make"], "done", 0),
    )):  # fmt: skip
        if tool == "local_shell":
            rollout.item("local_shell_call", call_id=f"c{number}", action={"type": "exec", "command": given})
        else:
            rollout.call(f"c{number}", tool=tool, cmd=given)
        result = json.dumps({"output": output, "metadata": {"exit_code": code}})
        rollout.item("function_call_output", call_id=f"c{number}", output=result)
    run("memory", "archive", str(rollout.path), env=NOW)
    (error,) = ask(home, "fix", "no tide table for harbour 7").result["errors"]
    assert error["did"] == [f"{tool} tides.env"]


@pytest.fixture
def locked(home: Path, run: Run, tmp_path: Path) -> Path:
    """A home with a session whose errors stand behind pipes and in a prompt."""
    transcript = Transcript(tmp_path / "work/7c5a9e33-2222-4333-8444-555566667777.jsonl")
    transcript.user("build the lock")
    printed = "ok a\n--- FAIL: TestSluice (0.03s)\nlock/gate.go:12:7: cannot raise gate 4 of 'north'\nFAIL"
    transcript.used("t0", "Bash", printed, command="make locks 2>&1 | tail -20")
    transcript.assistant("The gate has no winch.")
    transcript.used("t1", "Edit", "done", file_path=f"{CWD}/lock/gate.go", old_string="a", new_string="b")
    transcript.used("t2", "Bash", "ok", command="make locks 2>&1 | tail -20")
    transcript.assistant("It is raised now.")
    transcript.user("the ferry says:\nError: ENOENT: no such file or directory, open '/srv/ferry/quays.json'")
    transcript.assistant("The ferry looks for the quays of yesterday.")
    transcript.used("t3", "Bash", "ok", command="git add -p lock/gate.go")
    transcript.used("t4", "Bash", "ok", command="git worktree add ../north -b prepare && make fmt")
    transcript.used("t5", "Bash", printed, command="grep -n gate build.log")  # looks, and fails at nothing
    run("memory", "archive", str(transcript.path), env=NOW)
    return home


@pytest.mark.parametrize("pasted", [
    "cannot raise gate 9 of 'south'", "x/gate.go:99:1: cannot raise gate 4 of 'north'",
    "# lock\n--- FAIL: TestSluice (7.1s)\nexit 1",
])  # fmt: skip
def test_an_error_with_other_values_is_shown_with_the_next_steps(locked: Path, pasted: str) -> None:
    [error_] = ask(locked, "fix", pasted).result["errors"]
    assert (error_["command"], error_["outcome"], error_["origin"]) == ("make locks 2>&1 | tail -20", "", "tool")
    assert (error_["said"], error_["did"]) == ("The gate has no winch.", ["Edit lock/gate.go"])
    assert (error_["ended"]["id"], error_["ended"]["outcome"]) == (f"call:{error_['session']}:3", "")
    raw = ask(locked, "fix", pasted, "--raw").out.splitlines()
    assert raw[1:] == [
        "    no outcome: $ make locks 2>&1 | tail -20",
        "    said: The gate has no winch.",
        "    then: Edit lock/gate.go",
        "    no outcome: $ make locks 2>&1 | tail -20 (call:7c5a9e33:3)",
    ]


def test_options_may_come_before_and_after_the_query(locked: Path) -> None:
    result = ask(locked, "how", "-n", "3", "git add -p", "--limit=2").result
    assert result["query"] == "git add -p"
    assert [command["command"] for command in result["commands"]][:1] == ["git add -p lock/gate.go"]
    assert ask(locked, "how", "git add -p", "-n", "1").result["count"] == 1
    assert ask(locked, "how", "git", "--", "--limit").result["query"] == "git --limit"
    assert ask(locked, "how", "git", "add", "-p").code == 2


@pytest.fixture
def two_projects(home: Path, run: Run, tmp_path: Path) -> Path:
    """Two projects ran the same tool, the other one later and more often, and met the same error."""
    error = "Error: E77 mooring token missing"
    for project, host, runs in (("orders", "own", 1), ("theirs", "evil", 5)):
        name = f"{project}/{runs}a3e7c11-2222-4333-8444-555566667777.jsonl"
        transcript = Transcript(tmp_path / name, cwd=f"/w/{project}")
        transcript.user("ship it")
        for number in range(runs):
            for at, (command, output) in enumerate((("make ship", error), (f"make ship HOST={host}", "shipped"))):
                transcript.user(f"again {number}{at}")
                line = f"cd /w/{project} && {command}"
                transcript.used(f"{number}{at}", "Bash", output, failed=output == error, command=line)
        run("memory", "archive", str(transcript.path), env=NOW)
    return home


@pytest.mark.parametrize("words", [("how", "make ship"), ("fix", "E77 mooring token missing")])
def test_this_project_comes_first_and_others_are_marked(two_projects: Path, words: tuple[str, str]) -> None:
    """Commands of a hostile repository must not look like those of the user."""
    raw = ask(two_projects, *words, "--raw", project="orders").out
    own, other = raw.index("HOST=own"), raw.index("HOST=evil")
    assert own < other
    assert all("[other project: theirs]" in line for line in raw.splitlines() if "evil" in line)
    assert "other project" not in raw[:own]
    actions = ask(two_projects, *words, project="orders").json["next_actions"]
    assert any("show" in action["command"] for action in actions)
    assert "theirs" not in str(actions) and "call:5" not in str(actions)


@pytest.mark.parametrize("words", [("how", "make ship"), ("fix", "E77 mooring token missing")])
def test_a_command_of_another_project_is_no_next_action(two_projects: Path, words: tuple[str, str]) -> None:
    answer = ask(two_projects, *words, project="quays")
    assert answer.result["count"] > 0
    assert "show" not in str(answer.json["next_actions"])


@pytest.mark.parametrize("words", [("how", "make ship"), ("fix", "E77 mooring token missing")])
def test_a_folder_with_the_last_name_of_this_project_is_another(two_projects: Path, words: tuple[str, str]) -> None:
    """A hostile folder may be called like the user's repository."""
    folder = two_projects.with_name(f"own-{two_projects.name}") / "orders"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/orders.git\n')
    result = attempt(two_projects, *words, env=NOW, cwd=folder).result
    assert {found["isOtherProject"] for found in result.get("commands", result.get("errors"))} == {True}
