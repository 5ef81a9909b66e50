"""A project's file is read where it lies in the project, is a regular one and within its size; else it says why."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from core.config import file as settings_file
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


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("t", "t"), (1.5, 1.5), (True, True), (2**64 - 1, 2**64 - 1), (2**64, None), (-(2**64) + 1, -(2**64) + 1),
        (-(2**64), None), ([1], None), (None, None), (float("inf"), float("inf")),
    ],
)  # fmt: skip
def test_of_a_table_single_values_are_kept(value: Any, kept: Any) -> None:
    assert settings_file.flat({"a": value, "b": {"c": value}}) == {"a": kept, "b.c": kept}
    assert settings_file.flat({"b": {"c": {"d": 1}}, "e": {}}) == {"b.c": None}


def settings(project: Path, text: str | bytes) -> tuple[str, str]:
    path = project / "config.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path), str(project)


def test_a_file_of_settings_is_read_once_for_each_state_of_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(project, "a = 1\n[b]\nc = 'x'\n")
    assert settings_file.table(str(project / "none"), str(project)) == {}
    assert settings_file.table(*given) == {"a": 1, "b.c": "x"}
    parse = settings_file._parse
    monkeypatch.setattr(settings_file, "_parse", lambda path, root: {"parsed": 1})
    assert settings_file.table(*given) == {"a": 1, "b.c": "x"}
    settings(project, "a = 12\n")
    assert settings_file.table(*given) == {"parsed": 1}
    monkeypatch.setattr(settings_file, "_parse", parse)
    bad = settings(project, "a = ")
    with pytest.raises(Unusable, match="is not TOML"):
        settings_file.table(*bad)
    monkeypatch.setattr(settings_file, "_parse", lambda path, root: {"parsed": 1})
    with pytest.raises(Unusable, match="is not TOML"):
        settings_file.table(*bad)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a" + ".a" * 100 + " = 1", ""), ("a" + ".a" * 101 + " = 1", "has a line with more than 100 dots"),
        (b"a = '\xff'", "is not UTF-8"), ("a = " + "[" * 5000, "is nested too deeply"),
        ("# " + "x" * 65_534, ""), ("# " + "x" * 65_535, "is larger than 64 KiB"), ("", ""),
    ],
)  # fmt: skip
def test_a_file_of_settings_that_is_none_says_why(project: Path, text: str | bytes, reason: str) -> None:
    try:
        found = settings_file._parse(*settings(project, text))
        assert not reason and set(found) <= {"a.a"}
    except Unusable as fault:
        assert fault.reason == reason


@pytest.mark.parametrize(
    ("kept", "is_kept"),
    [
        ('{"key": [7], "table": {"a": 1}}', True), ('{"key": [7], "fault": "f"}', True), ('{"key": [7]}', False),
        ('{"key": [7], "table": []}', False), ('{"key": [8], "table": {"a": 1}}', False), ("{", False), ("[]", False),
    ],
)  # fmt: skip
def test_what_was_kept_of_a_file_is_of_this_file_and_whole(project: Path, kept: str, is_kept: bool) -> None:
    made: dict[str, Any] = {"table": {"made": 1}}
    assert settings_file.parsed_once("/p", [7], lambda: made) == made
    (place,) = Path(os.environ["JOELCLAW_HOME"]).glob("cache/*.json")
    place.write_text(kept)
    found = settings_file.parsed_once("/p", [7], lambda: made)
    assert found == (json.loads(kept) if is_kept else made)
