"""A file of the home: written whole and private, swept after an hour, locked for a time, and known as ours."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from core import files
from core.files import FileLock, LockTimeout


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """The home, which is there; what a test closes in it is forgotten, or this process's next command would tell it."""
    monkeypatch.setattr(files, "_corrected", [])
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    home.mkdir(mode=0o700)
    return home


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_home_is_named_or_in_the_user_s_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for named in (None, ""):
        monkeypatch.delenv("JOELCLAW_HOME", raising=False) if named is None else monkeypatch.setenv("JOELCLAW_HOME", "")
        assert files.home() == f"{tmp_path}/.joelclaw"
    monkeypatch.setenv("JOELCLAW_HOME", f"{tmp_path}/x/../y/")
    assert files.home() == f"{tmp_path}/y" and not (tmp_path / "y").exists()


def test_what_lies_in_the_home(ours: Path) -> None:
    (ours.parent / "link").symlink_to(ours)
    for path in (ours, ours / "a" / "b", ours.parent / "link", ours.parent / "link" / "a"):
        assert files.is_in_home(str(path))
    for path in (ours.parent, Path(f"{ours}x"), ours.parent / "a"):
        assert not files.is_in_home(str(path))
    assert (files.has_switches(), files.is_store_older()) == (False, False)
    (ours / "switches.json").symlink_to("nowhere")
    (ours / "store.db.older").touch()
    assert (files.has_switches(), files.is_store_older()) == (True, True)


def test_a_file_is_replaced_whole_and_private(ours: Path) -> None:
    path = ours / "a" / "b" / "x.json"
    before = os.umask(0)
    try:
        for data in (b"one", b"", b"three"):
            files.write_whole(str(path), data)
            assert (path.read_bytes(), mode(path)) == (data, 0o600)
    finally:
        os.umask(before)
    assert [mode(folder) for folder in (path.parent, path.parent.parent)] == [0o700] * 2
    assert os.listdir(path.parent) == ["x.json"]
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        files.write_whole(str(path), b"x")
    assert os.listdir(path.parent) == ["x.json"], "nothing is left behind"


def test_a_write_that_is_taken_in_parts_is_whole(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr("os.write", lambda descriptor, data: write(descriptor, data[:2]))
    files.write_whole(str(ours / "x"), b"seven l")
    assert (ours / "x").read_bytes() == b"seven l"


def test_a_folder_is_made_with_those_above_it(ours: Path) -> None:
    before = os.umask(0o777)
    try:
        assert files.private_folder(str(ours / "a" / "b")) == str(ours / "a" / "b")
    finally:
        os.umask(before)
    assert mode(ours / "a") == mode(ours / "a" / "b") == 0o700
    (ours / "a").chmod(0o750)
    files.private_folder(str(ours / "a" / "b"))
    assert mode(ours / "a") == 0o750, "what is there is left"
    (ours / "file").touch()
    for below in ("file", "file/b"):
        with pytest.raises(FileExistsError):
            files.private_folder(str(ours / below))


def test_an_empty_file_is_made_once(ours: Path) -> None:
    path = ours / "a" / "x"
    files.touch_private(str(path))
    assert (path.read_bytes(), mode(path), mode(path.parent)) == (b"", 0o600, 0o700)
    path.write_bytes(b"kept")
    files.touch_private(str(path))
    assert path.read_bytes() == b"kept"


@pytest.mark.parametrize("bit", [0o001, 0o002, 0o004, 0o010, 0o020, 0o040])
def test_what_others_could_use_is_closed_and_told_once(ours: Path, bit: int) -> None:
    (ours / "sessions").mkdir()
    (ours / "sessions" / "s.json").touch()
    (ours / "mine").touch()
    link = ours / "sessions" / "link"
    outside = ours.parent / "outside"
    outside.touch()
    link.symlink_to(outside)
    for path, wide in ((outside, 0o666), (ours / "mine", 0o666), (ours / "sessions" / "s.json", 0o600 | bit)):
        path.chmod(wide)
    (ours / "sessions").chmod(0o700)
    ours.chmod(0o700 | bit)
    files.write_whole(str(ours / "config.toml"), b"")
    assert [mode(path) for path in (ours, ours / "sessions" / "s.json", ours / "mine", outside)] == [
        *(0o700, 0o600, 0o666, 0o666)
    ]
    assert sorted(files.take_corrected()) == [".", "sessions/s.json"]
    assert files.take_corrected() == []


def test_what_was_open_in_a_closed_home_is_closed_without_a_word(ours: Path) -> None:
    path = ours / "cache" / "x"
    files.write_whole(str(path), b"")
    path.chmod(0o644)
    (ours / "cache").chmod(0o755)
    files.touch_private(str(path))
    assert (mode(path), mode(ours / "cache")) == (0o600, 0o700)
    assert files.take_corrected() == []


def test_the_user_s_own_folder_and_what_is_outside_the_home_are_left(
    ours: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "x"
    other.parent.mkdir()
    other.parent.chmod(0o755)
    files.write_whole(str(other), b"")
    assert mode(other.parent) == 0o755
    monkeypatch.setenv("HOME", str(ours))
    ours.chmod(0o755)
    files.write_whole(str(ours / "config.toml"), b"")
    assert mode(ours) == 0o755


def test_what_a_writer_left_is_swept_after_an_hour(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 10_000.0)
    paths = [ours / name for name in ("a.1.tmp", "sessions/b.1.2.tmp", "cache/c.3.tmp", "installs/d.4.tmp")]
    others = [ours / name for name in ("workspace/a.1.tmp", "sessions/b.tmp", "sessions/b.1.tmp2", "c.x.tmp", "tmp")]
    for path in (*paths, *others):
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (6399, 6399))
    (ours / "folder.1.tmp").mkdir()
    os.utime(ours / "folder.1.tmp", (1, 1))
    os.utime(paths[0], (6400, 6400))
    assert files.stale_temporary() == [str(path) for path in paths[1:]]
    assert files.sweep_temporary() == 3 and files.sweep_temporary() == 0
    assert paths[0].exists() and all(path.exists() for path in others)
    os.utime(paths[0], (6399, 6399))
    assert files.sweep_beside(str(ours / "b")) == 0
    assert files.sweep_beside(str(ours / "a")) == 1


def test_a_lock_is_held_once_and_waited_for(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(ours / "x.lock")
    now = [0.0]
    monkeypatch.setattr(files.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(files.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + 0.25))
    with FileLock(path) as held:
        assert held._descriptor >= 0
        for wait_s in (0.0, 0.5):
            began = now[0]
            second = FileLock(path, wait_s)
            with pytest.raises(LockTimeout, match=r"x\.lock"), second:
                pass
            assert second._descriptor == -1 and now[0] - began == wait_s
    assert held._descriptor == -1
    with FileLock(path, 0):
        pass


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("cache", True), ("switches.json", True), ("backups.json", True), ("backups.json.lock", True),
        ("store.db", True),
        ("store.dbx", True), ("store", False), ("config.toml.damaged-1", True), ("spool.7.tmp", True),
        ("x.7.tmp", False),
        ("config.toml.1.2.tmp", True), ("config.toml.x.tmp", False), ("", False),
    ],
)  # fmt: skip
def test_a_name_in_a_home_that_is_ours(name: str, known: bool) -> None:
    assert files.is_in_homes(name) is known
