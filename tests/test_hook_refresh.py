"""A prompt in a session that lasts: noted, and answered with what changed, in as few writes as that takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run

from core import config
from session import hook, refresh, state

MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
TASK = "Fix the memory use of the buoyline importer"
LATER = "and now the same for the tide tables of the buoyline importer"
DUE = 45 * 60_000


def payload(prompt: str) -> str:
    return json.dumps(
        {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": prompt, "cwd": "/srv/tides"}
    )


def at(ms: int) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + ms)}


def known(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "sessions" / "s1.json").read_text())
    return found


@pytest.fixture
def under_way(run: Run, home: Path) -> None:
    """A memory, and a session with one prompt that is 45 minutes old when it is due."""
    run("memory", "write", MEMORY, env=at(0))
    assert run("hook", "claude", stdin=payload(TASK), env=at(0)).out == ""


@pytest.mark.usefixtures("under_way")
def test_a_prompt_after_a_while_brings_a_refresh(run: Run, home: Path) -> None:
    told = run("hook", "claude", stdin=payload(LATER), env=at(DUE)).json["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert f"{refresh.HEADING}\n" in told["additionalContext"]
    assert MEMORY in told["additionalContext"]
    after = known(home)
    assert after["injectionInFlight"] is None
    assert (after["lastMessageAt"], after["lastRefreshAt"]) == (NOW_MS + DUE, NOW_MS + DUE)
    assert after["counts"]["injections"] == 1
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert len(after["pendingFeedback"]) == 1
    (event,) = [
        one
        for one in run("otel", "search", "context.refresh", "--hours", "9", env=at(DUE)).result["events"]
        if one["action"] == "context.refresh.injected"
    ]
    assert event["metadata"]["memoryIds"] == [after["pendingFeedback"][0]["id"]]
    assert run("hook", "claude", stdin=payload("go on"), env=at(DUE + 90_000)).out == ""


@pytest.mark.usefixtures("under_way")
@pytest.mark.parametrize(("later", "writes"), [(60_000, 1), (DUE, 2)], ids=["not due", "due"])
def test_writes_of_the_state(home: Path, monkeypatch: pytest.MonkeyPatch, later: int, writes: int) -> None:
    count = 0
    store = state.store

    def counted(current: Any) -> None:
        nonlocal count
        count += 1
        store(current)

    monkeypatch.setattr(state, "store", counted)
    answer(home, monkeypatch, later)
    assert count == writes


@pytest.mark.usefixtures("under_way")
def test_a_refresh_that_fails_leaves_the_prompt_noted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> str:
        raise RuntimeError("no trigger today")

    monkeypatch.setattr(refresh, "trigger", broken)
    assert answer(home, monkeypatch, DUE) == ""
    after = known(home)
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert (after["injectionInFlight"], after["lastRefreshAt"]) == (None, None)


def answer(home: Path, monkeypatch: pytest.MonkeyPatch, later: int) -> str:
    """What the hook answers in this process."""
    for name, value in {**at(later), "JOELCLAW_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    call = hook.Call("claude", "", 0.0)
    call._config = config.load()
    return call.answer(payload(LATER).encode())
