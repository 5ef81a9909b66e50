"""What holds for every event of a session: deadlines, locks, faults, owed texts, refreshes, and what it reads."""

import fcntl
import json
import time
from pathlib import Path
from typing import Any

import faults
import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import NOW, NOW_MS, Run, at_ms

from core import config
from core.store import sqlite
from otel import log
from otel.log import new_event
from session.hook import Hook
from session.reactions import injection, recovery, refresh
from session.session import Session
from session.state import read_state

TASK = "Fix the memory use of the buoyline importer"
MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"


@pytest.fixture
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home, for what this process itself does."""
    for name, value in {**NOW, "JOELCLAW_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    return home


def state(home: Path, session: str = "s1") -> dict[str, Any]:
    return json.loads((home / "sessions" / f"{session}.json").read_text())


def hook(event: str, **more: Any) -> list[str]:
    """Answer one event of pi in this process; returns the kinds of its texts."""
    call = Hook("pi", event, time.monotonic())
    call._config = config.load()
    answer = call.answer(json.dumps({"session_id": "s1", "cwd": "/srv/tides", **more}).encode())
    return [message["customType"] for message in json.loads(answer)["messages"]]


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("no text today")


def test_nothing_is_done_for_a_state_that_cannot_be_locked(run: Run, home: Path) -> None:
    run("checkpoint", "save", "--session", "s1", "--percent", "10", "-m", TASK, env=NOW)
    with (home / "sessions" / ".locks" / "s1").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        failed = run("checkpoint", "save", "--session", "s1", "--percent", "90", env=NOW, ok=False)
    assert failed.json["error"]["code"] == "STATE_BUSY"
    assert run("memory", "recent", "--hours", "1", env=NOW).result["count"] == 0


@pytest.mark.spawned
def test_a_hook_that_waits_too_long_for_the_lock_answers_nothing_and_records_it(run: Run, home: Path) -> None:
    event = json.dumps({"session_id": "s1", "prompt": TASK})
    run("hook", "pi", "prompt", stdin=event)
    with (home / "sessions" / ".locks" / "s1").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = run("hook", "pi", "prompt", stdin=event, env={"JOELCLAW_HOOK_DEADLINE_MS": "500"})
    assert done.json == {"messages": []}
    (failed,) = run("otel", "search", "hook.failed", "--hours", "9999").result["events"]
    assert failed["error"].startswith("STATE_BUSY")


@pytest.mark.usefixtures("here")
def test_a_note_lost_to_the_deadline_is_given_at_the_next_prompt(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook("prompt", prompt=TASK, percent=70)

    def too_late(_: Hook) -> bool:
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(Hook, "claim", too_late)
        hook("after_compaction")
    assert state(home)["noteOwed"] is True
    assert [hook("prompt", prompt="go on please", percent=20) for _ in range(2)] == [["compaction-recovery"], []]
    assert (state(home)["noteOwed"], state(home)["checkpoint"]["compactionCount"]) == (False, 1)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("step", [(recovery, "_compose"), (injection, "hand_over")], ids=["note", "its event"])
@pytest.mark.parametrize("again", ["prompt", "session_start"])
def test_a_note_that_fails_is_given_once_at_the_next_event(
    home: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str], again: str
) -> None:
    hook("prompt", prompt=TASK, percent=70)
    with monkeypatch.context() as patched:
        patched.setattr(*step, broken)
        assert hook("after_compaction") == []
    assert (state(home)["noteOwed"], state(home)["lastInjectionAt"]) == (True, None)
    assert hook(again, prompt="go on please", percent=20, source="compact") == ["compaction-recovery"]


@pytest.mark.usefixtures("here")
def test_a_text_is_printed_even_if_a_queued_write_ends_the_process(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("memory", "write", MEMORY, env=NOW)
    opencode_hook(run, "session_start", 0)
    (home / "sessions" / "o.json").write_text(json.dumps({**state(home, "o"), "noteOwed": True, "messages": []}))

    def ends(*_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(injection, "move_priorities", ends)
    assert state(home, "o")["pendingFeedback"] != []
    used = {"id": "1", "role": "assistant", "text": MEMORY, "at": NOW_MS}
    texts = opencode_hook(run, "prompt", 1, prompt=TIDES, entries=[used])
    assert [text["customType"] for text in texts] == ["compaction-recovery"]
    assert (state(home, "o")["noteOwed"], state(home, "o")["pendingFeedback"]) == (False, [])
    (failed,) = run("otel", "search", "hook.failed", "--hours", "9999").result["events"]
    assert failed["error"].startswith("SystemExit")


@pytest.mark.usefixtures("here")
def test_a_prompt_is_recorded_before_anything_is_recalled(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[str] = []

    def check(*_: object) -> str:
        tasks.append(state(home)["checkpoint"]["currentTask"])
        return ""

    monkeypatch.setattr(refresh, "trigger_of", check)
    hook("prompt", prompt=TASK)
    assert tasks == [TASK]


@pytest.mark.usefixtures("here")
def test_an_event_without_information_creates_no_file(home: Path) -> None:
    assert hook("session_end") == hook("after_compaction") == []
    assert not (home / "sessions").exists()


@pytest.mark.usefixtures("here")
def test_a_failing_reaction_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "write", MEMORY, env=NOW)
    run("checkpoint", "save", "--session", "s1", "-m", TASK, env=NOW)

    monkeypatch.setattr(refresh, "_changed", broken)
    result = run("inject", "refresh", "--session", "s1", "--percent", "60", env=NOW).result
    assert (result["injected"], result["reason"]) == (False, "failed")
    assert result["refreshError"] == {"code": "RuntimeError", "message": "no text today"}


@pytest.mark.usefixtures("here")
def test_queued_events_wait_for_the_save() -> None:
    with Session("s1", config.load()) as session:
        session.queue_event(new_event("a.b", now=NOW_MS))
        assert not log.has_spooled()
        session.state.task = TASK
        session.save()
    assert log.has_spooled()
    saved = read_state("s1")
    assert saved is not None and saved.task == TASK


def test_an_event_refused_by_a_full_spool_is_stored_although_a_step_failed(here: Path) -> None:
    (here / "spool").mkdir(parents=True, mode=0o700)
    (here / "spool" / "events.jsonl").write_bytes(b"x" * (log.MAX_SPOOL_BYTES + 1))
    with Session("s1", config.load()) as session:
        session.faults.append({"step": "archive", "code": "ValueError", "message": "no"})
        session.queue_event(new_event("a.b", now=NOW_MS))
        session.save()
    db = sqlite.open_reading()
    assert db is not None and db.execute("SELECT action FROM event WHERE level <> 'debug'").fetchall() == [("a.b",)]
    assert not log.has_spooled()


@pytest.mark.usefixtures("here")
def test_a_given_role_replaces_the_known_one() -> None:
    roles = []
    for role in ("gateway", "", "worker"):
        with Session("s1", config.load(), role=role) as session:
            session.save()
            roles.append(session.state.role)
    assert roles == ["gateway", "gateway", "worker"]


TIDES = "sort the tide tables of the harbour by station"


def opencode_hook(run: Run, name: str, minute: int, **more: Any) -> list[Any]:
    payload = json.dumps({"session_id": "o", "hook_event_name": name, "cwd": "/srv/tides", **more})
    env = at_ms(minute * 60_000)
    return run("hook", "opencode", name, stdin=payload, env=env).json["messages"]


def test_the_note_is_given_again_and_no_compaction_is_counted(run: Run) -> None:
    opencode_hook(run, "prompt", 0, prompt=TIDES)
    for source in ("resume", "compact"):
        assert opencode_hook(run, "session_start", 0, source=source) == [], "there was no compaction yet"
    opencode_hook(run, "before_compaction", 1)
    (first,) = opencode_hook(run, "after_compaction", 2)
    (again,) = opencode_hook(run, "session_start", 30, source="compact")
    assert again["customType"] == "compaction-recovery"
    assert again["content"] == first["content"]
    state = run("checkpoint", "show", "o").result
    assert state["checkpoint"]["compactionCount"] == 1
    assert state["counts"]["injections"] == 1
    events = run("otel", "search", "compaction.inject", env=at_ms(3_600_000)).result
    assert [event["action"] for event in events["events"]] == ["compaction.inject.repeated", "compaction.inject"]


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


@pytest.fixture
def under_way(run: Run, home: Path) -> None:
    """A memory, and a session with one prompt that is 45 minutes old when it is due."""
    run("memory", "write", MEMORY, env=at_ms(0))
    assert run("hook", "claude", stdin=payload(TASK), env=at_ms(0)).out == ""


@pytest.mark.usefixtures("under_way")
def test_a_prompt_after_a_while_brings_a_refresh(run: Run, home: Path) -> None:
    outcome = run("hook", "claude", stdin=payload(LATER), env=at_ms(DUE)).json["hookSpecificOutput"]
    assert outcome["hookEventName"] == "UserPromptSubmit"
    assert "## Context Refresh\n" in outcome["additionalContext"]
    assert MEMORY in outcome["additionalContext"]
    after = state(home)
    assert (after["lastMessageAt"], after["lastRefreshAt"]) == (NOW_MS + DUE, NOW_MS + DUE)
    assert after["counts"]["injections"] == 1
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert len(after["pendingFeedback"]) == 1
    (event,) = [
        event
        for event in run("otel", "search", "context.refresh", "--hours", "9", env=at_ms(DUE)).result["events"]
        if event["action"] == "context.refresh.injected"
    ]
    assert event["metadata"]["memoryIds"] == [after["pendingFeedback"][0]["id"]]
    assert run("hook", "claude", stdin=payload("go on"), env=at_ms(DUE + 90_000)).out == ""


@pytest.mark.usefixtures("under_way")
@pytest.mark.parametrize("step", [(refresh, "trigger_of"), (injection, "hand_over")], ids=["trigger", "event"])
def test_a_refresh_that_fails_is_still_due(home: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str]) -> None:
    def broken(*_: object, **__: object) -> str:
        raise RuntimeError("no refresh today")

    monkeypatch.setattr(*step, broken)
    assert answer(home, monkeypatch, DUE) == ""
    after = state(home)
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert after["lastRefreshAt"] is None


@pytest.mark.usefixtures("under_way")
def test_a_prompt_is_recorded_even_if_its_recall_hangs_until_the_deadline(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "hangs").mkdir()
    (tmp_path / "hangs" / "sitecustomize.py").write_text(HANGS)
    cluster = '[store]\nbackend = "typesense"\nurls = "http://127.0.0.1:9"\n[environment]\nTYPESENSE_API_KEY = "key"\n'
    (home / "config.toml").write_text(cluster)
    for limit_ms in faults.DEADLINES_MS:
        env = {**at_ms(DUE), "PYTHONPATH": str(tmp_path / "hangs"), "JOELCLAW_HOOK_DEADLINE_MS": limit_ms}
        assert run("hook", "claude", stdin=payload(LATER), env=env).out == ""
        after = state(home)
        if len(after["messages"]) == 2:  # it came so far
            break
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert (after["counts"]["injections"], after["lastMessageAt"]) == (0, NOW_MS + DUE)
    outcome = run("hook", "claude", stdin=payload("go on with it"), env=at_ms(DUE + 90_000)).json
    assert MEMORY in outcome["hookSpecificOutput"]["additionalContext"]  # it is still due


@pytest.mark.usefixtures("under_way")
def test_a_text_that_is_given_while_the_store_is_locked_is_recorded(run: Run, home: Path) -> None:
    with faults.write_lock(home):
        assert MEMORY in run("hook", "claude", stdin=payload(LATER), env=at_ms(DUE)).out
    run("hook", "claude", stdin=payload("go on"), env=at_ms(DUE + 90_000))
    events = run("otel", "search", "", "--hours", "9", env=at_ms(DUE + 90_000)).result["events"]
    actions = [event["action"] for event in events]
    assert actions.count("context.refresh.injected") == 1
    assert actions.count("hook.degraded") == 0  # a prompt only reads the store


def answer(home: Path, monkeypatch: pytest.MonkeyPatch, later: int) -> str:
    """What the hook answers in this process."""
    for name, value in {**at_ms(later), "JOELCLAW_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    hook_ = Hook("claude", "", time.monotonic())
    hook_._config = config.load()
    return hook_.answer(payload(LATER).encode())


def is_archived(run: Run, path: Path, name: str) -> bool:
    """Whether what was said in the session is found after an event."""
    about = {"session_id": SESSION, "transcript_path": str(path), "cwd": CWD, "hook_event_name": name}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{CWD}/src/gull.py"}, "tool_response": {}}
    assert run("hook", "claude", stdin=json.dumps({**about, **edit} if name == "PostToolUse" else about)).err == ""
    return any("Let the gull fly" in hit["observation"] for hit in run("recall", "let the gull fly").result["hits"])


@pytest.mark.parametrize(("megabytes", "at_the_edit"), [(0.0, False), (0.3, True)])
def test_an_edit_leaves_a_short_transcript_to_the_stop_hook(
    run: Run, tmp_path: Path, megabytes: float, at_the_edit: bool
) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user("Let the gull fly")
    transcript.call("e1", "Edit", file_path=f"{CWD}/src/gull.py", old_string="a", new_string="b")
    transcript.outcome("e1", "The file was updated. " * int(megabytes * 45_000))
    assert is_archived(run, transcript.path, "PostToolUse") is at_the_edit
    assert is_archived(run, transcript.path, "Stop")
