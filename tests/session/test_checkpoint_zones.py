"""What `checkpoint save` and `flush` do in each zone, and write into the daily log (ADR-0203, 1 and 2, ADR-0204, 2)."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import NOW, NOW_MS, Run, put
from conftest import at_second as at
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.config import Config, load
from session.reactions import daily_log
from session.state import SessionState

MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
TASK = "Fix the memory use of the buoyline importer"


def events(run: Run, words: str) -> list[dict[str, Any]]:
    return run("otel", "search", words, "--hours", "1", env=at(0)).result["events"]


def save(run: Run, *words: str, seconds: float = 0, **more: Any) -> dict[str, Any]:
    return run("checkpoint", "save", "--session", "s1", *words, env=at(seconds), **more).result


def test_below_the_warm_zone_only_the_state_is_written(run: Run, home: Path) -> None:
    result = save(run, "--percent", "39.9", "--message", TASK, "--file", "buoyline/importer.py")
    assert (result["zone"], result["entered"], result["recalled"], result["written"]) == ("cold", [], False, False)
    assert (result["recallReason"], result["writeReason"]) == ("below-warm", "below-warm")
    assert result["currentTask"] == TASK
    assert result["filesModified"] == ["buoyline/importer.py"]
    assert sorted(path.name for path in home.iterdir()) == ["sessions", "spool"], "no store is opened"


def test_the_warm_zone_recalls_once_per_task_and_reports_it_once(run: Run) -> None:
    run("memory", "write", MEMORY, env=at(0))
    first = save(run, "--percent", "40", "--message", TASK)
    assert (first["zone"], first["entered"], first["recalled"], first["hits"]) == ("warm", ["warm"], True, 1)
    assert first["recallQuery"] == TASK
    assert not first["written"]
    assert first["writeReason"] == "not-hot"
    again = save(run, "--percent", "45")
    assert (again["entered"], again["recalled"]) == ([], False)
    assert (again["recallReason"], again["cachedHits"]) == ("unchanged", 1)
    changed = save(run, "--percent", "46", "--message", "Also look at the readings parser")
    assert changed["recalled"]
    assert changed["recallQuery"] == f"{TASK} Also look at the readings parser"
    warm = events(run, "compaction.extract.warm")
    assert [event["metadata"] for event in warm] == [{"percent": 40}]
    assert warm[0]["sessionId"] == "s1"
    assert warm[0]["component"] == "session-lifecycle"
    assert not events(run, "compaction.extract.hot")


def test_the_hot_zone_writes_the_task_once_and_never_recalls_it_as_its_own_memory(run: Run) -> None:
    run("memory", "write", MEMORY, env=at(0))
    first = save(run, "--percent", "61", "--message", TASK, "--file", "a.py", "--file", "b.py")
    assert (first["zone"], first["entered"], first["written"]) == ("hot", ["warm", "hot"], True)
    stored = run("memory", "show", first["memoryId"]).json["result"]
    assert TASK in json.dumps(stored)
    assert "b.py, a.py" in json.dumps(stored)
    assert "session-task" in json.dumps(stored)
    again = save(run, "--percent", "70", "--file", "c.py")
    assert (again["written"], again["writeReason"], again["recallReason"]) == (False, "unchanged", "unchanged")
    changed = save(run, "--percent", "75", "--message", "The buoyline importer memory is fixed, write the runbook")
    assert changed["written"]
    assert changed["recalled"]
    state = run("checkpoint", "show", "s1").result
    assert all("Task:" not in text for text in state["checkpoint"]["recallHits"])
    assert state["checkpoint"]["recallHits"] == [MEMORY]
    hot = events(run, "compaction.extract.hot")
    assert len(hot) == 2, "when the zone is entered, and when a task is written"
    assert [event["metadata"]["percent"] for event in hot] == [75, 61]
    assert hot[1]["metadata"] == {"percent": 61, "recallHits": 1, "filesCount": 2}


def test_only_written_memories_are_cached_for_a_task(run: Run) -> None:
    save(run, "--percent", "61", "--message", TASK)
    other = run("checkpoint", "save", "--session", "s2", "--percent", "50", "-m", TASK, env=at(1)).result
    assert other["hits"] == 0, "no task of another session"
    for text in (f"{TASK}: noted so that nobody forgets", f"{TASK}: pinned for those who come after"):
        run("memory", "write", text, env=at(1))
    (known,) = (hit for hit in run("recall", "pinned", env=at(2)).result["hits"] if "pinned" in hit["observation"])
    run("memory", "edit", known["id"], "--pin", env=at(2))
    third = run("checkpoint", "save", "--session", "s3", "--percent", "50", "-m", TASK, env=at(3)).result
    assert third["hits"] == 2
    cached = run("checkpoint", "show", "s3").result["checkpoint"]["recallHits"]
    assert cached[0].endswith("pinned for those who come after"), cached


def test_percent_from_tokens_and_unknown_usage(run: Run) -> None:
    assert save(run, "--tokens", "90000", "--window", "200000", "-m", TASK)["percent"] == 45
    unknown = save(run, "--message", "one more message", "--file", "x.py")
    assert (unknown["zone"], unknown["percent"], unknown["recallReason"]) == ("unknown", None, "percent-unknown")
    assert unknown["filesModified"] == ["x.py"]
    assert "one more message" in unknown["currentTask"]
    assert run("checkpoint", "show", "s1").result["checkpoint"]["contextPercentAtCapture"] == 45
    assert save(run, "--tokens", "280000", "--window", "200000")["zone"] == "hot"


def test_a_long_older_message_does_not_hide_the_new_one_in_the_query(run: Run) -> None:
    words = [word for text in ("first", "second", "third", "fourth") for word in ("--message", f"{text} " * 60)]
    result = save(run, "--percent", "10", *words)
    assert "first" not in result["currentTask"]
    assert len(result["recallQuery"]) <= 120 and "third" in result["recallQuery"] and "fourth" in result["recallQuery"]


def test_an_injection_that_comes_back_as_a_message_is_not_the_task(run: Run) -> None:
    ours = "## Session Recovery\n**Task:** something old"
    framed = '<joelclaw-memory source="x">\n## Relevant Memory (auto-retrieved)\n</joelclaw-memory>'
    result = save(run, "--percent", "10", "-m", TASK, "-m", ours, "-m", framed)
    assert result["currentTask"] == TASK


def test_stdin_gives_the_same_fields_and_flags_beat_it(run: Run) -> None:
    fields = {"sessionId": "s9", "contextPercent": 45, "messages": [TASK, "and test it"], "files": ["a.py"]}
    fields["role"] = "gateway"
    result = run("checkpoint", "save", "--stdin", stdin=json.dumps(fields), env=at(0)).result
    assert (result["sessionId"], result["zone"], result["role"]) == ("s9", "warm", "gateway")
    assert result["currentTask"] == f"{TASK} | and test it"
    flags = ("--session", "s8", "--tokens", "1", "--window", "100", "--role", "interactive")
    beaten = run("checkpoint", "save", "--stdin", *flags, stdin=json.dumps(fields), env=at(0)).result
    assert (beaten["sessionId"], beaten["percent"], beaten["role"]) == ("s8", 1, "interactive")
    single = {"session": "s7", "tokens": 10, "window": 100, "message": TASK, "file": "b.py", "percent": None}
    result = run("checkpoint", "save", "--stdin", stdin=json.dumps(single), env=at(0)).result
    assert (result["percent"], result["filesModified"]) == (10, ["b.py"])


@pytest.mark.parametrize(("words", "stdin"), [
    (["--percent", "10"], None),
    (["--session", "s", "--tokens", "10"], None),
    (["--session", "s", "--percent", "-1"], None),
    (["--session", "s", "--percent", "nan"], None),
    (["--session", "  ", "--percent", "1"], None),
    (["--session", "s", "--stdin"], '{"percent": -1}'),
    (["--session", "s", "--stdin"], '{"percent": true}'),
    (["--session", "s", "--stdin"], '{"files": {"a": 1}}'),
    (["--session", "s", "--stdin"], '{"tokens": 5, "window": 0}'),
    (["--session", "s", "--stdin"], "[1]"),
])  # fmt: skip
def test_wrong_usage_has_a_fix_and_writes_nothing(run: Run, home: Path, words: list[str], stdin: str | None) -> None:
    failed = run("checkpoint", "save", *words, stdin=stdin, ok=False)
    assert failed.code == 2
    assert failed.json["error"]["code"] == "CHECKPOINT_INVALID_ARGS"
    assert failed.json["fix"]
    assert not home.exists()


@pytest.mark.parametrize("name", ["CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"])
def test_the_surrounding_clients_session_is_not_changed(run: Run, home: Path, name: str) -> None:
    """Another client may have been started in its shell."""
    for words in (("checkpoint", "save", "--percent", "1"), ("inject", "recovery")):
        refused = run(*words, env={**at(0), name: "from-outside"}, ok=False).json
        assert "no session was given" in refused["error"]["message"]
    assert not list(home.glob("sessions/*"))


def test_flush_reports_the_state_of_the_session(run: Run) -> None:
    run("memory", "write", MEMORY, env=at(0))
    save(run, "--percent", "10", "-m", TASK, "--file", "a.py", seconds=1)
    usage = ("--tokens", "170000", "--window", "200000")
    result = run("checkpoint", "flush", "--session", "s1", *usage, env=at(5)).result
    assert result["recalled"], "a session that went from cold to a compaction is served too"
    assert (result["hits"], result["written"], result["zone"]) == (1, True, "hot")
    events = run("otel", "search", "compaction.before", "--hours", "1", env=at(6)).result["events"]
    assert events[0]["metadata"] == {
        "compactionCount": 0, "contextPercent": 85, "contextTokens": 170000, "contextLimit": 200000,
        "recallCacheSize": 1, "recallHits": 1, "filesCount": 1, "userMessageCount": 1,
        "timeSinceLastCompactionMs": None, "timeSinceSessionStartMs": 4000,
    }  # fmt: skip
    assert len(run("otel", "search", "compaction.checkpoint", "--hours", "1", env=at(6)).result["events"]) == 1
    again = run("checkpoint", "flush", "--session", "s1", env=at(7)).result
    assert (again["recallReason"], again["writeReason"]) == ("cached", "unchanged")


def test_the_event_before_a_compaction_says_why_the_client_compacts(run: Run) -> None:
    payload = {"session_id": "s1", "cwd": "/w", "source": "overflow", "messages": [TASK]}
    run("hook", "pi", "before_compaction", stdin=json.dumps(payload), env=at(1))
    (found,) = run("otel", "search", "compaction.before", "--hours", "1", env=at(6)).result["events"]
    assert found["metadata"]["trigger"] == "overflow"


ORDER = "please change the whimbrel rule of the ledger"
SCOPES = (["--session", "s"], ["--project"], ["--everywhere"])
CALLS = {
    "save": ["checkpoint", "save", "--percent", "70", "--message", ORDER, "--file", "whimbrel.py"],
    "save stdin": ["checkpoint", "save", "--stdin"],
    "flush": ["checkpoint", "flush", "--percent", "90"],
    "recovery": ["inject", "recovery"],
    "memory": ["inject", "memory", "--query", "whimbrel rule"],
    "refresh": ["inject", "refresh", "--percent", "70", "--message", ORDER],
    "project": ["inject", "project", "--file", "whimbrel.py"],
}
STDIN = json.dumps({"percent": 70, "messages": [ORDER], "files": ["whimbrel.py"]})


@pytest.mark.parametrize("scope", SCOPES, ids=" ".join)
@pytest.mark.parametrize("begun", [False, True], ids=["unknown session", "known session"])
def test_nothing_is_recalled_or_written(run: Run, home: Path, tmp_path: Path, scope: list[str], begun: bool) -> None:
    (tmp_path / ".git").mkdir()
    run("memory", "write", "the merlin rule: whimbrel.py closes the ledger on the fifth day of a month")
    if begun:
        run("checkpoint", "save", "--session", "s", "--message", "please look at the ledger of the yearly report")
    run("off", *scope)
    events = run("otel", "list").result["found"]
    for name, words in CALLS.items():
        result = run(*words, "--session", "s", stdin=STDIN if name == "save stdin" else None).result
        assert result["reason"] == "off", name
        assert not (result.get("recalled") or result.get("written") or result.get("injected")), name
    assert run("otel", "list").result["found"] == events
    holding = [path for path in home.rglob("*") if path.is_file() and b"whimbrel rule" in path.read_bytes()]
    assert not holding
    assert run("recall", "merlin", "rule").result["count"] == 1, "what a person asks for is still answered"


def test_a_script_whose_session_is_named_by_the_environment(run: Run) -> None:
    here = {"JOELCLAW_SESSION_ID": "s"}
    run("off", env=here)
    assert run(*CALLS["save"], env=here).result["reason"] == "off"
    run("on", env=here)
    saved = run(*CALLS["save"], env=here).result
    assert (saved["reason"], saved["written"]) == ("", True)


DAY = "2026-09-21"
HEADING = "## 14:13 UTC · session s-1 · interactive · compaction"
DEFAULTS = Config({})


def flush(state: Any, now: int, *, config: Config | None = None, **more: Any) -> bool:
    return daily_log.append_section(state, now, config or load(), **more)


@pytest.fixture(autouse=True)
def _in_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.delenv("JOELCLAW_WORKSPACE_FOLDER", raising=False)


@pytest.fixture
def log(home: Path) -> Path:
    """Today's file."""
    return home / "workspace" / "memory" / f"{DAY}.md"


