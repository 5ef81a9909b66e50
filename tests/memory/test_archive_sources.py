"""`joelclaw memory archive` reads whatever a client keeps its sessions in, and says what it cannot read."""

import itertools
import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard
from conftest import NOW, NOW_MS, Run, put

from core.clock import iso

AT = "2026-09-20T10:00:00.000Z"
ANSWER = "The osprey queue tries four times."


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "GEMINI_CLI_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    return tmp_path / "person"


def rollout(session: str, *said: str) -> bytes:
    """A rollout of Codex: prompts and answers in turn."""
    lines: list[dict[str, Any]] = [{"type": "session_meta", "timestamp": AT, "payload": {"id": session, "cwd": "/w/q"}}]
    for number, text in enumerate(said):
        role, kind = ("assistant", "output_text") if number % 2 else ("user", "input_text")
        message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        lines.append({"type": "response_item", "timestamp": AT, "payload": message})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def archive(run: Run, *words: str) -> dict[str, Any]:
    return run("memory", "archive", *words).result


def recall(run: Run, *words: str) -> str:
    return run("recall", "--raw", "--everywhere", *words).out


def compressed(content: bytes, frames: int = 1) -> bytes:
    size = len(content) // frames + 1
    parts = (content[at : at + size] for at in range(0, len(content), size))
    return b"".join(zstandard.ZstdCompressor().compress(part) for part in parts)


@pytest.mark.parametrize("frames", [1, 3])
@pytest.mark.parametrize("place", ["sessions/2026/09/20", "archived_sessions", "archived_sessions/2026"])
def test_all_reads_compressed_and_archived_rollouts(run: Run, person: Path, place: str, frames: int) -> None:
    content = compressed(rollout("one", "how often does the osprey queue try?", ANSWER), frames)
    path = put(person / ".codex" / place / "rollout-2026-one.jsonl.zst", content)
    assert archive(run, "--all")["episodes"]["added"] == 2
    assert ANSWER in recall(run, "osprey queue")
    assert archive(run, "--all", "--agent", "codex")["bytes"] == 0
    assert path.read_bytes() == content


def test_a_rollout_that_was_compressed_or_moved_later_is_not_archived_twice(run: Run, person: Path) -> None:
    folder = person / ".codex/sessions/2026/09/20"
    content = rollout("one", "how often does the osprey queue try?", ANSWER)
    plain = put(folder / "rollout-2026-one.jsonl", content)
    archive(run, "--all")
    plain.unlink()
    put(folder / "rollout-2026-one.jsonl.zst", compressed(content + rollout("one", "and then?")[-200:]))
    again = archive(run, "--all")
    assert (again["transcripts"], again["bytes"] < 300, again["episodes"]["added"]) == (1, True, 1)
    moved = person / ".codex/archived_sessions/rollout-2026-one.jsonl.zst"
    moved.parent.mkdir()
    os.rename(folder / "rollout-2026-one.jsonl.zst", moved)
    assert archive(run, "--all")["episodes"] == {"added": 0, "updated": 0}
    assert len(run("session", "list").result["sessions"]) == 1


def test_a_long_compressed_rollout_is_read_to_its_end(run: Run, person: Path) -> None:
    said = [f"message {number} on the osprey " + "x" * 3_000 for number in range(1_200)]
    path = put(person / "long.jsonl.zst", compressed(rollout("one", *said, "the last word is kestrel")))
    assert archive(run, str(path))["bytes"] > 3_500_000
    assert "kestrel" in recall(run, "last word kestrel")


