"""`joelclaw hook` exits 0 with valid output for any input, in time; faults and kills cost no event."""

import ctypes
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, PATIENCE_S, Run, at_ms, clean_environment, put
from faults import DEADLINES_MS, SLOWEST_S, paused

AGENTS = ("pi", "claude", "codex", "gemini", "opencode")
OWN = ("pi", "opencode")  # whose extension takes one line of JSON in any case
SESSION = "6f1d2a90-5a43-4c1e-8b0e-0d9f6f2f7c11"

ODD = {
    "nothing": b"",
    "no JSON": b"hello",
    "half an object": b'{"session_id": "x", "hook_event_na',
    "a list": b"[1, 2]",
    "a number": b"7",
    "null": b"null",
    "an empty object": b"{}",
    "no session": b'{"hook_event_name": "UserPromptSubmit", "prompt": "hi"}',
    "an unknown event": b'{"hook_event_name": "Notification", "session_id": "x"}',
    "wrong types": b'{"hook_event_name": "PostToolUse", "session_id": "x", "tool_name": 4, "tool_input": [1]}',
    "a session that is a list": b'{"hook_event_name": "UserPromptSubmit", "session_id": ["x"], "prompt": "hi"}',
    "not UTF-8": b'{"hook_event_name": "UserPromptSubmit", "session_id": "x", "prompt": "\xff\xfe"}',
    "a byte-order mark": b'\xef\xbb\xbf{"hook_event_name": "Stop", "session_id": "x"}',
    "a lone surrogate": b'{"hook_event_name": "UserPromptSubmit", "session_id": "x\\ud800", "prompt": "\\ud800"}',
    "deep": b'{"hook_event_name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a path that is a folder": b'{"hook_event_name": "Stop", "session_id": "x", "transcript_path": "/tmp"}',
    "a path that is nowhere": b'{"hook_event_name": "Stop", "session_id": "x", "transcript_path": "/no/where.jsonl"}',
}


def valid(agent: str, out: str) -> bool:
    """Whether the client accepts it: nothing, or one line of its JSON."""
    if not out:
        return agent not in OWN
    value = json.loads(out)
    if agent in OWN:
        return isinstance(value["messages"], list)
    return bool(value["hookSpecificOutput"]["additionalContext"])


def events(run: Run, action: str) -> list[Any]:
    """The events of that action. The next hook takes in what could not be stored before."""
    run("hook", "claude", stdin='{"hook_event_name": "Stop", "session_id": "after"}')
    rows = run("otel", "search", action, "--limit", "200").result["events"]
    return [event for event in rows if event["action"] == action]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_hook_answers_any_payload_without_an_error(run: Run, agent: str) -> None:
    for name, payload in ODD.items():
        done = run("hook", agent, stdin=payload)
        assert done.err == "", name
        assert valid(agent, done.out), name
    assert "UNKNOWN_EVENT" not in str(events(run, "hook.failed")), (
        "a client may have events that joelclaw does not need"
    )


def test_wrong_arguments_get_an_empty_answer(run: Run) -> None:
    for words in ([], ["nobody"], ["claude", "Stop", "more"], ["claude", "--later-flag=1"], ["claude", "--x", "y"]):
        done = run("hook", *words, stdin='{"hook_event_name": "Stop", "session_id": "x"}')
        assert (done.out, done.err) == ("", "")


@pytest.mark.parametrize(("agent", "stdin", "reported", "error"), [
    ("nob\udcffdy", "{}", "nob\ufffddy", "HOOK_UNKNOWN_AGENT: 'nob\ufffddy'"),  # a byte that is not UTF-8
    ("claude", "not json", "claude", "INVALID_JSON"),
    ("generic turnend", "{}", "generic", "HOOK_UNKNOWN_EVENT: 'turnend' is not an event; the events are session_start"),
])  # fmt: skip
def test_a_wrong_call_leaves_an_event(run: Run, agent: str, stdin: str, reported: str, error: str) -> None:
    run("hook", *agent.split(), stdin=stdin)
    (event,) = events(run, "hook.failed")
    assert event["error"].startswith(error) and event["metadata"]["agent"] == reported


