"""What a transcript tells: where its session began, and whether it was compacted."""

from __future__ import annotations

import json
import os
from pathlib import Path

from core import config
from session.idle import run as running

NOTHING = config.Config({})


def write(path: Path, *lines: object) -> str:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return str(path)


def header(folder: Path | str) -> dict[str, str]:
    return {"type": "session", "id": "s", "cwd": str(folder)}


COMPACTION = {"type": "compaction", "id": "c", "summary": "s", "timestamp": "2026-09-21T14:13:20Z"}


def test_the_folder_in_which_a_session_began(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    path = tmp_path / "session.jsonl"
    assert running.begun_in(write(path, "no JSON", [1], header(folder)), "pi") == str(folder)
    assert running.begun_in(write(path, header(tmp_path / "gone"), header(folder)), "pi") == str(folder)
    assert running.begun_in(write(path, header(tmp_path / "gone")), "pi") == ""
    for agent, name in (("opencode", str(path)), ("nobody", str(path)), ("pi", str(tmp_path)), ("pi", "/no/where")):
        assert running.begun_in(name, agent) == ""


def test_whether_a_transcript_holds_a_compaction(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    before = write(path, header("/"), COMPACTION)
    size = os.path.getsize(path)
    assert running.was_compacted(before, "pi", 0) is True
    assert running.was_compacted(before, "pi", size) is False
    assert running.was_compacted(before, "pi", size + 1) is True, "it was written anew"
    write(path, header("/"), COMPACTION, {"type": "message", "id": "m"}, "no JSON compaction", COMPACTION)
    assert running.was_compacted(before, "pi", size) is True
    write(path, header("/"), {"type": "message", "id": "m", "text": '"type":"compaction"'})
    assert running.was_compacted(before, "pi", 0) is False
    for agent, name in (("opencode", before), ("gemini", before), ("pi", str(tmp_path)), ("pi", "/no/where")):
        assert running.was_compacted(name, agent, 0) is None
