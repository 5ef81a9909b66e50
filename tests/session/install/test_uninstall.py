"""`joelclaw uninstall`: the file is as it was, what others did meanwhile stays, and backups show what was there."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run, put
from test_install import FILES, FOREIGN, Install, environment, install, project, user
from test_install_tools import RULES, SKILL, tree

__all__ = ["install", "project", "user"]


@pytest.mark.parametrize("agent", FILES)
def test_a_created_file_is_removed_with_its_folders(install: Install, user: Path, project: Path, agent: str) -> None:
    install(agent)
    install(agent, "--project")
    install(agent, verb="uninstall")
    assert not list(user.iterdir())
    assert len(list(project.iterdir())) == 1
    install(agent, "--project", verb="uninstall")
    assert not list(project.iterdir())


@pytest.mark.parametrize("agent", FILES)
def test_an_empty_folder_of_the_user_stays(install: Install, user: Path, agent: str) -> None:
    (user / FILES[agent]).parent.mkdir(parents=True)
    before = sorted(user.rglob("*"))
    install(agent)
    install(agent, verb="uninstall")
    assert sorted(user.rglob("*")) == before


def test_later_additions_of_others_stay(install: Install, user: Path) -> None:
    path = user / FILES["claude"]
    install("claude")
    value: Any = json.loads(path.read_text())
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    value["hooks"]["Stop"].insert(0, theirs)
    value["model"] = "x"
    path.write_text(json.dumps(value))
    (row,) = install("claude", verb="uninstall")["agents"]
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [theirs]}, "model": "x"}
    assert json.loads(Path(row["backup"]).read_text()) == value


def test_comments_stay_in_a_file_that_others_edited_since(install: Install, user: Path) -> None:
    path = put(user / FILES["gemini"], FOREIGN)
    install("gemini")
    path.write_text(path.read_text().replace('"dark"', '"light" /* by day */'))
    install("gemini", verb="uninstall")
    assert path.read_text() == FOREIGN.replace('"dark"', '"light" /* by day */')


def test_a_receipt_of_an_undone_installation_is_ignored(install: Install, user: Path) -> None:
    path = user / FILES["claude"]
    install("claude")  # makes the file
    path.write_text("{}")  # theirs now
    install("claude")
    install("claude", verb="uninstall")
    assert path.read_text() == "{}"


def test_a_secret_in_the_name_of_a_folder_is_not_kept(run: Run, user: Path, tmp_path: Path, home: Path) -> None:
    secret = "AKIAIOSFODNN7EXAMPLF"
    folder = tmp_path / secret
    folder.mkdir()
    run("install", "claude", "--project", env=environment(user), cwd=folder)
    kept = [str(path) + path.read_text(errors="replace") for path in home.rglob("*") if path.is_file()]
    assert kept and not [text for text in kept if secret in text]
    run("uninstall", "claude", "--project", env=environment(user), cwd=folder)
    assert not list(folder.iterdir())
    assert not list((home / "installs").iterdir())


@pytest.fixture
def settings(user: Path) -> Path:
    return put(user / FILES["claude"], '{"round": 0}')


def copies(path: Path) -> list[str]:
    """What the copies hold, the oldest first, by when they were made."""
    paths = path.parent.glob(f"{path.name}.joelclaw-backup-*")
    return [copy.read_text() for copy in sorted(paths, key=lambda copy: int(copy.name.rpartition("-")[2]))]


def rounds(install: Install, path: Path, count: int) -> list[str]:
    """Install again and again, each time over another text; what each had to copy."""
    before = []
    for at in range(count):
        value = json.loads(path.read_text())
        path.write_text(json.dumps({**value, "round": at, "hooks": {}}))
        before.append(path.read_text())
        install("claude", JOELCLAW_NOW_MS=str(NOW_MS + 1000 * at))
    return before


def test_the_first_and_last_backups_are_kept(install: Install, settings: Path) -> None:
    before = rounds(install, settings, 5)
    assert copies(settings) == [before[0], before[-1]]


def test_other_copies_are_left(install: Install, settings: Path) -> None:
    others = [settings.with_name(f"{settings.name}.joelclaw-backup-{end}") for end in ("mine", "12.txt", "1-2-3")]
    others.append(settings.with_name("other.json.joelclaw-backup-5"))
    for path in others:
        path.write_text("mine")
    rounds(install, settings, 4)
    install("claude", verb="uninstall")
    assert all(path.read_text() == "mine" for path in others)


def test_uninstall_lists_remaining_backups_and_removes_equal_ones(install: Install, settings: Path) -> None:
    install("claude", JOELCLAW_NOW_MS=str(NOW_MS))
    (row,) = install("claude", verb="uninstall")["agents"]
    assert row["backupsLeft"] == copies(settings) == []
    assert settings.read_text() == '{"round": 0}'
    before = rounds(install, settings, 3)
    (row,) = install("claude", verb="uninstall")["agents"]
    assert [Path(path).read_text() for path in row["backupsLeft"]] == copies(settings)
    assert before[0] in copies(settings)


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
