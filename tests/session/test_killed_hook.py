"""Events of a hook that is killed after its answer are stored once."""

import json
import os
import select
import signal
import subprocess
from pathlib import Path

from conftest import PATIENCE_S, Run, at_ms
from faults import paused

NOTE = "the staging queue drains at 14:00 UTC, and the deploy waits for it"
PROMPT = "drain the staging queue before the deploy"


def event(session: str) -> str:
    """A prompt or the end of a turn as pi sends it: it is answered with a line, so that one sees when."""
    return json.dumps({"session_id": session, "cwd": "/", "prompt": PROMPT})


def actions_of(run: Run, session: str, env: dict[str, str]) -> list[str]:
    """The events of a session, once the end of a turn has come by."""
    run("hook", "pi", "turn_end", stdin=event("next"), env=env)
    words = ("otel", "list", "--level", "debug,info,warn,error", "--hours", "1", "--limit", "200")
    events = run(*words, env=env).result["events"]
    return [event["action"] for event in events if event.get("sessionId") == session]


def fill_spool(home: Path) -> None:
    """Let the next hook that its client does not wait for store its events."""
    with (home / "spool" / "events.jsonl").open("a") as spool:
        spool.write("\n" * 20_000)


def has_answered(process: subprocess.Popen[bytes]) -> bool:
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], 0)[0])


def test_events_survive_a_kill_after_the_answer(run: Run, home: Path) -> None:
    run("memory", "write", NOTE)
    run("hook", "pi", "prompt", stdin=event("before"))  # the folders are there
    killed = 0
    for at in range(1, 100):
        env = at_ms(at * 60_000)
        fill_spool(home)
        process = paused(home, "hook", "pi", "turn_end", step=at, stdin=event(f"s{at}").encode(), env=env)
        ended, answered = process.poll() is not None, has_answered(process)
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        if ended:
            break
        names = actions_of(run, f"s{at}", env)
        assert os.listdir(home / "spool") == []
        if answered:
            killed += 1
            assert names.count("hook.completed") == 1
    assert ended and killed, "it comes to a pause behind its answer"


def test_events_survive_a_kill_during_the_commit(run: Run, home: Path) -> None:
    run("memory", "write", NOTE)
    run("hook", "pi", "prompt", stdin=event("before"))  # the folders are there
    for commit in range(1, 5):
        fill_spool(home)
        process = paused(home, "hook", "pi", "turn_end", commit=commit, stdin=event(f"c{commit}").encode())
        answered = has_answered(process)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
        if answered:
            break
    assert answered, "its events are stored behind its answer"
    names = actions_of(run, f"c{commit}", {})
    assert names.count("hook.completed") == 1 and len(names) == len(set(names))


def test_events_are_stored_when_many_are_spooled_and_the_client_does_not_wait(run: Run, home: Path) -> None:
    run("hook", "pi", "turn_end", stdin=event("s"))
    fill_spool(home)
    run("hook", "pi", "prompt", stdin=event("s"))
    assert os.listdir(home / "spool") == ["events.jsonl"]
    run("hook", "pi", "turn_end", stdin=event("s"))
    assert os.listdir(home / "spool") == []
    assert actions_of(run, "s", {}).count("hook.completed") == 3
