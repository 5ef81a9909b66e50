"""`joelclaw off` and `on` for a session, a project or everything: hooks, idle timers and the archive."""

import json
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import NOW_MS, Run

MINUTE = 60_000
NOTE = "[gate=allow] We decided that the harbour gauge logs its tries because the operators ask for them"
TEXT = NOTE.partition("] ")[2]
BEGAN_MS = 1_789_898_400_000  # of the transcripts
STATE = {"session": ("--session", "s1"), "project": ("--project",), "everywhere": ("--everywhere",)}


def at(minutes: float = 0, **more: str) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + int(minutes * MINUTE)), "JOELCLAW_INJECT_QUERY": "harbour gauge", **more}


@pytest.fixture
def repo(run: Run, tmp_path: Path) -> Path:
    """A repository with a memory, beside another one."""
    for name in ("alpha", "beta"):
        (tmp_path / name / ".git").mkdir(parents=True)
    run("memory", "write", NOTE, "--global", env=at())
    return tmp_path / "alpha"


def hook(run: Run, name: str, session: str, cwd: Path, minutes: float = 1, **more: Any) -> str:
    event = {"hook_event_name": name, "session_id": session, "cwd": str(cwd), **more}
    return run("hook", "claude", stdin=json.dumps(event), env=at(minutes), cwd=cwd).out


def start(run: Run, session: str, cwd: Path, minutes: float = 1) -> str:
    return hook(run, "SessionStart", session, cwd, minutes, source="startup")


@pytest.mark.parametrize("scope", STATE)
def test_hooks_do_nothing_while_joelclaw_is_off(run: Run, home: Path, repo: Path, tmp_path: Path, scope: str) -> None:
    done = run("off", *STATE[scope], env=at(), cwd=repo).result
    name = {"session": "s1", "project": "alpha", "everywhere": ""}[scope]
    assert (done["scope"], done["name"], done["off"], done["changed"]) == (scope, name, True, True)
    transcript = Transcript(tmp_path / "s1.jsonl")
    transcript.user("please mend the sluice of the harbour")
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}
    assert start(run, "s1", repo) == ""
    for event in ("UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"):
        more = {"prompt": "where do we stand with the harbour gauge?", "transcript_path": str(transcript.path)}
        assert hook(run, event, "s1", repo, **more) == ""
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()} == before
    other = start(run, "s2", tmp_path / "beta")
    assert (TEXT in other) is (scope != "everywhere")
    again = run("on", *STATE[scope], env=at(2), cwd=repo).result
    assert (again["off"], again["changed"], again["stillOff"]) == (False, True, [])
    assert TEXT in start(run, "s1", repo, 3)


def test_without_a_flag_the_current_session_or_project_is_meant(run: Run, repo: Path) -> None:
    done = run("off", env=at(JOELCLAW_SESSION_ID="s1"), cwd=repo).result
    assert (done["scope"], done["name"]) == ("session", "s1")
    assert start(run, "s1", repo) == "" != start(run, "s2", repo)
    done = run("off", env=at(), cwd=repo).result
    assert (done["scope"], done["name"]) == ("project", "alpha")
    assert start(run, "s3", repo) == ""
    still_off = run("on", env=at(2), cwd=repo).result["stillOff"]
    assert [(switch["scope"], switch["name"]) for switch in still_off] == [("session", "s1")]
    refused = run("off", env=at(), cwd=Path("/"), ok=False)
    assert refused.json["error"]["code"] == "SWITCH_NO_SCOPE" and "--everywhere" in refused.json["fix"]


def test_messages_sent_while_off_are_never_archived(run: Run, repo: Path, tmp_path: Path) -> None:
    """Not by the next hook, and not by `memory archive`."""
    transcript = Transcript(tmp_path / "s1.jsonl")

    def prompt_at(minutes: int, text: str) -> None:
        transcript.count = 60 * minutes
        transcript.user(text)
        transcript.assistant(f"answer to {text}")
        transcript.used(f"c{minutes}", "Read", f"def {text[:6]}(): pass", file_path=f"/w/{text[:6]}.py")

    def switch(word: str, minutes: int) -> None:
        run(word, "--session", "s1", env={"JOELCLAW_NOW_MS": str(BEGAN_MS + minutes * MINUTE)})

    prompt_at(1, "before the harbour is closed")
    switch("off", 5)
    prompt_at(6, "secret the harbour is closed")
    switch("on", 10)
    prompt_at(11, "behind the harbour is open")
    hook(run, "Stop", "s1", repo, transcript_path=str(transcript.path))
    run("memory", "archive", str(transcript.path), env=at())
    stored = run("memory", "export", env=at()).out
    assert "before the harbour" in stored and "behind the harbour" in stored
    assert "secret" not in stored
    assert run("recall", "secret", "--everywhere", env=at()).result["hits"] == []
    assert run("recall", "before.py", "--everywhere", env=at()).result["hits"]


