"""`memory forget` and `show`: a forgotten memory is gone everywhere until it is restored."""

import fcntl
import json
from pathlib import Path

import apsw
import pytest
from claude_transcript import SESSION, Transcript
from conftest import Run, put

TEXT = "The zebra cache is cleared every night at four"


@pytest.fixture
def memory(run: Run) -> str:
    return run("memory", "write", TEXT).result["id"]


def _seen(run: Run) -> list[bool]:
    return [
        bool(run("recall", "zebra cache").result["hits"]), bool(run("memory", "recent").result["observations"]),
        bool(run("memory", "export").out), run("memory", "stats").result["total"] > 0,
    ]  # fmt: skip


def test_a_forgotten_memory_is_gone_until_restored(run: Run, memory: str) -> None:
    assert _seen(run) == [True] * 4
    assert run("memory", "forget", memory).result["forgotten"] == [memory]
    assert _seen(run) == [False] * 4
    assert run("memory", "stats").result["forgotten"] == 1
    assert run("memory", "show", memory).result["forgotten"] is True
    assert run("memory", "forget", "--undo", memory).result["restored"] == [memory]
    assert _seen(run) == [True] * 4
    assert run("memory", "show", memory).result["forgotten"] is False


def test_all_or_none(run: Run, memory: str) -> None:
    done = run("memory", "forget", memory, "no-such-memory", "nor-this", ok=False)
    assert (done.code, done.json["error"]["code"]) == (1, "MEMORY_NOT_FOUND")
    assert "no-such-memory" in done.json["error"]["message"]
    assert done.json["fix"]
    assert run("recall", "zebra cache").result["count"] == 1


def test_a_prefix_of_the_id_will_do_when_it_is_the_only_one(run: Run) -> None:
    for n in ("10", "11", "2"):
        run("memory", "import", "-", stdin=json.dumps({"id": f"memory-{n}", "text": f"fact number {n} of the list"}))
    assert run("memory", "show", "memory-2").result["id"] == "memory-2"
    assert run("memory", "show", "memory-10").result["observation"] == "fact number 10 of the list"
    done = run("memory", "show", "memory-1", ok=False)
    assert (done.code, done.json["error"]["code"]) == (1, "MEMORY_AMBIGUOUS")
    assert "memory-10" in done.json["error"]["message"] and "memory-11" in done.json["error"]["message"]
    assert run("memory", "show", "memory-", ok=False).json["error"]["code"] == "MEMORY_NOT_FOUND"  # 7 characters
    assert run("memory", "forget", "memory-1", ok=False).json["error"]["code"] == "MEMORY_AMBIGUOUS"


def test_the_hooks_of_a_session_go_with_it(run: Run, home: Path, transcript: Transcript) -> None:
    transcript.user("the wedding is on 12 May")
    run("memory", "archive", str(transcript.path))
    for session in (SESSION, "another"):
        prompt = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": "when is it", "cwd": "/"}
        run("hook", "claude", stdin=json.dumps(prompt))
    db = apsw.Connection(str(home / "store.db"))
    hooks = "SELECT DISTINCT session_id FROM hook_call ORDER BY 1"
    run("memory", "forget", "--session", SESSION)  # also what waits in the spool
    assert db.execute(hooks).fetchall() == [("another",)]
    db.close()
    assert [session["sessionId"] for session in run("session", "list").result["sessions"]] == ["another"]
    assert not (home / "sessions" / f"{SESSION}.json").exists()


def test_a_session_whose_state_is_locked_is_left_as_it_was(run: Run, home: Path) -> None:
    run("checkpoint", "save", f"--session={SESSION}", "--percent=10", "-m", "the wedding is on 12 May")
    with (home / "sessions" / ".locks" / SESSION).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert run("memory", "forget", "--session", SESSION, ok=False).json["error"]["code"] == "STATE_BUSY"
    assert "wedding" in run("session", "list").out
    run("memory", "forget", "--session", SESSION)
    assert "wedding" not in run("session", "list").out


def test_a_tool_call_is_hidden_until_it_is_brought_back(
    run: Run, tmp_path: Path, transcript: Transcript, home: Path
) -> None:
    transcript.user("the wedding is on 12 May")
    for number, hall in enumerate(("leaked_hall_code", "other_hall_code")):
        transcript.used(f"c{number}", "Bash", f"{hall} is booked", command=f"book_the_hall --with {hall}")
    run("memory", "archive", str(transcript.path))
    (hit,) = run("recall", "leaked_hall_code").result["hits"][:1]
    assert hit["id"].startswith("call:")
    shown = run("memory", "show", hit["id"]).result
    forgotten = run("memory", "forget", hit["id"]).result
    assert forgotten["forgotten"] == [hit["id"]]
    assert run("memory", "show", hit["id"], ok=False).json["error"]["code"] == "MEMORY_NOT_FOUND"
    assert run("memory", "forget", hit["id"]).result["unchanged"] == [hit["id"]]
    assert "leaked_hall_code is booked" not in run("recall", "leaked_hall_code").out
    db = apsw.Connection(str(home / "store.db"))
    assert db.execute("SELECT count(*) FROM name WHERE name = 'leaked_hall_code'").get == 0
    assert db.execute("SELECT count(*) FROM call WHERE command LIKE '%leaked%' OR passage LIKE '%leaked%'").get == 0
    assert db.execute("SELECT count(*) FROM call_lexicon WHERE call_lexicon MATCH 'leaked'").get == 0
    copy = put(tmp_path / "copies" / f"{SESSION}.jsonl", transcript.path.read_bytes())
    run("memory", "archive", str(copy))
    assert db.execute("SELECT count(*) FROM call_lexicon WHERE call_lexicon MATCH 'leaked'").get == 0
    assert any("other_hall_code" in hit["observation"] for hit in run("recall", "other_hall_code").result["hits"])
    run("lost", SESSION, ok=False)  # which has no compaction, but reads
    assert run("memory", "forget", "--undo", hit["id"]).result["restored"] == [hit["id"]]
    assert hit["id"] in run("recall", "leaked_hall_code").out
    assert run("memory", "show", hit["id"]).result == shown
