"""What holds for every event of a session: deadlines, locks, faults, owed texts, refreshes, and what it reads."""

import fcntl
import json
from pathlib import Path
from typing import Any

import faults
import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import NOW, NOW_MS, Run, at_ms, put

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


HANGS = """\
import sys, time
def audited(event, given):
    while event == "socket.connect":
        time.sleep(0.01)
sys.addaudithook(audited)
"""
LATER = "and now the same for the tide tables of the buoyline importer"
DUE = 45 * 60_000


@pytest.fixture
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home, for what this process itself does."""
    for name, value in {**NOW, "JOELCLAW_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    return home


def state(home: Path) -> dict[str, Any]:
    return json.loads((home / "sessions" / "s1.json").read_text())


def hook(run: Run, event: str, *, at: int = 0, client: str = "pi", env: Any = None, **more: Any) -> list[Any]:
    """The texts that a hook brings, so many ms after the session began."""
    payload = json.dumps({"session_id": "s1", "cwd": "/srv/tides", **more})
    return run("hook", client, event, stdin=payload, env={**at_ms(at), **(env or {})}).json["messages"]


def kinds(texts: list[Any]) -> list[str]:
    return [text["customType"] for text in texts]


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("no text today")


def ends(*_: object) -> None:
    raise SystemExit


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


def test_a_note_lost_to_the_deadline_comes_with_a_prompt(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook(run, "prompt", prompt=TASK, percent=70)
    with monkeypatch.context() as patched:
        patched.setattr(Hook, "claim", ends)
        assert run("hook", "pi", "after_compaction", stdin='{"session_id": "s1"}', env=NOW).out == ""
    assert state(home)["noteOwed"] is True
    notes = [kinds(hook(run, "prompt", prompt="go on please", percent=20)) for _ in range(2)]
    assert notes == [["compaction-recovery"], []]
    assert (state(home)["noteOwed"], state(home)["checkpoint"]["compactionCount"]) == (False, 1)


@pytest.mark.parametrize("step", [(recovery, "_compose"), (injection, "hand_over")], ids=["note", "its event"])
@pytest.mark.parametrize("again", ["prompt", "session_start"])
def test_a_note_that_fails_is_given_once_at_the_next_event(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str], again: str
) -> None:
    hook(run, "prompt", prompt=TASK, percent=70)
    with monkeypatch.context() as patched:
        patched.setattr(*step, broken)
        assert hook(run, "after_compaction") == []
    assert (state(home)["noteOwed"], state(home)["lastInjectionAt"]) == (True, None)
    texts = hook(run, again, prompt="go on please", percent=20, source="compact")
    assert kinds(texts) == ["compaction-recovery"]


def test_a_text_is_printed_if_a_write_ends_the_process(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "write", MEMORY, env=NOW)
    hook(run, "session_start", client="opencode")
    (home / "sessions" / "s1.json").write_text(json.dumps({**state(home), "noteOwed": True, "messages": []}))
    monkeypatch.setattr(injection, "move_priorities", ends)
    assert state(home)["pendingFeedback"] != []
    used = {"id": "1", "role": "assistant", "text": MEMORY, "at": NOW_MS}
    texts = hook(run, "prompt", at=60_000, client="opencode", prompt="sort the tide tables by station", entries=[used])
    assert kinds(texts) == ["compaction-recovery"]
    assert (state(home)["noteOwed"], state(home)["pendingFeedback"]) == (False, [])
    (failed,) = run("otel", "search", "hook.failed", "--hours", "9999").result["events"]
    assert failed["error"].startswith("SystemExit")


def test_an_event_without_information_creates_no_file(run: Run, home: Path) -> None:
    assert hook(run, "session_end") == hook(run, "after_compaction") == []
    assert not (home / "sessions").exists()


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


def test_the_note_is_given_again_and_no_compaction_is_counted(run: Run, home: Path) -> None:
    hook(run, "prompt", prompt=TASK)
    for source in ("resume", "compact"):
        assert hook(run, "session_start", source=source) == [], "there was no compaction yet"
    hook(run, "before_compaction")
    (first,) = hook(run, "after_compaction", at=60_000)
    (again,) = hook(run, "session_start", at=DUE, source="compact")
    assert again == first
    assert (state(home)["checkpoint"]["compactionCount"], state(home)["counts"]["injections"]) == (1, 1)
    events = run("otel", "search", "compaction.inject", env=at_ms(DUE)).result
    assert [event["action"] for event in events["events"]] == ["compaction.inject.repeated", "compaction.inject"]


@pytest.fixture
def under_way(run: Run) -> None:
    """A memory, and a session with one prompt that is 45 minutes old when a refresh is due."""
    run("memory", "write", MEMORY, "--global", env=NOW)
    assert hook(run, "prompt", prompt=TASK) == []


@pytest.mark.usefixtures("under_way")
def test_a_refresh_is_given_and_recorded_while_the_store_is_locked(run: Run, home: Path) -> None:
    with faults.write_lock(home):
        (text,) = hook(run, "prompt", at=DUE, prompt=LATER)
    assert "## Context Refresh\n" in text["content"] and MEMORY in text["content"]
    after = state(home)
    assert (after["lastMessageAt"], after["lastRefreshAt"]) == (NOW_MS + DUE, NOW_MS + DUE)
    assert after["counts"]["injections"] == 1
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert hook(run, "prompt", at=DUE + 90_000, prompt="go on") == []
    events = run("otel", "search", "", "--hours", "9", env=at_ms(DUE + 90_000)).result["events"]
    (event,) = [event for event in events if event["action"] == "context.refresh.injected"]
    assert event["metadata"]["memoryIds"] == [entry["id"] for entry in after["pendingFeedback"]]
    assert "hook.degraded" not in [event["action"] for event in events], "a prompt only reads the store"


@pytest.mark.usefixtures("under_way")
@pytest.mark.parametrize("step", [(refresh, "trigger_of"), (injection, "hand_over")], ids=["trigger", "event"])
def test_a_failed_refresh_stays_due(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str]
) -> None:
    monkeypatch.setattr(*step, broken)
    assert hook(run, "prompt", at=DUE, prompt=LATER) == []
    after = state(home)
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert after["lastRefreshAt"] is None


@pytest.mark.usefixtures("under_way")
def test_a_prompt_is_recorded_even_if_its_recall_hangs_until_the_deadline(run: Run, home: Path, tmp_path: Path) -> None:
    put(tmp_path / "hangs" / "sitecustomize.py", HANGS)
    cluster = '[store]\nbackend = "typesense"\nurls = "http://127.0.0.1:9"\n[environment]\nTYPESENSE_API_KEY = "key"\n'
    (home / "config.toml").write_text(cluster)
    for limit_ms in faults.DEADLINES_MS:
        env = {"PYTHONPATH": str(tmp_path / "hangs"), "JOELCLAW_HOOK_DEADLINE_MS": limit_ms}
        assert hook(run, "prompt", at=DUE, prompt=LATER, env=env) == []
        after = state(home)
        if len(after["messages"]) == 2:  # it came so far
            break
    assert [entry["text"] for entry in after["messages"]] == [TASK, LATER]
    assert (after["counts"]["injections"], after["lastMessageAt"]) == (0, NOW_MS + DUE)
    (text,) = hook(run, "prompt", at=DUE + 90_000, prompt="go on with it")
    assert MEMORY in text["content"], "it is still due"


def is_archived(run: Run, path: Path, name: str) -> bool:
    """Whether what was said in the session is found after an event."""
    about = {"session_id": SESSION, "transcript_path": str(path), "cwd": CWD, "hook_event_name": name}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{CWD}/src/gull.py"}, "tool_response": {}}
    assert run("hook", "claude", stdin=json.dumps({**about, **edit} if name == "PostToolUse" else about)).err == ""
    return any("Let the gull fly" in hit["observation"] for hit in run("recall", "let the gull fly").result["hits"])


@pytest.mark.parametrize(("megabytes", "at_the_edit"), [(0.0, False), (0.3, True)])
def test_a_short_transcript_waits_for_the_stop(run: Run, tmp_path: Path, megabytes: float, at_the_edit: bool) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user("Let the gull fly")
    transcript.call("e1", "Edit", file_path=f"{CWD}/src/gull.py", old_string="a", new_string="b")
    transcript.outcome("e1", "The file was updated. " * int(megabytes * 45_000))
    assert is_archived(run, transcript.path, "PostToolUse") is at_the_edit
    assert is_archived(run, transcript.path, "Stop")
