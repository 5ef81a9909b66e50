"""A hook runs wherever the agent works: what lies there must not get into the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

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
