"""A hostile repository's files decide nothing and cannot block us."""

import os
from pathlib import Path

import pytest
from conftest import Run

from core import project


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A clone; its project is called after its folder."""
    root = tmp_path / "clone"
    (root / ".git").mkdir(parents=True)
    (root / ".joelclaw").mkdir()
    return root


def git_elsewhere(kind: str, repo: Path, victim: Path) -> None:
    """Make the clone's `.git` lead to another project's repository."""
    (repo / ".git").rmdir()
    if kind == "a link":
        (repo / ".git").symlink_to(victim / ".git")
    elif kind == "a pipe":
        os.mkfifo(repo / ".git")
    elif kind == "a device":
        (repo / ".git").symlink_to("/dev/zero")
    else:
        inside = {"a pointer": "", "a worktree": "/worktrees/one", "a worktree that is none": "/worktrees/none",
                  "a submodule": "/modules/sub"}[kind]  # fmt: skip
        (repo / ".git").write_text(f"gitdir: {victim}/.git{inside}\n")


@pytest.mark.parametrize(
    "kind", ["a link", "a pointer", "a worktree", "a worktree that is none", "a submodule", "a pipe", "a device"]
)
def test_a_repository_cannot_impersonate_another_project(repo: Path, tmp_path: Path, kind: str) -> None:
    victim = tmp_path / "victim"
    origin = '[remote "origin"]\n\turl = https://github.com/acme/tides.git\n'
    (victim / ".git/worktrees/one").mkdir(parents=True)
    (victim / ".git/modules/sub").mkdir(parents=True)
    (victim / ".git/config").write_text(origin)
    (victim / ".git/modules/sub/config").write_text("[core]\n\tworktree = ../../../sub\n" + origin)
    (victim / ".git/worktrees/one/commondir").write_text("../..\n")
    (victim / ".git/worktrees/one/gitdir").write_text(f"{tmp_path}/real/.git\n")
    assert project.name_of(str(victim)) == "acme/tides"
    git_elsewhere(kind, repo, victim)
    assert project.name_of(str(repo)) == "clone"
    if kind in ("a worktree", "a submodule"):  # the real ones are theirs
        place = tmp_path / "real" if kind == "a worktree" else victim / "sub"
        place.mkdir()
        (place / ".git").write_text((repo / ".git").read_text())
        assert project.name_of(str(place)) == "acme/tides"


@pytest.mark.parametrize("place", [".claude", ".claude/settings.json", ".mcp.json", ".claude/skills"])
def test_an_installation_for_a_project_writes_through_no_link(run: Run, repo: Path, tmp_path: Path, place: str) -> None:
    person = tmp_path / "person"
    (person / ".claude").mkdir(parents=True)
    aim = tmp_path / "aim"
    aim.mkdir()
    (repo / place).parent.mkdir(parents=True, exist_ok=True)
    if place.endswith(".json"):
        (aim / "other.json").write_text("{}")
        (repo / place).symlink_to(aim / "other.json")
    else:
        (repo / place).symlink_to(aim)
    words = ("install", "claude", "--project", "--mcp", "--yes")
    refused = run(*words, env={"HOME": str(person)}, cwd=repo, ok=False)
    assert refused.json["error"]["code"] == "INSTALL_REFUSED"
    assert [(file.name, file.read_text()) for file in aim.iterdir()] in ([], [("other.json", "{}")])
    assert not list((person / ".claude").iterdir())
