"""What is asked often does not wait for Typer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE_S, clean_environment

DRIVER = """
import sys
from cli.main import main
main()
sys.stdout.flush()
print("\\n".join(sys.modules), file=sys.stderr)
"""
DEAR = {"typer", "click", "rich", "orjson", "typesense"}
CALLS = ["--version", "recall x --toon", "status --json"]


@pytest.mark.spawned
@pytest.mark.parametrize("line", CALLS)
def test_it_is_answered_without(tmp_path: Path, line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *line.split()],
        env=clean_environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout
    assert not DEAR & set(done.stderr.splitlines())
