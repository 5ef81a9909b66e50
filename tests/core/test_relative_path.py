"""With a relative folder in PATH, nothing is started from the current folder."""

import json
import subprocess
from pathlib import Path

import pytest
from conftest import JOELCLAW, Run, attempt, put
from pi_session import PiSession

PROGRAMS = ("git", "joelclaw", "answer", "sh", "bash", "env", "cat", "python3", "claude", "node")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with programs that would leave a mark."""
    folder = tmp_path / "project"
    (folder / "bin").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", folder], check=True)
    for name in PROGRAMS:
        for place in (folder, folder / "bin"):
            put(place / name, f"#!/bin/sh\necho {name} >> {tmp_path}/ran\n", 0o755)
    return folder


def ran(project: Path) -> str:
    mark = project.parent / "ran"
    return mark.read_text() if mark.exists() else ""


def relative(folder: str) -> dict[str, str]:
    return {"PATH": f"{folder}:{Path(JOELCLAW).parent}:/usr/local/bin:/usr/bin:/bin"}


@pytest.mark.parametrize("folder", [".", "", "bin", "./bin", "../project", "bin/../."])
def test_no_command_runs_a_program_of_the_project(home: Path, project: Path, tmp_path: Path, folder: str) -> None:
    env = {**relative(folder), "HOME": str(tmp_path / "user"), "SHELL": "/bin/sh"}
    (tmp_path / "user" / ".claude").mkdir(parents=True)
    (tmp_path / "user" / ".profile").write_text(f"PATH={folder}:$PATH\n")  # of Codex's login shell
    home.mkdir(0o700)
    (home / "config.toml").write_text(
        '[notify]\ncommand = "answer {text}"\n[idle]\ncommand = "answer {session}"\n[model]\ncommand = "answer"\n'
        '[compaction]\nnotify_on_start = true\n[store]\nkey_command = "answer"\nbackend = "typesense"\n'
    )
    start = {"session_id": "s1", "cwd": str(project), "hook_event_name": "SessionStart", "source": "startup"}
    for words, stdin in (
        (("install", "claude", "codex", "--project", "--yes"), ""),
        (("doctor", "--project"), ""),
        (("hook", "claude"), json.dumps(start)),
        (("idle", "schedule", "--session", "s1", "--percent", "90", "--minutes", "1", "--cwd", str(project)), ""),
        (("background", "notice"), ""),
        (("recall", "anything"), ""),
    ):
        attempt(home, *words, stdin=stdin.encode(), cwd=project, env=env)
    attempt(home, "idle", "run", "--once", cwd=project, env={**env, "JOELCLAW_NOW_MS": "4000000000000"})
    assert ran(project) == ""


def test_programs_started_by_ours_are_not_from_the_project(home: Path, project: Path, tmp_path: Path) -> None:
    """As the Claude CLI does, which is started by `#!/usr/bin/env node`."""
    put(tmp_path / "model", "#!/usr/bin/env python3\nprint('## Goal')\n", 0o755)
    talk = PiSession(tmp_path / "session.jsonl")
    for number in range(2):
        talk.user(f"Read tide table {number}.")
        talk.answer("It is read.")
    words = ("compaction", "summarize", str(talk.path), "--keep-recent", "1", "--command")
    attempt(home, *words, str(tmp_path / "model"), cwd=project, env=relative("."))
    attempt(home, *words, "answer", cwd=project, env=relative("."))
    attempt(home, *words, "./answer", cwd=project, env=relative("."))
    assert ran(project) == ""


def test_settings_name_no_program_relative_to_the_current_folder(run: Run, home: Path, project: Path) -> None:
    home.mkdir(0o700)
    (home / "config.toml").write_text('[model]\ncommand = "./answer"\n[notify]\ncommand = "bin/answer {text}"\n')
    findings = run("doctor", cwd=project, ok=False).result["findings"]
    assert "MODEL_COMMAND_GONE" in [finding["code"] for finding in findings]
    attempt(home, "background", "notice", cwd=project)
    assert ran(project) == ""


def test_commands_that_we_print_do_not_depend_on_the_current_folder(run: Run, project: Path) -> None:
    """The agent's shell still has the relative folder in its PATH."""
    assert f"{JOELCLAW} " in run("status", cwd=project, env=relative(".")).envelope["next_actions"][0]["command"]
