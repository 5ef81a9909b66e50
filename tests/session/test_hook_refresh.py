"""A prompt in a long session is recorded and answered with what changed, in few writes."""

import json
import time
from pathlib import Path
from typing import Any

import faults
import pytest
from conftest import NOW_MS, Run
from conftest import at_ms as at

from core import config
from session.hook import Hook
from session.reactions import injection, refresh

MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
TASK = "Fix the memory use of the buoyline importer"
LATER = "and now the same for the tide tables of the buoyline importer"
DUE = 45 * 60_000
HANGS = """\
import sys, time
def audited(event, given):
    while event == "socket.connect":
        time.sleep(0.01)
sys.addaudithook(audited)
"""


def payload(prompt: str) -> str:
    return json.dumps(
        {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": prompt, "cwd": "/srv/tides"}
    )


def known(home: Path) -> dict[str, Any]:
    return json.loads((home / "sessions" / "s1.json").read_text())


@pytest.fixture
def under_way(run: Run, home: Path) -> None:
    """A memory, and a session with one prompt that is 45 minutes old when it is due."""
    run("memory", "write", MEMORY, env=at(0))
    assert run("hook", "claude", stdin=payload(TASK), env=at(0)).out == ""


@pytest.mark.usefixtures("under_way")
def test_a_prompt_after_a_while_brings_a_refresh(run: Run, home: Path) -> None:
    outcome = run("hook", "claude", stdin=payload(LATER), env=at(DUE)).json["hookSpecificOutput"]
    assert outcome["hookEventName"] == "UserPromptSubmit"
    assert "## Context Refresh\n" in outcome["additionalContext"]
    assert MEMORY in outcome["additionalContext"]
    after = known(home)
    assert (after["lastMessageAt"], after["lastRefreshAt"]) == (NOW_MS + DUE, NOW_MS + DUE)
    assert after["counts"]["injections"] == 1
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert len(after["pendingFeedback"]) == 1
    (event,) = [
        event
        for event in run("otel", "search", "context.refresh", "--hours", "9", env=at(DUE)).result["events"]
        if event["action"] == "context.refresh.injected"
    ]
    assert event["metadata"]["memoryIds"] == [after["pendingFeedback"][0]["id"]]
    assert run("hook", "claude", stdin=payload("go on"), env=at(DUE + 90_000)).out == ""


@pytest.mark.usefixtures("under_way")
@pytest.mark.parametrize("step", [(refresh, "trigger_of"), (injection, "hand_over")], ids=["trigger", "event"])
def test_a_refresh_that_fails_is_still_due(home: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str]) -> None:
    def broken(*_: object, **__: object) -> str:
        raise RuntimeError("no refresh today")

    monkeypatch.setattr(*step, broken)
    assert answer(home, monkeypatch, DUE) == ""
    after = known(home)
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert after["lastRefreshAt"] is None


@pytest.mark.usefixtures("under_way")
def test_a_prompt_is_recorded_even_if_its_recall_hangs_until_the_deadline(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "hangs").mkdir()
    (tmp_path / "hangs" / "sitecustomize.py").write_text(HANGS)
    cluster = '[store]\nbackend = "typesense"\nurls = "http://127.0.0.1:9"\n[environment]\nTYPESENSE_API_KEY = "key"\n'
    (home / "config.toml").write_text(cluster)
    for limit_ms in faults.DEADLINES_MS:
        env = {**at(DUE), "PYTHONPATH": str(tmp_path / "hangs"), "JOELCLAW_HOOK_DEADLINE_MS": limit_ms}
        assert run("hook", "claude", stdin=payload(LATER), env=env).out == ""
        after = known(home)
        if len(after["messages"]) == 2:  # it came so far
            break
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert (after["counts"]["injections"], after["lastMessageAt"]) == (0, NOW_MS + DUE)
    outcome = run("hook", "claude", stdin=payload("go on with it"), env=at(DUE + 90_000)).json
    assert MEMORY in outcome["hookSpecificOutput"]["additionalContext"]  # it is still due


@pytest.mark.usefixtures("under_way")
def test_a_text_that_is_given_while_the_store_is_locked_is_recorded(run: Run, home: Path) -> None:
    with faults.write_lock(home):
        assert MEMORY in run("hook", "claude", stdin=payload(LATER), env=at(DUE)).out
    run("hook", "claude", stdin=payload("go on"), env=at(DUE + 90_000))
    events = run("otel", "search", "", "--hours", "9", env=at(DUE + 90_000)).result["events"]
    actions = [event["action"] for event in events]
    assert actions.count("context.refresh.injected") == 1
    assert actions.count("hook.degraded") == 0  # a prompt only reads the store


def answer(home: Path, monkeypatch: pytest.MonkeyPatch, later: int) -> str:
    """What the hook answers in this process."""
    for name, value in {**at(later), "JOELCLAW_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    hook_ = Hook("claude", "", time.monotonic())
    hook_._config = config.load()
    return hook_.answer(payload(LATER).encode())
