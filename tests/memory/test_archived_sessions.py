"""`sessions search` and `sessions extract` find archived sessions and show what they contain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import NOW_MS, Run

OTHER = "7c1d2e3f-5555-4666-8777-888899990000"
NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}


@pytest.fixture
def path(run: Run, tmp_path: Path) -> Path:
    """Two archived sessions; returns the transcript of the first."""
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    made.user("the webhook retry queue drops jobs, please mend src/queue/retry.py")
    made.assistant("We decided to keep the lease at 30 s because the handler is slow")
    made.call("c1", "Bash", command="pytest tests/test_retry.py")
    made.outcome("c1", "1 failed: test_lease\nAssertionError", failed=True)
    made.call("c2", "Edit", file_path=f"{CWD}/src/queue/retry.py", old_string="a", new_string="b")
    made.outcome("c2", "ok")
    made.assistant("Next step: raise the timeout. Still blocked: the staging token is missing")
    for number in range(40):
        made.assistant(f"talk of tides and gulls number {number}")
    other = Transcript(tmp_path / f"{OTHER}.jsonl", first=500)
    other.write(other.entry("user", "draw the harbour map in blue", sessionId=OTHER))
    run("memory", "archive", str(made.path), str(other.path))
    return made.path


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
def test_a_session_has_what_was_noted_of_it(run: Run) -> None:
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
    assert [one["sessionId"] for one in noted] == [SESSION], "found by what was noted, too"


@pytest.mark.usefixtures("path")
def test_raw_searches_what_was_said_and_done_alone(run: Run) -> None:
    run("memory", "write", "zeppelins moor at the gasworks", "--session", SESSION)
    assert run("sessions", "search", "zeppelins gasworks", env=NOW).result["found"] == 1
    asked = ["--raw", "--runtime", "claude-code"]
    assert run("sessions", "search", "zeppelins gasworks", *asked, env=NOW).result["found"] == 0
    result = run("sessions", "search", "webhook retry queue", *asked, env=NOW).result
    assert (result["source"], result["resolvedRawSource"]) == ("raw:both", "local")
    assert result["runtime"] == "claude-code"
    hit = result["hits"][0]
    assert (hit["source"], hit["sessionId"]) == ("local", SESSION)
    assert "observations" not in hit


@pytest.mark.parametrize("named", ["whole", "beginning", "file", "second name"])
def test_what_a_session_holds_about_a_topic(run: Run, path: Path, named: str) -> None:
    given = {"whole": SESSION, "beginning": SESSION[:8], "file": str(path), "second name": SESSION}[named]
    group = "session" if named == "second name" else "sessions"
    envelope = run(group, "extract", given, "--query", "retry").json
    assert envelope["command"] == "joelclaw sessions extract"
    made = envelope["result"]["extraction"]
    assert (made["sessionId"], made["cwdKey"], made["query"]) == (SESSION, "--home-u-gateway--", "retry")
    assert (made["startedAt"], made["matched"], made["redacted"]) == ("2026-09-20T10:00:01.000Z", True, False)
    assert made["lineCount"] == 45
    assert "please mend" in texts(made["userPrompts"])
    assert "keep the lease" in texts(made["decisions"])
    assert "pytest tests/test_retry.py" in texts(made["commandsRun"])
    assert [one for one in made["filesTouched"] if one.endswith("src/queue/retry.py")]
    assert "pytest" in texts(made["verification"])
    assert "staging token" in texts(made["blockers"])
    assert "raise the timeout" in texts(made["nextActions"])
    assert made["evidence"][0] == {
        "line": 1, "role": "user", "kind": "message",
        "text": "the webhook retry queue drops jobs, please mend src/queue/retry.py",
    }  # fmt: skip
    assert "gulls number 39" not in texts(made["evidence"])


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["extract", "nobody-knows-it"], "SESSION_NOT_FOUND", 1),
        (["search"], "SESSIONS_INVALID_ARGS", 2),
    ],
)
def test_wrong_usage_is_refused_with_a_fix(run: Run, words: list[str], code: str, exit_code: int) -> None:
    refused = run("sessions", *words, ok=False)
    assert (refused.code, refused.json["error"]["code"]) == (exit_code, code)
    assert refused.json["fix"]


def test_a_file_that_is_not_archived_says_how(run: Run, tmp_path: Path) -> None:
    made = Transcript(tmp_path / "a b.jsonl")
    made.user("never archived")
    refused = run("sessions", "extract", str(made.path), ok=False).json
    assert refused["error"]["code"] == "SESSION_NOT_FOUND"
    assert f"memory archive '{made.path}'" in refused["fix"]
