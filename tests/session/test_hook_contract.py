"""`joelclaw hook` exits 0 with valid output for any input, in time; faults become events."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, Run, clean_environment
from faults import DEADLINES_MS, SLOWEST_S

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


def test_wrong_arguments_get_an_empty_answer(run: Run) -> None:
    for words in ([], ["nobody"], ["claude", "Stop", "more"], ["claude", "--later-flag=1"], ["claude", "--x", "y"]):
        done = run("hook", *words, stdin='{"hook_event_name": "Stop", "session_id": "x"}')
        assert (done.out, done.err) == ("", "")


@pytest.mark.parametrize(("agent", "stdin", "reported", "error"), [
    ("nob\udcffdy", "{}", "nob\ufffddy", "HOOK_UNKNOWN_AGENT: 'nob\ufffddy'"),  # a byte that is not UTF-8
    ("claude", "not json", "claude", "INVALID_JSON"),
])  # fmt: skip
def test_a_wrong_call_leaves_an_event(run: Run, agent: str, stdin: str, reported: str, error: str) -> None:
    run("hook", agent, stdin=stdin)
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
def test_after_its_deadline_a_hook_answers_nothing_and_says_so(
    run: Run, home: Path, tmp_path: Path, agent: str
) -> None:
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
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[recall]\nlimit = 'many'\n")
    run(
        "hook", "claude", stdin='{"hook_event_name": "UserPromptSubmit", "session_id": "x", "prompt": "sort the tides"}'
    )
    assert (home / "sessions" / "x.json").exists()
    (home / "config.toml").unlink()
    (event,) = events(run, "hook.config_invalid")
    assert "recall.limit" in event["error"]


def test_a_home_that_cannot_be_written_changes_nothing_for_the_agent(run: Run, home: Path) -> None:
    home.write_text("a file where the folder should be")
    for agent in AGENTS:
        done = run(
            "hook", agent, "prompt", stdin=json.dumps({"session_id": "x", "hook_event_name": "UserPromptSubmit"})
        )
        assert valid(agent, done.out)
        assert done.err == ""
