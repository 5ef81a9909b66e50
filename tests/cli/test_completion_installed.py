"""`joelclaw completion --install`: the script stands where the shell looks, and only ours is written over or taken."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import PATIENCE_S, ROOT, Run

PLACES = {
    "bash": ("HOME", ".local/share/bash-completion/completions/joelclaw"),
    "zsh": ("HOME", ".local/share/zsh/site-functions/_joelclaw"),
    "fish": ("HOME", ".config/fish/completions/joelclaw.fish"),
}
MOVED = {
    "bash": ("BASH_COMPLETION_USER_DIR", "completions/joelclaw"),
    "zsh": ("XDG_DATA_HOME", "zsh/site-functions/_joelclaw"),
    "fish": ("XDG_CONFIG_HOME", "fish/completions/joelclaw.fish"),
}
SCRIPTS = {"bash": "joelclaw.bash", "zsh": "_joelclaw", "fish": "joelclaw.fish"}


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path / "user"),
        **dict.fromkeys(("XDG_DATA_HOME", "XDG_CONFIG_HOME", "BASH_COMPLETION_USER_DIR", "SHELL"), ""),
    }


@pytest.mark.parametrize("shell", SCRIPTS)
def test_it_is_put_in_its_place_once_and_taken_back(run: Run, user: dict[str, str], shell: str) -> None:
    first = run("completion", shell, "--install", env=user).result
    path = Path(first["path"])
    assert path.is_relative_to(user["HOME"]) and path.read_text() == (ROOT / "completions" / SCRIPTS[shell]).read_text()
    assert first["changed"] and first["note"]
    assert not run("completion", shell, "--install", env=user).result["changed"]
    assert run("completion", shell, "--uninstall", env=user).result["changed"]
    assert not path.exists()
    assert not run("completion", shell, "--uninstall", env=user).result["changed"]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_shell_has_its_place(run: Run, user: dict[str, str], shell: str, tmp_path: Path) -> None:
    folder, below = PLACES[shell]
    assert run("completion", shell, "--install", env=user).result["path"] == str(Path(user[folder]) / below)
    variable, below = MOVED[shell]
    moved = run("completion", shell, "--install", env={**user, variable: str(tmp_path / "moved")})
    assert moved.result["path"] == str(tmp_path / "moved" / below)


def test_the_shell_of_the_user_is_meant(run: Run, user: dict[str, str]) -> None:
    assert run("completion", "--install", env={**user, "SHELL": "/usr/bin/fish"}).result["shell"] == "fish"
    failed = run("completion", "--install", env={**user, "SHELL": "/bin/dash"}, ok=False)
    assert failed.code == 2 and "dash" in failed.json["error"]["message"] and "bash" in failed.json["fix"]
    assert run("completion", env=user, ok=False).code == 2


def test_a_file_of_somebody_else_stays(run: Run, user: dict[str, str]) -> None:
    path = Path(run("completion", "fish", "--install", env=user).result["path"])
    path.write_text("# my own\n")
    for flag in ("--install", "--uninstall"):
        assert run("completion", "fish", flag, env=user, ok=False).json["error"]["code"] == "COMPLETION_EXISTS"
    assert path.read_text() == "# my own\n"


def test_a_place_that_cannot_be_written_is_told(run: Run, user: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "user").write_text("a file")
    failed = run("completion", "bash", "--install", env=user, ok=False)
    assert failed.code == 1 and failed.json["error"]["code"] == "COMPLETION_FAILED"


def test_both_at_once_is_wrong(run: Run, user: dict[str, str]) -> None:
    assert run("completion", "bash", "--install", "--uninstall", env=user, ok=False).code == 2


def test_fish_finds_it(run: Run, user: dict[str, str]) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed here")
    run("completion", "fish", "--install", env=user)
    environment = {**os.environ, **user, "XDG_CONFIG_HOME": str(Path(user["HOME"]) / ".config")}
    done = subprocess.run(
        ["fish", "-c", "complete -C 'joelclaw rec'"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert "recall" in done.stdout
