"""Whose form a file of memories has."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

from memory import importing


@pytest.mark.parametrize(
    ("name", "text", "whose"),
    [
        ("a.md", "- text\n", "markdown"),
        ("a.txt", "- text\n", "ours"), ("a.json", '{"text": "x"}\n', "ours"),
        ("a.json", '{"text": "x", "memory": "y"}\n', "ours"), ("a.json", '\ufeff {"memory": "y"}\n', "mem0"),
        ("a.json", '[{"a": 1},\n {"memory": "y"}]', "mem0"), ("a.json", '{"results":\n [{"memory": "y"}]}', "mem0"),
        ("a.json", '{"type": "entity", "name": "x"}\n', "mcp-memory"), ("a.json", '{"entities": []}', "mcp-memory"),
    ],
)  # fmt: skip
def test_whose_form_a_file_has(tmp_path: Path, name: str, text: str, whose: str) -> None:
    (tmp_path / name).write_text(text)
    assert importing.form_of(str(tmp_path / name)) == whose


def test_a_folder_is_refused_with_what_takes_folders(run: Run, tmp_path: Path) -> None:
    refused = run("memory", "import", str(tmp_path), ok=False).json
    assert refused["error"]["code"] == "MEMORY_INVALID_ARGS" and "knowledge sync" in refused["fix"]
