"""`make demo`: the recorded session goes through its compaction, and facts that the summary dropped come back."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE_S, ROOT, clean_environment
from faults import patient


def test_the_demo_shows_the_recovery_note_the_facts_and_the_costs(tmp_path: Path) -> None:
    home = tmp_path / "untouched"
    done = subprocess.run(
        [sys.executable, str(ROOT / "demo" / "replay.py")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=clean_environment(home, COLUMNS="118", TERM="dumb", PATH="/usr/bin:/bin", **patient(home)),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "## Session Recovery" in done.stdout
    assert "**Deeper context:**" in done.stdout
    assert "inject recovery" in done.stdout
    assert "× python -c pass" in done.stdout
    assert "its model and so this text were scripted" in done.stdout
    back = re.search(r"(\d+) of 20 facts", done.stdout)
    assert back is not None
    assert int(back[1]) >= 7, "the last requests as queries"
    assert "the recovery note had 3." in done.stdout and "does not show" in done.stdout
    assert not home.exists()
