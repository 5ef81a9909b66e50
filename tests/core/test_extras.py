"""Optional packages: what is advised works where joelclaw was installed with pip, pipx or uv, from a checkout too."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path

import pytest

from core.process import extras

WANTED = "mcp>=2.3,<3"
FOLDER = "/src/my joelclaw"


class _Installed:
    requires = metadata.requires("joelclaw")
    version = "1"

    def __init__(self, url: object) -> None:
        self.url = url

    def read_text(self, _name: str) -> str | None:
        return json.dumps(self.url) if self.url else None


def installed_from(monkeypatch: pytest.MonkeyPatch, url: object) -> None:
    found = metadata.distribution
    monkeypatch.setattr(metadata, "distribution", lambda name: _Installed(url) if name == "joelclaw" else found(name))


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of joelclaw, from a checkout, without pip."""
    folder = tmp_path / "environment"
    folder.mkdir()
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    installed_from(monkeypatch, {"url": "file:///src/my%20joelclaw", "dir_info": {}})
    return folder


def as_uv_tool(prefix: Path, rows: str = '{ name = "joelclaw", directory = "/x" }') -> None:
    (prefix / "uv-receipt.toml").write_text(f"[tool]\nrequirements = [{rows}]\n")


def words() -> list[str]:
    return shlex.split(extras.command(WANTED))


def test_what_the_extras_ask_for() -> None:
    assert extras.requirement("mcp", "mcp").startswith("mcp>=")
    assert extras.requirement("nothing", "nothing") == "nothing"


def test_pip_and_pipx_and_uv(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert words() == ["uv", "pip", "install", "--python", sys.executable, WANTED]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    assert words() == [sys.executable, "-m", "pip", "install", WANTED]
    (prefix / "pipx_metadata.json").write_text("{}")
    assert words() == ["pipx", "inject", "joelclaw", WANTED]


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ({"url": "file:///src/my%20joelclaw", "dir_info": {}}, [FOLDER]),
        ({"url": "file:///src/my%20joelclaw", "dir_info": {"editable": True}}, ["--editable", FOLDER]),
        ({"url": "https://x/y.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}, ["git+https://x/y.git"]),
        ({"url": "https://x/joelclaw.whl", "archive_info": {}}, ["https://x/joelclaw.whl"]),
        (None, ["joelclaw"]),
    ],
)
def test_a_uv_tool_is_installed_anew_from_where_it_came(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, url: object, source: list[str]
) -> None:
    installed_from(monkeypatch, url)
    as_uv_tool(prefix)
    assert words() == ["uv", "tool", "install", "--with", WANTED, *source]


def test_a_uv_tool_of_which_nothing_is_noted_is_installed_by_its_name(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Installed, "read_text", lambda *_: "no {json")
    as_uv_tool(prefix)
    assert words() == ["uv", "tool", "install", "--with", WANTED, "joelclaw"]


def test_what_was_added_to_a_uv_tool_is_kept(prefix: Path) -> None:
    as_uv_tool(prefix, '{ name = "joelclaw" }, { name = "numpy", specifier = ">=2" }')
    assert words() == ["uv", "tool", "install", "--with", "numpy>=2", "--with", WANTED, FOLDER]
    (prefix / "uv-receipt.toml").write_text("no [toml")
    assert words() == ["uv", "tool", "install", "--with", WANTED, FOLDER]
