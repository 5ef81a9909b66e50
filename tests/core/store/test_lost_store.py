"""`recall`, `status` and `doctor` report a home that has session files but no store, or an empty one."""

import json
import subprocess
from pathlib import Path

import pytest
from conftest import JOELCLAW, Run, attempt, clean_environment, put

NOTE = "the scheduler of the gateway runs in UTC, never in local time"
RECALL = ("recall", "scheduler gateway")


def reported(home: Path) -> list[dict[str, str]]:
    """What `status` and `doctor` report about a lost store; both say the same."""
    problems = attempt(home, "status").envelope["result"]["problems"]
    findings = attempt(home, "doctor").envelope["result"]["findings"]
    by_status, by_doctor = (
        [(item["message"], item["fix"]) for item in listed if item["code"] == "STORE_LOST"]
        for listed in (problems, findings)
    )
    assert by_status == by_doctor
    return [{"message": message, "fix": fix} for message, fix in by_status]


@pytest.fixture
def filled(run: Run, home: Path) -> Path:
    run("memory", "write", NOTE)
    run("checkpoint", "save", "--session", "s1", "--percent", "70")
    return home


STORE = ("store.db", "store.db-wal", "store.db-shm")
LOST: dict[str, tuple[str, ...]] = {
    "truncated": (),
    "the store": ("store.db",),
    "the store and its log": STORE,
    "the log": ("store.db-wal",),  # in which all is that a new store has
    "the store and its lock": (*STORE, "store.db.lock"),
}


@pytest.mark.parametrize(("lost", "by"), [
    ("truncated", "a hook"), ("truncated", "a write"), ("the store", "recall"), ("the store", "a write"),
    ("the store and its log", "a hook"), ("the log", "recall"), ("the log", "a write"),
    ("the store and its lock", "recall"), ("the store and its lock", "a hook"), ("the store and its lock", "a write"),
])  # fmt: skip
def test_a_lost_store_is_reported_until_all_is_archived_again(filled: Path, lost: str, by: str) -> None:
    if lost == "truncated":
        (filled / "store.db").write_bytes(b"")
    for name in LOST[lost]:
        (filled / name).unlink()
    if by == "a hook":
        for event in ("UserPromptSubmit", "Stop"):
            payload = {"hook_event_name": event, "session_id": "s1", "prompt": "paint the pump", "cwd": "/"}
            assert attempt(filled, "hook", "claude", stdin=json.dumps(payload).encode()).out == ""
    if by == "a write":
        attempt(filled, "memory", "write", "the pump of the harbour is green").assert_done()
    recalled = attempt(filled, *RECALL)
    assert (recalled.code, recalled.envelope["result"]["hits"]) == (0, [])
    (warning,) = recalled.envelope["result"]["warnings"]
    assert "missing or empty" in warning and recalled.err == f"joelclaw: {warning}\n"
    (problem,) = reported(filled)
    assert "`joelclaw memory archive --all` archives the transcripts" in problem["fix"]
    assert attempt(filled, "doctor").code == 1
    attempt(filled, "memory", "write", NOTE).assert_done()
    assert reported(filled)
    attempt(filled, "memory", "archive", "--all", env={"HOME": str(filled.parent / "person")}).assert_done()
    recalled = attempt(filled, *RECALL)
    assert recalled.result["hits"] and "warnings" not in recalled.result and reported(filled) == []


def test_a_backup_restores_it(run: Run, filled: Path, tmp_path: Path) -> None:
    run("backup", str(tmp_path / "mine.tar.gz"))
    (filled / "store.db").unlink()
    (problem,) = reported(filled)
    command = (
        problem["fix"].split("`")[1].replace("joelclaw", JOELCLAW, 1).replace("FILE", str(tmp_path / "mine.tar.gz"))
    )
    subprocess.run(command, shell=True, check=True, env=clean_environment(filled))
    recalled = attempt(filled, *RECALL)
    assert recalled.result["hits"][0]["observation"] == NOTE and "warnings" not in recalled.result
    assert reported(filled) == []


READING = (
    "recall scheduler", "recall how make", "memory list", "memory stats", "memory recent", "session list", "lost",
    "session show s1", "sessions search scheduler", "briefing", "otel list", "knowledge search scheduler",
)  # fmt: skip


@pytest.mark.parametrize("is_new", [False, True])
def test_readers_warn_once_and_nothing_copies_it(run: Run, filled: Path, tmp_path: Path, is_new: bool) -> None:
    copy = str(tmp_path / "mine.tar.gz")
    size = run("backup", copy).result["bytes"]
    (filled / "store.db").unlink()
    if is_new:
        attempt(filled, "memory", "write", NOTE).assert_done()
    for words in READING:
        read = attempt(filled, *words.split())
        assert read.err.count("missing or empty") == read.err.count("archive --all") == read.err.count("\n") == 1, words
    for words in (("backup", copy, "--force"), ("memory", "export")):
        refused = run(*words, ok=False)
        assert refused.json["error"]["code"] == "STORE_LOST" and "joelclaw restore FILE" in refused.json["fix"]
    assert Path(copy).stat().st_size == size
    (filled / "store.db").unlink()
    archived = attempt(filled, "memory", "archive", "--all", env={"HOME": str(filled.parent / "person")})
    assert (archived.code, reported(filled)) == (0, [])


def test_a_hook_tells_the_agent_nothing_about_it(run: Run, filled: Path) -> None:
    (filled / "store.db").unlink()
    payload = json.dumps({"session_id": "s", "messages": ["Mend the scheduler."], "percent": 10})
    answer = run("hook", "pi", "turn_end", stdin=payload)
    assert (answer.err, json.loads(answer.out)) == ("", {"messages": []})


def test_a_home_without_sessions_is_not_lost(home: Path, tmp_path: Path, run: Run) -> None:
    recalled = attempt(tmp_path / "new", *RECALL)
    assert (recalled.err, "warnings" in recalled.result) == ("", False) and reported(tmp_path / "new") == []
    (tmp_path / "new" / "config.toml").write_text("[recall]\nlimit = 3\n")
    attempt(tmp_path / "new", "backup", str(tmp_path / "mine.tar.gz")).assert_done()
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "paint the pump", "cwd": "/"}
    for _ in range(2):
        attempt(tmp_path / "new", "hook", "claude", stdin=json.dumps(payload).encode())
    assert (tmp_path / "new" / "sessions" / "s1.json").exists() and reported(tmp_path / "new") == []
    run("memory", "write", NOTE)
    (home / "store.db").unlink()
    assert "warnings" not in attempt(home, *RECALL).result and reported(home) == []
    put(home / "sessions" / "s1.json.forgotten", "")
    assert reported(home)


def test_a_home_of_0_2_0_opens_without_complaint(run: Run, filled: Path) -> None:
    for name, text in (("store.db.mark", ""), ("acknowledged", f"{9:020}"), ("store.db.older", '{"has": 1}')):
        (filled / name).write_text(text)
        (filled / name).chmod(0o600)
    assert run(*RECALL).result["hits"][0]["observation"] == NOTE
    assert run("status").result["problems"] == [] and reported(filled) == []
