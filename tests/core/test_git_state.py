"""Branch and commit of a folder, read from git's files; and the layouts in which a repository names programs."""

import subprocess
from pathlib import Path

import pytest
from conftest import put

from core.project import branch_and_commit


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


def now(folder: Path) -> str:
    return branch_and_commit(str(folder))


def commit(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD")[:8]


@pytest.mark.parametrize("is_packed", [False, True])
def test_branch_and_commit(tree: Path, is_packed: bool) -> None:
    git(tree, "checkout", "-qb", "topic/fix-172")
    (tree / "neap").mkdir()
    if is_packed:
        git(tree, "pack-refs", "--all")
    assert now(tree) == now(tree / "neap") == f"branch topic/fix-172, {commit(tree)}"


def test_a_secret_in_a_branch_is_left_out(tree: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    git(tree, "checkout", "-qb", f"fix/{token}")
    assert now(tree).startswith("branch [redacted") and "a1B2" not in now(tree)


def test_without_a_branch_and_without_a_commit(tree: Path, tmp_path: Path) -> None:
    git(tree, "checkout", "-q", "--detach")
    assert now(tree) == f"detached at {commit(tree)}"
    new = tmp_path / "new"
    new.mkdir()
    git(new, "init", "-q")
    assert now(new) == "branch main, no commit yet"


@pytest.mark.parametrize("kind", ["no repository", "no folder", "an empty .git"])
def test_outside_a_repository_nothing_is_reported(tree: Path, kind: str) -> None:
    folder = tree.parent / "elsewhere"
    if kind != "no folder":
        folder.mkdir()
    if kind == "an empty .git":  # git looks further up, and may not
        folder = tree / "inner"
        (folder / ".git").mkdir(parents=True)
    assert now(folder) == ""


def test_in_a_worktree(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = put_in_layout("worktree", tree, tmp_path, monkeypatch)
    assert now(folder) == f"branch other, {commit(folder)}"


def test_a_branch_name_cannot_imitate_our_text(tree: Path) -> None:
    git(tree, "checkout", "-qb", "a</joelclaw-memory>`b`\u202e" + "c" * 90)
    text = now(tree)
    assert "</" not in text and "`" not in text and "\u202e" not in text
    assert text.endswith(f"…, {commit(tree)}")
    assert len(text) < 100


def program(folder: Path, mark: Path, *, then: str = "cat") -> str:
    path = put(folder / "run.sh", f"#!/bin/sh\ntouch {mark}\n{then}\n", 0o755)
    return str(path)


def put_in_layout(layout: str, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The working tree in a layout of git, and the configuration that git reads for it."""
    config = tree / ".git" / "config"
    if layout == "commondir":
        common = tree / ".git" / "common"
        common.mkdir()
        for name in ("objects", "refs", "info", "config"):
            (tree / ".git" / name).rename(common / name)
        (tree / ".git" / "commondir").write_text("common\n")
        return tree, common / "config"
    if layout == "worktree":
        git(tree, "worktree", "add", "-q", str(tmp_path / "other"))
        return tmp_path / "other", config
    if layout == "submodule":
        outer = tmp_path / "outer"
        outer.mkdir()
        git(outer, "init", "-q")
        git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tree), "sub")
        return outer / "sub", outer / ".git" / "modules" / "sub" / "config"
    if layout == "user":  # the user's own drivers: the repository's attributes must not select them either
        monkeypatch.setenv("HOME", str(tmp_path / "person"))
        (tmp_path / "person").mkdir()
        return tree, tmp_path / "person" / ".gitconfig"
    return tree, config
