"""The folder of each entry decides whether it is archived: a session may begin, visit or end in an excluded folder."""

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from codex_rollout import Rollout
from conftest import Attempt, Run

WALKS = {
    "visits": ["open", "private", "open"],
    "begins there and leaves": ["private", "open"],
    "ends there": ["open", "private"],
    "goes below it": ["open", "private/app", "open"],
    "visits twice": ["private", "open", "private", "open"],
}


@pytest.fixture
def places(run: Run, tmp_path: Path) -> Path:
    """The folder with an open and an excluded folder."""
    for name in ("open", "private/app"):
        (tmp_path / name).mkdir(parents=True)
    run("exclude", str(tmp_path / "private"))
    return tmp_path


class ClaudeWalk(Transcript):
    """A session of Claude Code that moves between folders."""

    name = "claude"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "t" / f"{SESSION}.jsonl")

    def turn(self, cwd: str, word: str) -> None:
        self.cwd = cwd
        self.user(f"please keep {word}asked in mind")
        self.used(f"c{self.count}", "Bash", f"{word}out = 1", command=f"cat {word}file.txt")
        queued = {"type": "queue-operation", "operation": "enqueue", "content": f"{word}typed ahead"}
        self.write({**queued, "timestamp": "2026-09-20T10:30:00.000Z", "sessionId": self.session})
        self.assistant(f"the {word}answer was found")

    def compact(self, cwd: str, summary: str) -> None:
        self.write(self.entry("user", summary, cwd=cwd, isCompactSummary=True))


class CodexWalk(Rollout):
    """A session of Codex, whose folder is named at the beginning of a turn only."""

    name = "codex"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "sessions", "019a0000-0000-7000-8000-00000000000a", cwd="")

    def turn(self, cwd: str, word: str) -> None:
        if not self.rows:
            self.add("session_meta", id=self.session, cwd=cwd)
        self.add("turn_context", cwd=cwd, model="gpt-5")
        self.say("user", f"please keep {word}asked in mind")
        self.call(f"c{self.at}", f"{word}out = 1", "shell", cmd=f"cat {word}file.txt")
        self.say("assistant", f"the {word}answer was found")

    def compact(self, cwd: str, summary: str) -> None:
        self.add("turn_context", cwd=cwd, model="gpt-5")
        self.add("compacted", message=summary)


def hook(run: Run, walk: Any, event: str, cwd: str, **more: Any) -> Attempt:
    payload = {"hook_event_name": event, "session_id": walk.session, "cwd": cwd, "transcript_path": str(walk.path)}
    return run("hook", walk.name, stdin=json.dumps({**payload, **more}), cwd=Path(cwd))


