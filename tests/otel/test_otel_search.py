"""`otel list`, `search` and `stats`: which events are found, and the shapes that hooks read."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, NOW_MS, Run, at_ms
from terminal import on_terminal

from core.store import sqlite
from otel import log
from otel.log import new_event

MINUTE = 60_000
HOUR = 60 * MINUTE


@pytest.fixture
def seeded(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a few events, the newest at NOW_MS."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    events = [
        new_event("compaction.inject", source="interactive", component="session-lifecycle", session="s1",
                     system="m1", metadata={"compactionCount": 2, "contentChars": 812}, now=NOW_MS, id="inject"),
        new_event("compaction.inject.skipped", source="interactive", component="session-lifecycle", session="s2",
                     system="m1", metadata={"reason": "rapid-recompaction"}, now=NOW_MS - 10 * MINUTE, id="skipped"),
        new_event("mail.sent", source="gateway", component="mail", level="warn", session="s1", system="m2",
                     metadata={"to": {"name": "Zoë"}, "tags": ["a-b", "🔥"]}, now=NOW_MS - 20 * MINUTE, id="mail"),
        new_event("recall.failed", source="cli", component="recall-cli", level="error", success=False, session="s1",
                     system="m1", error="ECONNREFUSED 127.0.0.1:8108", duration_ms=1500, now=NOW_MS - HOUR,
                     id="failed"),
        new_event("disk.full", source="cli", component="store", level="fatal", success=False, session="s3",
                     system="m1", now=NOW_MS - 30 * HOUR, id="old"),
    ]  # fmt: skip
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    assert log.append(db, events, debug_limit=12) == [""] * len(events)
    db.close()
    return home


def ids(result: Any) -> list[str]:
    return [event["id"] for event in result["events"]]


def test_list_shows_the_window_newest_first(run: Run, seeded: Path) -> None:
    result = run("otel", "list", env=NOW).result
    assert list(result) == ["found", "page", "limit", "filterBy", "events", "facets", "hidden", "hiddenCount"]
    assert ids(result) == ["inject", "skipped", "mail", "failed"]
    assert (result["found"], result["page"], result["limit"]) == (4, 1, 30)
    assert result["filterBy"] == f"timestamp:>={NOW_MS - 24 * HOUR}"
    assert result["events"][3] == {
        "id": "failed", "ts": "2026-09-21T13:13:20.000Z", "sessionId": "s1", "systemId": "m1", "level": "error",
        "source": "cli", "component": "recall-cli", "action": "recall.failed", "success": False, "duration_ms": 1500,
        "error": "ECONNREFUSED 127.0.0.1:8108", "metadata_keys": [], "metadata": {},
        "client": "", "project": "",
    }  # fmt: skip
    first = result["events"][0]
    assert first["metadata_keys"] == ["compactionCount", "contentChars"]
    assert first["metadata"] == {"compactionCount": 2, "contentChars": 812}
    assert (first["duration_ms"], first["error"]) == (None, None)
    assert result["facets"] == [
        {"field_name": "level", "counts": [{"value": "info", "count": 2}, {"value": "error", "count": 1},
                                           {"value": "warn", "count": 1}]},
        {"field_name": "source", "counts": [{"value": "interactive", "count": 2}, {"value": "cli", "count": 1},
                                            {"value": "gateway", "count": 1}]},
        {"field_name": "component", "counts": [{"value": "session-lifecycle", "count": 2},
                                               {"value": "mail", "count": 1}, {"value": "recall-cli", "count": 1}]},
        {"field_name": "action", "counts": [{"value": name, "count": 1} for name in (
            "compaction.inject", "compaction.inject.skipped", "mail.sent", "recall.failed")]},
    ]  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), [
    ("compaction.inject", ["inject", "skipped"]), ("compaction.inject.skipped", ["skipped"]),
    ("COMPACTION Inject", ["inject", "skipped"]), ("inject rapid", ["skipped"]), ("rapid-recompaction", ["skipped"]),
    ("rapid mail", []), ("econnrefused", ["failed"]), ("127.0.0.1:8108", ["failed"]), ("operation_failed", []),
    ("contentChars", ["inject"]), ("812", ["inject"]), ("contentChars:812", ["inject"]), ("name=Zoë", ["mail"]),
    ("a-b", ["mail"]), ("🔥", ["mail"]), ("session-life", ["inject", "skipped"]), ("mail - sent", ["mail"]),
    ("*", ["inject", "skipped", "mail", "failed"]), ("", ["inject", "skipped", "mail", "failed"]), ("---", []),
    ('" OR 1=1 --', []), ("%", []), ("mail\tsent\n", ["mail"]),
])  # fmt: skip
def test_words_that_must_all_occur(run: Run, seeded: Path, query: str, expected: list[str]) -> None:
    result = run("otel", "search", "--", query, env=NOW).result
    assert ids(result) == expected
    assert result["found"] == len(expected)
    assert result["query"] == query


@pytest.mark.parametrize(("words", "expected", "filter_by"), [
    (["--level", "error,fatal"], ["failed"], "level:=[error,fatal]"),
    (["--level", "Warning, ERROR"], ["mail", "failed"], "level:=[warn,error]"),
    (["--source", "cli,gateway"], ["mail", "failed"], "source:=[cli,gateway]"),
    (["--component", "mail"], ["mail"], "component:=[mail]"),
    (["--component", "a b"], [], "component:=[`a b`]"),
    (["--session", "s1"], ["inject", "mail", "failed"], "sessionId:=s1"),
    (["--system", "m2"], ["mail"], "systemId:=m2"),
    (["--success", "false"], ["failed"], "success:=false"),
    (["--success", "true", "--session", "s1"], ["inject", "mail"], "sessionId:=s1 && success:=true"),
    (["--hours", "0.2"], ["inject", "skipped"], ""),
    (["--hours", "48", "--level", "fatal"], ["old"], "level:=[fatal]"),
    (["--hours", "0"], ["inject"], ""),
])  # fmt: skip
def test_filters(run: Run, seeded: Path, words: list[str], expected: list[str], filter_by: str) -> None:
    for name in (["list"], ["search", "*"]):
        result = run("otel", *name, *words, env=NOW).result
        assert ids(result) == expected
        assert result["found"] == len(expected) == sum(entry["count"] for entry in result["facets"][0]["counts"])
        assert result["filterBy"].partition(" && ")[2] == filter_by


@pytest.mark.parametrize(("words", "expected"), [
    (["search", "mail|ECONNREFUSED"], ["mail", "failed"]),
    (["search", "compaction skipped|mail sent"], ["skipped", "mail"]),
    (["search", "|"], ["inject", "skipped", "mail", "failed"]),
    (["search", "-v", "compaction|mail"], ["failed"]),
    (["list", "--action", "mail.sent,recall.failed"], ["mail", "failed"]),
    (["list", "--since", "2d"], ["inject", "skipped", "mail", "failed", "old"]),
])  # fmt: skip
def test_any_of_several_and_what_does_not_match(run: Run, seeded: Path, words: list[str], expected: list[str]) -> None:
    assert ids(run("otel", *words, env=NOW).result) == expected


def test_routine_events_are_shown_on_request(run: Run, seeded: Path) -> None:
    run("otel", "emit", "hook.completed", "--component", "hook", env=NOW)
    for words, shown in (([], False), (["--component", "hook"], True), (["--action", "hook.completed"], True)):
        actions = [event["action"] for event in run("otel", "list", *words, env=NOW).result["events"]]
        assert ("hook.completed" in actions) is shown
    listed = run("otel", "list", env=NOW).result
    assert listed["hidden"] == ["hook.completed", "command.completed", "memory.recall.started"]
    assert listed["hiddenCount"] == 1
    assert run("otel", "list", "--action", "hook.completed", env=NOW).result["hiddenCount"] == 0
    assert run("otel", "search", "hook", env=NOW).result["found"] == 1


def test_events_of_a_client_or_a_project(run: Run, tmp_path: Path) -> None:
    """Also of sessions whose transcript was never archived."""
    for client, folder, session in (("claude", "quay", "0198c5f0-aaaa"), ("gemini", "mole", "0198c5f1-bbbb")):
        (tmp_path / folder / ".git").mkdir(parents=True)
        (tmp_path / folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
        prompt = {"session_id": session, "cwd": str(tmp_path / folder), "prompt": "paint the pier"}
        event = "UserPromptSubmit" if client == "claude" else "BeforeAgent"
        run("hook", client, stdin=json.dumps({**prompt, "hook_event_name": event}), env=NOW)
        run("otel", "emit", "pier.painted", "--session", session, env=NOW)
    for words in (["--client", "gemini"], ["--project", "mole"], ["--session", "0198c5f1"]):
        found = run("otel", "search", "pier.painted", *words, env=NOW).result
        assert [(row["client"], row["project"]) for row in found["events"]] == [("gemini", "mole")]
        assert found["found"] == 1
    assert run("otel", "list", "--client", "gemini", "--project", "quay", env=NOW).result["found"] == 0


def test_a_failed_hook_is_found_by_its_client_even_without_a_session(run: Run) -> None:
    for client, event in (("claude", "Stop"), ("gemini", "AfterAgent"), ("claude", "PreCompact")):
        run("hook", client, event, stdin="no JSON", env=NOW)
    found = run("otel", "list", "--client", "claude", "--level", "error", env=NOW).result["events"]
    assert {(row["client"], row["metadata"]["event"]) for row in found} == {
        ("claude", "Stop"),
        ("claude", "PreCompact"),
    }


def test_only_a_hooks_event_names_its_client(run: Run) -> None:
    run("otel", "emit", "pier.painted", "--metadata", '{"agent": {"name": "ann"}}', env=NOW)
    run("otel", "emit", "pier.painted", "--metadata", '{"agent": "claude"}', env=NOW)
    run("otel", "emit", "pier.painted", "--component", "hook", "--metadata", '{"agent": {"name": "ann"}}', env=NOW)
    assert [row["client"][:1] for row in run("otel", "list", env=NOW).result["events"]] == ["{", "", ""]
    assert run("otel", "list", "--client", "claude", env=NOW).result["found"] == 0


def test_exit_code_says_whether_anything_was_found(run: Run, seeded: Path) -> None:
    assert run("otel", "search", "mail", "--exit-code", env=NOW).code == 0
    assert run("otel", "search", "mail", "--level", "fatal", "--exit-code", env=NOW, ok=False).code == 1


def test_all_events_of_a_session_or_a_machine(run: Run, seeded: Path) -> None:
    result = run("o11y", "session", "s1", env=NOW).result
    assert (result["scope"], result["sessionId"], result["found"], result["returned"]) == ("session", "s1", 3, 3)
    assert [hit["id"] for hit in result["hits"]] == ["inject", "mail", "failed"]
    assert {hit["collection"] for hit in result["hits"]} == {"otel_events"}
    assert run("o11y", "system", "m1", "--hours", "48", env=NOW).result["found"] == 4


def test_pages(run: Run, seeded: Path) -> None:
    envelope = run("otel", "list", "--limit", "3", env=NOW).json
    assert (ids(envelope["result"]), envelope["result"]["found"]) == (["inject", "skipped", "mail"], 4)
    envelope = run("otel", "list", "--limit", "3", "--page", "2", env=NOW).json
    assert ids(envelope["result"]) == ["failed"]
    assert ids(run("otel", "list", "--page", "1000000", env=NOW).result) == []


def test_stats(run: Run, seeded: Path) -> None:
    result = run("otel", "stats", env=NOW).result
    keys = ["windowHours", "filterBy", "total", "errors", "errorRate", "recent15m", "knowledge", "facets"]
    assert list(result) == keys
    assert result["knowledge"] == {"retrievals": 0, "watchdog_checks": 0}
    run("otel", "emit", "system_knowledge.retrieval.completed", "--source", "x", env=NOW)
    run("otel", "emit", "knowledge.watchdog.check", "--source", "x", env=NOW)
    counted = run("otel", "stats", "--source", "x", env=NOW).result
    assert (counted["total"], counted["knowledge"]) == (2, {"retrievals": 1, "watchdog_checks": 1})
    assert (result["windowHours"], result["total"], result["errors"], result["errorRate"]) == (24, 4, 1, 0.25)
    assert result["recent15m"] == {"total": 2, "errors": 0, "errorRate": 0.0}
    result = run("otel", "stats", "--hours", "48", "--source", "cli", env=NOW).result
    assert (result["total"], result["errors"], result["errorRate"]) == (2, 2, 1.0)
    assert result["filterBy"] == f"timestamp:>={NOW_MS - 48 * HOUR} && source:=[cli]"
    assert run("otel", "stats", "--component", "mail,store", env=NOW).result["total"] == 1


def test_without_a_store(run: Run, home: Path) -> None:
    assert run("otel", "list").result["found"] == 0
    assert run("otel", "search", "mail").result["events"] == []
    stats = run("otel", "stats").result
    assert (stats["total"], stats["errorRate"], stats["recent15m"]["total"]) == (0, 0.0, 0)
    assert not home.exists()


def test_terminal_view_cannot_be_styled_by_an_event(run: Run, home: Path) -> None:
    event = {"action": "a.b", "error": "red\x1b[31m\x1b]0;title\x07", "success": False,
             "metadata": {"k\x9b2J": "[bold]v[/bold]\x1b[2J", "list": [1, "\x1b[0m"]}}  # fmt: skip
    run("otel", "emit", stdin=json.dumps(event))
    for words in (["list"], ["search", "a"], ["stats"], ["emit", "a"]):
        shown = on_terminal(home, "otel", *words, env={"TERM": "dumb"}, columns=200).out
        assert shown.strip()
        assert "\x1b" not in shown and "\x9b" not in shown and "\x07" not in shown
    assert "[bold]v[/bold]" in on_terminal(home, "otel", "list", env={"TERM": "dumb"}, columns=200).out


def test_on_a_terminal_a_compaction_shows_size_share_and_time_since_the_last(run: Run, home: Path) -> None:
    usage = ("--session", "s", "--percent", "85", "--tokens", "170000", "--window", "200000")
    run("checkpoint", "flush", *usage, env=at_ms(-60_000))
    run("inject", "recovery", "--session", "s", env=at_ms(-50_000))
    run("checkpoint", "flush", *usage, env=at_ms(235_000))
    env = {"TERM": "dumb", "JOELCLAW_NOW_MS": str(NOW_MS + 240_000)}
    screen = " ".join(on_terminal(home, "otel", "search", "compaction.before", env=env).out.split())
    _, second, first = screen.split("compaction.before")
    for shown in ("context 85 %", "context tokens 170,000", "context limit 200,000"):
        assert shown in first and shown in second
    assert "time since last compaction 0:04:45" in second
    assert "since last compaction" not in first


def test_a_damaged_store_is_reported(run: Run, home: Path) -> None:
    home.mkdir()
    (home / "store.db").write_bytes(b"garbage " * 1000)
    for words in (["list"], ["search", "x"], ["stats"]):
        done = run("otel", *words, ok=False)
        assert (done.code, done.json["error"]["code"]) == (1, "STORE_DAMAGED")
