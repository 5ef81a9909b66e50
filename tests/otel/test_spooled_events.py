"""Spooled events are kept line by line and stored once; what is no event is dropped."""

import json
import os
from pathlib import Path
from typing import Any

import faults
import pytest
from conftest import NOW, NOW_MS, Run

from core import files
from otel import log

EVENT: Any = {
    "id": "e1", "timestamp": 1, "sessionId": "s", "systemId": "y", "level": "info", "source": "a", "component": "c",
    "action": "a.b", "success": True, "metadata": {},
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """The spool's folder, not made yet."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    return home / "spool"


def test_events_stay_spooled_if_the_store_fails(run: Run, folder: Path) -> None:
    run("otel", "emit", "a.b")
    run("recall", "what is there")
    waiting = (folder / "events.jsonl").read_bytes()
    with faults.write_lock(folder.parent):
        run("otel", "list")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"events.jsonl": waiting}


@pytest.mark.parametrize("words", [("recall", "what is there"), ("checkpoint", "save", "--session=s", "--percent=70")])
def test_a_full_spool_is_stored_by_the_next_command(run: Run, folder: Path, words: tuple[str, ...]) -> None:
    number = 0
    while log.spool([{**EVENT, "id": str(number), "metadata": {"text": "x" * 10_000}}]):
        number += 1
    run(*words)
    events = run("otel", "list", "--hours", "876000", "--limit", "200").result["events"]
    assert len({event["id"] for event in events if event["action"] == "a.b"}) == number > 20
    assert len(events) > number and os.listdir(folder) == []


def test_a_spool_that_was_stored_but_not_deleted_is_not_stored_twice(folder: Path) -> None:
    folder.mkdir(parents=True)
    line = json.dumps(EVENT).encode() + b"\n"
    (folder / "events.jsonl").write_bytes(line)
    (folder / "events.jsonl.taken-1").write_bytes(line + b'no json\n[]\n\xff\x00{"id": 1}\n' + line + b"half")
    (folder / "other.jsonl").write_bytes(line)
    (folder / "events.jsonl.taken-2").mkdir()
    for _ in range(2):
        events, files = log.take_spooled()
        assert (events, str(folder / "events.jsonl.taken-1") in files) == ([EVENT], True)


BAD: list[dict[str, Any]] = [
    {"error": ["x"]}, {"duration_ms": {}}, {"timestamp": 2**70}, {"recalled": 5}, {"action": "a\ud800"},
    {"component": "hook", "action": "hook.completed", "hook": {"tokens": 2**70}}, {"recalled": ["\ud800"]},
    {"injected": {"kind": "k", "text": "\ud800"}},
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_a_line_that_cannot_be_stored_blocks_no_other(run: Run, folder: Path, bad: dict[str, Any]) -> None:
    run("otel", "emit", "a.c")
    folder.mkdir(mode=0o700, exist_ok=True)
    lines = [json.dumps({**EVENT, "timestamp": NOW_MS, "id": str(at), **more}) for at, more in enumerate([bad, {}])]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
    assert run("status").result["events"]["waiting"] == 2
    assert "UNKNOWN" not in run("doctor").out
    events = run("otel", "list", "--hours", "9", env=NOW).result["events"]
    assert "1" in {event["id"] for event in events}
    assert os.listdir(folder) == []


def test_an_event_too_large_for_the_disk_loses_no_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[: len(data) // 2]))
    assert log.spool([EVENT]) is False
    monkeypatch.setattr(os, "write", write)
    assert log.spool([{**EVENT, "id": "e2"}])
    assert [event["id"] for event in log.spooled_in(str(folder.parent))] == ["e2"]


def test_many_large_events_at_once_are_all_stored(run: Run, folder: Path) -> None:
    """Each writer sees that there is room; together they write far more."""
    events = [{**EVENT, "id": str(number), "metadata": {"text": "x" * 60_000}} for number in range(20)]
    assert log.spool(events)
    assert run("otel", "list", "--hours", "876000").result["found"] == 20


@pytest.mark.parametrize("words", [("otel", "list"), ("otel", "stats"), ("memory", "scorecard")])
def test_the_log_is_read_where_the_settings_cannot_be(run: Run, folder: Path, words: tuple[str, ...]) -> None:
    run("otel", "emit", "a.b")
    run("recall", "what is there")
    assert log.has_spooled()
    (folder.parent / "config.toml").write_text("no toml")
    run(*words)
    assert not log.has_spooled()


@pytest.mark.parametrize("dropped", ["at once", "later"])
def test_events_written_while_the_spool_is_taken_are_not_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch, dropped: str
) -> None:
    """Of 300 hooks at once 57 left no event: their file was taken between opening and writing it."""
    assert log.spool([EVENT])
    write, taken = os.write, []

    def taking(descriptor: int, data: bytes) -> int:
        if not taken:
            taken.extend(log.take_spooled()[1])
            if dropped == "at once":
                files.remove(*taken)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", taking)
    assert log.spool([{**EVENT, "id": "e2"}])
    monkeypatch.undo()
    monkeypatch.setenv("JOELCLAW_HOME", str(folder.parent))
    files.remove(*taken)
    assert [event["id"] for event in log.spooled_in(str(folder.parent))] == ["e2"]