def test_lines_of_any_agent_written_while_off_are_never_archived(run: Run, repo: Path, tmp_path: Path) -> None:
    """Its lines name their time in a field of their own, as OpenCode's messages do."""
    lines = [
        {"session": "g1", "time": BEGAN_MS + minutes * MINUTE, "role": "user", "text": text, "cwd": str(repo)}
        for minutes, text in ((6, "secret the harbour is closed"), (11, "behind the harbour is open"))
    ]
    file = tmp_path / "g1.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for word, minutes in (("off", 5), ("on", 10)):
        run(word, "--project", env={"JOELCLAW_NOW_MS": str(BEGAN_MS + minutes * MINUTE)}, cwd=repo)
    run("memory", "archive", "--agent", "mine", str(file), env=at())
    stored = run("memory", "export", env=at()).out
    assert "behind the harbour" in stored
    assert "secret" not in stored


def test_a_client_that_repeats_its_history_archives_nothing(run: Run, repo: Path) -> None:
    """OpenCode has no transcript, and names the last messages with each turn."""
    began = at()["JOELCLAW_NOW_MS"]

    def entry(number: int, minutes: float, text: str) -> dict[str, Any]:
        return {"id": f"m{number}", "role": "user", "text": text, "at": int(began) + int(minutes * MINUTE)}

    entries = [entry(1, -5, "before the harbour is closed")]

    def turn(minutes: float) -> None:
        event = {"session_id": "s1", "cwd": str(repo), "percent": 75, "entries": entries,
                 "messages": [entry["text"] for entry in entries]}  # fmt: skip
        run("hook", "opencode", "turn_end", stdin=json.dumps(event), env=at(minutes), cwd=repo)

    run("off", "--session", "s1", env=at())
    entries.append(entry(2, 1, "secret the harbour is closed"))
    turn(2)
    run("on", "--session", "s1", env=at(3))
    entries.append(entry(3, 4, "behind the harbour is open"))
    turn(5)
    run("checkpoint", "flush", "--session", "s1", "--percent", "80", env=at(6), cwd=repo)
    known = run("memory", "export", env=at(7)).out + run("checkpoint", "show", "s1", env=at(7)).out
    assert "before the harbour" in known and "behind the harbour" in known
    assert "secret" not in known


def test_the_beginning_of_an_id_means_the_session(run: Run, repo: Path) -> None:
    session = "5a3e7c11-2222-4333-8444-555566667777"
    payload = {"session_id": session, "cwd": str(repo), "entries": [
        {"id": "m1", "role": "user", "text": "close the harbour", "at": int(at()["JOELCLAW_NOW_MS"])}]}  # fmt: skip
    run("hook", "opencode", "turn_end", stdin=json.dumps(payload), env=at(), cwd=repo)
    done = run("off", "--session", session[:4], env=at()).result
    assert done["name"] == session
    payload["entries"] += [
        {"id": "m2", "role": "user", "text": "secret the harbour", "at": int(at(1)["JOELCLAW_NOW_MS"])}
    ]
    run("hook", "opencode", "turn_end", stdin=json.dumps(payload), env=at(2), cwd=repo)
    assert "secret" not in run("memory", "export", env=at(3)).out
    assert run("on", "--session", session[:4], env=at(4)).result["stillOff"] == []


