"""What a transcript tells: where its session began, and whether it was compacted."""

from __future__ import annotations

import json
from pathlib import Path

from session.idle.run import told


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
    gone = header(tmp_path / "gone")
    assert told(write(path, "no JSON", [1], header(folder)), "pi")[0] == str(folder)
    assert told(write(path, gone, header(folder)), "pi")[0] == str(folder)
    assert told(write(path, gone), "pi")[0] == ""
    for agent, name in (("opencode", str(path)), ("nobody", str(path)), ("pi", str(tmp_path)), ("pi", "/no/where")):
        assert told(name, agent) == ("", None)


def test_how_many_compactions_a_transcript_holds(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    more = [{"type": "message", "id": str(number)} for number in range(200)]
    quoted = {"type": "message", "id": "m", "text": '"type":"compaction"'}
    for lines, count in (
        ([], 0),
        ([COMPACTION], 1),
        ([quoted], 0),
        (["no JSON compaction", COMPACTION, COMPACTION], 2),
    ):
        assert told(write(path, header("/"), *more, *lines), "pi")[1] == count
    for agent in ("opencode", "gemini"):
        assert told(str(path), agent)[1] is None
