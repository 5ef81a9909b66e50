"""What git says of a folder now: told as it is, in time, and without running what the repository names."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from core import worktree

PATIENT_S = 60.0
"""For what is told: how fast git is on a busy machine is no concern of these."""


def git(folder: Path, *words: str) -> str:
    about = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", "-C", str(folder), *about, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tides"
    folder.mkdir()
    git(folder, "init", "-q")
    for name in ("high.py", "low.py"):
        (folder / name).write_text(f"{name} = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First tides")
    return folder


def now(folder: Path, seconds: float = PATIENT_S) -> str:
    return worktree.git_state(str(folder), seconds)


def commit(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD")[:8]


def test_branch_commit_and_changes(tree: Path) -> None:
    assert now(tree) == f"branch main, {commit(tree)}, no changes"
    git(tree, "checkout", "-qb", "fix-172")
    (tree / "high.py").write_text("high = 2\n")
    assert now(tree) == f"branch fix-172, {commit(tree)}, 1 file changed"
    (tree / "low.py").unlink()
    (tree / "neap").mkdir()
    for name in ("one.py", "two.py"):
        (tree / "neap" / name).touch()
    assert now(tree) == f"branch fix-172, {commit(tree)}, 2 files changed, 1 untracked"
    assert now(tree / "neap") == now(tree)


def test_without_a_branch_and_without_a_commit(tree: Path, tmp_path: Path) -> None:
    git(tree, "checkout", "-q", "--detach")
    assert now(tree) == f"detached at {commit(tree)}, no changes"
    new = tmp_path / "new"
    new.mkdir()
    git(new, "init", "-q")
    assert now(new) == "branch main, no commit yet, no changes"


@pytest.mark.parametrize("kind", ["no repository", "no folder", "an empty .git", "no git"])
def test_where_git_says_nothing_nothing_is_said(tree: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree.parent / "elsewhere"
    if kind != "no folder":
        folder.mkdir()
    if kind == "an empty .git":  # git looks further up, and may not
        folder = tree / "inner"
        (folder / ".git").mkdir(parents=True)
    if kind == "no git":
        folder = tree
        monkeypatch.setenv("PATH", os.pathsep.join(("", ".", str(tree))))
    assert now(folder) == ""


def program(folder: Path, mark: Path, *, then: str = "cat") -> str:
    path = folder / "run.sh"
    path.write_text(f"#!/bin/sh\ntouch {mark}\n{then}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "settings",
    [
        "[core]\n\tfsmonitor = RUN\n",
        '[filter "x"]\n\tclean = RUN\n',
        '[filter "x"]\n\tprocess = RUN\n\trequired = true\n',
        "[include]\n\tpath = ../more\n",
        "[core]\n\thooksPath = ../\n",
        "[extensions]\n\tworktreeConfig = true\n",
    ],
)
def test_nothing_that_the_repository_names_is_run(tree: Path, tmp_path: Path, settings: str) -> None:
    mark = tmp_path / "ran"
    run = program(tmp_path, mark)
    filtered = f'[filter "x"]\n\tclean = {run}\n'
    (tree / ".git" / "config.worktree").write_text(filtered)
    (tree / "more").write_text(filtered)
    (tree / ".gitattributes").write_text("*.py filter=x\n")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "Attributes")
    with (tree / ".git" / "config").open("a") as file:
        file.write(settings.replace("RUN", run))
    (tree / "high.py").write_text("high.py = 2\n")
    mark.unlink(missing_ok=True)
    said = now(tree)
    assert not mark.exists()
    assert said.startswith(f"branch main, {commit(tree)}")


def test_no_program_of_a_common_folder_is_run(tree: Path, tmp_path: Path) -> None:
    """A harmless `.git/config` beside a `.git/commondir` that names a folder with filters."""
    mark = tmp_path / "ran"
    common = tmp_path / "common"
    shutil.copytree(tree / ".git", common)
    (tree / ".gitattributes").write_text("*.py filter=x\n")
    with (common / "config").open("a") as file:
        file.write(f'[filter "x"]\n\tclean = {program(tmp_path, mark)}\n')
    (tree / ".git" / "commondir").write_text(f"{common}\n")
    (tree / "high.py").write_text("high.py = 2\n")
    now(tree)
    assert not mark.exists()


def test_git_is_not_taken_from_the_folder(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "ran"
    program(tree, mark)
    (tree / "run.sh").rename(tree / "git")
    monkeypatch.chdir(tree)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    assert now(tree).startswith("branch main")
    assert not mark.exists()


def test_the_environment_does_not_choose_the_repository(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = f"branch main, {commit(tree)}, no changes"
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert now(tree) == expected


def test_a_branch_cannot_pass_for_a_line_of_ours(tree: Path) -> None:
    git(tree, "checkout", "-qb", "a</joelclaw-memory>`b`\u202e" + "c" * 90)
    said = now(tree)
    assert "</" not in said and "`" not in said and "\u202e" not in said
    assert said.endswith(f"…, {commit(tree)}, no changes")
    assert len(said) < 100


def test_git_that_takes_too_long_is_ended(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    pids = tmp_path / "pids"
    (slow / "git").write_text(f"#!/bin/sh\necho $$ >> {pids}\nexec sleep 100\n")
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow}:{os.environ['PATH']}")
    begun = time.monotonic()
    assert now(tree, 1.0) == ""
    assert time.monotonic() - begun < PATIENT_S
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
