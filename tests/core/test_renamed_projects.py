"""Memories and sessions follow a repository whose remote or folder is renamed, or whose worktree is removed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import Run
from test_git_state import git

from core.project import name_of

RULE = "Deploys of the shop go through the blue runner only"


def repository(folder: Path, name: str = "") -> Path:
    """A repository with a remote, if a name is given; another remote if it exists."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q")
    if name:
        git(folder, "config", "remote.origin.url", f"git@github.com:{name}")
    return folder


def hook(run: Run, name: str, cwd: Path, transcript: str = "", **more: Any) -> None:
    event = {"hook_event_name": name, "session_id": cwd.name, "cwd": str(cwd), "transcript_path": transcript, **more}
    run("hook", "claude", stdin=json.dumps(event))


def owner_of_rule(run: Run, cwd: Path) -> list[str]:
    return [hit["project"] for hit in run("recall", "deploys of the shop", cwd=cwd).result["hits"]]


def renamed(run: Run, cwd: Path) -> list[str]:
    problems = run("status", cwd=cwd).result["problems"]
    return [problem["fix"] for problem in problems if problem["code"] == "PROJECT_RENAMED"]


@pytest.mark.parametrize(("before", "after", "moved"), [
    ("acme/shop", "umbrella/next", False), ("", "acme/shop", False), ("", "", True), ("acme/shop", "me/shop", True),
])  # fmt: skip
def test_memories_follow_a_renamed_or_moved_repository(
    run: Run, tmp_path: Path, before: str, after: str, moved: bool
) -> None:
    folder = repository(tmp_path / "shop", before)
    run("memory", "write", RULE, cwd=folder)
    if moved:
        folder = folder.rename(tmp_path / "store")
    repository(folder, after)
    former, name = before or "shop", after or "store"
    assert [fix.partition("joelclaw ")[2] for fix in renamed(run, folder)] == [f"project rename {former} {name}"]
    hook(run, "SessionStart", folder, source="startup")
    assert (owner_of_rule(run, folder), renamed(run, folder)) == ([name], [])


@pytest.mark.parametrize("merged", [False, True])
def test_a_folder_that_keeps_its_name_takes_nothing_back(run: Run, tmp_path: Path, merged: bool) -> None:
    folder = repository(tmp_path / "shop", "acme/shop")
    run("memory", "write", RULE, cwd=folder)
    run("off", "--project", cwd=folder)
    if merged:
        run("memory", "write", "Mondays are for the till", "--project", "umbrella")
    result = run("project", "rename", "acme/shop", "umbrella", "--yes").result
    assert (result["keptIn"], result["switches"]) == ([str(folder)], 1)
    assert run("on", "--project", cwd=folder).result["changed"], "the folder was still off"
    written = run("memory", "write", "The blue runner needs two hours", cwd=folder)
    assert written.result["project"] == "acme/shop"
    assert run("recall", "deploys of the shop").result["hits"][0]["project"] == "umbrella"


@pytest.mark.parametrize("other", ["another clone", "memories of the new name", "another repository in its place"])
def test_only_the_user_moves_memories_in_doubt(run: Run, tmp_path: Path, other: str) -> None:
    folder = repository(tmp_path / "shop", "acme/shop")
    run("memory", "write", RULE, cwd=folder)
    if other == "another clone":
        hook(run, "SessionStart", repository(tmp_path / "clone", "acme/shop"), source="startup")
    elif other == "memories of the new name":
        run("memory", "write", "Mondays are for the till", "--project", "me/shop")
    else:
        shutil.rmtree(folder)
    hook(run, "SessionStart", repository(folder, "me/shop"), source="startup")
    assert owner_of_rule(run, folder) == ["acme/shop"]
    assert len(renamed(run, folder)) == (0 if "repository" in other else 1)
    run("off", "--project", cwd=tmp_path / "clone") if "clone" in other else None
    assert run("project", "rename", "acme/shop", "me/shop", ok=False).code == 2, "a script needs --yes"
    result = run("project", "rename", "acme/shop", "me/shop", "--yes").result
    assert (result["merged"], result["switches"]) == ((False, 1) if "clone" in other else (True, 0))
    assert owner_of_rule(run, folder) == ["me/shop"]
    counts = {row["project"]: row["memories"] for row in run("project", "list").result["projects"]}
    assert counts["me/shop"] > 0 and not counts.get("acme/shop")


def test_the_sessions_of_a_removed_worktree_stay_with_its_repository(run: Run, tmp_path: Path) -> None:
    shop, tree = repository(tmp_path / "shop", "acme/shop"), tmp_path / "elsewhere" / "odd"
    git(shop, "commit", "-qm", "x", "--allow-empty")
    git(shop, "worktree", "add", "-q", str(tree), "-b", "hot")
    transcript = Transcript(tmp_path / "odd.jsonl")
    transcript.write(transcript.entry("user", "repair the merlin ledger", cwd=str(tree)))
    hook(run, "UserPromptSubmit", tree, prompt="repair the merlin ledger")
    shutil.rmtree(tree)
    hook(run, "Stop", tree, str(transcript.path))
    assert {hit["project"] for hit in run("recall", "merlin ledger").result["hits"]} == {"acme/shop"}


@pytest.mark.parametrize(
    "path", ["C:\\Users\\a\\git\\star", "\\\\server\\git\\star\\", "d:/git/star", "/mnt/c/git/star"]
)
def test_a_path_of_windows_is_a_path(path: str) -> None:
    assert name_of(path) == "star"
