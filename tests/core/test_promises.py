"""The promises of docs/security.md: each is the name of a test. Those without a file of their own are tested here."""

import ast
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from claude_transcript import CWD, SESSION
from conftest import NOW, ROOT, Run, put
from test_git_state import git, program, put_in_layout, tree  # noqa: F401  a fixture
from test_recovery_note import session

EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionStart", "SessionEnd")
PROGRAMS = ("git", "joelclaw", "python", "python3", "ps", "sh", "claude", "less", "ssh")


def rows() -> list[list[str]]:
    """The cells of each promise in docs/security.md."""
    page = (ROOT / "docs" / "security.md").read_text()
    table = page.partition("| Promised |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def collected() -> list[str]:
    """The names of the functions that pytest collects."""
    paths = (ROOT / "tests").rglob("test_*.py")
    return [
        node.name
        for path in paths
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def test_each_promise_has_a_test_of_its_name() -> None:
    names = ["test_" + "_".join(re.findall(r"\w+", row[0].lower())) for row in rows()]
    assert len(names) > 20
    assert [name for name in sorted(collected()) if name in names] == sorted(names)


def act(run: Run, folder: Path, env: dict[str, str]) -> str:
    """Live through a session in the folder as Claude Code's hooks do, and run what a user would; the hooks' answers."""
    transcript = session(folder.parent / "projects" / "-w" / f"{SESSION}.jsonl")
    transcript.path.write_text(transcript.path.read_text().replace(CWD, str(folder)))
    out = ""
    for number, event in enumerate(EVENTS):
        if number == EVENTS.index("PreCompact") + 1:
            transcript.compact("nothing")
        payload = {
            "hook_event_name": event, "session_id": SESSION, "transcript_path": str(transcript.path),
            "cwd": str(folder), "prompt": "use four spaces there", "source": "compact" if number > 3 else "startup",
            "tool_name": "Edit", "tool_input": {"file_path": str(folder / "high.py")}, "trigger": "auto",
        }  # fmt: skip
        out += run("hook", "claude", stdin=json.dumps(payload), env=env, cwd=folder).out
    for words in (
        "status", "doctor --project", "recall harbour", "how make", "lost", "install --list", "session list",
        f"briefing --repo {folder}", "memory archive --all", "otel emit a.b", "memory write tides_are_in_UTC",
        "checkpoint save --session x --percent 80 --message harbour", "inject recovery --session x", "idle run --once",
    ):  # fmt: skip
        try:
            run(*words.split(), env=env, cwd=folder)
        except AssertionError as failed:  # such as `doctor`, which finds problems
            assert "exit 1" in str(failed), failed
    return out


@pytest.mark.parametrize("layout", ["folder", "commondir", "worktree", "submodule", "user"])
def test_no_program_of_a_repository_is_run(
    run: Run,
    tree: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    layout: str,
) -> None:
    mark = tmp_path / "ran"
    script = program(tmp_path, mark)
    (tree / ".gitattributes").write_text("*.py filter=x diff=x\n")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "Attributes")
    folder, config = put_in_layout(layout, tree, tmp_path, monkeypatch)
    for name in ("fsmonitor-watchman", "post-index-change", "post-checkout", "reference-transaction"):
        shutil.copy(script, config.parent / name)
    with config.open("a") as file:
        file.write(
            f'[filter "x"]\n\tclean = {script}\n\tprocess = {script}\n[diff "x"]\n\ttextconv = {script}\n'
            f"[core]\n\tfsmonitor = {script}\n\thooksPath = {config.parent}\n\tpager = {script}\n"
            f"[diff]\n\texternal = {script}\n[credential]\n\thelper = {script}\n[alias]\n\tstatus = !{script}\n"
        )
    for name in PROGRAMS:
        shutil.copy(script, folder / name)
    (folder / "high.py").write_text("harbourPump = 2\n")
    for path in (".joelclaw/config.toml", ".env"):
        put(folder / path, f'[model]\ncommand = "{script}"\nJOELCLAW_MODEL_COMMAND={script}\n')
    git(folder, "status", "--porcelain")
    mark.unlink()  # git by itself runs them
    env = {**NOW, "PATH": f".:{folder}::{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/")}
    answers = act(run, folder, env)
    assert "**Now:** branch" in answers or layout == "commondir", "the branch is read"
    assert not mark.exists()


def test_nothing_leaves_the_machine_unless_you_say_so(run: Run, tree: Path) -> None:  # noqa: F811
    sent = []
    active = True

    def audited(event: str, arguments: object) -> None:
        if active and event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request"):
            sent.append((event, str(arguments)))

    sys.addaudithook(audited)  # it cannot be removed again
    git(tree, "remote", "add", "origin", "https://127.0.0.1:9/a/tides.git")
    act(run, tree, NOW)
    active = False
    assert sent == []