def test_damaged_and_unsupported_sources_are_counted_with_the_reason(
    run: Run, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compressed(rollout("one", "how often does the osprey queue try?", ANSWER))
    folder = person / ".codex/sessions"
    put(folder / "rollout-1.jsonl.zst", whole[:40] + b"damaged" + whole[47:])
    put(folder / "rollout-2.jsonl", rollout("two", "a plain osprey"))
    result = archive(run, "--all")
    assert (result["transcripts"], list(result["unreadable"].values())) == (1, [1])
    for name in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    reason = "it is compressed; to read it, run pip install zstandard"
    assert archive(run, "--all")["unreadable"] == {reason: 1}
    assert run("memory", "archive").result["history"]["unreadable"] == {reason: 1}
    (finding,) = [it for it in run("doctor").result["findings"] if it["code"] == "SESSIONS_UNREADABLE"]
    assert finding["message"] == f"1 of 2 sessions cannot be archived: {reason}"


class OpenCode:
    """A database of OpenCode, open for writing as while OpenCode runs."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript("""
            PRAGMA journal_mode = wal;
            CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, revert TEXT,
                time_created INT, time_updated INT);
            CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, time_updated INT, data TEXT);
            CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT,
                time_updated INT, data TEXT);""")
        self.count = 0

    def session(self, name: str, folder: str, parent: str | None = None) -> None:
        columns = "id, parent_id, directory, title, time_created, time_updated"
        self.db.execute(f"INSERT INTO session ({columns}) VALUES (?, ?, ?, ?, 1, 1)", (name, parent, folder, name))

    def message(self, session: str, role: str, *parts: Any, at: int = 0, **info: Any) -> str:
        self.count += 1
        name, at = f"msg_{session}_{self.count:04}", 1_789_900_000_000 + (at or self.count)
        data = {"role": role, "time": {"created": at, "completed": at}, "path": {"cwd": "/w/q"}, **info}
        self.db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (name, session, at, at, json.dumps(data)))
        for number, part in enumerate(parts):
            row = part if isinstance(part, dict) else {"type": "text", "text": part}
            about = (f"prt_{name}_{number}", name, session, at, at, json.dumps(row))
            self.db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", about)
        return name


def tool(name: str, given: dict[str, Any], **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": name, "callID": "c", "state": {"status": "completed", "input": given, **state}}


@pytest.fixture
def opencode(person: Path) -> OpenCode:
    return OpenCode(person / ".local/share/opencode/opencode.db")


def test_the_database_of_opencode_is_read_while_it_is_written(run: Run, opencode: OpenCode) -> None:
    opencode.session("ses_a", "/w/q")
    opencode.message(
        "ses_a", "user", "where is the merlin cache emptied?", {"type": "text", "text": "x", "ignored": True}
    )
    opencode.message("ses_a", "assistant", ANSWER, tool("bash", {"command": "make test"}, metadata={"exit": 2}))
    opencode.session("ses_b", "/w/other")
    opencode.message("ses_b", "user", "another session about puffins")
    opencode.session("ses_child", "/w/q", parent="ses_a")
    opencode.message("ses_child", "user", "a subagent counts gannets")
    before = sorted((file.name, file.stat().st_size) for file in opencode.path.parent.iterdir())
    result = archive(run, "--all")
    assert (result["agents"], result["episodes"]["added"], result["calls"]) == ({"opencode": 3}, 7, 1)
    assert sorted((file.name, file.stat().st_size) for file in opencode.path.parent.iterdir()) == before
    listed = run("session", "list").result["sessions"]
    assert {(row["sessionId"], row["client"], row["project"], row["updatedAt"][:10]) for row in listed} == {
        ("ses_a", "opencode", "q", "2026-09-20"), ("ses_b", "opencode", "other", "2026-09-20"),
    }  # fmt: skip
    said = opencode.message("ses_a", "user", "and the puffin cache?")
    again = archive(run, "--all")
    assert (again["unchanged"], again["episodes"]) == (2, {"added": 1, "updated": 1})  # its neighbour
    opencode.db.execute("UPDATE session SET revert = ?, time_updated = 2", (json.dumps({"messageID": said}),))
    archive(run, "--all")
    assert "[abandoned] prompt: and the puffin cache?" in recall(run, "puffin cache")
    # with the next prompt, OpenCode deletes what the user took back
    opencode.db.execute("DELETE FROM message WHERE id = ?", (said,))
    opencode.db.execute("UPDATE session SET revert = NULL, time_updated = 3")
    opencode.message("ses_a", "user", "and the whimbrel cache?")
    archive(run, "--all")
    opencode.message("ses_a", "assistant", tool("bash", {"command": "make whimbrel"}, metadata={"exit": 0}))
    archive(run, "--all")
    assert "[abandoned] prompt: and the puffin cache?" in recall(run, "puffin cache")
    assert "\nprompt: and the whimbrel cache?" in recall(run, "whimbrel cache")
    assert "[abandoned]" not in recall(run, "make whimbrel").partition("make whimbrel")[0]
    assert recall(run, "gannets").startswith("teammate: a subagent counts gannets")
    opencode.db.close()
    names = [file.name for file in opencode.path.parent.iterdir()]
    assert (archive(run, "--all")["bytes"], names) == (0, ["opencode.db"])
    assert [file.name for file in opencode.path.parent.iterdir()] == names


def test_a_message_of_opencode_grows_and_its_calls_are_kept_once(run: Run, opencode: OpenCode) -> None:
    opencode.session("ses_a", "/w/q")
    opencode.message("ses_a", "user", "mend the harbour gauge")
    begun = opencode.message("ses_a", "assistant", tool("bash", {"command": "make gauge"}, status="running"))
    archive(run, str(opencode.path))
    state = tool("bash", {"command": "make gauge"}, output="gauge.c:3: error: no tide", metadata={"exit": 2})
    opencode.db.execute("UPDATE part SET data = ? WHERE message_id = ?", (json.dumps(state), begun))
    said = json.dumps({"type": "text", "text": "The gauge lacks a tide."})
    opencode.db.execute("INSERT INTO part VALUES (?, ?, 'ses_a', 9, 9, ?)", ("prt_z", begun, said))
    result = archive(run, str(opencode.path))
    assert (result["episodes"]["added"], result["calls"]) == (1, 0)
    assert "gauge.c:3: error: no tide" in run("fix", "error: no tide").out
    items = [{"id": begun, "role": "assistant", "text": "The gauge lacks a tide.", "tools": []}]
    payload = {"session_id": "ses_a", "cwd": "/w/q", "entries": items}
    run("hook", "opencode", "turn_end", stdin=json.dumps(payload))
    assert run("memory", "export", "--collection", "episodes").out.count("assistant: The gauge") == 1


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_forks_of_opencode_give_new_ids_to_what_they_copy(run: Run, tmp_path: Path, order: tuple[int, ...]) -> None:
    names, own_at = ("ses_a", "ses_b", "ses_c"), (30, 10, 20)  # the first goes on after its forks
    databases = []
    for number, name in enumerate(names):  # each in a database of its own, to choose the order
        database = OpenCode(tmp_path / name / "opencode.db")
        database.session(name, "/w/q")
        database.message(name, "user", "where is the kestrel buffer?", at=1)
        database.message(name, "assistant", "In close_quarter().", at=2)
        if name == "ses_c":  # a fork of the second
            database.message(name, "user", "try way 1", at=own_at[1])
        database.message(name, "user", f"try way {number}", at=own_at[number])
        databases.append(database)
    for number in order:
        archive(run, str(databases[number].path))
    exported = map(json.loads, run("memory", "export", "--collection", "episodes").out.splitlines())
    assert sorted((row["session"], row["text"]) for row in exported if "title: " not in row["text"]) == [
        ("ses_a", "assistant: In close_quarter()."), ("ses_a", "user: try way 0"),
        ("ses_a", "user: where is the kestrel buffer?"), ("ses_b", "user: try way 1"), ("ses_c", "user: try way 2"),
    ]  # fmt: skip


@pytest.mark.parametrize("content", [b"SQLite format 3\0 and then nothing of use", b"", None])
def test_a_database_that_cannot_be_read_stops_nothing(run: Run, person: Path, content: bytes | None) -> None:
    folder = person / ".local/share/opencode"
    put(folder / "opencode.db", content or b"")
    if content is None:
        (folder / "opencode.db").unlink()
        db = sqlite3.connect(folder / "opencode.db")
        db.execute("CREATE TABLE account (id)")
        db.close()
    put(person / ".codex/sessions/rollout-2.jsonl", rollout("two", "a plain osprey"))
    result = archive(run, "--all")
    assert (result["agents"], result["skippedCount"]) == ({"codex": 1}, 1)
    assert list(result["unreadable"].values()) == ([1] if content != b"" else [])


def gemini(*said: str, more: int = 0) -> dict[str, Any]:
    """A chat as Gemini CLI once wrote it: one document."""
    messages: list[dict[str, Any]] = [
        {"id": f"g{number}", "timestamp": AT, "type": "gemini" if number % 2 else "user", "content": text}
        for number, text in enumerate(said)
    ]
    head = {"sessionId": "gemini-old", "projectHash": "abc", "startTime": AT, "lastUpdated": AT}
    return {**head, "messages": messages} if not more else {"messages": messages, **head}


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("indent", [2, None])
def test_older_chats_of_gemini_cli_are_read(run: Run, person: Path, indent: int | None, more: int) -> None:
    path = person / ".gemini/tmp/abc/chats/session-2025-10-01T10-00-1234.json"
    asked = "what limits the linnet report\u00e9?"
    put(path, json.dumps(gemini(asked, "The 4 MB cursor.", more=more), indent=indent).encode())
    put(path.with_name("logs.json"), b'[{"sessionId": "x", "message": "not a chat"}]')
    assert archive(run, "--all")["episodes"] == {"added": 2, "updated": 0}
    grown = gemini(asked, "The 4 MB cursor limits it.", "raise it", more=more)
    put(path, json.dumps(grown, indent=indent, ensure_ascii=False).encode())
    result = archive(run, str(person / ".gemini"))
    assert (result["skipped"], result["episodes"]["added"]) == ([], 1)
    assert "cursor limits it" in recall(run, "linnet report")
    (row,) = run("session", "list").result["sessions"]
    assert (row["sessionId"], row["client"]) == ("gemini-old", "gemini")


def test_a_long_document_is_read_and_a_cut_one_is_reported(run: Run, person: Path) -> None:
    said = [
        "z" * 3_000_000, "the heron is grey", *(f"answer {number}" for number in range(2_000)), "the last is a wren",
    ]  # fmt: skip
    whole = json.dumps(gemini(*said)).encode()
    put(person / "chat.json", whole[: len(whole) - 60])
    assert "not written to its end" in run("memory", "archive", str(person / "chat.json"), ok=False).out
    put(person / "chat.json", whole)
    result = archive(run, str(person / "chat.json"))
    assert (result["episodes"]["added"], result["badLines"]) == (2_003, 0)


@pytest.mark.parametrize("name", ["full.jsonl", "export.json", "ses_1"])
@pytest.mark.parametrize("indent", [2, None])
def test_an_export_of_opencode_is_read(run: Run, person: Path, name: str, indent: int | None) -> None:
    def message(number: int, role: str, *parts: Any) -> dict[str, Any]:
        info = {"id": f"msg_{number}", "sessionID": "ses_1", "role": role, "time": {"created": 1_789_900_000_000}}
        return {"info": info, "parts": [{"type": "text", "text": it} if isinstance(it, str) else it for it in parts]}

    told = {"type": "text", "text": "a plugin's heron", "ignored": True}
    cleared = tool("bash", {"command": "make heron"}, output="heron.c is built", time={"compacted": 7})
    messages = [message(1, "user", "where is the heron?", told), message(2, "assistant", "In heron.c.", cleared)]
    document = {"info": {"id": "ses_1", "directory": "/w/birds", "title": "Heron"}, "messages": messages}
    path = put(person / "exports" / name, json.dumps(document, indent=indent).encode())
    result = archive(run, str(path if name == "ses_1" else path.parent))
    assert (result["agents"], result["episodes"]["added"], result["calls"]) == ({"opencode": 1}, 3, 1)  # and its title
    assert "a plugin's heron" not in run("memory", "export").out
    (row,) = run("session", "list").result["sessions"]
    assert (row["sessionId"], row["project"]) == ("ses_1", "birds")


def lines_of(path: Path, *rows: dict[str, Any]) -> str:
    return str(put(path, b"".join(json.dumps(row).encode() + b"\n" for row in rows)))


def event(kind: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    event.count = getattr(event, "count", 0) + 1  # type: ignore[attr-defined]
    return {"type": kind, "data": data, "id": f"e{event.count}", "timestamp": AT, **more}  # type: ignore[attr-defined]


def test_the_events_of_copilot_are_read_without_what_its_hooks_repeat(run: Run, person: Path) -> None:
    done = {"toolCallId": "t1", "success": True, "result": {"content": "3 failed\n<exited with exit code 1>"}}
    lines_of(
        person / ".copilot/session-state/0b9f/events.jsonl",
        event("session.start", {"sessionId": "cop-1", "context": {"cwd": "C:\\git\\star"}}),
        event("hook.start", {"input": {"prompt": "find the puffin"}}),
        event("user.message", {"content": "find the puffin"}),
        event("user.message", {"content": "the clock says noon", "source": "system"}),
        event("assistant.message", {"content": "A helper saw a gannet."}, agentId="a1"),
        event("tool.execution_start", {"toolCallId": "t1", "toolName": "powershell", "arguments": {"command": "make"}}),
        event("tool.execution_complete", done),
        event("session.compaction_complete", {"success": False, "summaryContent": "cancelled"}),
        event("session.compaction_complete", {"success": True, "summaryContent": "the puffin is sought"}),
        event("tool.execution_start", {"toolName": "task_complete", "arguments": {"summary": "**Merged.**"}}),
    )
    result = archive(run, "--all")
    assert (result["agents"], result["episodes"]["added"], result["calls"]) == ({"copilot": 1}, 3, 1)
    texts = {json.loads(line)["text"] for line in run("memory", "export").out.splitlines()}
    assert texts == {"user: find the puffin", "subagent: A helper saw a gannet.", "assistant: **Merged.**"}
    (row,) = run("session", "list").result["sessions"]
    assert (row["sessionId"], row["client"], row["compactions"]) == ("cop-1", "copilot", 1)


def own_form(session: str, *said: str) -> list[dict[str, Any]]:
    call = {"tool": "bash", "input": {"command": "make gauge"}, "output": "gauge.c:3: error: no tide", "ok": False}
    roles = ("user", "assistant")
    lines = [{"session": session, "role": roles[at % 2], "text": text, "time": AT} for at, text in enumerate(said)]
    return [*lines, {"session": session, "role": "tool", "time": AT, **call}]


def test_other_agents_write_json_lines_of_a_documented_form(run: Run, person: Path) -> None:
    rows = [*own_form("own-1", "mend the whimbrel gauge", "It lacks a tide."), *own_form("own-2", "count the terns")]
    path = lines_of(person / "turns.jsonl", *rows)
    assert archive(run, "--agent", "open_hands 2", path)["calls"] == 2
    listed = run("session", "list").result["sessions"]
    assert {(row["sessionId"], row["client"], row["turns"]) for row in listed} == {
        ("own-1", "open_hands 2", 1), ("own-2", "open_hands 2", 1),
    }  # fmt: skip
    run("hook", "generic", "turn_end", stdin=json.dumps({"session": "own-1", "entries": rows[:3]}))
    fed = json.dumps({"session": "own-3", "entries": own_form("own-3", "feed them")})
    assert run("checkpoint", "save", "--stdin", stdin=fed).result["currentTask"] == "feed them"
    texts = sorted(json.loads(line)["text"] for line in run("memory", "export").out.splitlines())
    said = ["user: count the terns", "user: feed them", "user: mend the whimbrel gauge"]
    assert texts == ["assistant: It lacks a tide.", *said]
    other = lines_of(person / "other.jsonl", {"kind": "note", "body": "of another form"})
    refused = run("memory", "archive", "--agent", "whatever", str(other), ok=False)
    assert "no transcript of a known client" in refused.json["error"]["message"]
    refused = run("memory", "archive", "--all", "--agent", "whatever", ok=False)
    assert "'whatever'" in refused.json["error"]["message"]


def test_a_session_that_only_a_hook_reports_is_listed_by_its_client_and_compacted(run: Run) -> None:
    lines = own_form("own-1", "mend the whimbrel gauge", "It lacks a tide.")
    run("hook", "generic", "turn_end", stdin=json.dumps({"session": "own-1", "entries": lines}))
    assert run("lost", "own-1", ok=False).json["error"]["code"] == "NO_COMPACTION"
    for event in ("before_compaction", "after_compaction"):
        run("hook", "generic", event, stdin=json.dumps({"session": "own-1"}))
    assert run("lost", "own-1").result["compaction"]["callsBefore"] == 1
    (row,) = run("session", "list", "--client", "generic").result["sessions"]
    assert (row["sessionId"], row["compactions"], row["turns"]) == ("own-1", 1, 1)


def test_the_documented_form_gives_times_in_three_ways_and_may_have_other_fields(run: Run) -> None:
    for time in (AT, 1_790_000_000, 1_790_000_000_000):
        line = {"session": "s1", "role": "user", "text": f"count the dunlins, {time}", "time": time, "mood": {"x": 1}}
        run("hook", "generic", "prompt", stdin=json.dumps(line))
    rows = map(json.loads, run("memory", "export").out.splitlines())
    times = {row["text"].partition(", ")[2]: row["created_at"][:10] for row in rows}
    assert times == {AT: AT[:10], "1790000000": "2026-09-21", "1790000000000": "2026-09-21"}


def test_what_has_no_time_gets_the_time_of_the_archive(run: Run) -> None:
    lines = [{key: value for key, value in line.items() if key != "time"} for line in own_form("own-1", "mend it")]
    for event in ("turn_end", "before_compaction", "after_compaction"):
        run("hook", "generic", event, stdin=json.dumps({"session": "own-1", "entries": lines}), env=NOW)
    (call,) = run("how", "make gauge").result["commands"]
    assert call["at"] == run("lost", "own-1").result["compaction"]["at"] == iso(NOW_MS)


def test_the_short_form_of_entire_is_read_for_any_client(run: Run, person: Path) -> None:
    use = {"type": "tool_use", "name": "Bash", "input": {"command": "make"}, "result": {"output": "no tide"}}
    about = {"v": 1, "agent": "claude-code", "ts": AT}
    path = lines_of(
        person / "a1b2/transcript.jsonl",
        {**about, "type": "user", "content": [{"text": "mend the gauge"}]},
        {**about, "type": "assistant", "content": [{"type": "text", "text": "Done."}, use]},
    )
    result = archive(run, path)
    assert (result["agents"], result["episodes"]["added"], result["calls"]) == ({"claude": 1}, 2, 1)
    assert run("session", "list").result["sessions"][0]["sessionId"] == "a1b2"


def test_lines_of_an_unknown_agent_are_read_or_counted(run: Run, tmp_path: Path) -> None:
    rows = [
        {"session": "base", "role": "user", "text": "x " * 10_000_000},
        {"session": 5, "role": "user", "text": "the quokka of a number"},
        *({"session": "base", "role": role, "text": f"the quokka of {role}"} for role in ("HUMAN", "ai", "Model")),
        {"role": "user", "text": "the quokka without a session"},
        {"session": "base", "role": "moderator", "text": "the quokka of a moderator"},
        {"session": "base", "role": "user", "text": ["the quokka of a list"]},
        {"nope": 1},
    ]
    path = put(tmp_path / "log.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    result = archive(run, "--agent", "newbot", str(path))
    assert (result["episodes"]["added"], result["badLines"], result["skipped"]) == (5, 4, [])  # with the long line
    hits = run("recall", "quokka", "--limit", "20").result["hits"]
    assert sorted(hit["session"] for hit in hits) == ["5", "base", "base", "base", "base"]
    sent = json.dumps({"session": "own-1", "entries": [*rows[1:], 7]})
    assert run("checkpoint", "save", "--stdin", stdin=sent).result["badLines"] == 4
    run("hook", "generic", "turn_end", stdin=sent)
    (event,) = run("otel", "search", "hook.degraded").result["events"]
    assert (event["level"], event["error"]) == ("warn", "BAD_LINES: 4 of the entries have no known form")
