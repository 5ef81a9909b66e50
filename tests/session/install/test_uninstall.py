"""`joelclaw uninstall`: the file is as it was, and what others did meanwhile stays."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, put
from test_install import FILES, FOREIGN, Install, environment, install, project, user

__all__ = ["install", "project", "user"]


@pytest.mark.parametrize("agent", FILES)
def test_a_created_file_is_removed_with_its_folders(install: Install, user: Path, project: Path, agent: str) -> None:
    install(agent)
    install(agent, "--project")
    install(agent, verb="uninstall")
    assert not list(user.iterdir())
    assert len(list(project.iterdir())) == 1
    install(agent, "--project", verb="uninstall")
    assert not list(project.iterdir())


@pytest.mark.parametrize("agent", FILES)
def test_an_empty_folder_of_the_user_stays(install: Install, user: Path, agent: str) -> None:
    (user / FILES[agent]).parent.mkdir(parents=True)
    before = sorted(user.rglob("*"))
    install(agent)
    install(agent, verb="uninstall")
    assert sorted(user.rglob("*")) == before


def test_later_additions_of_others_stay(install: Install, user: Path) -> None:
    path = user / FILES["claude"]
    install("claude")
    value: Any = json.loads(path.read_text())
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    value["hooks"]["Stop"].insert(0, theirs)
    value["model"] = "x"
    path.write_text(json.dumps(value))
    (row,) = install("claude", verb="uninstall")["agents"]
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [theirs]}, "model": "x"}
    assert json.loads(Path(row["backup"]).read_text()) == value


def test_comments_stay_in_a_file_that_others_edited_since(install: Install, user: Path) -> None:
    path = put(user / FILES["gemini"], FOREIGN)
    install("gemini")
    path.write_text(path.read_text().replace('"dark"', '"light" /* by day */'))
    install("gemini", verb="uninstall")
    assert path.read_text() == FOREIGN.replace('"dark"', '"light" /* by day */')


def test_a_receipt_of_an_undone_installation_is_ignored(install: Install, user: Path) -> None:
    path = user / FILES["claude"]
    install("claude")  # makes the file
    path.write_text("{}")  # theirs now
    install("claude")
    install("claude", verb="uninstall")
    assert path.read_text() == "{}"


def test_a_secret_in_the_name_of_a_folder_is_not_kept(run: Run, user: Path, tmp_path: Path, home: Path) -> None:
    secret = "AKIAIOSFODNN7EXAMPLF"
    folder = tmp_path / secret
    folder.mkdir()
    run("install", "claude", "--project", env=environment(user), cwd=folder)
    kept = [str(path) + path.read_text(errors="replace") for path in home.rglob("*") if path.is_file()]
    assert kept and not [text for text in kept if secret in text]
    run("uninstall", "claude", "--project", env=environment(user), cwd=folder)
    assert not list(folder.iterdir())
    assert not list((home / "installs").iterdir())
