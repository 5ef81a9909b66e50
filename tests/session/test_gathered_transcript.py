"""An edit leaves reading the transcript to the end of its turn."""

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
def test_an_edit_leaves_a_short_transcript_to_the_stop_hook(
    run: Run, tmp_path: Path, megabytes: float, at_the_edit: bool
) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user("Let the gull fly")
    transcript.call("e1", "Edit", file_path=f"{CWD}/src/gull.py", old_string="a", new_string="b")
    transcript.outcome("e1", "The file was updated. " * int(megabytes * 45_000))
    assert is_archived(run, transcript.path, "PostToolUse") is at_the_edit
    assert is_archived(run, transcript.path, "Stop")
