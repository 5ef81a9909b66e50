"""A folder is trusted while it is the one that was trusted: the same path, inode and mark."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS

from core.errors import Failure
from core.repository import trust


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """A repository below a user's home."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path / "somebody"))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    folder = tmp_path / "somebody" / "clone"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    return Path(os.path.realpath(folder))


def test_a_repository_is_trusted_once_and_until_it_is_revoked(
    repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, new = trust.trust(str(repo / "src"))
    mark = (repo / ".git" / "joelclaw-trusted").read_text()
    status = repo.stat()
    assert len(mark) == 32 and new
    assert row == {"path": str(repo), "device": status.st_dev, "inode": status.st_ino, "mark": mark, "at": NOW_MS}
    assert trust.every() == [row] and trust.is_trusted(str(repo)) and not trust.is_trusted(str(repo / "src"))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + 1))
    assert trust.trust(str(repo)) == (row, False), "since when it is, not now"
    assert (home / "trusted.json").stat().st_mode & 0o777 == 0o600
    assert trust.revoke(str(repo.parent)) == ""
    assert trust.revoke(str(repo / "src")) == str(repo) and trust.every() == []
    assert trust.revoke(str(repo)) == ""


def test_another_folder_in_its_place_is_not_trusted(repo: Path) -> None:
    row, _ = trust.trust(str(repo))
    mark = repo / ".git" / "joelclaw-trusted"
    for changed in (
        {"device": row["device"] + 1},
        {"inode": row["inode"] + 1},
        {"path": str(repo / "gone")},
        {"mark": "x"},
    ):
        assert not trust.stands({**row, **changed})  # type: ignore[typeddict-item]
    assert trust.stands({**row, "mark": ""}), "it could not be marked"
    mark.write_text("x" * 64)
    assert trust.stands({**row, "mark": "x" * 64}) and not trust.stands(row)
    mark.unlink()
    assert not trust.stands(row) and not trust.is_trusted(str(repo))
    other = repo.parent / "other"
    (other / ".git").mkdir(parents=True)
    trust.trust(str(other))
    again, new = trust.trust(str(repo))
    assert new and [one["path"] for one in trust.every()] == [str(other), str(repo)]
    assert trust.every()[1] == again != row


def test_the_mark_of_a_worktree_lies_where_its_pointer_leads(repo: Path, tmp_path: Path) -> None:
    worktree = repo.parent / "worktree"
    worktree.mkdir()
    own = repo / ".git" / "worktrees" / "w"
    own.mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {own}\n")
    row, _ = trust.trust(str(worktree))
    assert row["mark"] == (own / "joelclaw-trusted").read_text()
    for name, pointer in (("none", ""), ("away", "gitdir: nowhere\n")):
        folder = repo.parent / name
        folder.mkdir()
        (folder / ".git").write_text(pointer)
        assert trust.trust(str(folder))[0]["mark"] == "" and trust.is_trusted(os.path.realpath(folder))
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (own / "joelclaw-trusted").unlink()
    (own / "joelclaw-trusted").symlink_to(outside)
    assert trust._write_mark(str(worktree)) == "" and outside.read_text() == "kept", "no link is followed"
    assert trust._read(str(own / "joelclaw-trusted"), 64) == ""


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("gone", "TRUST_NO_FOLDER"), ("plain", "TRUST_NO_REPOSITORY"), (".", "TRUST_NO_REPOSITORY"),
        ("..", "TRUST_NO_REPOSITORY"), ("file", "TRUST_NO_FOLDER"),
    ],
)  # fmt: skip
def test_what_is_no_repository_of_its_own_is_refused(repo: Path, home: Path, where: str, code: str) -> None:
    somebody = repo.parent
    for folder in (somebody / "plain", somebody / ".git", somebody.parent / ".git"):
        folder.mkdir()
    (somebody / "file").touch()
    with pytest.raises(Failure) as raised:
        trust.trust(f"{somebody}/{where}")
    assert raised.value.code == code
    assert not home.exists()


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([{"path": "/a", "device": 1, "inode": 2, "at": 3}], 1), ([{"path": "/a", "device": 1, "inode": 2}], 0),
        ([{"path": "/a", "device": "x", "inode": 2, "at": 3}], 0), ([7], 0), (7, 0), ([], 0),
    ],
)  # fmt: skip
def test_a_list_that_is_damaged_trusts_nothing(repo: Path, home: Path, rows: Any, count: int) -> None:
    home.mkdir()
    (home / "trusted.json").write_text(json.dumps({"folders": rows}))
    found = trust.every()
    assert found == [{"path": "/a", "device": 1, "inode": 2, "mark": "", "at": 3}] * count