def state_of(task: str = TASK, session: str = "s-1", files: tuple[str, ...] = ("src/a.py", "src/b.py")) -> SessionState:
    state = SessionState(session, "interactive", NOW_MS)
    state.task, state.files, state.percent = task, list(files), 83.4
    state.recall_cache = [{"query": "buoyline importer memory", "hash": "", "hits": [], "at": 0}]
    return state


def test_a_section(log: Path) -> None:
    assert flush(state_of(), NOW_MS, config=DEFAULTS, project="p")
    assert log.read_text().split("\n") == [
        HEADING, f"- Task: {TASK}", "- Files modified: src/b.py, src/a.py", "- Recalled: buoyline importer memory",
        "- Project: p", "- Context 83 %, compaction 1", "",
    ]  # fmt: skip
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    for folder in (log.parent, log.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_checkpoint_flush_writes_it_as_the_hook_does(run: Run, log: Path, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user(TASK)
    for number, (tool, name) in enumerate((("Read", "src/buoy.py"), ("Read", "src/a.py"), ("Edit", "src/a.py"))):
        transcript.used(f"c{number}", tool, "ok", file_path=f"{CWD}/{name}")
    run("memory", "archive", str(transcript.path))
    run("checkpoint", "save", "--session", SESSION, "-m", TASK, "--file", f"{CWD}/src/a.py", "--percent", "9", env=NOW)
    run("checkpoint", "flush", "--session", SESSION, "--percent", "83", env=NOW)
    lines = log.read_text().split("\n")
    assert f"- Task: {TASK}" in lines
    assert f"- Files modified: {CWD}/src/a.py" in lines
    assert "- Files read: src/buoy.py" in lines
    run("checkpoint", "flush", "--session", SESSION, "--percent", "83", env=NOW)
    assert log.read_text().count("## ") == 1


def test_the_same_section_is_not_written_twice(log: Path) -> None:
    assert flush(state_of(), NOW_MS)
    assert flush(state_of("something else", "s-2"), NOW_MS)
    before = log.read_text()
    assert not flush(state_of(), NOW_MS + 120_000)
    assert log.read_text() == before
    again = state_of()
    again.compaction_count = 1
    assert flush(again, NOW_MS + 120_000)
    second = before.partition("\n\n")[0].replace("14:13", "14:15").replace("compaction 1", "compaction 2")
    assert log.read_text() == f"{before}\n{second}\n"
    assert flush(again, NOW_MS + 86_400_000), "a new day, a new file"
    assert (log.parent / "2026-09-22.md").exists()


def test_faults_are_kept(log: Path, home: Path) -> None:
    home.mkdir()
    (home / "workspace").write_text("a file where a folder should be")
    assert not flush(state_of(), NOW_MS)
    (home / "workspace").unlink()
    log.mkdir(parents=True)
    assert not flush(state_of(), NOW_MS)
    log.rmdir()
    os.mkfifo(log)
    assert not flush(state_of(), NOW_MS), "and does not wait for a reader"
    log.unlink()
    log.symlink_to("/dev/full")
    assert not flush(state_of(), NOW_MS)


def test_no_secret_reaches_the_log(log: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    assert flush(state_of(f"use {secret}", files=(f"src/{secret}.py",)), NOW_MS)
    assert secret not in log.read_text()
    assert "[redacted:" in log.read_text()


def test_a_long_file_is_read_from_its_end(log: Path) -> None:
    put(log, b"# Monday\n" + b"\xff long ago\n" * 40_000)
    assert flush(state_of(), NOW_MS)
    assert not flush(state_of(), NOW_MS)


nasty = st.one_of(st.text(max_size=300), st.sampled_from(("## 10:00 UTC · session s-1 · x", "a\n## b\n- Task", "·")))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(nasty, nasty, nasty)
def test_nothing_quoted_becomes_a_section(log: Path, task: str, session: str, name: str) -> None:
    log.unlink(missing_ok=True)
    state = state_of(task, session or "s", (name,))
    if not flush(state, NOW_MS):
        return
    lines = log.read_text().split("\n")
    assert sum(line.startswith("#") for line in lines) == 1
    assert all(line.startswith("- ") for line in lines[1:-1])
    assert not flush(state, NOW_MS + 60_000), "it knows its own section again"
