"""Without receipts (`installs` is gone, or the home is another): what is word for word ours is ours."""

import shutil
from itertools import product
from pathlib import Path

import pytest
from conftest import JOELCLAW
from test_install import FILES, Install, install, project, user
from test_install_tools import OLD, RULES, SKILL, tree

from session.install import entries

__all__ = ["install", "project", "user"]

ODD = "/opt/it's a \\ földer/joelclaw"


def forgotten(home: Path) -> None:
    shutil.rmtree(home / "installs", ignore_errors=True)


@pytest.mark.parametrize("agent", FILES)
def test_without_receipts_everything_ours_is_removed(
    install: Install, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    for before, again in product([OLD, JOELCLAW, ODD], [False, True]):
        everything_goes(install, user, home, monkeypatch, agent, before, again)


def everything_goes(
    install: Install, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch, agent: str, before: str, again: bool
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(entries, "executable", lambda: before)
        install(agent, "--mcp")
    forgotten(home)
    if again:
        notes = install(agent)["agents"][0]["notes"]
        assert not [note for note in notes if "stays unchanged" in note]
        remaining = b"".join(data for name, data in tree(user).items())
        assert before == JOELCLAW or (OLD.encode() not in remaining and b"lder/joelclaw" not in remaining)
    notes = install(agent, verb="uninstall")["agents"][0]["notes"]
    assert not [note for note in notes if "stays unchanged" in note]
    assert [data for data in tree(user).values() if data.strip() not in (b"/", b"{}", b"")] == []
    assert not list(user.rglob("skills/joelclaw"))


@pytest.mark.parametrize("agent", ["claude", *RULES])
def test_without_receipts_changed_entries_stay(install: Install, user: Path, home: Path, agent: str) -> None:
    install(agent)
    forgotten(home)
    files = [next(user.rglob(SKILL)), *([user / RULES[agent]] if agent in RULES else [])]
    for path in files:
        path.write_text(path.read_text() + "# mine\n")
    install(agent)
    notes = install(agent, verb="uninstall")["agents"][0]["notes"]
    assert sum("edited" in note for note in notes) == len(files)
    assert all(path.read_text().endswith("# mine\n") for path in files)
