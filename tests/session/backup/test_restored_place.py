"""Where a backup is put, which manifest is believed, and which home is where after a restore that failed half way."""

from __future__ import annotations

import errno
import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from core.errors import Failure
from core.store import migrations
from session.backup import archive, restore

KNOWN = len(migrations.STEPS)


@pytest.fixture(autouse=True)
def home_of_the_test(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", "50")


def code(act: Any) -> str:
    with pytest.raises(Failure) as failed:
        act()
    return failed.value.code


def folder(path: Path, *names: str) -> str:
    path.mkdir(parents=True)
    for name in names:
        (path / name).write_text(name)
    return str(path)


def test_only_a_home_of_ours_is_replaced_and_only_where_that_is_wanted(home: Path, tmp_path: Path) -> None:
    restore._check_place(str(home), "f", force=False)
    restore._check_place(folder(tmp_path / "empty"), "f", force=False)
    folder(home, "store.db")
    restore._check_place(str(home), "f", force=True)
    with pytest.raises(Failure) as failed:
        restore._check_place(str(home), "a b", force=False)
    assert (failed.value.code, failed.value.fix.rpartition(": ")[2]) == (
        "RESTORE_NOT_EMPTY", "joelclaw restore 'a b' --force",
    )  # fmt: skip
    other = folder(tmp_path / "other", "store.db")
    with pytest.raises(Failure) as failed:
        restore._check_place(other, "f", force=False)
    assert failed.value.fix.endswith(f"joelclaw restore f --into {other} --force")
    (tmp_path / "file").write_text("x")
    assert code(lambda: restore._check_place(str(tmp_path / "file"), "f", force=True)) == "RESTORE_NOT_EMPTY"
    for count, shown in ((5, "0, 1, 2, 3, 4"), (6, "0, 1, 2, 3, 4 and more")):
        mixed = folder(tmp_path / f"mixed{count}", *map(str, range(count)))
        with pytest.raises(Failure) as failed:
            restore._check_place(mixed, "f", force=True)
        assert (failed.value.code, failed.value.message) == (
            "RESTORE_MIXED",
            f"{mixed} holds other things too: {shown}",
        )


def manifest(**more: Any) -> dict[str, Any]:
    members = [{"name": "a", "bytes": 1, "sha256": "x"}]
    return {"format": archive.FORMAT, "joelclaw": "1", "schema": KNOWN, "createdAt": "t", "counts": {},
            "members": members, **more}  # fmt: skip


@pytest.mark.parametrize(
    ("told", "failed"),
    [
        (manifest(), ""), (manifest(schema=0), ""), (manifest(schema=KNOWN + 1), "STORE_TOO_NEW"),
        (manifest(format=archive.FORMAT + 1), "BACKUP_TOO_NEW"),
        (manifest(format=archive.FORMAT - 1), "BACKUP_DAMAGED"),
        (manifest(format="1"), "BACKUP_DAMAGED"), (manifest(schema="1"), "BACKUP_DAMAGED"), (None, "BACKUP_DAMAGED"),
        ([], "BACKUP_DAMAGED"), (manifest(members=[]), "BACKUP_DAMAGED"), (manifest(members=[{}]), "BACKUP_DAMAGED"),
        (manifest(members=7), "BACKUP_DAMAGED"),
    ],
)  # fmt: skip
def test_a_manifest_is_believed_where_it_is_whole_and_true_and_not_newer(told: Any, failed: str) -> None:
    found = {"a": (1, "x")}
    if failed:
        assert code(lambda: restore._checked(told, found)) == failed
    else:
        assert restore._checked(told, found) == told
    for wrong in ({}, {"a": (2, "x")}, {"a": (1, "y")}, {"a": (1, "x"), "b": (1, "x")}):
        assert code(lambda wrong=wrong: restore._checked(manifest(), wrong)) == "BACKUP_DAMAGED"


def test_no_more_is_read_than_was_allowed() -> None:
    bounded = restore._Bounded(io.BytesIO(b"x" * 100))
    bounded.left = 10
    assert bounded.read(10) == b"x" * 10
    with pytest.raises(tarfile.ReadError):
        bounded.read(1)


def test_the_old_home_is_kept_aside_under_a_name_that_is_free(tmp_path: Path) -> None:
    target, aside = tmp_path / "home", tmp_path / "home.before-restore-50"
    assert restore._put(folder(tmp_path / "s1", "new"), str(target), force=False) == []
    assert os.listdir(target) == ["new"]
    assert code(lambda: restore._put(folder(tmp_path / "s2"), str(target), force=False)) == "RESTORE_NOT_EMPTY"
    assert restore._put(folder(tmp_path / "s3", "newer"), str(target), force=True) == [str(aside)]
    assert restore._put(folder(tmp_path / "s4", "newest"), str(target), force=True) == [f"{aside}-2"]
    assert [os.listdir(one) for one in (target, aside, f"{aside}-2")] == [["newest"], ["new"], ["newer"]]


def test_a_home_that_is_made_in_the_moment_between_is_kept_aside_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = folder(tmp_path / "home", "old")
    left, rename = [3], os.rename

    def renamed(old: str, new: str) -> None:
        if old.endswith("staging") and left[0]:
            left[0] -= 1
            folder(Path(new), "meanwhile")
            raise OSError(errno.ENOTEMPTY, "not empty")
        rename(old, new)

    monkeypatch.setattr(restore.os, "rename", renamed)
    aside = f"{target}.before-restore-50"
    staging = folder(tmp_path / "staging", "new")
    assert restore._put(staging, target, force=True) == [aside + "-2" * count for count in range(4)]
    assert os.listdir(target) == ["new"]


def test_one_that_is_made_five_times_gets_the_old_home_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = folder(tmp_path / "home", "old")
    rename, tried = os.rename, []

    def renamed(old: str, new: str) -> None:
        if old.endswith("staging"):
            tried.append(1)
            folder(Path(new), "meanwhile")
            raise OSError(errno.EEXIST, "there")
        rename(old, new)

    monkeypatch.setattr(restore.os, "rename", renamed)
    with pytest.raises(Failure) as failed:
        restore._put(folder(tmp_path / "staging", "new"), target, force=True)
    assert (failed.value.code, len(tried), os.listdir(target)) == ("RESTORE_BUSY", 5, ["old"])
    assert failed.value.message.count("meanwhile is in") == 1


def test_any_other_fault_of_a_move_ends_it_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def renamed(old: str, new: str) -> None:
        tried.append(old)
        raise OSError(errno.EACCES, "no")

    monkeypatch.setattr(restore.os, "rename", renamed)
    with pytest.raises(PermissionError):
        restore._put("staging", str(tmp_path / "none"), force=True)
    assert tried == ["staging"]


@pytest.mark.parametrize(
    ("number", "failed"),
    [(errno.ENOSPC, "RESTORE_FULL"), (errno.EDQUOT, "RESTORE_FULL"), (errno.EFBIG, "RESTORE_FULL"),
     (errno.EACCES, "RESTORE_UNWRITABLE")],
)  # fmt: skip
def test_a_disk_that_is_full_is_told_apart(number: int, failed: str) -> None:
    assert restore._failure("/t", OSError(number, "x")).code == failed
    assert archive._failure("/t", OSError(number, "x")).code == failed.replace("RESTORE", "BACKUP")


def test_what_killed_backups_left_goes_and_that_of_running_ones_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive.state_file, "is_alive", lambda pid: pid == 7)
    gone = ["b.tar.8.1.tmp", "b.tar.store.8.1.tmp", "b.tar.restoring.8.1.tmp"]
    kept = ["b.tar", "b.tar.7.1.tmp", "b.tar.8.1.txt", "b.tar.8.tmp", "b.tar.x.1.tmp", "b.tar.8.x.tmp", "c.tar.8.1.tmp",
            "b.tar.other.8.1.tmp"]  # fmt: skip
    for name in (*gone[:2], *kept):
        (tmp_path / name).write_text("x")
    folder(tmp_path / gone[2], "x")
    archive.sweep(str(tmp_path / "b.tar"))
    assert sorted(os.listdir(tmp_path)) == sorted(kept)


def test_a_home_knows_its_last_twenty_backups_each_once(home: Path) -> None:
    home.mkdir()
    assert archive.known() == []
    before = [{"file": f"/b{number}", "at": "t"} for number in range(20)]
    archive.note(str(home), "/b20", "t", before)
    assert [one["file"] for one in archive.known()] == [f"/b{number}" for number in range(1, 21)]
    archive.note(str(home), "/b5", "u", archive.known())
    assert [one["file"] for one in archive.known()][-2:] == ["/b20", "/b5"]
    assert archive.known(str(home))[-1] == {"file": "/b5", "at": "u"}
    assert len(archive.known()) == 20
    for text in ("{", "7", '[{"file": 1}]'):
        (home / "backups.json").write_text(text)
        assert archive.known() == []
