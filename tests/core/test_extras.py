"""Optional packages: what is advised works where joelclaw was installed with pip, pipx or uv, from a checkout too."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from core.process import extras

WANTED = "mcp>=2.3,<3"


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of joelclaw, from a checkout, without pip."""
    folder = tmp_path / "environment"
    folder.mkdir()
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return folder


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
