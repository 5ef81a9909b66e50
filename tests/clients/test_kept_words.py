"""What a compaction of pi kept word for word is read from the end of its session file, however long that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clients.pi import transcript
from session.context import Context
from session.hook import pipeline


def line(identifier: str, text: str) -> dict[str, Any]:
    return {"type": "message", "id": identifier, "message": {"content": text}}


def written(*entries: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in entries)


def kept(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    context: Any = type("Pi", (), {"agent": "pi", "faults": []})
    event: Any = {"transcript": str(path)}
    given: Context = context
    text = pipeline._kept(event, given)
    assert context.faults == []
    return text


LAST = {"type": "compaction", "id": "c", "summary": "s", "firstKeptEntryId": "b"}


def test_of_a_long_file_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    of = transcript.kept_of

    def noted(data: bytes, **more: Any) -> str:
        sizes.append(len(data))
        return of(data, **more)

    monkeypatch.setattr(transcript, "kept_of", noted)
    old = written(*[line(f"o{number}", "old " * 2500) for number in range(1000)])
    assert kept(tmp_path / "s.jsonl", old + written(line("b", "kept"), LAST)) == "kept"
    # it begins before the end that is read: all of that was kept
    text = kept(tmp_path / "s.jsonl", written(line("b", "begins")) + old + written(line("d", "kept too"), LAST))
    assert text.endswith("old \nkept too")
    assert len(text) == 200_000
    # which line of the file an index means is not known then
    by_index = {"type": "compaction", "firstKeptEntryIndex": 1}
    assert kept(tmp_path / "s.jsonl", old + written(line("b", "kept"), by_index)) == ""
    assert sizes == [8_000_000] * 3
