"""`make demo`: the recorded session goes through its compaction, and facts that the summary dropped come back."""

import re
import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE_S, ROOT, clean_environment
from faults import patient


def test_the_demo_shows_the_recovery_note_and_the_facts(tmp_path: Path) -> None:
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
    assert "**Where:**" in done.stdout
    assert "its model was scripted" in done.stdout
    back = re.search(r"(\d+) of 20 facts", done.stdout)
    assert int(back[1]) >= 16  # as README.md says
    assert "not what a real compaction loses" in " ".join(done.stdout.split())
    assert not home.exists()
