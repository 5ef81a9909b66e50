"""`sessions search` and `sessions extract` find archived sessions and show what they contain."""

from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import NOW, Run

OTHER = "7c1d2e3f-5555-4666-8777-888899990000"


@pytest.fixture
def path(run: Run, tmp_path: Path, transcript: Transcript) -> Path:
    """Two archived sessions; returns the transcript of the first."""
    transcript.user("the webhook retry queue drops jobs, please mend src/queue/retry.py")
    transcript.assistant("We decided to keep the lease at 30 s because the handler is slow")
    transcript.call("c1", "Bash", command="pytest tests/test_retry.py")
    transcript.outcome("c1", "1 failed: test_lease\nAssertionError", failed=True)
    transcript.used("c2", "Edit", "ok", file_path=f"{CWD}/src/queue/retry.py", old_string="a", new_string="b")
    transcript.assistant("Next step: raise the timeout. Still blocked: the staging token is missing")
    for number in range(40):
        transcript.assistant(f"talk of tides and gulls number {number}")
    other = Transcript(tmp_path / f"{OTHER}.jsonl", first=500)
    other.write(other.entry("user", "draw the harbour map in blue", sessionId=OTHER))
    run("memory", "archive", str(transcript.path), str(other.path))
    return transcript.path


def texts(entries: list[dict[str, Any]]) -> str:
    return "\n".join(entry["text"] for entry in entries)


def test_a_session_is_found_by_what_was_said(run: Run, path: Path) -> None:
    result = run("sessions", "search", "webhook retry queue", env=NOW).result
    assert (result["query"], result["resolvedRawSource"]) == ("webhook retry queue", "local")
    hit = result["hits"][0]
    assert (hit["sessionId"], hit["id"], hit["source"], hit["role"]) == (SESSION, SESSION, "local", "user")
    assert (hit["client"], hit["folder"], hit["cwdKey"]) == ("claude", CWD, "--home-u-gateway--")
    assert hit["startedAt"] == "2026-09-20T10:00:01.000Z"
    assert 0 < hit["score"] <= 1
    assert "retry queue" in hit["snippets"][0]
    assert "extraction" not in hit
    assert result["local"]["searchedSessions"] == 2
    assert path.name == f"{SESSION}.jsonl"


@pytest.mark.usefixtures("path")
def test_a_session_lists_its_memories(run: Run) -> None:
    of = ("--session", SESSION)
    run("memory", "write", "the webhook retry queue lost jobs at night", *of)
    run("memory", "write", "we decided that the lease stays at 30 s for the slow handler", *of)
    result = run("sessions", "search", "webhook retry queue", env=NOW).result
    assert (result["source"], result["runtime"]) == ("observations", "all")
    hit = result["hits"][0]
    assert (hit["agent"], hit["sessionId"], hit["slug"]) == ("claude", SESSION, SESSION)
    assert hit["started"] == "2026-09-20T10:00:01.000Z" < hit["ended"]
    assert hit["started_at"] == 1_789_898_401_000
    assert hit["gist"].startswith("the webhook retry queue drops jobs")
    assert len(hit["observations"]) == 2
    assert hit["decisions"] == ["we decided that the lease stays at 30 s for the slow handler"]
    assert (hit["open_questions"], hit["tokens"], hit["url"]) == ([], None, None)
    assert "retry queue" in hit["snippet"]
    noted = run("sessions", "search", "lost jobs at night", "--limit", "1", env=NOW).result["hits"]
    assert [session["sessionId"] for session in noted] == [SESSION], "found by what was noted, too"


@pytest.mark.usefixtures("path")
def test_raw_searches_only_messages_and_calls(run: Run) -> None:
    run("memory", "write", "zeppelins moor at the gasworks", "--session", SESSION)
    assert run("sessions", "search", "zeppelins gasworks", env=NOW).result["found"] == 1
    flags = ["--raw", "--runtime", "claude-code"]
    assert run("sessions", "search", "zeppelins gasworks", *flags, env=NOW).result["found"] == 0
    result = run("sessions", "search", "webhook retry queue", *flags, env=NOW).result
    assert (result["source"], result["resolvedRawSource"]) == ("raw:both", "local")
    assert result["runtime"] == "claude-code"
    hit = result["hits"][0]
    assert (hit["source"], hit["sessionId"]) == ("local", SESSION)
    assert "observations" not in hit


@pytest.mark.parametrize("named", ["whole", "beginning", "file", "second name"])
def test_extraction_of_a_topic(run: Run, path: Path, named: str) -> None:
    argument = {"whole": SESSION, "beginning": SESSION[:8], "file": str(path), "second name": SESSION}[named]
    group = "session" if named == "second name" else "sessions"
    envelope = run(group, "extract", argument, "--query", "retry").json
    assert envelope["command"] == "joelclaw sessions extract"
    extraction = envelope["result"]["extraction"]
    assert (extraction["sessionId"], extraction["cwdKey"], extraction["query"]) == (
        SESSION, "--home-u-gateway--", "retry",
    )  # fmt: skip
    assert (extraction["startedAt"], extraction["matched"], extraction["redacted"]) == (
        "2026-09-20T10:00:01.000Z", True, False,
    )  # fmt: skip
    assert extraction["lineCount"] == 45
    assert "please mend" in texts(extraction["userPrompts"])
    assert "keep the lease" in texts(extraction["decisions"])
    assert "pytest tests/test_retry.py" in texts(extraction["commandsRun"])
    assert [path for path in extraction["filesTouched"] if path.endswith("src/queue/retry.py")]
    assert "pytest" in texts(extraction["verification"])
    assert "staging token" in texts(extraction["blockers"])
    assert "raise the timeout" in texts(extraction["nextActions"])
    assert extraction["evidence"][0] == {
        "line": 1, "role": "user", "kind": "message",
        "text": "the webhook retry queue drops jobs, please mend src/queue/retry.py",
    }  # fmt: skip
    assert "gulls number 39" not in texts(extraction["evidence"])


@pytest.mark.usefixtures("path")
def test_an_unknown_session_is_refused(run: Run) -> None:
    refused = run("sessions", "extract", "nobody-knows-it", ok=False)
    assert (refused.code, refused.json["error"]["code"], bool(refused.json["fix"])) == (1, "SESSION_NOT_FOUND", True)
