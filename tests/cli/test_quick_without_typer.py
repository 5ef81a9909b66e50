"""In a pipe nothing waits for Typer: versions, overviews, help, mistakes, and what is outside."""

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
DEAR = {"typer", "click", "rich", "importlib.metadata", "email", "orjson", "typesense", "subprocess", "tempfile"}
CALLS = [
    *("--version", "", "--help", "-h", "memory wirte", "frobnicate", "--nope", "recall a b", "recall --nope"),
    *("recall x --limit 0", "memory import", "runs --count 3", "vault adr audit", "recall x --workstream main"),
    *("memory", "vault", "memory --help", "recall --help", "recall x --toon"),
]


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
