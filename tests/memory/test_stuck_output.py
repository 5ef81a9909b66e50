"""An output that takes longer to read than a hook has does not end the session's memory."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import JOELCLAW, PATIENCE_S, clean_environment
from faults import attempt

SLOW = """\
import time
from core import redaction
quick = redaction.redact
def redact(text):
    if "SLOW OUTPUT" in text and len(text) > 50_000:
        time.sleep(600)
    return quick(text)
redaction.redact = redact
"""
"""On any machine: a redactor that never comes to the end of it."""
TRIES = 12
"""The first two fail; on a slow machine one without the output may, too."""


def lines(folder: Path) -> list[dict[str, object]]:
    output = "first line of the log\n" + "SLOW OUTPUT \x1b[31mtoken=\x1b[0m\n" * 4_000 + "harbour.py:31: the last line"
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat build.log"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": output, "is_error": False}
    said = [
        ("user", "look at the log of the harbour build"),
        ("assistant", [call]),
        ("user", [result]),
        ("assistant", [{"type": "text", "text": "The parser of the tide tables breaks on tabs."}]),
    ]
    return [
        {"type": role, "uuid": f"u{number}", "sessionId": "s", "cwd": str(folder),
         "timestamp": f"2026-11-25T10:00:0{number}Z", "message": {"role": role, "content": content}}
        for number, (role, content) in enumerate(said)
    ]  # fmt: skip


@pytest.mark.spawned
def test_the_third_hook_archives_the_rest_and_status_tells(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    folder.mkdir()
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    transcript = tmp_path / "s.jsonl"
    transcript.write_text("".join(json.dumps(one) + "\n" for one in lines(folder)))
    event = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(transcript), "cwd": str(folder)}
    environment = clean_environment(home, PYTHONPATH=f"{tmp_path}", JOELCLAW_HOOK_DEADLINE_MS="1000")

    def hits() -> list[dict[str, object]]:
        found: list[dict[str, object]] = attempt(home, "recall", "tide tables break on tabs").result["hits"]
        return found

    tries = 0
    while not hits():
        tries += 1
        assert tries <= TRIES, "the session is stuck"
        done = subprocess.run(
            [JOELCLAW, "hook", "claude"], input=json.dumps(event), env=environment, cwd=folder, capture_output=True,
            text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
    assert tries > 2, "an output is left out only after it failed twice"
    shown = attempt(home, "recall", "show", "harbour.py", "--json").out + attempt(home, "recall", "harbour.py").out
    assert "the last line" in shown, "the tail is kept"
    for command in ("status", "doctor"):
        result = attempt(home, command).envelope["result"]
        found = [one for one in result.get("problems", result.get("findings")) if one["code"] == "OUTPUT_LEFT_OUT"]
        assert len(found) == 1 and str(transcript) in found[0]["message"], result


def test_a_large_output_that_is_read_in_time_is_kept_whole(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    folder.mkdir()
    transcript = tmp_path / "s.jsonl"
    transcript.write_text("".join(json.dumps(one) + "\n" for one in lines(folder)))
    event = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(transcript), "cwd": str(folder)}
    attempt(home, "hook", "claude", stdin=json.dumps(event).encode())
    assert attempt(home, "recall", "tide tables break on tabs").result["hits"]
    assert "OUTPUT_LEFT_OUT" not in attempt(home, "status").out
    slow = home / "sessions/.work/slow"
    assert [path for path in slow.iterdir() if path.suffix != ".lock"] == []
