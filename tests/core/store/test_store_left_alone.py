"""After one fault of the store a session asks nothing more of it; and bounds at which something is left out or cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run

from core import config
from otel.event import new_event
from session.session_store import SessionStore
from session.state import schema, state_file


def event() -> Any:
    return new_event(
        "deploy.done", source="test", component="deploy", level="info", success=True, error=None, metadata={},
        duration_ms=None, session="s", role="interactive", now=NOW_MS,
    )  # fmt: skip


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> SessionStore:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    home.mkdir(mode=0o700)
    return SessionStore(config.Config({}), NOW_MS)


def test_after_a_fault_nothing_is_asked_of_it(store: SessionStore, home: Path, tmp_path: Path) -> None:
    transcript = tmp_path / "session.jsonl"
    transcript.write_text('{"type": "session", "id": "s"}\n')
    store.faults.append({"step": "recall", "code": "STORE_BUSY", "message": "it is locked"})
    assert store.recall("the gateway") is None and store.happened(0) is None
    assert store.archive(str(transcript), agent="pi", session="s", cwd="/p", until=0.0) == []
    store.archive_items([], agent="pi", session="s", cwd="/p")
    assert store.write_task("fix the queue", source="s", session="s", project="") is None
    store.move_priorities([("m1", "echo", 2)], role="interactive", session="s")
    assert store.append([event()]) is False
    assert len(store.faults) == 1 and list(home.iterdir()) == [], "no file was made"


def test_without_a_fault_it_is_used(store: SessionStore, home: Path) -> None:
    assert store.append([]) is False and list(home.iterdir()) == [], "nothing to store opens no store"
    assert store.recall("the gateway") == [] and store.happened(0) == ([], [])
    assert store.archive("/no/where", agent="pi", session="s", cwd="/p", until=0.0) == []
    assert list(home.iterdir()) == [] and store.faults == []
    assert store.append([event()]) is True
    found = store.happened(0)
    assert found is not None and found[0] == [] and len(found[1]) == 1
    assert isinstance(store.write_task("Task: fix the queue of staging", source="s", session="s", project=""), str)
    assert store.faults == []


def test_a_state_file_has_a_million_bytes_at_most(store: SessionStore, home: Path) -> None:
    path = home / "state.json"
    for size, fits in ((1_000_000, True), (1_000_001, False)):
        path.write_text(json.dumps({"a": ""})[:-2] + "x" * (size - 9) + '"}')
        assert path.stat().st_size == size
        if fits:
            assert len(state_file.parse(str(path))["a"]) == size - 9
        else:
            with pytest.raises(schema.Damaged, match="it is far too long"):
                state_file.parse(str(path))
    assert schema.blank("s", "interactive", 0)["sessionId"] == "s"


@pytest.mark.parametrize(("length", "asked"), [(3_999, 3_999), (4_000, 4_000), (4_001, 4_001), (9_000, 4_001)])
def test_of_a_long_query_both_ends_are_searched_for(run: Run, length: int, asked: int) -> None:
    query = "a" * (length // 2) + "b" * (length - length // 2)
    result = run("recall", query, "--budget", "lean").result
    searched = result["rewrittenQuery"]
    assert len(searched) == asked and (searched == query) is (length <= 4_000)
    if length > 4_000:
        assert searched == "a" * 2_000 + " " + "b" * 2_000
