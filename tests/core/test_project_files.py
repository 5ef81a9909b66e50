"""A project's file is read where it lies in the project, is a regular one and within its size; else it says why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.repository import project_file
from core.repository.project_file import Unusable, is_below, read, root_of, status_of


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """A repository below a user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return Path(os.path.realpath(folder))


def why(path: Path, root: Path, most: int = 10) -> str:
    with pytest.raises(Unusable) as raised:
        read(str(path), str(root), most)
    assert raised.value.path == str(path) and str(raised.value) == f"{path} {raised.value.reason}"
    return raised.value.reason


def test_a_file_is_read_up_to_its_size(project: Path) -> None:
    path = project / "a"
    for size in (0, 1, 9, 10):
        path.write_bytes(b"x" * size)
        assert read(str(path), str(project), 10) == b"x" * size
    path.write_bytes(b"x" * 1025)
    assert read(str(path), str(project), 1025) == b"x" * 1025
    assert why(path, project, 1024) == "is larger than 1 KiB"
    path.write_bytes(b"x" * 2048)
    assert why(path, project, 2047) == "is larger than 1 KiB"


def test_a_file_that_grows_while_it_is_read_is_too_large(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "a"
    path.write_bytes(b"x" * 3)
    status = status_of(str(path), str(project))
    monkeypatch.setattr(project_file, "status_of", lambda *_: status)
    path.write_bytes(b"x" * 1024)
    assert read(str(path), str(project), 1024) == b"x" * 1024
    path.write_bytes(b"x" * 1025)
    assert why(path, project, 1024) == "is larger than 1 KiB"
    path.rename(project / "b")
    assert read(str(path), str(project), 10) is None
    path.write_bytes(b"x")
    assert why(path, project) == "was replaced while it was read"


def test_what_is_not_there_is_none(project: Path) -> None:
    (project / "a").write_bytes(b"x")
    for name in ("b", "a/b", "b/c", "x\0"):
        assert status_of(str(project / name), str(project)) is None
        assert read(f"{project}/{name}", str(project), 10) is None


def test_what_is_no_plain_file_of_the_project_is_refused(project: Path) -> None:
    (project.parent / "outside").write_bytes(b"x")
    (project / "inside").write_bytes(b"y")
    (project / "out").symlink_to(project.parent / "outside")
    (project / "in").symlink_to("inside")
    (project / "loop").symlink_to("loop")
    os.mkfifo(project / "pipe")
    assert why(project / "out", project) == "is a link that leads out of the project"
    assert why(project / "pipe", project) == why(project / ".git", project) == "is not a regular file"
    assert read(str(project / "in"), str(project), 10) == b"y"
    assert why(project.parent / "outside", project) == "is a link that leads out of the project"


@pytest.mark.parametrize(
    ("path", "folder", "below"),
    [("/a/b", "/a", True), ("/a/b", "/a/", True), ("/ab", "/a", False), ("/a", "/a", False), ("/a", "/", True)],
)
def test_a_path_below_a_folder(path: str, folder: str, below: bool) -> None:
    assert is_below(path, folder) is below


def test_the_project_around_a_folder(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    assert root_of(str(inner)) == root_of(str(project)) == str(project)
    plain = tmp_path / "plain"
    plain.mkdir()
    (tmp_path / "link").symlink_to(inner)
    assert root_of(str(tmp_path / "link")) == str(project)
    (tmp_path / ".git").mkdir()
    assert root_of(str(plain)) == os.path.realpath(plain), "the user's home is no repository"
    assert root_of("/") == "/"
    levels = project.joinpath(*["d"] * 39)
    assert root_of(str(levels)) == str(project)
    assert root_of(str(levels / "d")) == str(levels / "d")
    monkeypatch.setenv("HOME", str(plain))
    assert root_of(str(plain)) == os.path.realpath(plain)
