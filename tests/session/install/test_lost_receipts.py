"""Without receipts (`installs` is gone, or the home is another): what is word for word ours is ours."""

import shutil
from pathlib import Path

import pytest
from test_install import FILES, Install, install, project, user
from test_install_tools import RULES, SKILL, tree

__all__ = ["install", "project", "user"]


@pytest.mark.parametrize("agent", FILES)
def test_without_receipts_everything_ours_is_removed(install: Install, user: Path, home: Path, agent: str) -> None:
    install(agent, "--mcp")
    shutil.rmtree(home / "installs")
    notes = install(agent, verb="uninstall")["agents"][0]["notes"]
    assert not [note for note in notes if "stays unchanged" in note]
    assert [data for data in tree(user).values() if data.strip() not in (b"/", b"{}", b"")] == []


@pytest.mark.parametrize("agent", ["claude", *RULES])
def test_without_receipts_changed_entries_stay(install: Install, user: Path, home: Path, agent: str) -> None:
    install(agent)
    shutil.rmtree(home / "installs")
    files = [next(user.rglob(SKILL)), *([user / RULES[agent]] if agent in RULES else [])]
    for path in files:
        path.write_text(path.read_text() + "# mine\n")
    install(agent)
    notes = install(agent, verb="uninstall")["agents"][0]["notes"]
    assert sum("edited" in note for note in notes) == len(files)
    assert all(path.read_text().endswith("# mine\n") for path in files)
