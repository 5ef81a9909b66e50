"""`joelclaw exclude`: sessions of a folder, and of those below it, are never archived."""

import json
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import NOW, Run
from terminal import on_terminal

SAID = "please mend the sluice of the harbour"


@pytest.fixture
def client(tmp_path: Path) -> Path:
    """The folder of a customer, with a repository below it."""
    (tmp_path / "client" / "app" / ".git").mkdir(parents=True)
    (tmp_path / "clients").mkdir()
    return tmp_path / "client"


def transcript(tmp_path: Path, session: str, cwd: Path) -> Path:
    transcript = Transcript(tmp_path / "t" / f"{session}.jsonl", first=100 * len(session), cwd=str(cwd))
    transcript.user(f"{SAID} {session}")
    transcript.assistant(f"The sluice of {session} is mended")
    return transcript.path


def hook(run: Run, name: str, session: str, cwd: Path, **more: Any) -> str:
    event = {"hook_event_name": name, "session_id": session, "cwd": str(cwd), **more}
    return run("hook", "claude", stdin=json.dumps(event), env=NOW, cwd=cwd).out


def sessions(run: Run) -> set[str]:
    rows = map(json.loads, run("memory", "export", env=NOW).out.splitlines())
    return {row.get("session", "") for row in rows}


def test_a_path_with_a_secret_is_not_stored(run: Run, home: Path, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    refused = run("exclude", str(tmp_path / secret / "app"), env=NOW, ok=False)
    assert (refused.code, "secret" in refused.json["error"]["message"]) == (2, True)
    assert secret not in refused.out and not (home / "switches.json").exists()
    folder = tmp_path / secret
    (folder / ".git").mkdir(parents=True)
    run("off", "--project", env=NOW, cwd=folder)
    assert secret not in (home / "switches.json").read_text()
    hook(run, "UserPromptSubmit", "s1", folder, prompt=SAID)
    assert not (home / "sessions" / "s1.json").exists()
    assert run("on", "--project", env=NOW, cwd=folder).result["changed"]


def test_memory_archive_skips_and_counts_excluded_sessions(run: Run, tmp_path: Path, client: Path) -> None:
    done = run("exclude", str(client), env=NOW).result
    assert (done["path"], done["excluded"], done["changed"]) == (str(client), True, True)
    places = {"in": client, "below": client / "app", "gone": client / "gone" / "deeper", "beside": tmp_path / "clients"}
    for session, cwd in places.items():
        transcript(tmp_path, session, cwd)
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    (tmp_path / ".claude" / "projects" / "p").symlink_to(tmp_path / "t")
    offered = run("memory", "archive", env={**NOW, "HOME": str(tmp_path)}).result
    assert offered["history"]["sessions"] == 1
    result = run("memory", "archive", str(tmp_path / "t"), env=NOW).result
    assert (result["transcripts"], result["excluded"], result["skippedCount"]) == (1, 3, 0)
    assert sessions(run) == {"beside"}
    single = run("memory", "archive", str(tmp_path / "t" / "in.jsonl"), env=NOW).result
    assert (single["transcripts"], single["excluded"]) == (0, 1)
    run("exclude", "--remove", str(client), env=NOW)
    home = {**NOW, "HOME": str(client.parent)}
    assert run("exclude", f"~/{client.name}", env=home).result["path"] == str(client)
    assert run("exclude", "--remove", f"~/{client.name}", env=home).result["changed"]
    assert run("memory", "archive", str(tmp_path / "t"), env=NOW).result["excluded"] == 0
    assert sessions(run) == set(places)


@pytest.mark.parametrize("below", ["", "app"])
def test_hooks_archive_nothing_of_excluded_folders(
    run: Run, home: Path, tmp_path: Path, client: Path, below: str
) -> None:
    run("exclude", str(client), env=NOW)
    cwd = client / below
    path = str(transcript(tmp_path, "s1", cwd))
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"):
        hook(run, event, "s1", cwd, prompt=SAID, transcript_path=path, source="startup", trigger="auto")
    save = ("checkpoint", "save", "--session", "s1", "--percent", "75", "--message", SAID)
    saved = run(*save, env=NOW, cwd=cwd).result
    assert (saved["written"], saved["writeReason"]) == (False, "excluded")
    assert sessions(run) == set()
    assert not [page for page in home.rglob("*.md") if SAID in page.read_text()], "the daily log"
    assert run("checkpoint", "show", "s1", env=NOW).result["sessionId"] == "s1", "all else goes on"


def test_episodes_archived_before_the_exclusion_stay_and_can_be_forgotten(
    run: Run, tmp_path: Path, client: Path
) -> None:
    run("memory", "archive", str(transcript(tmp_path, "before", client / "app")), env=NOW)
    done = run("exclude", str(client), env=NOW)
    assert done.result["archivedBefore"] == ["before"] and sessions(run) == {"before"}
    run("memory", "forget", "--session", "before", env=NOW)
    assert sessions(run) == set()


def test_listing_and_refused_folders(run: Run, home: Path, tmp_path: Path, client: Path) -> None:
    assert run("exclude", env=NOW, cwd=client).result["path"] == str(client)
    assert run("exclude", str(client), env=NOW).result["changed"] is False
    assert run("exclude", "--list", env=NOW).result["excluded"] == [str(client)]
    assert run("status", env=NOW).result["switches"]["excluded"] == [str(client)]
    assert (home / "switches.json").stat().st_mode & 0o777 == 0o600
    refused = run("exclude", "--remove", str(tmp_path), env=NOW, ok=False).json
    assert refused["error"]["code"] == "EXCLUDE_NOT_EXCLUDED" and refused["fix"]
    assert run("exclude", "--list", env=NOW).result["excluded"] == [str(client)]
    gone = str(tmp_path / "a-worktree-that-was-removed")
    done = run("exclude", gone, env=NOW)
    assert (done.result["excluded"], done.result["path"]) == (True, gone)
    assert "Check the spelling" in done.json["next_actions"][0]["description"]
    shown = " ".join(on_terminal(home, "exclude", gone).out.split())  # it wraps at the width of the terminal
    assert "does not exist; it is excluded anyway" in shown
    assert run("exclude", "--remove", gone, env=NOW).result["changed"]
    client.rename(tmp_path / "moved")
    assert run("exclude", "--remove", str(client), env=NOW).result["changed"] is True, "one that is gone, too"


def test_no_event_contains_what_the_user_said_in_excluded_folders(run: Run, tmp_path: Path, client: Path) -> None:
    run("memory", "archive", str(transcript(tmp_path, "before", client)), env=NOW)
    run("memory", "write", "buoylineTable must keep its last row, because the gauge reads it.", "--global", env=NOW)
    run("exclude", str(client), env=NOW)
    prompt = "why does buoylineTable lose its last row in Gothenburg? please look"
    assert "buoylineTable" in hook(run, "UserPromptSubmit", "s1", client, prompt=prompt)
    save = ("checkpoint", "save", "--session", "s1", "--percent", "75", "--message", prompt)
    assert run(*save, env=NOW, cwd=client).result["currentTask"] == "", "the state has no text either"
    events = run("otel", "list", "--hours", "1", env=NOW).result["events"]
    assert "context.refresh.injected" in {event["action"] for event in events}
    assert "gothenburg" not in json.dumps(events).lower()


def test_a_session_of_a_script_belongs_to_its_first_folder(run: Run, tmp_path: Path, client: Path) -> None:
    save = ("checkpoint", "save", "--session", "s1", "--percent", "75", "--message")
    for folder in (client / "app", tmp_path):
        run(*save, SAID, env=NOW, cwd=folder)
    (row,) = run("session", "list", "--project", "app", env=NOW).result["sessions"]
    assert row["sessionId"] == "s1"
    run("exclude", str(client), env=NOW)
    assert run(*save, "then the gauge", env=NOW, cwd=tmp_path).result["writeReason"] == "excluded"
