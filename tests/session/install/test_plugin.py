"""`make claude-plugin`: the plugin says what `install claude` enters, and has our server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE_S, ROOT, Run

from core import VERSION


def test_the_folder_is_a_marketplace_of_one_plugin(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "session.install.plugin", "claude", str(tmp_path)]
    subprocess.run(words, cwd=ROOT, check=True, timeout=PATIENCE_S)
    market, plugin = (
        json.loads((tmp_path / ".claude-plugin" / f"{name}.json").read_text()) for name in ("marketplace", "plugin")
    )
    assert [(one["name"], one["source"]) for one in market["plugins"]] == [(plugin["name"], "./")]
    assert plugin["version"] == VERSION
    assert (tmp_path / "skills" / "joelclaw" / "SKILL.md").read_text().startswith("---\nname: joelclaw\n")


def test_it_calls_what_an_installation_for_a_project_calls(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    run("install", "claude", "--project", cwd=project, env={"HOME": str(tmp_path)})
    plugin = tmp_path / "plugin"
    words = [sys.executable, "-m", "session.install.plugin", "claude", str(plugin)]
    subprocess.run(words, cwd=ROOT, check=True, timeout=PATIENCE_S)
    installed = json.loads((project / ".claude" / "settings.json").read_text())["hooks"]
    assert json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"] == installed
    assert json.loads((plugin / ".mcp.json").read_text())["mcpServers"]["joelclaw"]["args"] == ["mcp"]
