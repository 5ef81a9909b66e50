"""A job runs after a command only if it is switched on and due, for a limited time, under its lock."""

import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_transcript import Transcript
from conftest import JOELCLAW, NOW_MS, PATIENCE_S, clean_environment, put, until

from cli import mcp_tools
from core import background, config, files

ON = config.Config({"store.backend": "typesense", "otel.export": "auto"})


@pytest.fixture
def begun(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was started: lock, words, limit."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    started: list[Any] = []

    def start(words: Sequence[str], seconds: int, lock: str) -> bool:
        started.append((os.path.relpath(lock, home), words, seconds))
        return True

    monkeypatch.setattr(background, "start", start)
    return started


def wait(home: Path, seconds: int) -> None:
    """Let the last starts be some seconds ago."""
    at = time.time() - seconds
    (home / "cache").mkdir(exist_ok=True)
    for lock in ("outbox.lock", "cache/otel-export.lock"):
        (home / lock).touch()
        os.utime(home / lock, (at, at))


def test_a_job_that_is_switched_off_is_not_started(begun: list[Any], home: Path) -> None:
    background.start_due(config.Config({"store.backend": "sqlite", "otel.export": "off"}))
    background.start_due(config.Config({"store.backend": "typesense"}))
    assert begun == [] and not home.exists(), "there is no cluster of this home yet"


def test_a_job_that_is_switched_on_starts_once_when_due(begun: list[Any], home: Path) -> None:
    home.mkdir()
    wait(home, 60)
    background.start_due(ON)
    sync = ("outbox.lock", ("store", "push"), 40)
    export = (os.path.join("cache", "otel-export.lock"), ("otel", "export"), 60)
    assert begun == [sync, export]
    background.start_due(ON)
    assert begun == [sync, export]
    wait(home, 31)
    background.start_due(ON)
    assert begun == [sync, export, sync]
    wait(home, -9)
    background.start_due(ON)
    assert begun == [sync, export, sync, sync, export]


def test_a_due_job_starts_after_an_mcp_tool_call(begun: list[Any], home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    monkeypatch.setenv("JOELCLAW_OTEL_EXPORT", "auto")
    assert anyio.run(mcp_tools.recall, "tide tables").is_error is False
    assert [words for _, words, _ in begun] == [("otel", "export")]


DAY_S = 86_400


@pytest.mark.parametrize(("waited_s", "starts"), [(DAY_S + 1, True), (DAY_S - 9, False), (0, False), (-9, True)])
def test_old_data_is_pruned_once_a_day(begun: list[Any], home: Path, waited_s: int, starts: bool) -> None:
    background.start_due(config.Config({}))
    assert begun == [], "there is no store"
    home.mkdir()
    lock = home / "store.db.lock"
    lock.touch()
    at = time.time() - waited_s
    os.utime(lock, (at, at))
    for _ in range(2):
        background.start_due(config.Config({}))
    assert begun == ([(os.path.join("cache", "store-prune.lock"), ("store", "prune"), 600)] if starts else [])


def test_a_job_holds_no_descriptor_that_its_command_has_inherited(home: Path, tmp_path: Path) -> None:
    """A wrapper around a hook may wait until all its descriptors are closed."""
    home.mkdir(mode=0o700)
    done = tmp_path / "done"
    script = put(tmp_path / "model", f"#!/bin/sh\ncat >/dev/null\nuntil [ -e {done} ]; do sleep 0.05; done\n", 0o755)
    (home / "config.toml").write_text(f'[model]\ncommand = "{script}"\n')
    transcript = Transcript(tmp_path / "s.jsonl")
    for number in range(40):
        transcript.user(f"prompt {number} about the wait of the importer " + "word " * 30)
        transcript.assistant(f"answer {number} " + "text " * 30)
    reading, writing = os.pipe()
    ends = {"hook_event_name": "SessionEnd", "session_id": "s", "reason": "other"}
    event, env = json.dumps({**ends, "transcript_path": str(transcript.path)}).encode(), clean_environment(home)
    hook = [JOELCLAW, "hook", "claude"]
    subprocess.run(hook, input=event, env=env, pass_fds=[writing], check=True, timeout=PATIENCE_S)
    os.close(writing)
    lock = str(home / "cache" / "observe.lock")
    try:
        assert files.is_locked(lock), "the model is being asked"
        assert select.select([reading], [], [], PATIENCE_S)[0] and os.read(reading, 1) == b""
        assert files.is_locked(lock), "the model is still being asked"
    finally:
        done.touch()
        until(lambda: not files.is_locked(lock))
