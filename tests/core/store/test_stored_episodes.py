"""An archived message as it is stored, what a transcript that is read again changes of it, and whose file one is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import apsw
import pytest

from core import json_text
from core.store import documents
from memory.archive import ingest, transcript_files
from memory.archive.episode_draft import new_carry, read_carry
from memory.archive.session_archive import SessionArchive, clean_name
from memory.archive.session_work import SessionWork
from memory.sessions import transcript
from memory.sessions.transcript import Line

NOW = 5_000


def draft(identifier: str = "m1", body: str = "mend the deploy", *, at: Any = 7, **more: str) -> Any:
    return {"id": identifier, "role": "user", "body": body, "prompt": "", "before": "", "after": "", "at": at, **more}


def store(
    db: apsw.Connection, *drafts: Any, found: Any = None, end: int = 10, carry: Any = None, again: Any = None
) -> Any:
    archive = SessionArchive(db, "claude", "s", "", NOW, False)
    ready = archive.prepared({one["id"]: one for one in drafts})
    kept = json_text.dumps(carry or new_carry())
    return archive.store("file", found, ready, end, "head", kept, SessionWork({}), 0, again=again)


def position(db: apsw.Connection) -> Any:
    from core.store.sessions import transcripts

    return transcripts.position(db, "file")


def stored(db: apsw.Connection, identifier: str = "m1") -> Any:
    return documents.by_id(db, identifier)


def test_an_episode_as_it_is_stored(db: apsw.Connection) -> None:
    assert store(db, draft(before="what was", after="what comes")) == (1, 0, 0)
    one = stored(db)
    assert one == {
        **documents.blank("episodes", "m1", "user: mend the deploy", 7), "rowid": one["rowid"],
        "context": "what was\nwhat comes", "source": "claude", "session_id": "s", "observation_type": "episode",
        "write_confidence": 1.0, "write_reason": "archived", "fingerprint": one["fingerprint"],
        "category_id": "jc:operations", "category_confidence": 0.67, "category_source": "keyword",
    }  # fmt: skip
    assert position(db) == (10, "head", json_text.dumps(new_carry()))


@pytest.mark.parametrize(
    ("at", "created"),
    [
        (None, NOW),
        (0, 0),
        (-1, NOW),
        ("7", NOW),
        (253_402_300_799_999, 253_402_300_799_999),
        (253_402_300_800_000, NOW),
    ],
)
def test_a_message_without_a_sound_time_has_that_of_the_archive(db: apsw.Connection, at: Any, created: int) -> None:
    store(db, draft(body="lorem ipsum", at=at))
    assert (stored(db)["created_at"], stored(db)["category_source"]) == (created, "fallback")


@pytest.mark.parametrize(
    ("again", "body", "after", "text", "context", "updated"),
    [
        (None, "mend the deploy", "what comes", "mend the deploy", "what comes", 0),
        (None, "mend the deploy now", "what comes", "mend the deploy now", "what comes", 1),
        (None, "mend", "what comes", "mend the deploy", "what comes", 0),
        (None, "mend the deploy", "what comes later", "mend the deploy", "what comes later", 1),
        (None, "mend the deploy", "other", "mend the deploy", "what comes", 0),
        ([], "mend", "other", "mend", "other", 1),
    ],
)
def test_a_message_that_is_read_again_grows_and_shrinks_only_where_it_is_the_truth(
    db: apsw.Connection, again: Any, body: str, after: str, text: str, context: str, updated: int
) -> None:
    store(db, draft(after="what comes"))
    result = store(db, draft(body=body, after=after), found=position(db), end=20, again=again)
    assert result == (0, updated, 0)
    assert (stored(db)["text"], stored(db)["context"]) == (f"user: {text}", context)


def test_what_another_process_has_read_meanwhile_is_left_to_it(db: apsw.Connection) -> None:
    store(db, draft())
    assert store(db, draft("m2"), found=None) is None
    assert (stored(db, "m2"), position(db)[0]) == (None, 10)


def test_a_forgotten_message_stays_as_it_is_and_calls_alone_are_taken_out(db: apsw.Connection) -> None:
    store(db, draft(), draft("m2"), draft("m3"))
    for name in ("m1", "m3"):
        documents.forget(db, stored(db, name)["rowid"], 9, signatures=False)
    assert store(db, draft(body="mend more"), found=position(db), end=20, again=["m2", "m3", "none"]) == (0, 0, 0)
    assert stored(db)["text"] == "user: mend the deploy"
    assert (stored(db, "m2"), stored(db, "m3")["forgotten_at"]) == (None, 9)


def test_around_what_was_purged_nothing_of_it_is_told(db: apsw.Connection) -> None:
    store(db, draft(), draft("m2"))
    gone = stored(db)
    documents.forget(db, gone["rowid"], 9, signatures=False)
    db.execute("UPDATE document SET text = '', context = '', write_reason = 'purged' WHERE id = 'm1'")
    last = draft("m3", prompt="a secret", before="a secret", after="x")
    carry = {**new_carry(), "prompt": "a secret", "queue": ["a secret"], "drafts": [last]}
    result = store(
        db, draft(), draft("m2", before="a secret"), draft("m3", before="a secret"), found=position(db), end=20,
        carry=carry,
    )  # fmt: skip
    assert result == (1, 0, 0)
    assert (stored(db)["text"], stored(db, "m3")["context"], stored(db, "m2")["context"]) == ("", "", "")
    kept = read_carry(json_text.loads(position(db)[2]))
    assert (kept["prompt"], kept["queue"], kept["drafts"]) == ("", [], [draft("m3")])
    carry["drafts"] = [draft()]
    store(db, draft(), found=position(db), end=30, carry=carry)
    assert read_carry(json_text.loads(position(db)[2]))["drafts"] == []


@pytest.mark.parametrize(("text", "clean"), [(" a \n b\0 ", "a b"), ("x" * 401, "x" * 400), ("", "")])
def test_a_name_is_one_short_line(text: str, clean: str) -> None:
    assert clean_name(text) == clean


def call(number: int, at: int | None = None, **more: Any) -> Any:
    return {
        "session": "s", "number": number, "key": str(number), "prompt": 1, "at": at, "tool": "Bash", "file": "",
        "command": "", "outcome": "ok", "error": "", "passage": "", **more,
    }  # fmt: skip


def test_what_was_said_and_what_was_called_stand_in_the_order_of_time() -> None:
    lines = transcript._lines(
        [("user: ask", 10), ("assistant: told: so", 20), ("Caroline: hello", 30), ("no colon", 40)],
        [
            call(1), call(2, 20, command="make\n all", file="a.py", passage="one\n two"),
            call(3, outcome="failed", file="b.py"), call(4, 35, error="broken", outcome=""),
            call(5, 36, outcome="forgotten"), call(6, outcome="error"),
        ],
    )  # fmt: skip
    assert lines == (
        Line(1, "user", "message", "ask"), Line(2, "tool", "tool_call", "Bash ok"),
        Line(3, "assistant", "message", "told: so"),
        Line(4, "tool", "tool_call", "Bash make all ok one two", "a.py", "make\n all"),
        Line(5, "tool", "tool_call", "Bash b.py failed", "b.py", "", True),
        Line(6, "assistant", "message", "Caroline: hello"), Line(7, "tool", "tool_call", "Bash broken", "", "", True),
        Line(8, "tool", "tool_call", "Bash error", "", "", True), Line(9, "assistant", "message", "no colon"),
    )  # fmt: skip
    assert transcript._lines([], [call(1)])[0].number == 1


def test_of_a_long_session_the_last_lines_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MOST_LINES", 2)
    lines = transcript._lines([(f"user: {number}", number) for number in range(3)], [])
    assert [(line.number, line.text) for line in lines] == [(1, "1"), (2, "2")]


UUID = "0b9f6c1e-1111-4222-8333-444455556666"
CLAUDE = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "x"}, "cwd": "/w", "isSidechain": False}


def look(tmp_path: Path, name: str, *entries: Any) -> transcript_files.Transcript:
    (tmp_path / name).write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return transcript_files.look_at(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "sessions", "session"),
    [
        (UUID, ["one", "two"], UUID), (UUID.upper(), ["one"], UUID.upper()), ("one", ["one", "two"], "one"),
        ("copy", ["one", "two"], "two"), ("copy", ["one", ""], "one"), ("copy", [""], "copy"),
        (UUID[:-1], ["one"], "one"), (UUID[:-1] + "g", ["one"], "one"), (UUID.replace("-", ""), ["one"], "one"),
    ],
)  # fmt: skip
def test_which_session_a_file_of_claude_code_is_of(
    tmp_path: Path, name: str, sessions: list[str], session: str
) -> None:
    found = look(tmp_path, f"{name}.jsonl", *({**CLAUDE, "sessionId": one} for one in sessions))
    assert (found.agent, found.session, found.cwd) == ("claude", session, "/w")


def test_a_session_that_only_the_first_lines_name(tmp_path: Path) -> None:
    unnamed = [{**CLAUDE, "uuid": f"u{number}"} for number in range(25)]
    assert look(tmp_path, "copy.jsonl", {**CLAUDE, "sessionId": "one"}, *unnamed).session == "one"


def test_what_is_no_transcript_is_told_why(tmp_path: Path) -> None:
    def refused(kind: type[Exception], name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        with pytest.raises(kind) as told:
            transcript_files.look_at(str(path))
        return str(told.value)

    line = json.dumps({**CLAUDE, "sessionId": "s"}) + "\n"
    assert refused(transcript_files.NotATranscriptError, "a.jsonl", "no json\n[1]\n") == "no JSON lines"
    assert refused(transcript_files.NotATranscriptError, "a.jsonl", "{}\n") == "no transcript of a known client"
    assert refused(transcript_files.SubagentError, "subagents/a.jsonl", line) == "a subagent's transcript"
    side = line.replace('"isSidechain": false', '"isSidechain": true')
    assert refused(transcript_files.SubagentError, "a.jsonl", side) == "a subagent's transcript"
    with pytest.raises(transcript_files.UnreadableError):
        transcript_files.look_at(str(tmp_path / "missing.jsonl"))


@pytest.mark.parametrize(
    ("found", "size", "hurried", "expected"),
    [
        (None, 8, False, (0, {}, False)), ((4, "HEAD", '{"a": 1}'), 8, False, (4, {"a": 1}, False)),
        ((4, "other", '{"a": 1}'), 8, False, (0, {}, False)), ((4, "HEAD", '{"a": 1}'), 3, False, (0, {}, False)),
        ((4, "HEAD", "no json"), 4, False, (4, {}, False)), ((4, "HEAD", "[1]"), 8, False, (4, {}, False)),
        ((3, "HEAD", "{}"), 8, False, (0, {}, False)),
        ((3, "HEAD", '{"skipping": true}'), 8, False, (3, {"skipping": True}, False)),
        # an empty head: read again from the start, but by a hook that is in a hurry
        ((4, "", '{"a": 1}'), 8, False, (0, {}, False)), ((4, "", '{"a": 1}'), 8, True, (4, {"a": 1}, True)),
        ((4, "HEAD", '{"a": 1}'), 8, True, (4, {"a": 1}, False)), ((0, "", '{"a": 1}'), 8, True, (0, {}, False)),
    ],
)  # fmt: skip
def test_where_reading_goes_on(tmp_path: Path, found: Any, size: int, hurried: bool, expected: Any) -> None:
    (tmp_path / "file").write_bytes(b"one\ntwo\n")
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        if found is not None and found[1] == "HEAD":
            found = (found[0], ingest._head(descriptor, found[0]), found[2])
        assert ingest._resumed(descriptor, size, found, hurried=hurried) == expected
    finally:
        os.close(descriptor)
