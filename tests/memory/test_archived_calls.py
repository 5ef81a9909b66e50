"""Every tool call of a transcript is a record: what it worked on, what came of it, and the names in its texts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript
from codex_rollout import Rollout
from conftest import Run, put
from faults import paused
from pi_session import PiSession
from pi_session import call as pi_call

from core import names
from core.store import calls as stored_calls
from core.store import sessions, sqlite
from memory.archive import Origin, call_drafts, error_cause, texts

Store = Callable[[], apsw.Connection]
AT = "2026-09-20T10:00:00.000Z"


@pytest.fixture
def store(home: Path) -> Store:
    return lambda: apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)


def call_rows(db: apsw.Connection, session: str = SESSION) -> list[tuple[Any, ...]]:
    """Of each call tool, file, command, outcome, error."""
    return [
        (call["tool"], call["file"], call["command"], call["outcome"], call["error"])
        for call in stored_calls.of_session(db, session)
    ]


def everything(db: apsw.Connection) -> dict[str, list[Any]]:
    tables = ("session", "call", "name", "compaction")
    return {table: sorted(db.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}


def prompts(db: apsw.Connection) -> list[str]:
    return [text[6:] for (text,) in db.execute("SELECT text FROM document WHERE text LIKE 'user: %' ORDER BY rowid")]


def test_claude(run: Run, transcript: Transcript, store: Store) -> None:
    transcript.user("why does the gateway drop connections?")
    read = "1\tconst idleTimeoutMs = 55_000;\n2\tplain words only\n3\texport { closeUpstream };"
    transcript.used("c1", "Read", read, file_path=f"{CWD}/src/idle_timeout.ts")
    printed = "Exit code 2\nrunning\nENOSPC: no such device shard_17\n"
    transcript.used("c2", "Bash", printed, failed=True, command="make test")
    transcript.user("mend it")
    transcript.call("c3", "Edit", file_path=f"{CWD}/src/idle_timeout.ts", old_string="a", new_string="keepAliveMs")
    transcript.outcome("c3", "<tool_use_error>String to replace was not found</tool_use_error>", failed=True)
    transcript.call("t1", "TodoWrite", todos=[{"content": "Mend the timeout", "status": "in_progress"}])
    transcript.compact("We mend closeUpstream.")
    result = run("memory", "archive", str(transcript.path)).result
    assert result["calls"] == 4
    db = store()
    assert call_rows(db) == [
        ("Read", "src/idle_timeout.ts", "", "ok", ""),
        ("Bash", "", "make test", "failed", "ENOSPC: no such device shard_17"),
        ("Edit", "src/idle_timeout.ts", "", "failed", "String to replace was not found"),
        ("TodoWrite", "", "", "", ""),
    ]
    read, ran, edited, _ = stored_calls.of_session(db, SESSION, passages=True)
    assert [call["prompt"] for call in (read, ran, edited)] == [1, 1, 2]
    assert [call["number"] for call in (read, ran, edited)] == [1, 2, 3]
    assert "const idleTimeoutMs = 55_000;" in read["passage"]
    assert "plain words only" not in read["passage"]
    assert "shard_17" in ran["passage"]
    names = {row["name"]: row for row in stored_calls.names(db, SESSION, every=True)}
    timeout = names["idle_timeout.ts"]
    assert (timeout["first"], timeout["last"], timeout["calls"]) == (1, 3, 2)
    assert timeout["place"] == "src/idle_timeout.ts"
    assert (names["closeUpstream"]["first"], names["shard_17"]["place"]) == (1, "make test")
    session = sessions.by_id(db, SESSION)
    assert (session["client"], session["project"], session["folder"]) == ("claude", "gateway", CWD)
    assert (session["prompts"], session["calls"]) == (2, 4)
    assert session["plan"] == [["1", "Mend the timeout", "in_progress"]]
    (compaction,) = sessions.compactions(db, SESSION)
    assert (compaction["call"], compaction["summary"]) == (4, "We mend closeUpstream.")
    assert prompts(db) == ["why does the gateway drop connections?", "mend it"]


def test_claude_the_users_reason_for_rejecting_a_call_is_kept(run: Run, transcript: Transcript, store: Store) -> None:
    rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    transcript.user("mend it")
    for command, answer in (
        ("git push --force", f"{rejected} To tell you how to proceed, the user said:\nnever force-push!"),
        ("git pull", f"{rejected} STOP what you are doing and wait for the user."),
        ("make", "<tool_use_error>Sibling tool call errored</tool_use_error>"),
    ):
        transcript.used(f"call-{command}", "Bash", answer, failed=True, command=command)
    run("memory", "archive", str(transcript.path))
    db = store()
    assert prompts(db) == ["mend it", "never force-push!"]
    assert [(call["outcome"], call["error"]) for call in stored_calls.of_session(db, SESSION)] == [("stopped", "")] * 3


def test_claude_a_queued_prompt_is_archived_once(run: Run, transcript: Transcript, store: Store) -> None:
    def queue(operation: str, text: str | None = None) -> None:
        transcript.write({"type": "queue-operation", "operation": operation, "sessionId": SESSION, "timestamp": AT,
                          **({} if text is None else {"content": text})})  # fmt: skip

    transcript.user("begin")
    queue("enqueue", "please never amend commits")
    queue("remove")  # handed over in the middle of the turn
    queue("enqueue", "taken back")
    queue("popAll", "taken back")
    queue("enqueue", "the next message")
    queue("dequeue")
    transcript.user("the next message")
    queue("enqueue", "<task-notification>\n<task-id>b1</task-id>\n<status>killed</status></task-notification>")
    queue("remove")
    queue("enqueue", "/exit")
    queue("remove")
    queue("enqueue", "as newer versions tell it")
    queue("remove")
    again = {"type": "queued_command", "prompt": "as newer versions tell it", "commandMode": "prompt"}
    transcript.write({**transcript.entry("user", ""), "type": "attachment", "attachment": again})
    queue("enqueue", "and the other way round")
    other = {**again, "prompt": "and the other way round"}
    transcript.write({**transcript.entry("user", ""), "type": "attachment", "attachment": other})
    queue("remove")
    expected = [
        "begin", "please never amend commits", "the next message", "as newer versions tell it",
        "and the other way round",
    ]  # fmt: skip
    lines = transcript.path.read_bytes().splitlines(keepends=True)
    transcript.path.write_bytes(b"")
    for line in lines:  # however it is cut
        transcript.append(line)
        run("memory", "archive", str(transcript.path))
    assert prompts(store()) == expected


BEGUN = "Command running in background with ID: {0}. Output is being written to: /tmp/{0}"
STATUS = "<retrieval_status>{}</retrieval_status>\n<task_id>b42</task_id>\n<status>{}</status>\n"
ASKING: dict[str, tuple[dict[str, str], str, str]] = {
    "TaskOutput": (
        {"task_id": "b42"}, STATUS.format("timeout", "running"),
        f"{STATUS.format('success', 'failed')}<exit_code>1</exit_code>\n<output>\nerror: slow_test_7 failed\n</output>",
    ),
    "BashOutput": (  # of versions before 2.1; its answer names no process
        {"bash_id": "b42"}, "<status>running</status>\n\n<stdout>\nslow_test_1 of 9\n</stdout>",
        "<status>failed</status>\n\n<exit_code>1</exit_code>\n\n<stderr>\nerror: slow_test_7 failed\n</stderr>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", ASKING)
def test_claude_asks_for_the_output_of_a_command_in_the_background(
    run: Run, transcript: Transcript, store: Store, tool: str
) -> None:
    given, running, failed = ASKING[tool]
    transcript.used("c1", "Bash", BEGUN.format("b42"), command="make slow_test", run_in_background=True)
    transcript.used("c2", tool, running, **given)
    run("memory", "archive", str(transcript.path))
    outcomes = [(call["outcome"], call["error"]) for call in stored_calls.of_session(store(), SESSION)]
    assert outcomes == [("running", "b42"), ("ok", "")], "and by what it is asked after or stopped"
    transcript.used("c3", tool, failed, **given)
    run("memory", "archive", str(transcript.path))
    assert [call[2:] for call in call_rows(store())] == [
        ("make slow_test", "failed", "error: slow_test_7 failed"), ("", "ok", ""), ("", "ok", ""),
    ]  # fmt: skip


def test_claude_says_how_a_command_in_the_background_ended(run: Run, transcript: Transcript, store: Store) -> None:
    transcript.used("c1", "Bash", BEGUN.format("b43"), command="make other", run_in_background=True)
    transcript.user(
        "<task-notification>\n<task-id>b43</task-id>\n<status>failed</status>\n"
        "<summary>Background command failed with exit code 1</summary>\n</task-notification>"
    )
    run("memory", "archive", str(transcript.path))
    assert [call[2:4] for call in call_rows(store())] == [("make other", "failed")]
    assert prompts(store()) == []


def test_codex(run: Run, tmp_path: Path, store: Store) -> None:
    rollout = Rollout(tmp_path, "cx-1", cwd="/w/hive")
    rollout.say("user", "count the hives")
    prompt = rollout.rows[-1][1]
    rollout.say("user", "<skill>\nread me\n</skill>")
    printed = "Chunk ID: {}\nProcess {}\nOutput:\n{}"
    rollout.call("k1", printed.format(1, "exited with code 1", "error TS2304: bee_queen"), cmd="bun test")
    patch = "*** Begin Patch\n*** Update File: /w/hive/comb.py\n+wax_cell = 6\n*** End Patch"
    rollout.item("custom_tool_call", name="apply_patch", call_id="k2", input=patch)
    refused = "apply_patch verification failed: Failed to find expected lines"
    rollout.item("custom_tool_call_output", call_id="k2", output=refused)
    rollout.call("k3", printed.format(2, "running with session ID 77", "still at it"), cmd="bun run typecheck")
    rollout.call("k4", printed.format(3, "running with session ID 77", ""), "write_stdin", session_id=77)
    ended = printed.format(4, "exited with code 2", "error: comb_wall missing")
    rollout.call("k5", ended, "write_stdin", session_id=77)
    rollout.call("p1", "Plan updated", "update_plan", plan=[{"step": "Count", "status": "completed"}])
    failed = "failed to parse function arguments: missing field"
    rollout.call("p2", failed, "update_plan", plan=[{"step": "Guess"}])
    rollout.add("compacted", message="They count hives.", replacement_history=[prompt])
    assert run("memory", "archive", str(rollout.path)).result["calls"] == 7
    db = store()
    assert call_rows(db, "cx-1") == [
        ("exec_command", "", "bun test", "failed", "error TS2304: bee_queen"),
        ("apply_patch", "comb.py", "", "failed", "apply_patch verification failed: Failed to find expected lines"),
        ("exec_command", "", "bun run typecheck", "failed", "error: comb_wall missing"),
        ("write_stdin", "", "", "ok", ""),
        ("write_stdin", "", "", "ok", ""),
        ("update_plan", "", "", "ok", ""),
        ("update_plan", "", "", "failed", "failed to parse function arguments: missing field"),
    ]
    assert "wax_cell = 6" in stored_calls.of_session(db, "cx-1", passages=True)[1]["passage"]
    session = sessions.by_id(db, "cx-1")
    assert session["plan"] == [["1", "Count", "completed"]]
    (compaction,) = sessions.compactions(db, "cx-1")
    assert compaction["summary"] == "They count hives.\ncount the hives"
    assert prompts(db) == ["count the hives"]


def test_pi(run: Run, tmp_path: Path, store: Store) -> None:
    todos = [{"id": 1, "text": "Weave", "done": True}, {"id": 2, "text": "Dye", "done": False}]
    talk = PiSession(tmp_path / "pi.jsonl", cwd="/w/loom")
    talk.user("weave")
    commands = [pi_call("b", "bash", command="npm test"), pi_call("c", "bash", command="sleep 9")]
    read, listed = pi_call("a", "read", path="/w/loom/warp.ts"), pi_call("d", "todo", action="list")
    talk.answer("I weave.", read, *commands, listed)
    talk.result("a", "export const weftCount = 9")
    talk.result("b", "fine\nwarp.ts(3,1): error TS1: loomState\n\nCommand exited with code 2", isError=True)
    talk.result("c", "half\n\nCommand aborted", isError=True)
    talk.result("d", "2 todos", details={"todos": todos})
    talk.answer("", pi_call("e", "todo", action="clear"))
    talk.result("e", "no such action", isError=True, details={"todos": todos[:1]})
    talk.compaction(talk.ids[-1], "## Goal\nweave")
    run("memory", "archive", str(talk.path))
    db = store()
    assert call_rows(db, "s-1") == [
        ("read", "warp.ts", "", "ok", ""),
        ("bash", "", "npm test", "failed", "warp.ts(3,1): error TS1: loomState"),
        ("bash", "", "sleep 9", "stopped", ""),
        ("todo", "", "", "ok", ""),
        ("todo", "", "", "failed", "no such action"),
    ]
    session = sessions.by_id(db, "s-1")
    assert session["plan"] == [["1", "Weave", "completed"], ["2", "Dye", "pending"]]
    assert [compaction["summary"] for compaction in sessions.compactions(db, "s-1")] == ["## Goal\nweave"]


def test_gemini(run: Run, tmp_path: Path, store: Store) -> None:
    def call(identifier: str, name: str, args: dict[str, Any], output: str, status: str = "success") -> dict[str, Any]:
        response = [{"functionResponse": {"id": identifier, "name": name, "response": {"output": output}}}]
        return {"id": identifier, "name": name, "args": args, "status": status, "result": response}

    shell = "Command: make\nOutput: fatal: no rule\nExit Code: 2\nProcess Group PGID: 7"
    done = [
        call("w1", "read_file", {"absolute_path": "/w/bake/crumb.py"}, "def raise_dough(): pass"),
        call("w2", "run_shell_command", {"command": "make"}, shell),
        call("w3", "write_todos", {"todos": [{"description": "Bake", "status": "in_progress"}]}, "ok"),
        call("w4", "run_shell_command", {"command": "rm -r /"}, "no", "cancelled"),
        call("w5", "write_todos", {"todos": [{"description": "Burn"}]}, "two todos are in progress", "error"),
    ]
    answer = {"id": "g1", "timestamp": AT, "type": "gemini", "content": "I bake."}
    waiting = [{key: value for key, value in call.items() if key != "result"} for call in done]
    lines = [
        {"sessionId": "gm-1", "projectHash": "0a", "startTime": AT, "kind": "main"},
        {"id": "g0", "timestamp": AT, "type": "user", "content": "bake"},
        {**answer, "toolCalls": waiting},
        {**answer, "toolCalls": done},  # written again when its tools have run
    ]
    path = put(tmp_path / "chat.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    run("memory", "archive", str(path))
    db = store()
    assert [call[:4] for call in call_rows(db, "gm-1")] == [
        ("read_file", "/w/bake/crumb.py", "", "ok"), ("run_shell_command", "", "make", "failed"),
        ("write_todos", "", "", "ok"), ("run_shell_command", "", "rm -r /", ""), ("write_todos", "", "", "failed"),
    ]  # fmt: skip
    session = sessions.by_id(db, "gm-1")
    assert session["plan"] == [["1", "Bake", "in_progress"]]


def test_opencode(run: Run, store: Store) -> None:
    def tool(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "files": [], "command": "", "given": "", "target": "", "plan": [], "done": True,
                "outcome": "", "failed": False, **more}  # fmt: skip

    tools = [
        tool("read", target="/w/tide/moon.ts", given="/w/tide/moon.ts", outcome="export const springTide = 3"),
        tool("bash", command="make", given="make", outcome="error: neap_tide is low", failed=True),
        tool("bash", command="mkdir x", given="mkdir x"),
        tool("bash", command="rm x", given="rm x", done=False),
        tool("todowrite", plan=[{"text": "Predict", "status": "pending"}], outcome="ok"),
        tool("todowrite", plan=[{"text": "Guess", "status": "pending"}], outcome="invalid", failed=True),
    ]
    entries = [
        {"id": "m1", "role": "user", "text": "predict", "tools": [], "at": 1},
        {"id": "m2", "role": "assistant", "text": "I do.", "tools": tools, "at": 2},
    ]
    payload = {"session_id": "oc-1", "cwd": "/w/tide", "entries": entries}
    for _ in range(2):
        run("hook", "opencode", "turn_end", stdin=json.dumps(payload))
    db = store()
    assert call_rows(db, "oc-1") == [
        ("read", "moon.ts", "", "ok", ""), ("bash", "", "make", "failed", "error: neap_tide is low"),
        ("bash", "", "mkdir x", "ok", ""), ("bash", "", "rm x", "", ""), ("todowrite", "", "", "ok", ""),
        ("todowrite", "", "", "failed", "invalid"),
    ]  # fmt: skip
    session = sessions.by_id(db, "oc-1")
    assert (session["prompts"], session["plan"]) == (1, [["1", "Predict", "pending"]])
    assert "springTide" in {row["name"] for row in stored_calls.names(db, "oc-1")}


def busy(transcript: Transcript, count: int = 40) -> None:
    """A session with a bit of everything."""
    for number in range(count):
        if number % 7 == 0:
            transcript.user(f"now part{number} please")
        transcript.call(f"c{number}", "Bash", command=f"run job_{number} --with shared_state")
        if number % 11 == 3:
            transcript.write(transcript.entry("system", "", subtype="compact_boundary", compactMetadata={}))
        transcript.outcome(f"c{number}", f"job_{number} sees sharedValue\nand error_{number}", failed=number % 5 == 0)


@pytest.mark.parametrize("size", [1, 900, 5000])
def test_reading_in_pieces_gives_the_same_rows(
    run: Run, home: Path, tmp_path: Path, transcript: Transcript, store: Store, size: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """An outcome in a later piece, and a compaction as the first line of one."""
    from memory.archive import ingest

    busy(transcript, 12 if size == 1 else 40)
    run("memory", "archive", str(transcript.path))
    expected = everything(store())
    monkeypatch.setenv("JOELCLAW_HOME", str(tmp_path / "other"))
    db = sqlite.open_writing(busy_ms=400, durable=False)
    monkeypatch.setattr(ingest, "PIECE_BYTES", size)
    for _ in range(2):  # the second time as if an older version had read it
        origin = Origin("claude", SESSION, CWD, now=1)
        ingest.ingest_file(db, str(transcript.path), origin)
        db.execute("UPDATE transcript SET head = ''")
    cut = everything(db)
    for table in ("call", "name", "compaction"):
        assert [row[1:] if table == "call" else row for row in cut[table]] == [
            row[1:] if table == "call" else row for row in expected[table]
        ]
    assert cut["session"] == expected["session"]


def test_a_kill_in_the_middle_neither_doubles_nor_loses(
    run: Run, home: Path, tmp_path: Path, transcript: Transcript, store: Store
) -> None:
    busy(transcript, 700)
    process = paused(home, "memory", "archive", str(transcript.path), commit=4)
    process.kill()
    process.communicate()
    assert len(stored_calls.of_session(store(), SESSION, last=9999)) < 700
    run("memory", "archive", str(transcript.path))
    rows = everything(store())
    other = tmp_path / "other"
    run("memory", "archive", str(transcript.path), env={"JOELCLAW_HOME": str(other)})
    expected = everything(apsw.Connection(str(other / "store.db"), flags=apsw.SQLITE_OPEN_READONLY))
    assert len(rows["call"]) == 700
    assert [row[1:] for row in rows["call"]] == [row[1:] for row in expected["call"]]
    assert (rows["name"], rows["compaction"]) == (expected["name"], expected["compaction"])


def test_bounds_hold(run: Run, home: Path, transcript: Transcript, store: Store) -> None:
    transcript.user("go")
    many = "\n".join(f"line {number} names value_{number} and other{number}Name" for number in range(50_000))
    transcript.used("c1", "Bash", many, failed=True, command="cat " + "x" * 50_000)
    long = "word someName " * 40_000 + "\0 \ud83d lastName"
    transcript.used("c2", "Read", long, file_path=CWD + "/" + "d/" * 3000 + "a.py")
    transcript.call("c3", "Bash", command="\0\ud800 make \udfff")
    run("memory", "archive", str(transcript.path))
    db = store()
    for call in stored_calls.of_session(db, SESSION, passages=True):
        assert len(call["command"]) <= call_drafts.MAX_COMMAND_CHARS
        assert len(call["file"]) <= 1000
        assert len(call["error"]) <= error_cause.ERROR_CHARS
        assert len(call["passage"]) <= 2 * texts.MAX_PASSAGE_CHARS + 1000
    assert len(stored_calls.names(db, SESSION, every=True)) <= 3 * names.MOST
    assert "lastName" in {row["name"] for row in stored_calls.names(db, SESSION)}
    assert (home / "store.db").stat().st_size < 4_000_000
