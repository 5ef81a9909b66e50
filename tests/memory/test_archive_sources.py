"""`joelclaw memory archive` reads whatever a client keeps its sessions in, and says what it cannot read."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard
from conftest import Run

AT = "2026-09-20T10:00:00.000Z"
ANSWER = "The osprey queue tries four times."


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home folder."""
    for name in ("CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "GEMINI_CLI_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    return tmp_path / "person"


def rollout(session: str, *said: str) -> bytes:
    """A rollout of Codex: prompts and answers in turn."""
    lines: list[dict[str, Any]] = [{"type": "session_meta", "timestamp": AT, "payload": {"id": session, "cwd": "/w/q"}}]
    for number, text in enumerate(said):
        role, kind = ("assistant", "output_text") if number % 2 else ("user", "input_text")
        message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        lines.append({"type": "response_item", "timestamp": AT, "payload": message})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def archive(run: Run, *words: str) -> dict[str, Any]:
    result: dict[str, Any] = run("memory", "archive", *words).result
    return result


def recall(run: Run, *words: str) -> str:
    return run("recall", "--raw", "--everywhere", *words).out


def compressed(content: bytes, frames: int = 1) -> bytes:
    size = len(content) // frames + 1
    parts = (content[at : at + size] for at in range(0, len(content), size))
    return b"".join(zstandard.ZstdCompressor().compress(part) for part in parts)


@pytest.mark.parametrize("frames", [1, 3])
@pytest.mark.parametrize("place", ["sessions/2026/09/20", "archived_sessions", "archived_sessions/2026"])
def test_all_reads_compressed_and_archived_rollouts(run: Run, person: Path, place: str, frames: int) -> None:
    content = compressed(rollout("one", "how often does the osprey queue try?", ANSWER), frames)
    path = put(person / ".codex" / place / "rollout-2026-one.jsonl.zst", content)
    assert archive(run, "--all")["episodes"]["added"] == 2
    assert ANSWER in recall(run, "osprey queue")
    assert archive(run, "--all", "--agent", "codex")["bytes"] == 0
    assert path.read_bytes() == content


def test_a_rollout_that_was_compressed_or_moved_later_is_not_archived_twice(run: Run, person: Path) -> None:
    folder = person / ".codex/sessions/2026/09/20"
    content = rollout("one", "how often does the osprey queue try?", ANSWER)
    plain = put(folder / "rollout-2026-one.jsonl", content)
    archive(run, "--all")
    plain.unlink()
    put(folder / "rollout-2026-one.jsonl.zst", compressed(content + rollout("one", "and then?")[-200:]))
    again = archive(run, "--all")
    assert (again["transcripts"], again["bytes"] < 300, again["episodes"]["added"]) == (1, True, 1)
    moved = person / ".codex/archived_sessions/rollout-2026-one.jsonl.zst"
    moved.parent.mkdir()
    os.rename(folder / "rollout-2026-one.jsonl.zst", moved)
    assert archive(run, "--all")["episodes"] == {"added": 0, "updated": 0}
    assert len(run("session", "list").result["sessions"]) == 1


def test_a_long_compressed_rollout_is_read_to_its_end(run: Run, person: Path) -> None:
    said = [f"message {number} on the osprey " + "x" * 3_000 for number in range(1_200)]
    path = put(person / "long.jsonl.zst", compressed(rollout("one", *said, "the last word is kestrel")))
    assert archive(run, str(path))["bytes"] > 3_500_000
    assert "kestrel" in recall(run, "last word kestrel")


def test_damaged_and_unsupported_sources_are_counted_with_the_reason(
    run: Run, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compressed(rollout("one", "how often does the osprey queue try?", ANSWER))
    folder = person / ".codex/sessions"
    put(folder / "rollout-1.jsonl.zst", whole[:40] + b"damaged" + whole[47:])
    put(folder / "rollout-2.jsonl", rollout("two", "a plain osprey"))
    result = archive(run, "--all")
    assert (result["transcripts"], list(result["unreadable"].values())) == (1, [1])
    for name in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    reason = "it is compressed; to read it, run pip install zstandard"
    assert archive(run, "--all")["unreadable"] == {reason: 1}
    assert run("memory", "archive").result["history"]["unreadable"] == {reason: 1}
    (finding,) = [it for it in run("doctor").result["findings"] if it["code"] == "SESSIONS_UNREADABLE"]
    assert finding["message"] == f"1 of 2 sessions cannot be archived: {reason}"
