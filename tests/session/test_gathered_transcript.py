"""What an edit leaves to the end of its turn: it is one process of many, and the transcript is read once for all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run


def is_archived(run: Run, path: Path, name: str) -> bool:
    """Whether what was said in the session is found after an event."""
    about = {"session_id": SESSION, "transcript_path": str(path), "cwd": CWD, "hook_event_name": name}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{CWD}/src/gull.py"}, "tool_response": {}}
    assert run("hook", "claude", stdin=json.dumps({**about, **edit} if name == "PostToolUse" else about)).err == ""
    return any("Let the gull fly" in hit["observation"] for hit in run("recall", "let the gull fly").result["hits"])


@pytest.mark.parametrize(("megabytes", "at_the_edit"), [(0.0, False), (0.3, True)])
def test_an_edit_leaves_a_short_transcript_to_the_stop(
    run: Run, tmp_path: Path, megabytes: float, at_the_edit: bool
) -> None:
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    made.user("Let the gull fly")
    made.call("e1", "Edit", file_path=f"{CWD}/src/gull.py", old_string="a", new_string="b")
    made.outcome("e1", "The file was updated. " * int(megabytes * 45_000))
    assert is_archived(run, made.path, "PostToolUse") is at_the_edit
    assert is_archived(run, made.path, "Stop")
