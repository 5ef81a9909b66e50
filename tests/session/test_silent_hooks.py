"""A hook that has nothing to say lets its client go at once; what its event calls for is done in a child, in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import JOELCLAW, PATIENCE_S, Run, clean_environment

from core.files import FileLock
from core.process import background_process

pytestmark = pytest.mark.spawned
AT_ONCE = {"JOELCLAW_HOOK_WAIT": "false"}
SAID = "The tide tables are sorted by harbour."


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    """A turn."""
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    made.user("sort the tide tables")
    made.assistant(SAID)
    return made


def payload(transcript: Transcript, name: str, **more: str) -> str:
    about = {"hook_event_name": name, "session_id": SESSION, "cwd": CWD, "transcript_path": str(transcript.path)}
    return json.dumps({**about, **more})


def state(home: Path) -> Path:
    return home / "sessions" / f"{SESSION}.json"


def at_work(home: Path) -> str:
    return str(home / "sessions" / ".work" / "hook" / SESSION)


def is_archived(run: Run) -> bool:
    return SAID in run("recall", "tide tables harbour").out


@pytest.mark.parametrize("name", ["Stop", "PreCompact", "SessionEnd"])
def test_the_client_goes_on_while_the_work_is_done(run: Run, home: Path, transcript: Transcript, name: str) -> None:
    with FileLock(str(home / "sessions" / ".locks" / SESSION)):  # no state is written meanwhile
        hook = subprocess.Popen(
            [JOELCLAW, "hook", "claude"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=clean_environment(home, **AT_ONCE), start_new_session=True,
        )  # fmt: skip
        told, _ = hook.communicate(payload(transcript, name).encode(), timeout=PATIENCE_S)
        assert (hook.returncode, told) == (0, b"")
        assert not background_process.wait(at_work(home), 0) and not state(home).exists()
        with pytest.raises(ProcessLookupError):  # its client may end all that it left in its group
            os.killpg(hook.pid, signal.SIGKILL)
    assert background_process.wait(at_work(home), PATIENCE_S)
    assert is_archived(run) and (state(home).exists() or name == "SessionEnd")
    (event,) = run("otel", "search", "hook.completed", "--level", "debug").result["events"]
    assert event["metadata"]["event"] == name


def test_the_next_hook_of_the_session_comes_after_it(run: Run, home: Path, transcript: Transcript) -> None:
    run("hook", "claude", stdin=payload(transcript, "PreCompact", trigger="auto"), env=AT_ONCE)
    told = run("hook", "claude", stdin=payload(transcript, "SessionStart", source="compact"), env=AT_ONCE)
    assert "sort the tide tables" in told.out  # though no hook has seen the prompt
    done = run("otel", "search", "hook.completed", "--level", "debug").result["events"]
    assert [one["metadata"]["event"] for one in done] == ["SessionStart", "PreCompact"]


@pytest.mark.parametrize("agent", ["pi", "gemini"])
def test_a_client_that_wants_an_answer_gets_the_empty_one_once(run: Run, agent: str) -> None:
    event = {"pi": "turn_end", "gemini": "SessionEnd"}[agent]
    done = run("hook", agent, event, stdin=json.dumps({"hook_event_name": event, "session_id": "s"}), env=AT_ONCE)
    waited = run("hook", agent, event, stdin=json.dumps({"hook_event_name": event, "session_id": "w"}))
    assert done.out == waited.out


def test_two_at_once_are_done_side_by_side(run: Run, home: Path, transcript: Transcript) -> None:
    with FileLock(at_work(home)):
        run("hook", "claude", stdin=payload(transcript, "Stop"), env=AT_ONCE)
        assert state(home).exists() and is_archived(run)


def test_with_hook_wait_it_is_done_when_the_hook_ends(run: Run, home: Path, transcript: Transcript) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[hook]\nwait = true\n")
    run("hook", "claude", stdin=payload(transcript, "Stop"), env={"JOELCLAW_HOOK_WAIT": ""})
    assert state(home).exists() and is_archived(run)
    assert not Path(at_work(home)).exists()


@pytest.mark.parametrize(("name", "error"), [("Stop", "not done within"), ("UserPromptSubmit", "no answer within")])
def test_whatever_it_hangs_on_it_says_so(run: Run, home: Path, name: str, error: str) -> None:
    (home / "sessions").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    os.mkfifo(home / "sessions" / "stuck.json")  # reading it waits for a writer that never comes
    event = json.dumps({"hook_event_name": name, "session_id": "stuck", "prompt": "sort the tide tables"})
    run("hook", "claude", stdin=event, env={**AT_ONCE, "JOELCLAW_HOOK_DEADLINE_MS": "300"})
    until = time.monotonic() + PATIENCE_S
    while not (told := run("otel", "search", "hook.timeout").result["events"]):
        assert time.monotonic() < until, "it never said so"
    assert [one["error"].startswith(error) for one in told] == [True]
