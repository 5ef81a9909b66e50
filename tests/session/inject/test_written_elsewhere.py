"""A global memory names the project that it was written in, wherever it is shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, put

RULE = "deploy of the kestrel gateway always goes through the staging ring in src/ring.py first"
TOLD = "written in acme/orders"


@pytest.fixture
def repositories(tmp_path: Path) -> tuple[Path, Path]:
    """One in which something is written for every project, and another."""
    folders = []
    for name in ("orders", "gateway"):
        config = tmp_path / name / ".git" / "config"
        put(config, f'[remote "origin"]\n\turl = https://github.com/acme/{name}.git\n')
        folders.append(tmp_path / name)
    return folders[0], folders[1]


def hook(run: Run, folder: Path, kind: str, session: str = "s", **more: Any) -> str:
    event = {"hook_event_name": kind, "session_id": session, "cwd": str(folder), **more}
    return run("hook", "claude", stdin=json.dumps(event), cwd=folder).out


@pytest.fixture
def elsewhere(run: Run, repositories: tuple[Path, Path]) -> Path:
    """The other repository, when the rule was written."""
    run("memory", "write", RULE, "--global", "--category", "rules", cwd=repositories[0])
    return repositories[1]


def test_recall_names_the_project_of_origin(run: Run, elsewhere: Path) -> None:
    (hit,) = run("recall", "kestrel gateway deploy", cwd=elsewhere).result["hits"]
    assert (hit["path"], hit["project"]) == ("acme/orders", "")
    assert run("recall", "kestrel gateway deploy", "--raw", cwd=elsewhere).out == f"[{TOLD}] {RULE}\n"
    run("memory", "write", "the kestrel gateway deploy of this project runs at noon", cwd=elsewhere)
    assert TOLD not in run("recall", "kestrel deploy runs at noon", "--limit", "1", "--raw", cwd=elsewhere).out


def test_every_injection_names_the_project_of_origin(run: Run, elsewhere: Path) -> None:
    outcome = run("inject", "memory", "--session", "a", "--query", "kestrel gateway deploy", cwd=elsewhere).out
    assert f"({TOLD}) deploy of" in outcome
    file = {"tool_name": "Edit", "tool_input": {"file_path": str(elsewhere / "src" / "ring.py")}, "tool_response": {}}
    assert f"({TOLD}) deploy of" in hook(run, elsewhere, "PostToolUse", **file)
    prompt = "how does the deploy in ring.py of the kestrel gateway go"
    assert f"({TOLD}) deploy of" in hook(run, elsewhere, "UserPromptSubmit", "b", prompt=prompt)
    run(
        "checkpoint", "save", "--session", "c", "--percent", "75", "-m", "mend the deploy of the kestrel gateway",
        "--file", "src/ring.py", cwd=elsewhere,
    )  # fmt: skip
    outcome = run("inject", "recovery", "--session", "c", cwd=elsewhere).out
    assert f"({TOLD}) deploy of" in outcome


def test_an_edit_changes_the_project_of_origin(run: Run, elsewhere: Path, repositories: tuple[Path, Path]) -> None:
    """A memory that is merged, edited or superseded says where its text is from."""

    def where() -> str:
        (hit,) = run("recall", "kestrel gateway deploy", cwd=elsewhere).result["hits"]
        return str(hit["path"])

    run("memory", "write", f"{RULE}!", "--global", cwd=elsewhere)
    assert where() == "acme/gateway"
    (hit,) = run("recall", "kestrel gateway deploy").result["hits"]
    run("memory", "edit", hit["id"], f"{RULE} at night", cwd=repositories[0])
    assert where() == "acme/orders"
    run("memory", "supersede", hit["id"], "deploy of the kestrel gateway needs nobody's word", cwd=elsewhere)
    assert where() == "acme/gateway"
