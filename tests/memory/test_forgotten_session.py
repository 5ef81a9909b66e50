"""A forgotten session is found nowhere, is not archived again by itself, and comes back with all that it had."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import PATIENCE_S, Run, attempt, put
from faults import paused

ROWIDS = {"call": "rowid", "place_file": "id", "place": "file_id", "edit": "file_id", "segment": "rowid"}
"""Columns whose numbers say nothing."""


@pytest.fixture
def transcript(run: Run, tmp_path: Path) -> Transcript:
    """A session with turns, calls, edits, a plan, a compaction, hooks and a state."""
    written = Transcript(tmp_path / f"{SESSION}.jsonl")
    written.user("where is the merlin cache emptied?")
    written.used("c1", "Bash", "3:def merlin_cache(): return 1", command="grep -n merlin_cache src/a.py")
    written.edited("c2", "src/a.py", 3, "-merlin_cache = 1", "+merlin_cache = 2")
    todo = {"content": "empty the quarter", "status": "pending", "activeForm": "x"}
    written.used("c3", "TodoWrite", "ok", todos=[todo])
    written.compact("We looked for the heronsummary.")
    written.assistant("The merlin cache is emptied in close_quarter().")
    run("memory", "archive", str(written.path))
    hook(run, "UserPromptSubmit", written, prompt="where is the merlin cache emptied")
    run("otel", "list")  # stores pending events
    return written


def hook(run: Run, kind: str, transcript: Transcript, **more: Any) -> str:
    about = {"hook_event_name": kind, "session_id": SESSION, "cwd": CWD, "transcript_path": str(transcript.path)}
    return run("hook", "claude", stdin=json.dumps({**about, **more})).out


def rows(home: Path) -> dict[str, list[str]]:
    """The rows of every table about sessions, without their numbers."""
    db = apsw.Connection(str(home / "store.db"))
    tables = (
        "session", "call", "compaction", "name", "place_file", "place", "edit", "hook_call", "injection", "segment",
    )  # fmt: skip
    counts: dict[str, list[str]] = {}
    for table in tables:
        cursor = db.execute(f"SELECT * FROM {table}")
        lines = [dict(zip([name for name, _ in cursor.get_description()], row, strict=True)) for row in cursor]
        for line in lines:
            line.pop(ROWIDS.get(table, ""), None)
        counts[table] = sorted(map(json.dumps, lines))
    visible = "SELECT id, text, context FROM document WHERE forgotten_at IS NULL ORDER BY id"
    counts["document"] = [*map(json.dumps, db.execute(visible))]
    db.close()
    return counts


def found_by(home: Path) -> dict[str, bool]:
    """Which commands find the session."""

    def prints(word: str, *command: str) -> bool:
        return word in attempt(home, *command).out

    return {
        "turn": prints("close_quarter", "recall", "--raw", "merlin cache emptied"),
        "call": prints("grep -n merlin_cache", "how", "grep merlin_cache"),
        "name": prints("src/a.py", "recall", "--raw", "merlin_cache"),
        "list": prints(SESSION, "session", "list"),
        "search": prints(SESSION[:8], "sessions", "search", "merlin cache"),
        "lost": prints("merlin", "lost", SESSION),
        "show": prints("merlin", "session", "show", SESSION),
    }


UNDO = (
    ("--undo", SESSION), ("--undo", SESSION[:8]), ("--undo", "--session", SESSION),
    ("--undo", "--session", SESSION[:8]),
)  # fmt: skip


@pytest.mark.parametrize("undo", UNDO)
def test_a_forgotten_session_is_found_nowhere_and_comes_back_whole(
    run: Run, home: Path, transcript: Transcript, undo: tuple[str, ...]
) -> None:
    before, state = rows(home), (home / "sessions" / f"{SESSION}.json").read_bytes()
    assert all(found_by(home).values()) and before["edit"] and before["compaction"] and before["hook_call"]
    result = run("memory", "forget", "--session", SESSION[:8]).result
    assert result["session"] == SESSION and result["toolCalls"] == 3 and len(result["forgotten"]) == 2
    assert not any(found_by(home).values())
    assert not (home / "sessions" / f"{SESSION}.json").exists()
    result = run("memory", "forget", *undo).result
    assert (result["session"], result["toolCalls"], len(result["restored"])) == (SESSION, 3, 2)
    assert rows(home) == before
    assert all(found_by(home).values())
    assert (home / "sessions" / f"{SESSION}.json").read_bytes() == state


NAMED = [f"{command} {SESSION}" for command in ("lost", "sessions extract", "show", "session show", "checkpoint show")]


@pytest.mark.usefixtures("transcript")
@pytest.mark.parametrize("words", ["lost", "session show", *NAMED])
def test_a_command_about_it_says_how_to_bring_it_back(run: Run, words: str) -> None:
    run("memory", "forget", "--session", SESSION)
    done = run(*words.split(), ok=False)
    assert (done.code, done.json["error"]["code"]) == (1, "SESSION_NOT_FOUND")
    assert done.json["error"]["message"] == f"the session {SESSION} was forgotten"
    assert done.json["fix"].endswith(f"memory forget --undo {SESSION}")


CALL_COMMANDS = (("show",), ("memory", "show"), ("memory", "forget"), ("memory", "purge", "--yes"))


@pytest.mark.usefixtures("transcript")
@pytest.mark.parametrize("words", CALL_COMMANDS, ids=" ".join)
def test_a_command_about_one_of_its_calls_says_so_too(run: Run, words: tuple[str, ...]) -> None:
    call = f"call:{SESSION}:1"
    assert run("show", call).result["sessionId"] == SESSION
    run("memory", "forget", "--session", SESSION)
    for name in (call, f"call:{SESSION[:8]}:1", f"call:{SESSION}:99"):
        done = run(*words, name, ok=False)
        assert done.json["error"] == {"message": f"the session {SESSION} was forgotten", "code": "SESSION_NOT_FOUND"}
    assert run("show", f"call:{SESSION}x:1", ok=False).json["error"]["code"] == "MEMORY_NOT_FOUND"


@pytest.mark.usefixtures("transcript")
def test_a_memory_written_for_the_beginning_of_its_id_belongs_to_it(run: Run, home: Path) -> None:
    columns = "client, project, folder, updated_at, prompts, calls, plan, parent, kind"
    apsw.Connection(str(home / "store.db")).execute(
        f"INSERT INTO session (id, {columns}) SELECT '20261129-10', {columns} FROM session LIMIT 1"
    )
    assert run("memory", "write", "the tern pump is blue", "--session", "20261129-1").result["session"] == "20261129-1"
    assert run("memory", "write", "the merlin pump is green", "--session", SESSION[:8]).result["session"] == SESSION
    assert run("memory", "write", "the osprey pump is red", "--session", "build-77").result["session"] == "build-77"
    assert run("memory", "forget", "--session", SESSION[:8]).result["toolCalls"] == 3


def test_its_next_hook_and_an_archive_leave_it_forgotten(run: Run, home: Path, transcript: Transcript) -> None:
    run("memory", "forget", "--session", SESSION)
    transcript.user("what about the osprey cache?")
    transcript.used("c9", "Bash", "src/b.py:1: osprey_cache", command="grep osprey_cache src")
    for kind in ("UserPromptSubmit", "Stop", "SessionEnd"):
        hook(run, kind, transcript, prompt="what about the osprey cache?")
    answer = run("memory", "archive", str(transcript.path)).json
    assert answer["result"]["forgotten"] == 1 and answer["result"]["transcripts"] == 0
    assert [action["command"] for action in answer["next_actions"] if "--again" in action["command"]]
    assert not any(found_by(home).values()) and "osprey" not in run("recall", "osprey_cache").out.partition('"hits"')[2]
    run("memory", "forget", "--undo", SESSION)
    run("memory", "archive", str(transcript.path))
    assert all(found_by(home).values()) and "src/b.py:1" in run("recall", "osprey_cache").out


@pytest.mark.parametrize("by", ["file", "session", "prefix", "all"])
@pytest.mark.parametrize("deleted", ["forget", "purge"])
def test_it_is_archived_again_when_asked(
    run: Run, home: Path, transcript: Transcript, tmp_path: Path, by: str, deleted: str
) -> None:
    copied = tmp_path / "claude" / "projects" / "-home-u-gateway" / transcript.path.name
    put(copied, transcript.path.read_bytes())
    run("memory", deleted, "--session", SESSION, *(["--yes"] if deleted == "purge" else []))
    argument = {"file": str(transcript.path), "session": SESSION, "prefix": SESSION[:6], "all": "--all"}[by]
    clients = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    (offered,) = run("memory", "archive", "--all", env=clients).json["next_actions"][1:]
    assert offered["command"] == "joelclaw memory archive --again <session>" and not any(found_by(home).values())
    assert run("memory", "archive", argument, "--again", env=clients).result["broughtBack"] == 1
    state = found_by(home)
    assert state["turn"] and state["call"] and state["name"] and state["list"] and state["lost"]
    assert "heronsummary" in "".join(rows(home)["compaction"]) and "empty the quarter" in rows(home)["session"][0]


@pytest.mark.usefixtures("transcript")
def test_seven_characters_are_too_few_to_delete(run: Run, home: Path) -> None:
    call, deletes = f"call:{SESSION[:7]}:1", (["purge", "--yes"], ["forget"])
    refused = [
        run("memory", *words, *what, ok=False) for words in deletes for what in (["--session", SESSION[:7]], [call])
    ]
    assert all(found_by(home).values())
    run("memory", "forget", "--session", SESSION)
    refused += [run("memory", "forget", "--undo", SESSION[:7], ok=False)]
    assert [done.json["error"]["code"] for done in refused] == [
        "PURGE_NOTHING", "MEMORY_NOT_FOUND", "SESSION_NOT_FOUND", "MEMORY_NOT_FOUND", "MEMORY_NOT_FOUND",
    ]  # fmt: skip


def test_forgetting_twice_keeps_what_the_first_hid(run: Run, home: Path, transcript: Transcript) -> None:
    before = rows(home)
    run("memory", "forget", "--session", SESSION)
    again = run("memory", "forget", "--session", SESSION[:8]).result
    assert again["unchanged"] == [SESSION] and again["toolCalls"] == 0
    run("memory", "forget", "--undo", SESSION)
    assert rows(home) == before
    refused = run("memory", "forget", "--undo", "--session", SESSION, ok=False)
    assert refused.code == 1 and refused.json["fix"]


def test_what_was_forgotten_before_by_itself_stays_forgotten(run: Run, home: Path, transcript: Transcript) -> None:
    call = f"call:{SESSION}:1"
    turn = next(
        hit["id"] for hit in run("recall", "where is the merlin cache emptied").result["hits"] if "claude:" in hit["id"]
    )
    assert run("memory", "forget", call, turn).result["forgotten"] == [call, turn]
    assert not found_by(home)["call"]
    run("memory", "forget", "--session", SESSION)
    run("memory", "forget", "--undo", SESSION)
    assert run("memory", "show", turn).result["forgotten"] is True
    assert run("memory", "show", call, ok=False).json["error"]["code"] == "MEMORY_NOT_FOUND"
    assert run("memory", "forget", "--undo", call, turn).result["restored"] == [call, turn]
    assert found_by(home)["call"] and run("memory", "show", call).result["command"]


@pytest.mark.parametrize("words", [
    ("--session", SESSION), ("--session", SESSION[:8]), ("--match", "MERLIN_cache"), ("--before", "2999-01-01"),
    ("--project", "gateway"), (f"call:{SESSION}:1",),
])  # fmt: skip
def test_a_purge_deletes_what_was_forgotten(
    run: Run, home: Path, transcript: Transcript, words: tuple[str, ...]
) -> None:
    forgotten = [f"call:{SESSION}:1"] if words[0].startswith("call:") else ["--session", SESSION]
    run("memory", "forget", *forgotten)
    assert run("memory", "purge", *words, "--dry-run").result["forgotten"] > 0
    run("memory", "purge", *words, "--yes")
    db = apsw.Connection(str(home / "store.db"))
    assert "grep -n merlin" not in "".join(map(str, db.execute("SELECT value FROM forgotten")))
    db.close()
    attempt(home, "memory", "forget", "--undo", SESSION)
    run("memory", "archive", str(transcript.path))
    assert not found_by(home)["call"]


def test_a_killed_forget_or_undo_can_be_repeated(home: Path, transcript: Transcript) -> None:
    before = rows(home)
    for words in (("--session", SESSION), ("--undo", SESSION)):
        for step in range(1, 40, 3):
            process = paused(home, "memory", "forget", *words, step=step)
            ended = process.poll() is not None
            process.kill()
            process.communicate(timeout=PATIENCE_S)
            if ended:
                break
        attempt(home, "memory", "forget", *words)
    assert rows(home) == before and all(found_by(home).values())
    assert (home / "sessions" / f"{SESSION}.json").exists()


@pytest.mark.parametrize("deleted", ["forget", "purge"])
def test_its_next_hooks_keep_no_word_of_it(run: Run, home: Path, transcript: Transcript, deleted: str) -> None:
    run("memory", deleted, "--session", SESSION, *(["--yes"] if deleted == "purge" else []))
    transcript.user("rename the osprey cache")
    said = {"prompt": "rename the osprey cache", "last_assistant_message": "<summary>osprey</summary>"}
    for kind in ("UserPromptSubmit", "Stop", "PreCompact", "SubagentStop"):
        hook(run, kind, transcript, trigger="auto", agent_type="", **said)
    run("checkpoint", "save", "--session", SESSION, "--percent", "80", "-m", "rename the osprey cache")
    run("otel", "list")
    words = [path for path in home.rglob("*") if path.is_file() and b"osprey" in path.read_bytes()]
    assert words == []


@pytest.mark.parametrize("deleted", ["forget", "purge"])
def test_a_fork_does_not_bring_back_copies_of_it(
    run: Run, home: Path, transcript: Transcript, tmp_path: Path, deleted: str
) -> None:
    run("memory", deleted, "--session", SESSION, *(["--yes"] if deleted == "purge" else []))
    transcript.user("and the late merlin turn?")  # never archived before
    fork = Transcript(tmp_path / "84000000-0000-4000-8000-000000000004.jsonl", first=50)
    for line in transcript.path.read_text().splitlines():
        entry = json.loads(line)
        origin = {"sessionId": SESSION, "messageUuid": entry["uuid"]}
        fork.write({**entry, "sessionId": fork.session, "forkedFrom": origin})
    fork.user("what about the osprey cache?")
    run("memory", "archive", str(fork.path))
    assert run("recall", "osprey cache").result["hits"]
    assert not any(found_by(home).values()) and "late merlin" not in run("recall", "--raw", "late merlin turn").out


def test_an_archive_names_a_purged_session(run: Run, home: Path, transcript: Transcript) -> None:
    run("memory", "purge", "--session", SESSION, "--yes")
    assert run("memory", "archive", str(transcript.path)).result["forgotten"] == 1
    refused = run("memory", "forget", "--undo", SESSION, ok=False).json
    assert refused["error"]["code"] == "MEMORY_PURGED" and "--again" in refused["fix"]
    shown = run("session", "show", SESSION, ok=False).json
    assert (shown["error"]["message"], shown["fix"]) == (f"the session {SESSION} was purged", refused["fix"])
    assert [path.name for path in home.glob("sessions/*.json*")] == [f"{SESSION}.json.forgotten"], "nothing may be kept"
