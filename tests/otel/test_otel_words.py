"""Events on a terminal: what happened in words that a user knows; a program gets them as they are stored."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Run
from terminal import on_terminal, without_style

SESSION = "01999999-0000-7000-8000-000000000001"


def said(home: Path, *words: str) -> str:
    """What a command says on a wide terminal, on one line."""
    told = on_terminal(home, *words, columns=200)
    assert (told.code, told.err) == (0, "")
    return " ".join(without_style(told.out).split())


def compacted(run: Run, tmp_path: Path) -> None:
    """A session that was asked something, and compacted."""
    prompt = "Move the ledger of the harbour to the new store"
    about = {"session_id": SESSION, "cwd": str(tmp_path), "messages": [prompt], "percent": 72}
    for event in ("session_start", "prompt", "before_compaction", "after_compaction"):
        run("hook", "pi", event, stdin=json.dumps({**about, "prompt": prompt}))


def test_a_compaction_is_told_in_words(run: Run, home: Path, tmp_path: Path) -> None:
    compacted(run, tmp_path)
    for words in (["otel", "list"], ["otel", "search", "compaction"], ["o11y", "session", SESSION]):
        told = said(home, *words)
        assert "compaction started at 72 %" in told
        assert "a recovery note was given to the agent, about " in told
        assert "session-lifecycle memoryIds" not in told and "contentChars=" not in told
    told = said(home, "otel", "list", "--component", "hook")
    assert "pi called its hook for before_compaction" in told
    events = {event["action"]: event for event in run("otel", "list").result["events"]}
    assert events["compaction.before"]["metadata"]["contextPercent"] == 72


def test_what_is_not_known_is_left_out(run: Run, home: Path) -> None:
    run("otel", "emit", "compaction.before", "--metadata", '{"contextPercent": null}')
    run("otel", "emit", "compaction.extract.warm", "--metadata", '{"percent": "many"}')
    told = said(home, "otel", "list")
    assert "compaction started 1 to 2 of 2" in told
    assert "the context is warm 20" in told
    run("hook", "claude", stdin="not json")
    failed = said(home, "otel", "list", "--component", "hook")
    assert "a hook of claude failed" in failed and "for  failed" not in failed


def test_an_event_of_somebody_else_keeps_its_name_and_what_it_holds(run: Run, home: Path) -> None:
    run("otel", "emit", "deploy.finished", "--component", "ci", "--metadata", '{"host": "quay {percent}"}')
    run("otel", "emit", "hook.failed", "--success", "false", "--error", "E_BAD: it broke", "--level", "error")
    told = said(home, "otel", "list")
    assert "deploy.finished ci host=quay {percent}" in told
    assert "error a hook failed E_BAD: it broke 20" in told
    assert "--component ci" in told  # what to narrow by


def test_where_no_event_is_found_it_says_how_to_look_further(run: Run, home: Path) -> None:
    run("otel", "emit", "deploy.finished")
    assert "No event matches. Earlier ones: --hours 168" in said(home, "otel", "list", "--level", "fatal")


def test_stats_are_a_sentence(run: Run, home: Path) -> None:
    run("otel", "emit", "deploy.failed", "--level", "error", "--success", "false", "--error", "it broke")
    assert "Events in the last 24 h: 1, errors: 1; in the last 15 minutes: 1, errors: 1" in said(home, "otel", "stats")