def test_idle_timers_of_what_is_off_do_not_run(run: Run, repo: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    command = f"touch {ran}-{{session}}"
    env = at(JOELCLAW_COMPACTION_IDLETRIGGERMINUTES="5", JOELCLAW_IDLE_COMMAND=command)
    for session in ("s1", "s2"):
        run("checkpoint", "save", "--session", session, "--percent", "80", "-m", "the gauge hangs", env=env, cwd=repo)
        scheduled = run("idle", "schedule", "--session", session, "--percent", "80", "--agent", "claude",
                        "--cwd", str(repo), env=env)  # fmt: skip
        assert scheduled.result["scheduled"], scheduled.result
    run("off", "--session", "s1", env=at())
    later = {**env, **at(30)}
    later["JOELCLAW_IDLE_COMMAND"] = command
    outcome = run("idle", "run", "--once", env=later).result
    assert [session["sessionId"] for session in outcome["sessions"]] == ["s2"]
    assert not Path(f"{ran}-s1").exists()


def test_status_lists_what_is_off(run: Run, home: Path, repo: Path) -> None:
    assert run("status", env=at()).result["switches"] == {"off": [], "excluded": []}
    run("off", "--project", env=at(), cwd=repo)
    assert "check the spelling" in run("off", "--session", "s1", env=at()).json["next_actions"][0]["description"]
    shown = run("status", env=at()).result["switches"]["off"]
    assert [(switch["scope"], switch["name"]) for switch in shown] == [("project", "alpha"), ("session", "s1")]
    assert (home / "switches.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("data", [b"{", b'{"silences": [{"scope": "x"}], "excluded": []}', b"\xff\xfe"])
def test_a_damaged_file_is_set_aside_and_reported(run: Run, home: Path, repo: Path, data: bytes) -> None:
    run("off", "--everywhere", env=at())
    (home / "switches.json").write_bytes(data)
    broken = run("status", env=at()).result
    assert "SWITCHES_DAMAGED" in [problem["code"] for problem in broken["problems"]]
    assert TEXT in start(run, "s1", repo)
    aside = list(home.glob("switches.json.damaged-*"))
    assert [file.read_bytes() for file in aside] == [data]
    events = run("otel", "list", "--limit", "100", env=at(9)).result["events"]
    assert "switch.set_aside" in {event["action"] for event in events}
    (problem,) = run("status", env=at()).result["problems"]
    assert problem["code"] == "SWITCHES_SET_ASIDE" and str(aside[0]) in problem["fix"]


@pytest.mark.parametrize("words", ["off", "on", "exclude --list", "exclude .", "exclude --remove ."])
def test_a_command_says_that_it_sets_a_damaged_file_aside(run: Run, home: Path, repo: Path, words: str) -> None:
    (home / "switches.json").write_bytes(b"{")
    done = run(*words.split(), env=at(), cwd=repo, ok="--remove" not in words).out
    (aside,) = home.glob("switches.json.damaged-*")
    assert f"switches.json was damaged and is now {aside}; repeat what" in done


def test_a_switch_with_a_key_of_a_newer_version_stays(run: Run, home: Path, repo: Path) -> None:
    switch = {"scope": "everywhere", "name": "", "since": 0, "until": None, "why": "a demonstration"}
    (home / "switches.json").write_text(json.dumps({"silences": [switch], "excluded": [], "newer": 1}))
    assert not start(run, "s1", repo)


def test_a_project_that_is_off_stops_scripts_in_any_folder(run: Run, home: Path, repo: Path, tmp_path: Path) -> None:
    start(run, "s1", repo)
    turn = {"percent": 80, "messages": ["please mend the sluice of the harbour"]}
    hook(run, "UserPromptSubmit", "s1", repo, prompt="begin with the gauge of the harbour")
    run("off", "--project", env=at(), cwd=repo)
    state = (home / "sessions" / "s1.json").read_bytes()
    scripts = [("checkpoint", "flush"), ("inject", "recovery"), ("inject", "refresh"), ("inject", "memory")]
    for command in scripts:
        assert run(*command, "--session", "s1", env=at(2), cwd=tmp_path).result["reason"] == "off"
    saved = run("checkpoint", "save", "--stdin", stdin=json.dumps({"session": "s1", **turn}), env=at(2), cwd=tmp_path)
    assert (saved.result["reason"], saved.result["written"]) == ("off", False)
    for entries in ([{"role": "user", "text": turn["messages"][0]}], []):
        sent = {"session": "s2", "cwd": str(repo), "entries": entries, **turn}
        saved = run("checkpoint", "save", "--stdin", stdin=json.dumps(sent), env=at(2), cwd=tmp_path)
        assert (saved.result["reason"], saved.result["written"]) == ("off", False)
    assert (home / "sessions" / "s1.json").read_bytes() == state
