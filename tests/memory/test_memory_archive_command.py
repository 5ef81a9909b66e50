"""`joelclaw memory archive` finds every client's transcripts and reports what it skipped."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from codex_rollout import Rollout
from conftest import Run
from pi_session import PiSession

AT = "2026-09-20T10:00:00.000Z"


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    """A person's home with one transcript of each client, and what lies beside them."""
    person = tmp_path / "person"
    project = person / ".claude" / "projects" / "-home-u-gateway"
    Transcript(project / f"{SESSION}.jsonl").user("claude was asked about the gateway")
    Transcript(project / SESSION / "subagents" / "agent-1.jsonl", session=SESSION).user("a helper was asked")
    side = Transcript(project / "agent-old.jsonl")
    side.write(side.entry("user", "an old helper was asked", isSidechain=True))
    pi(person / ".pi/agent")
    rollout = codex(person / ".codex")
    rollout.path.with_name("other.jsonl").write_bytes(rollout.path.read_bytes())
    gemini = person / ".gemini/tmp/abc/chats/session-1.jsonl"
    gemini.parent.mkdir(parents=True)
    asked = {"id": "g1", "timestamp": AT, "type": "user", "content": [{"text": "gemini was asked about stars"}]}
    gemini.write_text(
        f'{{"sessionId": "gemini-session", "projectHash": "abc", "startTime": "{AT}"}}\n{json.dumps(asked)}\n'
    )
    return person


def pi(folder: Path) -> None:
    session = PiSession(folder / "sessions" / "--w-pigeon--" / "2026-09-20_x.jsonl", cwd="/w/pigeon")
    session.user("pi was asked about the pigeon")


def codex(folder: Path) -> Rollout:
    rollout = Rollout(folder / "sessions" / "2026" / "09" / "20", "codex-session", cwd="/w/codebase")
    rollout.say("user", "codex was asked")
    return rollout


def archive(run: Run, *words: str, person: Path, **more: str) -> Any:
    unset = dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"), "")
    return run("memory", "archive", *words, env={"HOME": str(person), **unset, **more}).result


def episodes(run: Run) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in run("memory", "export", "--collection", "episodes").out.splitlines()]
    return {episode["source"]: episode for episode in rows if episode["session"] != "agent-1"}


def test_all_takes_every_client(run: Run, clients: Path) -> None:
    result = archive(run, "--all", person=clients)
    assert result["agents"] == {"claude": 1, "codex": 1, "gemini": 1, "pi": 1}
    assert (result["transcripts"], result["subagents"], result["skipped"]) == (4, 2, [])
    assert result["episodes"] == {"added": 6, "updated": 0}
    (helper,) = [hit for hit in run("recall", "a helper was asked").result["hits"] if hit["session"] == "agent-1"]
    assert helper["origin"] == "teammate", "it was the agent that asked"
    for flag, found in (("", 0), ("--undo", 1)):
        run("memory", "forget", "--session", SESSION, *filter(None, [flag]))
        hits = run("recall", "a helper was asked").result["hits"]
        assert sum(hit["session"] == "agent-1" for hit in hits) == found, "its helpers go with a session"
    assert "agent-1" not in {row["sessionId"] for row in run("session", "list").result["sessions"]}
    by_source = episodes(run)
    assert {name: (episode["session"], episode.get("project", "")) for name, episode in by_source.items()} == {
        "claude": (SESSION, "gateway"),
        "codex": ("codex-session", "codebase"),
        "gemini": ("gemini-session", ""),
        "pi": ("s-1", "pigeon"),
    }
    again = archive(run, "--all", person=clients)
    assert (again["unchanged"], again["bytes"], again["episodes"]) == (4, 0, {"added": 0, "updated": 0})


def test_all_follows_linked_folders_and_reads_each_once(run: Run, clients: Path, tmp_path: Path) -> None:
    project = clients / ".claude" / "projects" / "-home-u-gateway"
    project.rename(tmp_path / "moved")
    project.symlink_to(tmp_path / "moved")
    (project.parent / "again").symlink_to(tmp_path / "moved")
    (tmp_path / "moved" / "circle").symlink_to(project.parent)
    result = archive(run, "--all", "--agent", "claude", person=clients)
    assert result["transcripts"] == 1
    assert "claude was asked about the gateway" in run("recall", "gateway", "--everywhere", "--raw").out


def test_all_searches_the_clients_configured_folders(run: Run, clients: Path, tmp_path: Path) -> None:
    Transcript(tmp_path / "cc" / "projects" / "p" / "s2.jsonl").user("claude elsewhere")
    codex(tmp_path / "cx")
    pi(tmp_path / "pi")
    folders = {"CLAUDE_CONFIG_DIR": "cc", "CODEX_HOME": "cx", "PI_CODING_AGENT_DIR": "pi"}
    result = archive(run, "--all", person=clients, **{name: str(tmp_path / path) for name, path in folders.items()})
    assert result["agents"] == {"claude": 1, "codex": 1, "gemini": 1, "pi": 1}
    assert episodes(run)["claude"]["text"] == "user: claude elsewhere"


def test_a_folder_and_foreign_files(run: Run, clients: Path) -> None:
    folder = clients / ".claude"
    (folder / "empty.jsonl").write_text("")
    (folder / "foreign.jsonl").write_text('{"message": "not a client"}\n' * 3)
    (folder / "text.jsonl").write_text("no JSON at all\n")
    result = archive(run, str(folder), str(folder), person=clients)
    assert (result["transcripts"], result["subagents"], result["skippedCount"]) == (1, 2, 3)
    reasons = {Path(file["path"]).name: file["reason"] for file in result["skipped"]}
    assert reasons == {
        "empty.jsonl": "no JSON lines",
        "foreign.jsonl": "no transcript of a known client",
        "text.jsonl": "no JSON lines",
    }


def test_a_pipe_or_socket_does_not_block(run: Run, clients: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    result = archive(run, str(pipe), str(clients / ".pi"), person=clients)
    assert (result["transcripts"], result["skippedCount"]) == (1, 1)


def sessions(run: Run) -> set[str]:
    return {json.loads(line)["session"] for line in run("memory", "export").out.splitlines()}


FORK = "0b9f6c1e-1111-4222-8333-444455556666"


@pytest.mark.parametrize("name", [FORK, "fork", "kept-for-later"])
@pytest.mark.parametrize("own", ["", FORK, "fork"])
def test_a_fork_of_claude_code_is_its_own_session(run: Run, tmp_path: Path, name: str, own: str) -> None:
    """It begins with lines of the session that it is of, which keep their owner; the lines that it adds name it."""
    transcript = Transcript(tmp_path / f"{name}.jsonl", session=SESSION)
    transcript.user("what the first session said of the harbour")
    if own:
        transcript.write(transcript.entry("user", "what the fork says of it", sessionId=own))
    run("memory", "archive", str(transcript.path))
    is_named_by_file = name in (FORK, own)
    assert sessions(run) == ({SESSION, own or SESSION} if is_named_by_file else {own or SESSION})