def started(home: Path, folder: Path, *words: str, **env: str) -> subprocess.Popen[bytes]:
    pipe, environment = subprocess.PIPE, clean_environment(home, **env)
    return subprocess.Popen([JOELCLAW, "hook", *words], stdin=pipe, stdout=pipe, env=environment, cwd=folder)


def test_an_open_stdin_does_not_stall_it(home: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    with started(home, tmp_path, "claude") as process:
        assert process.stdout.read() == b""
        assert process.wait() == 0
    assert time.monotonic() - began < SLOWEST_S


def test_an_object_on_a_pipe_that_stays_open_is_answered_at_once(home: Path, tmp_path: Path) -> None:
    with started(home, tmp_path, "pi", "turn_end") as process:
        process.stdin.write(json.dumps({"session_id": SESSION, "messages": ["sort the tide tables"]}).encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"messages": []}
        assert process.wait() == 0
    assert (home / "sessions" / f"{SESSION}.json").exists()  # and not by the deadline, which would answer the same


@pytest.mark.parametrize("agent", AGENTS)
def test_past_its_deadline_a_hook_answers_nothing_and_says_so(run: Run, home: Path, tmp_path: Path, agent: str) -> None:
    for limit_ms in DEADLINES_MS:
        began = time.monotonic()
        with started(home, tmp_path, agent, "prompt", JOELCLAW_HOOK_DEADLINE_MS=limit_ms) as process:
            process.stdin.write(b'{"hook_event_name": "UserPrompt')  # the rest never comes
            process.stdin.flush()
            out = process.stdout.read().decode().strip()
            assert process.wait() == 0
        took = time.monotonic() - began
        assert took > 0.8 * int(limit_ms) / 1000  # and not for ever
        assert out == ('{"messages": []}' if agent in OWN else "")
        if timeouts := events(run, "hook.timeout"):  # it has a moment for it
            break
    (event,) = timeouts
    assert event["error"] == f"no answer within {int(limit_ms) / 1000:g} s"
    assert event["metadata"]["agent"] == agent


def test_settings_that_cannot_be_read_do_not_stop_it(run: Run, home: Path) -> None:
    put(home / "config.toml", "[recall]\nlimit = 'many'\n")
    run("hook", "claude", stdin='{"hook_event_name": "UserPromptSubmit", "session_id": "x", "prompt": "sort tides"}')
    assert (home / "sessions" / "x.json").exists()
    (home / "config.toml").unlink()
    (event,) = events(run, "hook.config_invalid")
    assert "recall.limit" in event["error"]


def test_a_home_that_cannot_be_written_changes_nothing_for_the_agent(run: Run, home: Path) -> None:
    home.write_text("a file where the folder should be")
    for agent in AGENTS:
        event = {"session_id": "x", "hook_event_name": "UserPromptSubmit"}
        done = run("hook", agent, "prompt", stdin=json.dumps(event))
        assert valid(agent, done.out)
        assert done.err == ""


NOTE = "the staging queue drains at 14:00 UTC, and the deploy waits for it"
PROMPT = "drain the staging queue before the deploy"


def payload_of(session: str) -> str:
    """A prompt or the end of a turn as pi sends it: it is answered with a line, so that one sees when."""
    return json.dumps({"session_id": session, "cwd": "/", "prompt": PROMPT})


def actions_of(run: Run, session: str, env: dict[str, str]) -> list[str]:
    """The events of a session, once the end of a turn has come by."""
    run("hook", "pi", "turn_end", stdin=payload_of("next"), env=env)
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
    run("hook", "pi", "prompt", stdin=payload_of("before"))  # the folders are there
    killed = 0
    for at in range(1, 100):
        env = at_ms(at * 60_000)
        fill_spool(home)
        process = paused(home, "hook", "pi", "turn_end", step=at, stdin=payload_of(f"s{at}").encode(), env=env)
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
    run("hook", "pi", "prompt", stdin=payload_of("before"))  # the folders are there
    for commit in range(1, 5):
        fill_spool(home)
        process = paused(home, "hook", "pi", "turn_end", commit=commit, stdin=payload_of(f"c{commit}").encode())
        answered = has_answered(process)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
        if answered:
            break
    assert answered, "its events are stored behind its answer"
    names = actions_of(run, f"c{commit}", {})
    assert names.count("hook.completed") == 1 and len(names) == len(set(names))


def test_events_are_stored_when_many_are_spooled_and_the_client_does_not_wait(run: Run, home: Path) -> None:
    run("hook", "pi", "turn_end", stdin=payload_of("s"))
    fill_spool(home)
    run("hook", "pi", "prompt", stdin=payload_of("s"))
    assert os.listdir(home / "spool") == ["events.jsonl"]
    run("hook", "pi", "turn_end", stdin=payload_of("s"))
    assert os.listdir(home / "spool") == []
    assert actions_of(run, "s", {}).count("hook.completed") == 3


OTHER = 23451


def without_privilege() -> None:
    """Let root read and change no files of others."""
    for capability in (0, 1, 2, 3):  # chown, dac_override, dac_read_search, fowner
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def command(home: Path, *words: str, stdin: str = "") -> str:
    is_root = os.getuid() == 0
    done = subprocess.run(
        [JOELCLAW, *words], input=stdin, env=clean_environment(home), capture_output=True, text=True, cwd="/",
        preexec_fn=without_privilege if is_root else None,
    )  # fmt: skip
    assert done.returncode == 0, done
    return done.stdout


def hook_without_root(home: Path, event: str, **fields: str) -> str:
    payload = {"hook_event_name": event, "session_id": "s1", "cwd": "/", "transcript_path": "", **fields}
    return command(home, "hook", "claude", stdin=json.dumps(payload))


@pytest.mark.spawned
@pytest.mark.parametrize("name", ["sessions/s1.json", "sessions/.locks/s1", "sessions/.locks", "sessions", "spool"])
def test_a_session_goes_on_after_a_hook_has_run_as_root(run: Run, home: Path, name: str) -> None:
    hook_without_root(home, "UserPromptSubmit", prompt="why are the tide tables read twice")
    path = home / name
    path.mkdir(exist_ok=True) if path.suffix != ".json" and not path.exists() else None
    if os.getuid() == 0:
        for below in (path, *path.rglob("*")):
            os.chown(below, OTHER, OTHER)
    elif path.is_file():
        path.chmod(0)  # the nearest that a user can make
    else:
        pytest.skip("only root can give a folder away")
    for event in ("UserPromptSubmit", "Stop", "PreCompact"):
        hook_without_root(home, event, prompt="sort the harbours by their names", trigger="auto")
    assert "sort the harbours" in hook_without_root(home, "SessionStart", source="compact")
    codes = {row["code"]: row["message"] for row in json.loads(command(home, "doctor"))["result"]["findings"]}
    assert f"{name}.damaged-" in codes["FILES_SET_ASIDE"]
    (event,) = json.loads(command(home, "otel", "search", "set_aside"))["result"]["events"] or [{}]
    assert (event == {}) == (name not in ("sessions/s1.json",)), "a lost state is an event, too"


@pytest.mark.skipif(os.getuid() != 0, reason="needs a file of another user")
@pytest.mark.spawned
def test_a_folder_that_its_owner_has_closed_is_left(home: Path) -> None:
    hook_without_root(home, "UserPromptSubmit", prompt="why are the tide tables read twice")
    (home / "sessions").chmod(0o500)
    hook_without_root(home, "Stop")
    assert [path.name for path in home.glob("sessions*")] == ["sessions"]
