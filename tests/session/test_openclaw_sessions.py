"""OpenClaw's sessions: rows of a database that its gateway keeps open, and texts that last for one turn."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from conftest import Run, put

from core.quoting import enclose

AT = "2026-09-20T10:00:{:02}.000Z"
SCHEMA = (
    "CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,"
    " created_at INTEGER NOT NULL, event_zstd BLOB, event_utf8_bytes INTEGER, PRIMARY KEY (session_id, seq))",
    "CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL)",
)


class Gateway:
    """OpenClaw with a session, whose database it keeps open."""

    def __init__(self, home: Path, run: Run) -> None:
        self.path = home / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
        self.path.parent.mkdir(parents=True)
        (self.path.parent / "openclaw-agent.sqlite.reindex-lock.sqlite").touch()
        self.db = sqlite3.connect(self.path)
        self.db.execute("PRAGMA journal_mode=wal")
        for statement in SCHEMA:
            self.db.execute(statement)
        self.db.execute("INSERT INTO session_windows VALUES ('s-1', 'agent:main:harbour')")
        self.project, self.run, self.count = home / "harbour", run, 0
        self.project.mkdir()
        self.event({"type": "session", "version": 4, "id": "s-1", "cwd": str(self.project)})

    def event(self, event: dict[str, Any], session: str = "s-1") -> None:
        self.count += 1
        about = {"id": f"e-{self.count}", "parentId": f"e-{self.count - 1}", "timestamp": AT.format(self.count)}
        text = json.dumps({**about, **event})
        data = text.encode()
        is_large = len(data) > 1_500
        packed = zstandard.ZstdCompressor().compress(data) if is_large else None
        row = (session, self.count, None if is_large else text, self.count, packed, len(data))
        self.db.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?)", row)
        self.db.commit()

    def message(self, role: str, content: object, **more: Any) -> None:
        self.event({"type": "message", "message": {"role": role, "content": content, "__openclaw": {}, **more}})

    def hook(self, event: str, **payload: Any) -> list[str]:
        """The texts that a hook answers."""
        payload = {"session_id": "s-1", "transcript_path": str(self.path), "cwd": str(self.project), **payload}
        answer = self.run("hook", "openclaw", event, stdin=json.dumps(payload)).json
        return [message["content"] for message in answer["messages"]]

    def recall(self, *words: str) -> str:
        return self.run("recall", "--raw", "--everywhere", *words).out


@pytest.fixture
def gateway(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    monkeypatch.setenv("HOME", str(tmp_path))
    gateway = Gateway(tmp_path, run)
    yield gateway
    gateway.db.close()


def work(gateway: Gateway) -> None:
    """A turn with an edit, a command that fails, and a long answer."""
    gateway.hook("session_start", source="startup")
    gateway.hook("prompt", prompt="mend the tide importer in src/tide_import.py")
    gateway.message("user", "mend the tide importer in src/tide_import.py")
    call = {"type": "toolCall", "id": "c1", "name": "exec", "arguments": {"command": "make tides"}}
    gateway.message("assistant", [{"type": "text", "text": "I look at the retries."}, call], stopReason="toolUse")
    details = {"status": "completed", "exitCode": 2}
    result = [{"type": "text", "text": "gauge 7 é missing"}]
    gateway.message("toolResult", result, toolCallId="c1", toolName="exec", details=details)
    gateway.event({"type": "custom", "customType": "openclaw.cache-ttl", "data": {}})
    answer = [{"type": "text", "text": f"The osprey gauge needs four retries. {'x' * 2_000}"}]
    gateway.message("assistant", answer, stopReason="stop")
    gateway.hook("tool", files=[str(gateway.project / "src" / "tide_import.py")])
    gateway.hook("turn_end", tokens=52_000, window=64_000)


def test_a_turn_is_archived_once_from_the_open_database(gateway: Gateway) -> None:
    work(gateway)
    assert gateway.recall("osprey gauge").count("osprey gauge needs") == 1
    (call,) = gateway.run("how", "make tides").result["commands"]
    assert (call["tool"], call["outcome"]) == ("exec", "failed")
    again = gateway.run("memory", "archive", "--all").result
    assert (again["transcripts"], again["episodes"]["added"], again["calls"]) == (1, 0, 0)
    assert again["skippedCount"] == 0


def test_a_session_is_read_again_only_from_where_it_was_read(gateway: Gateway) -> None:
    work(gateway)
    first = gateway.run("memory", "archive", "--all").result
    gateway.message("user", "and the heron gauge")
    gateway.event({"type": "message", "message": {"role": "user", "content": "another session's puffin gauge"}}, "s-2")
    grown = gateway.run("memory", "archive", "--all").result
    assert first["bytes"] == 0
    assert 0 < grown["bytes"] < 600
    assert "heron" in gateway.recall("heron gauge")


def test_the_note_is_given_in_every_turn_until_the_next_compaction(gateway: Gateway) -> None:
    work(gateway)
    assert gateway.hook("before_compaction") == []
    gateway.event({"type": "compaction", "summary": "Some work.", "firstKeptEntryId": "e-5", "tokensBefore": 52_000})
    assert gateway.hook("after_compaction") == []  # nothing that it answers reaches the model
    (note,) = gateway.hook("prompt", prompt="go on")
    assert "## Session Recovery" in note
    assert gateway.hook("prompt", prompt="go on, please") == [note]
    state = gateway.run("checkpoint", "show", "s-1").result
    assert state["checkpoint"]["compactionCount"] == 1
    gateway.hook("after_compaction")  # within a minute: the note stays
    assert gateway.hook("prompt", prompt="and now") == [note]
    injected = gateway.run("otel", "search", "compaction.inject").result["events"]
    assert [event["action"] for event in injected].count("compaction.inject") == 1


def test_a_damaged_row_costs_no_note(gateway: Gateway) -> None:
    work(gateway)
    gateway.hook("after_compaction")
    gateway.event({"type": "custom", "data": {}})
    gateway.db.execute("UPDATE transcript_events SET event_json=NULL, event_zstd=x'00' WHERE seq=?", (gateway.count,))
    gateway.db.commit()
    (note,) = gateway.hook("prompt", prompt="go on")
    assert "## Session Recovery" in note
    assert gateway.run("otel", "search", "hook.failed").result["events"] == []


def test_a_text_too_long_for_the_state_is_not_given_in_part(gateway: Gateway, home: Path) -> None:
    gateway.hook("prompt", prompt="how is the harbour?")
    path = home / "sessions" / "s-1.json"
    long = enclose("session-recovery", ["harbour " * 600])
    given = {"compaction-recovery": long, "known-fix": enclose("known-fix", ["dredge the harbour"])}
    path.write_text(json.dumps({**json.loads(path.read_text()), "givenTexts": given}))
    assert gateway.hook("prompt", prompt="and now?") == [given["known-fix"]]


def test_what_a_start_recalled_stands_in_every_turn(gateway: Gateway) -> None:
    gateway.run("memory", "write", "--global", "The gauge of Husum is read in UTC")
    gateway.hook("session_start", source="startup")
    first = gateway.hook("prompt", prompt="mend the tides")
    assert ["Husum" in text for text in first] == [True]
    gateway.hook("session_start", source="resume")  # another process takes the session up
    assert gateway.hook("prompt", prompt="go on") == first


def test_a_gateway_that_edits_outside_of_any_project_is_served(gateway: Gateway) -> None:
    gateway.run("memory", "write", "--global", "src/tide_import.py holds the gauges of Husum", "--tags", "src")
    env = {"JOELCLAW_ROLE": "gateway"}
    payload = {"session_id": "s-9", "cwd": str(gateway.project), "files": ["src/tide/husum.py"]}
    gateway.run("hook", "openclaw", "tool", stdin=json.dumps(payload), env=env)
    assert gateway.run("otel", "search", "hook", "--level", "warn,error").result["events"] == []


def test_idle_run_compacts_the_session_by_its_key(gateway: Gateway, tmp_path: Path) -> None:
    work(gateway)
    command = put(tmp_path / "bin" / "openclaw", f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n', 0o755)
    env = {"PATH": f"{command.parent}:/usr/bin:/bin", "JOELCLAW_COMPACTION_IDLE_TRIGGER_MINUTES": "1"}
    payload = {"session_id": "s-1", "transcript_path": str(gateway.path), "cwd": str(gateway.project)}
    turn = json.dumps({**payload, "tokens": 52_000, "window": 64_000})
    gateway.run("hook", "openclaw", "turn_end", stdin=turn, env=env)
    later = {**env, "JOELCLAW_NOW_MS": "1900000000000"}
    gateway.run("idle", "run", "--once", env=later)
    assert (tmp_path / "asked").read_text() == "sessions compact agent:main:harbour\n"
