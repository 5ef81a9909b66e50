"""The names in the path of a session's folder tell nothing of its work: each path in the project has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from claude_transcript import SESSION, Transcript
from conftest import Run

from core.store import calls

FOLDER = "/tmp/newuserX1Y/my_proj"


@pytest.fixture
def names(run: Run, home: Path, tmp_path: Path) -> Callable[..., set[str]]:
    def archived(*outputs: str) -> set[str]:
        made = Transcript(tmp_path / f"{SESSION}.jsonl")
        for number, output in enumerate(outputs):
            entry = made.entry("assistant", [
                {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": f"{FOLDER}/a_file.py"}}
            ])  # fmt: skip
            made.write({**entry, "cwd": FOLDER})
            made.outcome(f"c{number}", output)
        run("memory", "archive", str(made.path))
        db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
        return {name for (name,) in db.execute("SELECT name FROM name")} | {
            line for one in calls.of_session(db, SESSION) for line in one["passage"].splitlines()
        }

    return archived


def test_a_part_of_the_folder_is_no_name(names: Callable[..., set[str]]) -> None:
    found = names(f"{FOLDER}/src/tideGauge.go\n{FOLDER}\n/tmp/newuserX1Y/other/b_file.py: otherName")
    assert {"a_file.py", "tideGauge.go", "b_file.py", "otherName"} <= found
    assert found.isdisjoint({"newuserX1Y", "my_proj", "tmp/newuserX1Y/my_proj", FOLDER})


def test_what_stands_by_itself_too_is_one(names: Callable[..., set[str]]) -> None:
    found = names("nothing", f"import my_proj from {FOLDER}/src")
    assert "my_proj" in found
    assert "newuserX1Y" not in found
