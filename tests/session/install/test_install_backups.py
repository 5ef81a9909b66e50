"""Copies of a client's file beside it: the first and the last are kept, and `uninstall` tells which are left."""

import json
from pathlib import Path

import pytest
from conftest import NOW_MS, put
from test_install import FILES, Install, install, project, user

__all__ = ["install", "project", "user"]


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
