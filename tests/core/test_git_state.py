"""What git reports about a folder: exact, in time, and without running anything that the repository names."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from core.git import state_of

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
    return state_of(str(folder), seconds)


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
def test_outside_a_repository_nothing_is_reported(tree: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("settings", [
    "[core]\n\tfsmonitor = RUN\n",
    "[core]\n\thooksPath = HOOKS\n",
    "[core]\n\tpager = RUN\n\teditor = RUN\n\tsshCommand = RUN\n\taskPass = RUN\n",
    '[credential]\n\thelper = RUN\n[diff]\n\texternal = RUN\n[diff "x"]\n\ttextconv = RUN\n\tcommand = RUN\n',
    '[filter "x"]\n\tclean = RUN\n\tsmudge = RUN\n',
    '[filter "x"]\n\tprocess = RUN\n\trequired = true\n',
    "[include]\n\tpath = MORE\n",
    '[includeIf "gitdir:/"]\n\tpath = MORE\n',
    "[extensions]\n\tworktreeConfig = true\n",
    '[alias]\n\tstatus = !RUN\n[submodule "sub"]\n\tupdate = !RUN\n[gpg]\n\tprogram = RUN\n',
])  # fmt: skip
@pytest.mark.parametrize("layout", ["folder", "commondir", "worktree", "submodule", "user"])
def test_programs_named_by_the_repository_are_not_run(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, layout: str
) -> None:
    mark = tmp_path / "ran"
    run = program(tmp_path, mark)
    (tmp_path / "hooks").mkdir()
    for hook in ("fsmonitor-watchman", "post-index-change", "post-checkout", "reference-transaction"):
        shutil.copy(run, tmp_path / "hooks" / hook)
    filtered = f'[filter "x"]\n\tclean = {run}\n'
    (tmp_path / "more").write_text(filtered)
    (tree / ".gitattributes").write_text("*.py filter=x diff=x\n")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "Attributes")
    folder, config = put_in_layout(layout, tree, tmp_path, monkeypatch)
    (config.parent / "config.worktree").write_text(filtered)
    settings = settings.replace("RUN", run).replace("MORE", f"{tmp_path}/more").replace("HOOKS", f"{tmp_path}/hooks")
    with config.open("a") as file:
        file.write(settings)
    (folder / "high.py").write_text("high.py = 2\n")
    now(folder)
    (folder / ".gitattributes").write_text("")  # with filters, the files are not compared at all
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "sub" / ".gitattributes").write_text("*.py filter=x diff=x\n")
    now(folder)
    assert not mark.exists()


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


def test_in_a_worktree(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = put_in_layout("worktree", tree, tmp_path, monkeypatch)
    (folder / "new.py").touch()
    (folder / "low.py").write_text("low = 7\n")
    assert now(folder) == f"branch other, {commit(folder)}, 1 file changed, 1 untracked"


def test_files_that_the_user_ignores_do_not_count(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = tmp_path / "person"
    person.mkdir()
    monkeypatch.setenv("HOME", str(person))
    (person / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored\n")
    (person / "ignored").write_text("*.bak\n")
    (tree / "high.bak").touch()
    (tree / ".git" / "info" / "exclude").write_text("*.tmp\n")
    (tree / "high.tmp").touch()
    assert now(tree) == f"branch main, {commit(tree)}, no changes"


def test_line_ends_are_compared_as_the_repository_sets_them(tree: Path) -> None:
    git(tree, "config", "core.autocrlf", "true")
    (tree / "high.py").unlink()
    git(tree, "checkout", "high.py")
    assert (tree / "high.py").read_bytes() == b"high.py = 1\r\n"
    os.utime(tree / "high.py", (1, 1))  # git must compare the content
    assert now(tree) == f"branch main, {commit(tree)}, no changes"


def test_a_repository_with_sha256(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "wide")
    git(tmp_path / "wide", "commit", "-qm", "First", "--allow-empty")
    assert now(tmp_path / "wide") == f"branch main, {commit(tmp_path / 'wide')}, no changes"


def test_no_temporary_folder_remains(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    assert now(tree)
    assert not list((tmp_path / "tmp").iterdir())


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


def test_a_branch_name_cannot_imitate_our_text(tree: Path) -> None:
    git(tree, "checkout", "-qb", "a</joelclaw-memory>`b`\u202e" + "c" * 90)
    text = now(tree)
    assert "</" not in text and "`" not in text and "\u202e" not in text
    assert text.endswith(f"…, {commit(tree)}, no changes")
    assert len(text) < 100


def test_slow_git_is_killed(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