def held(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("walk_name", WALKS)
@pytest.mark.parametrize("form", [ClaudeWalk, CodexWalk])
@pytest.mark.parametrize("reader", ["hooks, then archive", "archive", "a single hook at the end"])
def test_nothing_said_in_an_excluded_folder_is_kept(
    run: Run, home: Path, places: Path, form: Any, walk_name: str, reader: str
) -> None:
    walk = form(places)
    for number, name in enumerate(WALKS[walk_name]):
        cwd = str(places / name)
        word = f"{'coral' if name.startswith('private') else 'amber'}{number}"
        walk.turn(cwd, word)
        if reader.startswith("hooks"):
            hook(run, walk, "UserPromptSubmit", cwd, prompt=f"please keep {word}asked in mind")
            hook(run, walk, "PostToolUse", cwd, tool_name="Edit", tool_input={"file_path": f"{cwd}/{word}.py"})
            hook(run, walk, "Stop", cwd)
    if reader.startswith("hooks"):
        summary = "The user looked for the coral of the sea."
        hook(run, walk, "PreCompact", cwd, trigger="auto")
        hook(run, walk, "SubagentStop", cwd, last_assistant_message=f"<summary>{summary}</summary>")
        walk.compact(cwd, summary)
        hook(run, walk, "SessionStart", cwd, source="compact")
    if reader.startswith(("hooks", "a single")):
        hook(run, walk, "SessionEnd", cwd, reason="other")
    if reader.endswith("archive") or walk_name == "ends there":
        run("memory", "archive", str(walk.path))
    stored = held(home)
    assert b"coral" not in stored
    expected = [f"amber{number}" for number, name in enumerate(WALKS[walk_name]) if name == "open"]
    assert all(word.encode() + part in stored for word in expected for part in (b"asked", b"file", b"answer"))


@pytest.mark.parametrize("folder", ["coralparts", "hash-coral"])
@pytest.mark.parametrize("known", ["chart.py draws the tides", "nothing"], ids=["a memory names it", "no memory"])
def test_the_path_of_a_file_that_is_edited_there_is_not_kept(
    run: Run, home: Path, places: Path, known: str, folder: str
) -> None:
    run("memory", "write", known, "--global")
    walk = ClaudeWalk(places)
    cwd = places / "private" / "app"
    edit = {"tool_name": "Write", "tool_input": {"file_path": str(cwd / folder / "chart.py"), "content": "x"}}
    texts = [hook(run, walk, "PostToolUse", str(cwd), **edit).out for _ in range(2)]
    assert [known in text for text in texts] == [known != "nothing", False]
    assert b"coral" not in held(home)


@pytest.mark.parametrize("form", [ClaudeWalk, CodexWalk])
def test_no_summary_is_kept_of_a_session_that_was_there(run: Run, home: Path, places: Path, form: Any) -> None:
    walk = form(places)
    for name, word in (("private", "coral"), ("open", "amber")):
        walk.turn(str(places / name), word)
    walk.compact(str(places / "open"), "The user looked for the coral of the sea.")
    run("memory", "archive", str(walk.path))
    assert b"coral" not in held(home) and b"amberanswer" in held(home)


def test_a_call_that_works_there_is_left_out(run: Run, home: Path, places: Path) -> None:
    walk = CodexWalk(places)
    walk.turn(str(places / "open"), "amber")
    walk.call("x", "coralout = 1", "shell", cmd="cat coral.txt", workdir=str(places / "private"))
    run("memory", "archive", str(walk.path))
    assert b"coral" not in held(home) and b"amberanswer" in held(home)


@pytest.mark.parametrize("form", [ClaudeWalk, CodexWalk])
def test_a_project_that_is_off_is_left_out_of_a_session_that_visits_it(
    run: Run, home: Path, tmp_path: Path, form: Any
) -> None:
    for name in ("open", "private"):
        (tmp_path / name / ".git").mkdir(parents=True)
    run("off", "--project", cwd=tmp_path / "private", env={"JOELCLAW_NOW_MS": "1000"})
    walk = form(tmp_path)
    for number, name in enumerate(["open", "private", "open"]):
        walk.turn(str(tmp_path / name), f"{'coral' if name == 'private' else 'amber'}{number}")
    run("memory", "archive", str(walk.path))
    stored = held(home)
    assert b"coral" not in stored and b"amber0answer" in stored and b"amber2answer" in stored


def gemini_chat(home: Path, cwd: Path, *, rooted: str, word: str = "linnet") -> Path:
    """A chat of Gemini CLI; `rooted` is the file that names its folder."""
    digest = sha256(str(cwd).encode()).hexdigest()
    name = "short" if rooted else digest
    chat = home / ".gemini" / "tmp" / name / "chats" / "session-2026-09-20T10-00-aaaa.jsonl"
    chat.parent.mkdir(parents=True)
    if rooted == ".project_root":
        (chat.parent.parent / rooted).write_text(f"{cwd}\n")
    if rooted == "projects.json":
        (home / ".gemini" / rooted).write_text(json.dumps({"projects": {str(cwd): name}}))
    rows = [
        {"sessionId": "g-1", "projectHash": digest, "startTime": "2026-09-20T10:00:00.000Z", "kind": "main"},
        {"id": "m1", "timestamp": "2026-09-20T10:00:01.000Z", "type": "user", "content": [{"text": f"the {word}?"}]},
    ]
    chat.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return chat


@pytest.mark.parametrize("rooted", [".project_root", "projects.json", ""])
@pytest.mark.parametrize("switch", ["exclude", "off"])
def test_a_chat_of_gemini_has_the_folder_that_the_client_noted(
    run: Run, home: Path, tmp_path: Path, rooted: str, switch: str
) -> None:
    cwd = tmp_path / "private"
    (cwd / ".git").mkdir(parents=True)
    if not rooted:  # another session of the folder is known
        transcript = Transcript(tmp_path / "t" / "s1.jsonl", cwd=str(cwd))
        transcript.user("hello from there")
        run("memory", "archive", str(transcript.path))
    chat = gemini_chat(tmp_path, cwd, rooted=rooted)
    env = {"HOME": str(tmp_path)}
    words = ("exclude", str(cwd)) if switch == "exclude" else ("off", "--project")
    run(*words, cwd=cwd, env={**env, "JOELCLAW_NOW_MS": "1000"})
    run("memory", "archive", str(chat.parent), env=env)
    assert b"linnet" not in held(home)
    if switch == "exclude":
        run("exclude", "--remove", str(cwd))
        run("memory", "archive", str(chat.parent), env=env)
        assert b"linnet" in held(home)


def test_a_folder_that_another_archived_session_names_is_known(
    run: Run, home: Path, tmp_path: Path, places: Path
) -> None:
    gemini_chat(tmp_path, places / "open", rooted="")
    old = Transcript(tmp_path / ".claude" / "projects" / "p" / "s1.jsonl", cwd=str(places / "open"))
    old.user("hello from there")
    os.utime(old.path, (1_000_000_000, 1_000_000_000))
    run("memory", "archive", "--all", env={"HOME": str(tmp_path)})
    assert run("memory", "archive", "--all", env={"HOME": str(tmp_path)}).result["skippedCount"] == 0
    assert b"linnet" in held(home)


def test_a_chat_whose_folder_is_unknown_is_skipped_and_reported(
    run: Run, home: Path, tmp_path: Path, places: Path
) -> None:
    gemini_chat(tmp_path, tmp_path / "somewhere", rooted="")
    result = run("memory", "archive", "--all", env={"HOME": str(tmp_path)}).result
    assert (result["transcripts"], result["skippedCount"]) == (0, 1)
    assert "folder of this session is unknown" in result["skipped"][0]["reason"]
    assert b"linnet" not in held(home)
    run("exclude", "--remove", str(places / "private"))
    assert run("memory", "archive", "--all", env={"HOME": str(tmp_path)}).result["transcripts"] == 1


@pytest.mark.parametrize("walk_name", WALKS)
def test_a_client_that_sends_all_messages_again_is_taken_at_the_folder_of_its_events(
    run: Run, home: Path, places: Path, walk_name: str
) -> None:
    entries: list[dict[str, Any]] = []
    for number, name in enumerate(WALKS[walk_name]):
        cwd = places / name
        word = f"{'coral' if name.startswith('private') else 'amber'}{number}"
        for event, role in (("prompt", "user"), ("turn_end", "assistant")):
            tools = [{"name": "bash", "command": f"cat {word}file", "outcome": f"{word}out", "done": True}]
            message = {"id": f"{role}{number}", "role": role, "text": f"the {word}{role}", "at": 1000 * len(entries)}
            entries.append(message if role == "user" else {**message, "tools": tools})
            messages = [entry["text"] for entry in entries if entry["role"] == "user"]
            payload = {"session_id": "ses_1", "cwd": str(cwd), "messages": messages, "entries": entries}
            run("hook", "opencode", event, stdin=json.dumps(payload), cwd=cwd)
    stored = held(home)
    assert b"coral" not in stored
    words = [f"amber{number}" for number, name in enumerate(WALKS[walk_name]) if name == "open"]
    assert all(word.encode() + part in stored for word in words for part in (b"user", b"assistant", b"file"))


@pytest.mark.parametrize("walk_name", WALKS)
def test_a_client_that_writes_no_folders_is_taken_at_the_folder_of_its_events(
    run: Run, home: Path, places: Path, walk_name: str
) -> None:
    chat = gemini_chat(places, places / "open", rooted="")
    for number, name in enumerate(WALKS[walk_name]):
        word = "coral" if name.startswith("private") else f"amber{number}"
        row = {"id": f"w{number}", "timestamp": "2026-09-20T10:01:00.000Z", "type": "user", "content": f"the {word}?"}
        with chat.open("a") as file:
            file.write(json.dumps(row) + "\n")
        event = {"session_id": "g-1", "hook_event_name": "AfterAgent", "transcript_path": str(chat)}
        cwd = places / name
        run("hook", "gemini", stdin=json.dumps({**event, "cwd": str(cwd)}), cwd=cwd)
    if name == "private":
        run("exclude", "--remove", str(cwd))
        run("hook", "gemini", stdin=json.dumps({**event, "cwd": str(cwd)}), cwd=cwd)
    stored = held(home)
    assert b"coral" not in stored
    assert all(f"amber{at}".encode() in stored for at, name in enumerate(WALKS[walk_name]) if name == "open")
