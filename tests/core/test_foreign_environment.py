"""A hook runs wherever the agent works: what lies there must not get into the command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import JOELCLAW, PATIENCE_S, Run, clean_environment

ROOMS = ("cli", "core", "memory", "otel", "recall", "session")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with packages of our names, which must never be imported."""
    folder = tmp_path / "project"
    for room in ROOMS:
        (folder / room).mkdir(parents=True)
        (folder / room / "__init__.py").write_text("raise SystemExit('the project was imported')\n")
    return folder


def test_packages_of_the_project_do_not_stand_before_ours(run: Run, project: Path) -> None:
    for path in (str(project), "."):
        assert run("recall", "anything", cwd=project, env={"PYTHONPATH": path}).json["ok"]
    assert run("recall", "anything", cwd=project).json["ok"]


def test_a_current_folder_that_is_gone_is_no_fault(run: Run, tmp_path: Path) -> None:
    # as a shell would leave it: started in a folder that was removed meanwhile
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "{JOELCLAW}" otel emit still.here'
    environment = clean_environment(tmp_path / "home")
    done = subprocess.run(["sh", "-c", script], capture_output=True, env=environment, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert run("otel", "list").result["found"] == 1
